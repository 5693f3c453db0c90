"""The cards of all measures, from the registry, the docstrings, docs/scores and the stored results (data/cards of the
package).

    python docs/_site/cards.py                  writes docs/measures (`make cards`)
    python docs/_site/cards.py RUN CONFIG NAME  stores the tables of a finished run (its folder) of the planted study or
                                                of a calibration of the encoder NAME, for the cards
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import yaml
from reference import DIRECTIONS, GROUPS, ROOT, markdown_table

from biasflow.base.code import module_file
from biasflow.base.provenance import git_commit
from biasflow.base.tabular import write_csv
from biasflow.overview.calibrated import ALL, BY_LABEL, CARDS, LABELS, follows, rows_of, runs, stored
from biasflow.papers.planted.measures import BESIDE
from biasflow.plan.cells import name_of_head
from biasflow.registry import ALWAYS, COST, METRICS, OUTSIDE, READOUTS, Measure, Metric, module_of
from biasflow.results.meanings import meanings
from biasflow.results.statistics import seeds_needed

FOLDER = ROOT / "docs/measures"
NOT_RUN = "not run: "
SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SOURCE = re.compile(r"\bSources?(?: of [\w ]+)?: (.+?)(?=\s+Modules?\b|\n\n|\Z)", re.DOTALL)
METHODS = {"densray": "DensRay", "hard": "hard debiasing", "leace": "LEACE", "random": "random directions"}
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

* *Real*: in how many tests it followed a dose of bias that further training planted in real encoders.
* *Embedded*: the smallest dose that it saw in [the study of planted bias](../findings/planted.md), where encoders are
  pre-trained on artificial text; of several rows, one number each.
* –: not run. The card says why.

{MADE}
"""
    for group, title in GROUPS.items():
        rows = [
            (f"[{LABELS[key]}]({key}.md)", meanings("measures")[key], _real_in_short(key), _embedded_in_short(key))
            for key, names in metrics.items()
            if METRICS[names[0]].measures[key].group == group
        ]
        header = ("measure", "what it measures", "real", "embedded")
        text += f"\n## Measures of {title}\n\n{markdown_table(header, rows)}"
    rows = [
        (name, *(str(about[key]) for key in ("config", "commit", "date", "units"))) for name, about in runs().items()
    ]
    return f"{text}\n## The runs\n\n{markdown_table(('run', 'configuration', 'commit', 'date', 'units'), rows)}"


def _real_in_short(key: str) -> str:
    rows = rows_of("calibration", key)
    rows = rows[rows["occupations"] == ALL]
    return f"{follows(rows).sum()} of {len(rows)}" if len(rows) else "–"


def _embedded_in_short(key: str) -> str:
    doses = rows_of("planted_calibration", key)["smallest_dose"]
    return " / ".join("none" if pd.isna(dose) else f"{dose:g}" for dose in doses) or "–"


def _card(key: str, names: Sequence[str]) -> str:
    """A card; of a measure that several metrics have, definition and data are those of the first."""
    name, entry = names[0], METRICS[names[0]]
    measure = entry.measures[key]
    text, row = _documented(name, key)
    docstring = module_file(module_of(entry), ROOT).read_text(encoding="utf-8").split('"""')[1]
    source = (SOURCE.search(docstring) or SOURCE.search(text) or [None, "none: it is ours"])[1]
    variant = ", ".join(f"`{word}`" for word in (measure.part, measure.variant) if word != "-")
    shown = f"; in tables and here its part or variant {variant}" if variant else ""
    fields = [
        ("definition", f"{_line(docstring.split(chr(10) * 2)[0])} This measure: {row[1]}"),
        ("source", source),
        ("data", re.split(r" Sources?: | Modules? ", _line(text.split("\n\n")[0]))[0]),
        ("range, neutral value", f"{row[2]}; {measure.neutral:g}; {DIRECTIONS[measure.better]} is {_better(measure)}"),
        ("needs", _needs(entry)),
        ("name in results", f"`{key}` of the metric {' or '.join(f'`{one}`' for one in names)}{shown}"),
        *_on_real(key, measure, entry),
        *_on_embedded(key, measure, entry),
        (
            "agrees with",
            NOT_RUN
            + "that takes six encoders or six seeds under several methods; see `tables/agreement.html` of your run",
        ),
        ("printed numbers reproduced", _printed(key)),
        ("known problems", _problems(measure, entry)),
    ]
    fields_table = markdown_table(("field", "what is known"), ((field, _line(about)) for field, about in fields))
    what = meanings("measures")[key]
    first = f"# {measure.label}\n\n{what[0].upper()}{what[1:].rstrip('.')}.\n\n"
    return f"{first}{fields_table}\n[All cards](index.md). {MADE}\n"


