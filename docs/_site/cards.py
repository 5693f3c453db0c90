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
from reference import GROUPS, ROOT, markdown_table

from biasflow.base.tabular import write_csv
from biasflow.overview.calibrated import CARDS, rows_of, runs, stored, units_of
from biasflow.overview.cards import NOT_RUN, NOT_SHOWN, card, in_short
from biasflow.plan.cells import name_of_head
from biasflow.registry import COST, INSIDE, METRICS, READOUTS, Measure
from biasflow.results.evidence import BY_LABEL, IN_ALL, LEVEL, MEASURES, label_of
from biasflow.studies.planted.plan import BESIDE

FOLDER = ROOT / "docs/measures"
NO_TEST = "–"  # in the list of measures
BESIDE_EACH_OTHER = {  # metric -> the one on whose card it stands
    "log_odds": "occtmp",
    "winogender": "occtmp",
    "seat": "weat",
    "ceat": "weat",
    "kldivs": "sss",
    "jsdivs": "sss",
    "intersentence": "intrasentence",
    "lpbs": "bec_pro",
    "crows_pairs": "sss",
    "prediction_quality": "sss",
    "disco": "bec_pro",
    "nli_fairness": "fairness",
    "accuracy": "perplexity",
    "given_rankings": "people_search",
    "probe_mlp": "compression",
    "adversary": "compression",
    "probe_families": "compression",
    "word_families": "compression",
    "pseudo_perplexity": "perplexity",
    "similarity": "perplexity",
    "coreference": "winobias",
    "retrieval_questions": "retrieval",
}
TITLES = {  # of cards with many metrics
    "compression": "how much gender probes find",
    "fairness": "gaps between genders, NLI Fairness",
    "people_search": "searches for people, and given ranked lists",
    "perplexity": "perplexity, similarity kept, accuracy",
    "retrieval": "retrieval of documents",
    "sss": "CrowS-Pairs and other pairs of sentences",
}
COLUMNS = (  # of the table of a card
    "measure",
    "[real encoders](index.md)",
    "[smallest dose, artificial text](../findings/planted.md)",
    "[published models](../conformance.md#how-published-models-score)",
)
AGREEMENT = "calibration_agreement"  # the pairs of measures that are shown to agree, each from both sides


def cards() -> dict[str, str]:
    """The text of every card and of the list of them, by file name."""
    sections: dict[str, list[str]] = {}
    for name, entry in METRICS.items():
        first = {key for others in sections.values() for other in others for key in METRICS[other].measures}
        if {*entry.measures} - first:
            sections.setdefault(BESIDE_EACH_OTHER.get(name, name), []).append(name)
    return {f"{card}.md": _card(names) for card, names in sections.items()} | {"index.md": _index(sections)}


def titles() -> dict[str, str]:
    """The file of every card -> its title."""
    return {file: text.partition("\n")[0].removeprefix("# ") for file, text in cards().items() if file != "index.md"}


def _measures(names: Iterable[str]) -> dict[str, Measure]:
    """The measures of a card: each stands on that of the first metric that has it."""
    first = {key: name for name in reversed(METRICS) for key in METRICS[name].measures}
    return {key: METRICS[name].measures[key] for name in names for key in METRICS[name].measures if first[key] == name}


def _index(sections: dict[str, list[str]]) -> str:
    green = [one.label for key, one in MEASURES.items() if in_short(key).real == IN_ALL]
    text = f"""# A card for every measure

This page helps you choose a measure. A card says what measures mean and need, whether they followed a bias that we
planted, and what is known against them.

| your model | report first | in real encoders, with a planted bias |
|---|---|---|
| has a masked-LM head that is not weak | {", ".join(green)} | rose by similar amounts, but all had weak heads |
| has no such head, or a weak one | [SEAT 6](weat.md) (`sent-weat6`) | rose by different amounts |
| searches (a sentence encoder) | [retrieval gap](retrieval.md) | rose in the one that was tried |
| classifies | [flips](flips.md) and the [TPR gap of each label](../scores/models.md#flips) | not tried |

[What is calibrated](../trust.md#what-is-calibrated-and-what-is-not) says what was tried, and how. A
[weak head](../concepts/words.md#words-for-results) is no evidence.

* *Real encoders* on a card: the class of the measure (and how many of its tests have it).
* *Smallest dose*: the share of the full bias from which on the measure differed from an encoder without bias; of
  several tasks or readings divided by /.

*Made by `make cards` from [these runs](../../scripts/biasflow/data/cards/runs.yaml).*
"""
    for group, title in GROUPS.items():
        lines = ""
        for file, names in sections.items():
            measures = {key: one for key, one in _measures(names).items() if one.group == group}
            if measures:
                label = _names(measures) if len(measures) <= 4 else _title(names)
                lines += f"* [{label}]({file}.md){_reads(measures)}\n"
        text += f"\n## Measures of {title}\n\n{lines}"
    return text


def _reads(measures: dict[str, Measure]) -> str:
    """What the readouts of measures read, to stand behind their names: " (masked-LM head)"; "" if nothing special."""
    readouts = dict.fromkeys(METRICS[name].readout for key in measures for name in _metrics_of(key)[:1])
    heads = dict.fromkeys(READOUTS[name].head for name in readouts if name in READOUTS)
    said = [f"{name_of_head(head)} head" for head in heads if head != "none"]
    given = any(READOUTS[name].external == READOUTS[name].module for name in readouts if name in READOUTS)
    said = said or ["vectors"] * ({one.group for one in measures.values()} == {INSIDE} and not given)
    return f" ({' or '.join(said)})" if said else ""


