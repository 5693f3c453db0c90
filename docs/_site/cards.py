"""The cards of all measures, from the registry, the docstrings, docs/scores and the stored results (data/cards of the
package).

    python docs/_site/cards.py                  writes docs/measures (`make cards`)
    python docs/_site/cards.py RUN CONFIG NAME  stores the tables of a finished run (its folder) for the cards: of the
                                                study (NAME planted or held-out), or a calibration of the encoder NAME
"""

import ast
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import yaml
from reference import DIRECTIONS, GROUPS, ROOT, markdown_table

from biasflow.base.code import module_file
from biasflow.base.tabular import write_csv
from biasflow.overview.calibrated import BY_LABEL, CARDS, LABELS, label_of, runs, stored, units_of
from biasflow.overview.cards import card, in_short
from biasflow.papers.judge import LEVEL
from biasflow.papers.planted.measures import BESIDE
from biasflow.registry import COST, METRICS, Measure, module_of
from biasflow.results.meanings import meanings

FOLDER = ROOT / "docs/measures"
AGREEMENT = "calibration_agreement"  # the pairs of measures that are shown to agree, each from both sides
SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SOURCE = re.compile(r"\bSources?(?: of [\w ]+)?: (.+?)(?=\s+Modules?\b|\n\n|\Z)", re.DOTALL)
MADE = "*Made by `make cards` from the code and the stored results of runs; do not edit.*"


def cards() -> dict[str, str]:
    """The text of every card and of the list of them, by file name."""
    metrics: dict[str, list[str]] = {}
    for name, entry in METRICS.items():
        for key in entry.measures:
            metrics.setdefault(key, []).append(name)
    return {f"{key}.md": _card(key, names) for key, names in metrics.items()} | {"index.md": _index(metrics)}


def _index(metrics: dict[str, list[str]]) -> str:
    text = f"""# A card for every measure

A card says what a measure is, what it needs, and how far it can be trusted: whether it followed a bias that we planted,
how much of it is noise, and which printed numbers we reproduced.

* *Real*: in how many tests the measure followed a *dose* of bias that further training planted in real encoders
  ([explained](../howto/calibrate.md); our encoders are [these two](../findings/calibrated.md)). We count the rows that
  cover all occupations. The log-odds have rows of seen and of held-out occupations only, for the correlation r and for
  the slope, so we count these. A cost should not follow the dose: if it does, the dose also changed the quality.
* *Artificial*: the smallest dose at which the measure differs from dose 0 in [the study of planted
  bias](../findings/planted.md), where encoders are pre-trained on artificial text. A measure with several rows there
  has a number for each. *no dose*: it was not shown to follow the bias.
* *Other words*: whether the measure detects the full bias in [the held-out world](../findings/held_out.md), an
  artificial text with other occupations, words and sentences.
* –: not run. The card says why.

A measure that detects the bias of an artificial text may miss the weaker bias of a real encoder. A card also says how
much of a score is noise (between seeds, and by the choice of items), and how many seeds a claim needs. It holds for the
encoders that it names, and for this way of planting: [calibrate the measures on your encoder](../howto/calibrate.md)
before you rely on one.

{MADE}
"""
    for group, title in GROUPS.items():
        rows = [
            (f"[{LABELS[key]}]({key}.md)", meanings("measures")[key], *in_short(key))
            for key, names in metrics.items()
            if METRICS[names[0]].measures[key].group == group
        ]
        header = ("measure", "what it measures", "real", "artificial", "other words")
        text += f"\n## Measures of {title}\n\n{markdown_table(header, rows)}"
    rows = [
        (name, *(str(about[key]) for key in ("config", "commit", "date", "units"))) for name, about in runs().items()
    ]
    return f"{text}\n## The runs\n\n{markdown_table(('run', 'configuration', 'commit', 'date', 'units'), rows)}"


def _card(key: str, names: Sequence[str]) -> str:
    """A card; of a measure that several metrics have, definition and data are those of the first."""
    name, entry = names[0], METRICS[names[0]]
    measure = entry.measures[key]
    page, text, row = _documented(name, key)
    docstring = _docstring(name)
    source = (SOURCE.search(docstring) or SOURCE.search(text) or [None, "none: it is ours"])[1]
    variant = ", ".join(f"`{word}`" for word in (measure.part, measure.variant) if word != "-")
    shown = f"; in tables and here its part or variant {variant}" if variant else ""
    fields = [
        ("definition", f"{_line(docstring.split(chr(10) * 2)[0])} This measure: {row[1]}"),
        ("source", source),
        ("data", re.split(r" Sources?: | Modules? ", _line(text.split("\n\n")[0]))[0]),
        ("range, neutral value", f"{row[2]}; {measure.neutral:g}; {DIRECTIONS[measure.better]} is {_better(measure)}"),
        ("name in results", f"`{key}` of the metric {' or '.join(f'`{one}`' for one in names)}{shown}"),
        *card(key),
    ]
    fields_table = markdown_table(("field", "what is known"), ((field, _line(about)) for field, about in fields))
    what = meanings("measures")[key]
    more = f"[Tests, readings and columns](../scores/{page}#{name}), [how bias was planted](../howto/calibrate.md)."
    first = f"# {measure.label}\n\n{what[0].upper()}{what[1:].rstrip('.')}. {more}\n\n"
    return f"{first}{fields_table}\n[All cards](index.md). {MADE}\n"