def _documented(name: str, key: str) -> tuple[str, list[str]]:
    """The section of a metric in docs/scores, and the cells of the row of a measure there."""
    for page in sorted((ROOT / "docs/scores").glob("*.md")):
        for metric, text in SECTION.findall(page.read_text(encoding="utf-8")):
            if metric == name:
                row = next(line for line in text.splitlines() if line.startswith("|") and f"**`{key}`**" in line)
                return text.strip(), [cell.strip() for cell in row.strip("|").split("|")]
    raise LookupError(f"docs/scores has no section `{name}` with a row **`{key}`**")


def _better(measure: Measure) -> str:
    return "better" if measure.group == COST else "less biased"


def _needs(entry: Metric) -> str:
    models = " or ".join(
        ["an encoder as it was pre-trained"] * entry.pretrained + ["a fine-tuned model"] * entry.finetuned
    )
    readout = READOUTS.get(entry.readout)
    head = f", with a {name_of_head(readout.head)} head" if readout and readout.head != "none" else ""
    return f"{models}{head}"


def _on_real(key: str, measure: Measure, entry: Metric) -> Iterator[tuple[str, str]]:
    """The fields of the calibrations of real encoders."""
    rows = rows_of("calibration", key)
    if rows.empty:
        why = "a calibration measures the encoder itself, and this measures models that are trained on a task"
        if measure.group != OUTSIDE and entry.pretrained:
            why = "the metric is not in the calibrations that are stored; name it under `papers.calibrated.metrics`"
        yield "**on real encoders**", NOT_RUN + why
        return
    for encoder, of in rows.groupby("encoder", sort=False):
        said = [_followed(row) for row in of.assign(follows=follows(of)).itertuples()]
        yield f"**on {encoder}**: follows a planted dose?", "; ".join(said)
        whole = of[of["occupations"] == ALL] if (of["occupations"] == ALL).any() else of
        yield f"reliability on {encoder}", "; ".join(_shares(row) for row in whole.itertuples())
        yield f"power on {encoder}", "; ".join(_power_real(row) for row in whole.itertuples())


def _followed(row) -> str:
    what = row.measure.partition(" (")[2].rstrip(")") or ("" if row.measure in BY_LABEL else row.measure)
    where = ", ".join(filter(None, [what, "" if row.occupations == ALL else f"occupations {row.occupations}"]))
    where = f"{where}: " if where else ""
    if pd.isna(row.spearman):
        return f"{where}not defined"
    smallest = f"smallest dose {row.smallest_dose:g}" if pd.notna(row.smallest_dose) else "no smallest dose"
    slope = f"slope {_number(row.slope)}{_interval(row.slope_low, row.slope_high)}"
    evidence = f"rank correlation {row.spearman:.2f}, q {row.q:.2g}; {slope}; {smallest}"
    return f"{where}{'**yes**' if row.follows else 'no'} ({evidence})"


def _shares(row) -> str:
    what = row.measure.partition(" (")[2].rstrip(")")
    parts = [
        f"{name} {share:.2f}" for name in ("dose", "seed", "items") if pd.notna(share := getattr(row, f"share_{name}"))
    ]
    return (f"{what}: " if what else "") + (", ".join(parts) or "too few seeds")


def _power_real(row) -> str:
    what = row.measure.partition(" (")[2].rstrip(")")
    sds = pd.Series([value for name, value in row._asdict().items() if name.startswith("sd_dose_")]).dropna()
    return (f"{what}: " if what else "") + _seeds((sds**2).mean() ** 0.5, abs(row.slope), "dose 1 from dose 0")


def _seeds(sd: float, difference: float, which: str) -> str:
    needed = seeds_needed(sd, difference)
    return f"{needed or 'more than 1,000'} seeds in each group to tell {which} (t test, 80 % power)"