def _names(measures: dict[str, Measure]) -> str:
    return ", ".join(measure.label for measure in measures.values())


def _card(names: Sequence[str]) -> str:
    """A card: what a person who chooses needs of a metric and of its variants."""
    measures = _measures(names)
    known = {key: dict(card(key)) for key in measures}

    def of_all(field: str) -> str:
        """A field of every measure of which it is known; once where all have the same, by metric where it differs by
        metric alone."""
        said = {measures[key].label: _known(fields[field]) for key, fields in known.items() if field in fields}
        of_metrics = {f"`{name}`": {said[one.label] for one in _measures([name]).values()} for name in names}
        if len(said) > 4 and all(len(those) == 1 for those in of_metrics.values()):
            said = {name: those.pop() for name, those in of_metrics.items()}
        return "; ".join(_shared(said))

    title = _title(names)
    text = f"# {title[0].upper()}{title[1:]}\n\n"
    for key, measure in measures.items():
        text += f"* **{measure.label}** ({_in_results(key)}): {measure.meaning.rstrip('.')}\n"
    text += f"\n{_evidence(measures)}"
    fields = {
        "needs": of_all("needs"),
        "processor time on BERT-base": re.sub(r" processor| on BERT-base \(computed[^)]*\)", "", of_all("price")),
        "known problems": " ".join(_problems({measures[key].label: fields for key, fields in known.items()})),
    }
    text += "".join(f"* **{field}**: {' '.join(about.split())}\n" for field, about in fields.items() if about)
    return f"{text}\nDefinition: {', '.join(map(_definition, names))}\n"


def _title(names: Sequence[str]) -> str:
    """What the metrics of a card are called together: their measures, if these are few."""
    measures = _measures(names)
    if title := next((title for card, title in TITLES.items() if card in names), None):
        return title
    if len(measures) <= 3:
        return _names(measures)
    labels = [METRICS[name].label for name in names]
    return ", ".join([labels[0], *(label for label in labels[1:] if not label.startswith(labels[0]))])


def _evidence(measures: dict[str, Measure]) -> str:
    """The table of a card: what planted biases and published models showed; measures of which it says the same share a
    row, and what nothing is known of has neither row nor column. "" of measures that were never tested."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for key, measure in measures.items():
        short = in_short(key)
        followed = (short.real, short.embedded) if measure.group != COST else (NO_TEST, NO_TEST)  # it follows no bias
        labels.setdefault((*followed, _published(key)), []).append(measure.label)
    rows = [(", ".join(names), *cells) for cells, names in labels.items() if {*cells} != {NO_TEST}]
    table = pd.DataFrame(rows, columns=COLUMNS).loc[:, lambda table: (table != NO_TEST).any()]
    return f"{markdown_table(table.columns, table.itertuples(index=False))}\n" if rows else ""


def _known(about: str) -> str:
    return "" if about.startswith((NOT_RUN, NOT_SHOWN, "none known")) else about


def _shared(said: dict[str, str]) -> list[str]:
    """What is said of each name, with the names in front, once of those that share it; without names if all do."""
    names: dict[str, list[str]] = {}
    for name, about in said.items():
        names.setdefault(about, []).append(name)
    return [
        about if len(names) == 1 else f"{', '.join(those)}: {about[0].lower()}{about[1:]}"
        for about, those in names.items()
        if about
    ]


def _problems(known: dict[str, dict[str, str]]) -> list[str]:
    """Every sentence of the known problems once. Those that begin with the name of a test need no other name."""
    sentences = {
        name: [
            sentence.partition(", so a distance")[0].removesuffix(".") + "."
            for sentence in re.split(r"(?<=[.])\s+(?=[A-Z])", _known(fields["known problems"]))
            if sentence and not sentence.startswith("No claim where")  # docs/scores says it
        ]
        for name, fields in known.items()
    }
    tests: dict[str, list[str]] = {}  # sentence -> of which tests it says so
    for sentence in dict.fromkeys(sentence for those in sentences.values() for sentence in those):
        test, about = re.match(r"(?:([\w -]{1,20}): )?(.*)", sentence).groups()
        if test or sentence.startswith(tuple(known)):
            tests.setdefault(about, []).extend([test] * bool(test))
        else:
            shared = _shared({name: sentence if sentence in those else "" for name, those in sentences.items()})
            tests |= {line: [] for line in shared}
    return [f"{', '.join(names)}{': ' * bool(names)}{about}" for about, names in tests.items()]


def _metrics_of(key: str) -> list[str]:
    return [name for name, entry in METRICS.items() if key in entry.measures]


def _in_results(key: str) -> str:
    """The name of a measure in scores.csv, and the metrics that have it, if they are called otherwise."""
    metrics = [f"`{name}`" for name in _metrics_of(key)]
    return f"`{key}`" if metrics == [f"`{key}`"] else f"`{key}` of {' or '.join(metrics)}"


def _published(key: str) -> str:
    values = rows_of("published", key)["value"]
    if values.empty:
        return NO_TEST
    ends = dict.fromkeys(f"{value:.2f}" for value in (values.min(), values.max()))
    return f"{' to '.join(ends)} ({len(values)} model{'s' * (len(values) > 1)})"


def _definition(name: str) -> str:
    """A link to the section of docs/scores that defines a metric."""
    for page in sorted((ROOT / "docs/scores").glob("*.md")):
        if f"\n## `{name}`\n" in page.read_text(encoding="utf-8"):
            return f"[{name}](../scores/{page.name}#{name})"
    raise LookupError(f"docs/scores has no section `{name}`")


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