def _docstring(name: str) -> str:
    """What the code says of a metric: its own function of a module that has several, otherwise the module."""
    module = ast.parse(module_file(module_of(METRICS[name]), ROOT).read_text(encoding="utf-8"))
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    return ast.get_docstring(functions.get(f"score_{name}", module))


def _documented(name: str, key: str) -> tuple[str, str, list[str]]:
    """The page of docs/scores that has a metric, its section there, and the cells of the row of a measure."""
    for page in sorted((ROOT / "docs/scores").glob("*.md")):
        for metric, text in SECTION.findall(page.read_text(encoding="utf-8")):
            if metric == name:
                row = next(line for line in text.splitlines() if line.startswith("|") and f"**`{key}`**" in line)
                return page.name, text.strip(), [cell.strip() for cell in row.strip("|").split("|")]
    raise LookupError(f"docs/scores has no section `{name}` with a row **`{key}`**")


def _better(measure: Measure) -> str:
    return "better" if measure.group == COST else "less biased"


def _line(text: str) -> str:
    return " ".join(text.split())


def card_of(name: str) -> str | None:
    """The measure of the registry to which a row of a run's table belongs: the longest label that its name begins with;
    None for a score that belongs to none."""
    if name.endswith("(given)"):
        return None  # a measure of somebody else's, whatever it is called
    beside = {
        one.label: score if score in BY_LABEL.values() else next(iter(METRICS[metric].measures), None)
        for metric, score, one in BESIDE
    }
    return (beside | BY_LABEL).get(label_of(name, BY_LABEL | beside))


def store(folder: Path, config: str, name: str) -> None:
    """Store the tables of a finished run: of the planted study, or the calibration of the encoder `name`."""
    date, commit = re.search(
        r"Made on ([\d-]+) at commit <code>(\w+)", (folder / "index.html").read_text("utf-8")
    ).groups()
    about = runs() | {name: {"config": config, "commit": commit[:7], "date": date}}
    if (path := folder / "tables/calibrated_calibration.csv").exists():
        table, pairs = pd.read_csv(path), pd.read_csv(folder / "tables/calibrated_agreement.csv")
        new = {"calibration": _beside(table, "calibration", name)}
        if pairs["q"].notna().any():
            new[AGREEMENT] = _beside(_both_ways(pairs[pairs["q"] <= LEVEL]), AGREEMENT, name)
        about[name] |= {"tables": list(new), "units": units_of(table)}
    else:
        known = runs()[name]
        files = {table: table.replace(name.replace("-", "_"), "planted") for table in known["tables"]}
        new = {table: _with_cards(pd.read_csv(folder / f"tables/{file}.csv")) for table, file in files.items()}
        about[name] = known | about[name]
    for table, rows in new.items():
        write_csv(rows, CARDS / f"{table}.csv")
    text = (CARDS / "runs.yaml").read_text(encoding="utf-8").splitlines()[0]
    (CARDS / "runs.yaml").write_text(f"{text}\n{yaml.safe_dump(about, sort_keys=False, width=120)}", encoding="utf-8")


def _beside(table: pd.DataFrame, target: str, encoder: str) -> pd.DataFrame:
    """The rows of an encoder, in place of those that are stored of it."""
    others = stored(target)
    table = _with_cards(table.assign(encoder=encoder))
    return pd.concat([others[others["encoder"] != encoder], table], ignore_index=True)


def _both_ways(pairs: pd.DataFrame) -> pd.DataFrame:
    """Every two measures twice: once for the card of each."""
    names = {"measure_a": "measure", "measure_b": "other"}
    back = {"measure_a": "other", "measure_b": "measure"}
    return pd.concat([pairs.rename(columns=names), pairs.rename(columns=back)], ignore_index=True)


def _with_cards(table: pd.DataFrame) -> pd.DataFrame:
    """The table of a run with the card of each row; a row that belongs to no measure of the registry has none."""
    if "measure" in table:
        table = table.drop(columns="card", errors="ignore")
        table.insert(0, "card", table["measure"].map(card_of))
    return table


if __name__ == "__main__":
    if len(sys.argv) == 4:
        store(Path(sys.argv[1]), *sys.argv[2:])
    else:
        FOLDER.mkdir(exist_ok=True)
        for file in FOLDER.glob("*.md"):
            file.unlink()
        for file, text in cards().items():
            (FOLDER / file).write_text(text, encoding="utf-8")