def _on_embedded(key: str, measure: Measure, entry: Metric) -> Iterator[tuple[str, str]]:
    """The fields of the study of planted bias."""
    rows = rows_of("planted_calibration", key)
    if rows.empty:
        yield (
            "**on planted encoders**",
            NOT_RUN + "the planted study does not judge it ([why](../findings/planted.md#what-is-not-judged))",
        )
    for row in rows.itertuples():
        r = (
            f"rank correlation {row.spearman:.2f}{_interval(row.low, row.high)}"
            if pd.notna(row.spearman)
            else "no correlation"
        )
        smallest = (
            f"smallest dose {row.smallest_dose:g}" if pd.notna(row.smallest_dose) else "the full bias is not seen"
        )
        sd = ((row.sd_bias_0**2 + row.sd_bias_1**2) / 2) ** 0.5
        power = _seeds(sd, abs(row.mean_bias_1 - row.mean_bias_0) / 2, "half of the full bias from none")
        yield (
            f"**on planted encoders**{_of(row, measure)}",
            f"{r}; {smallest}; variance: {_shares(row).split(': ')[-1]}; {power}",
        )
    for row in rows_of("planted_two_by_two", key).itertuples():
        effects = []
        for column, name in (("pretraining", "pre-training"), ("task", "task")):
            effect, *ends = (getattr(row, f"{column}_{part}") for part in ("effect", "low", "high"))
            effects.append(f"{name} {_number(effect)}{_interval(*ends)}")
        yield f"follows{_of(row, measure)}", f"**{row.follows}** (effects: {', '.join(effects)})"
    if rows_of("planted_two_by_two", key).empty:
        why = (
            "the study has no value of it"
            if entry.finetuned
            else "it measures encoders that are not fine-tuned, so there is no task to follow"
        )
        yield "follows pre-training or task", NOT_RUN + why
    erased = rows_of("planted_erased", key)
    for _, of in erased.groupby("measure", sort=False):
        shares = (
            f"{METHODS[row.method]} {_number(row.closed)}{_interval(row.low, row.high)}" for row in of.itertuples()
        )
        yield f"erasing{_of(next(of.itertuples()), measure)}: share of the way to never biased", "; ".join(shares)
    if erased.empty:
        yield "what erasing does", NOT_RUN + "there is no planted bias that it was seen to follow"


def _of(row, measure: Measure) -> str:
    more = row.measure.removeprefix(measure.label).lstrip(" ,")
    return f" {more if more.startswith('(') else f'({more})'}" if more else ""


def _printed(key: str) -> str:
    rows = rows_of("conformance", key).itertuples()
    said = [
        f"{row.reproduced:,} of {row.numbers:,} of {row.source}" + (f"; {row.cause}" if pd.notna(row.cause) else "")
        for row in rows
    ]
    return "; ".join(said) or NOT_RUN + "we know no item scores with printed numbers ([conformance](../conformance.md))"


def _problems(measure: Measure, entry: Metric) -> str:
    said = [f"{entry.criticism.rstrip('.')}."] * bool(entry.criticism)
    said += [f"No claim where {one.why}." for one in measure.beside if one.why]
    when = "" if measure.unsigned == ALWAYS else " over seeds"
    said += [f"It lies off neutral for every model, so a distance from neutral{when} shows nothing."] * bool(
        measure.unsigned
    )
    return " ".join(said) or "none known to us"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.095 else f"{value:.2g}"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" [{_number(low)}, {_number(high)}]"


def _line(text: str) -> str:
    return " ".join(text.split())


def card_of(name: str) -> str | None:
    """The measure of the registry to which a row of a run's table belongs: the longest label that its name begins with;
    None for a score that belongs to none."""
    beside = {
        one.label: score if score in BY_LABEL.values() else next(iter(METRICS[metric].measures), None)
        for metric, score, one in BESIDE
    }
    fits = [label for label in BY_LABEL | beside if name == label or name.startswith(f"{label} (")]
    return (beside | BY_LABEL)[max(fits, key=len)] if fits else None


def store(folder: Path, config: str, name: str) -> None:
    """Store the tables of a finished run: of the planted study, or the calibration of the encoder `name`."""
    about = runs() | {
        name: {
            "config": config,
            "commit": git_commit()[:7],
            "date": str(pd.Timestamp((folder / "index.html").stat().st_mtime, unit="s").date()),
        }
    }
    if (path := folder / "tables/calibrated_calibration.csv").exists():
        table = pd.read_csv(path)
        table.insert(0, "encoder", name)
        others = stored("calibration")
        new = {"calibration": pd.concat([others[others["encoder"] != name], _with_cards(table)], ignore_index=True)}
        about[name] |= {
            "tables": ["calibration"],
            "units": "three encoders at each of five doses, trained further on real biographies",
        }
    else:
        new = {table: _with_cards(pd.read_csv(folder / f"tables/{table}.csv")) for table in runs()[name]["tables"]}
        about[name] = runs()[name] | about[name]
    for table, rows in new.items():
        write_csv(rows, CARDS / f"{table}.csv")
    text = (CARDS / "runs.yaml").read_text(encoding="utf-8").splitlines()[0]
    (CARDS / "runs.yaml").write_text(f"{text}\n{yaml.safe_dump(about, sort_keys=False, width=120)}", encoding="utf-8")


def _with_cards(table: pd.DataFrame) -> pd.DataFrame:
    table = table.drop(columns="card", errors="ignore")
    table.insert(0, "card", table["measure"].map(card_of))
    return table.dropna(subset="card")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        store(Path(sys.argv[1]), *sys.argv[2:])
    else:
        FOLDER.mkdir(exist_ok=True)
        for file in FOLDER.glob("*.md"):
            file.unlink()
        for file, text in cards().items():
            (FOLDER / file).write_text(text, encoding="utf-8")
