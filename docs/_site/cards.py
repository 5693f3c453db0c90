"""The cards of all measures, from the registry, the docstrings, docs/scores and the stored results (data/cards of the
package).

    python docs/_site/cards.py                  writes docs/measures (`make cards`)
    python docs/_site/cards.py RUN CONFIG NAME  stores the tables of a finished run (its folder) for the cards: of the
                                                study (NAME planted or held-out), or a calibration of the encoder NAME
"""

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import yaml
from reference import DIRECTIONS, GROUPS, ROOT, markdown_table

from biasflow.base.tabular import write_csv
from biasflow.overview.calibrated import CARDS, LABELS, rows_of, runs, stored, units_of
from biasflow.overview.cards import NOT_RUN, NOT_SHOWN, card, in_short
from biasflow.registry import COST, METRICS, Measure
from biasflow.results.evidence import BY_LABEL, LEVEL, label_of
from biasflow.studies.planted.plan import BESIDE

FOLDER = ROOT / "docs/measures"
NO_TEST = "–"  # in the list of measures
AGREEMENT = "calibration_agreement"  # the pairs of measures that are shown to agree, each from both sides
SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def cards() -> dict[str, str]:
    """The text of every card and of the list of them, by file name."""
    metrics: dict[str, list[str]] = {}
    for name, entry in METRICS.items():
        for key in entry.measures:
            metrics.setdefault(key, []).append(name)
    return {f"{key}.md": _card(key, names) for key, names in metrics.items()} | {"index.md": _index(metrics)}


def _index(metrics: dict[str, list[str]]) -> str:
    text = """# A card for every measure

**Which one?** `biasflow measure` runs all of them. Report each with what is known of it: GEST alone
[followed in all](../trust.md#what-is-calibrated-and-what-is-not) encoders that we calibrated, in agreeing size. For a
fine-tuned classifier take TPR gaps, for your own words [WEAT or SEAT](../howto/words.md).

The tables show whether a measure followed a bias that we planted:

* *Real*: in which of [the calibrated encoders](../findings/calibrated.md) it followed the *dose* of a bias that further
  training planted; in brackets: how many tests of it. A cost should not change.
* *Artificial*: the smallest dose that it tells from none in [the study of planted bias](../findings/planted.md); one
  for each row of the study. *no dose*: not shown to follow.
* *Other words*: whether it detects the full bias in [artificial text of other
  words](../findings/planted.md#other-words).
* –, or no such column: not run. Models that are trained on a task are not calibrated.

This holds for those encoders: [calibrate the measures on yours](../howto/calibrate.md) before you rely on one. In the
evidence of a card are the slopes (change for a dose of 1) with 95 % intervals, and *moves with* names the measures that
change alike when the dose does.

*Made by `make cards` from [these runs](../../scripts/biasflow/data/cards/runs.yaml).*
"""
    for group, title in GROUPS.items():
        rows = [
            (f"[{LABELS[key]}]({key}.md)", METRICS[names[0]].measures[key].meaning, *in_short(key))
            for key, names in metrics.items()
            if METRICS[names[0]].measures[key].group == group
        ]
        table = pd.DataFrame(rows, columns=["measure", "what it measures", "real", "artificial", "other words"])
        table = table.loc[:, (table != NO_TEST).any()]  # not a column in which no measure was tested
        text += f"\n## Measures of {title}\n\n{markdown_table(table.columns, table.itertuples(index=False))}"
    return text


def _card(key: str, names: Sequence[str]) -> str:
    """A card: first what a person who chooses needs, then the evidence, folded."""
    measure = METRICS[names[0]].measures[key]
    page, values = _documented(names[0], key)
    known = dict(card(key))
    variant = "".join(f", `{word}`" for word in (measure.part, measure.variant) if word != "-")
    followed = known.pop("in short").replace("artificial text:", "[artificial text](../findings/planted.md):")
    fields = [
        ("needs", known.pop("needs")),
        ("time", known.pop("price")),
        ("followed a planted bias", followed),
        ("neutral value", f"{measure.neutral:g} (range {values}); {DIRECTIONS[measure.better]} is {_better(measure)}"),
        ("in results", f"`{key}`{variant} of {' or '.join(f'`{one}`' for one in names)}"),
        ("published models", _published(key)),
        *((field, known.pop(field)) for field in ("printed numbers reproduced", "known problems")),
    ]
    what = measure.meaning
    text = f"# {measure.label}\n\n{what[0].upper()}{what[1:].rstrip('.')}.\n\n"
    text += _list(fields)
    compared = ("on artificial", "follows", "share", "with other words")  # all in docs/findings
    if evidence := _list((field, about) for field, about in known.items() if not field.startswith(compared)):
        text += '\n<details markdown="1"><summary>Evidence</summary>\n\n'
        text += f"{evidence}\n</details>\n"
    return f"{text}\n[Definition](../scores/{page}#{names[0]})\n"


def _published(key: str) -> str:
    values = rows_of("published", key)["value"]
    models = f"[{len(values)} model{'s' * (len(values) > 1)}](../findings/published.md)"
    return f"{values.min():.2f} to {values.max():.2f} ({models})" if len(values) else NOT_RUN


def _list(fields: Iterable[tuple[str, str]]) -> str:
    """A line for each field that has something to say."""
    rows = [(field, about) for field, about in fields if not about.startswith((NOT_RUN, NOT_SHOWN, "none known"))]
    return "".join(f"* **{field}**: {' '.join(about.split())}\n" for field, about in rows)


def _documented(name: str, key: str) -> tuple[str, str]:
    """The page of docs/scores that has a metric, and the range of a measure by its row there."""
    for page in sorted((ROOT / "docs/scores").glob("*.md")):
        for metric, text in SECTION.findall(page.read_text(encoding="utf-8")):
            if metric == name:
                row = next(line for line in text.splitlines() if line.startswith("|") and f"**`{key}`**" in line)
                return page.name, row.strip("|").split("|")[2].strip()
    raise LookupError(f"docs/scores has no section `{name}` with a row **`{key}`**")


def _better(measure: Measure) -> str:
    return "better" if measure.group == COST else "less biased"


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
        encoders = pd.read_csv(folder / "encoders.csv")
        weights = encoders.loc[~encoders["encoder"].str.startswith("calibrated-"), "sha256"].item()
        about[name] |= {"tables": list(new), "units": units_of(table), "sha256": weights}
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
