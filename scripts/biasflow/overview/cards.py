"""The fields of a measure's card that the code and the stored results give: what it needs, whether it followed a bias
that we planted, how much of it is noise, what erasing does to it, and which printed numbers we reproduced."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pandas as pd

from biasflow.overview.calibrated import LABELS, rows_of, runs, smallest_dose, stored, stored_evidence
from biasflow.plan.cells import name_of_head
from biasflow.plan.datasets import DATASETS, kinds_of
from biasflow.registry import ALWAYS, COST, DECISIONS, METRICS, OUTSIDE, READOUTS, TASKS, Measure, Metric
from biasflow.results.evidence import (
    ALL,
    BY_LABEL,
    COULD_NOT_TELL,
    DID_NOT,
    IN_ALL,
    IN_SOME,
    KEYS,
    MEASURES,
    follows,
    label_of,
)
from biasflow.results.statistics import seeds_needed
from biasflow.studies.calibrated.values import GENERAL

NOT_RUN, NOT_SHOWN = "not run: ", "not shown "
_METHODS = {"densray": "DensRay", "hard": "hard debiasing", "leace": "LEACE", "densray-random0": "random"}
_AGREEMENT = "no calibration of it with six seeds is stored; the page of your run has a table of agreement"
_MOST = 1  # others that a card names
_KINDS = {"glue_score": ("glue",)}  # of task, of a measure that not all those of its metric have
_NOT_JUDGED = "the stored study of planted bias has no such row (documents: the study of planted bias)"
_NO_PRICE = "the speed of a BERT-base was not measured for it"
_NO_NUMBERS = (
    "we know no scores of single items from which numbers were printed (documents: numbers that others printed)"
)


def card(key: str) -> list[tuple[str, str]]:
    """(Field, what is known) of a measure of the registry, as plain text. A field without data says that it was not
    run, and why. Of a measure that several metrics have, what the first one needs."""
    entry = next(entry for entry in METRICS.values() if key in entry.measures)
    measure = entry.measures[key]
    return [
        ("in short", _short(key)),
        ("needs", _needs(key)),
        ("price", _price(key)),
        *_on_real(key, measure, entry),
        *_on_embedded(key, measure),
        *_on_held_out(key, measure),
        *_sources(key, measure, entry),
        *_erased(key, measure),
        *_agrees(key),
        *_distinct(key, entry),
        ("printed numbers reproduced", _printed(key)),
        ("known problems", _problems(measure, entry)),
    ]


class InShort(NamedTuple):
    """What a measure followed: in calibrated encoders (its class of `results.evidence`, with the number of tests if
    there are several; of a cost, how many rows changed), from which dose on in encoders of the embedded language, by
    row of the study ("0.25 / no dose"), and whether in the held-out world ("yes"). "–": not run."""

    real: str
    embedded: str
    other_words: str


def in_short(key: str) -> InShort:
    doses = smallest_dose(rows_of("planted_calibration", key))
    held_out = follows(rows_of("held_out_calibration", key))
    return InShort(
        _in_real(key) or "–",
        " / ".join("no dose" if pd.isna(dose) else f"{dose:g}" for dose in doses) or "–",
        " / ".join("yes" if seen else "no" for seen in held_out) or "–",
    )


def _in_real(key: str) -> str:
    """The real encoders in short; "" if it was not tried in any."""
    rows = _whole(rows_of("calibration", key))
    if len(rows) and MEASURES[key].group == COST:
        return f"changed in {follows(rows).sum()} of {len(rows)}"
    counts = _whole(_evidence(key))["evidence"].value_counts()
    counts = counts.reindex([name for name in (IN_ALL, IN_SOME, DID_NOT, COULD_NOT_TELL) if name in counts])
    return ", ".join(f"{name} ({n})" if counts.sum() > 1 else name for name, n in counts.items())


def _short(key: str) -> str:
    real, embedded, other_words = in_short(key)
    if (real, embedded, other_words) == ("–",) * 3:
        return NOT_RUN + "no test with a bias that we planted is stored"
    said = [f"real encoders: {real}"] * (real != "–")
    said += [f"artificial text: smallest dose {embedded.replace('no dose', 'none')}"] * (embedded != "–")
    said += [f"other words: {other_words}"] * (other_words != "–")
    return "; ".join(said)


def _evidence(key: str) -> pd.DataFrame:
    """What the stored calibrations say of the tests of a measure; empty of a cost."""
    table = stored_evidence()
    return table[table["card"] == key]


def _whole(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of all occupations; those of seen and held-out occupations of a measure that has no others."""
    chosen = rows["occupations"] == ALL
    return rows[chosen] if chosen.any() else rows


def _needs(key: str) -> str:
    names = [name for name, entry in METRICS.items() if key in entry.measures]
    entry = METRICS[names[0]]
    if entry.datasets == "planted_occupations":
        return "an encoder of the project's artificial text or of a calibration, where the planted shares are known"
    if entry.datasets == DECISIONS:
        return "a classifier of yours, with texts (a task of kind classification)"
    if entry.datasets not in DATASETS:
        kinds = {name: [kind for kind in kinds_of(name) if kind and kind in _KINDS.get(key, TASKS)] for name in names}
        frozen, trained = (
            dict.fromkeys(kind for name in names if METRICS[name].pretrained == also for kind in kinds[name])
            for also in (True, False)
        )
        said = {"fine-tuned": [kind for kind in trained if kind not in frozen], "fine-tuned or frozen": [*frozen]}
        return "a task of kind " + ", or ".join(f"{' or '.join(of)} ({how})" for how, of in said.items() if of)
    models = " or ".join(["a pre-trained encoder"] * entry.pretrained + ["a fine-tuned model"] * entry.finetuned)
    readout = READOUTS.get(entry.readout)
    if readout and readout.external == readout.module:
        return "files of yours (an external encoder)"
    head = f", with a {name_of_head(readout.head)} head" if readout and readout.head != "none" else ""
    return f"{models}{head}"


def _price(key: str) -> str:
    """The processor time that the untouched encoder of BERT's size takes to read the texts of a measure."""
    rows = rows_of("price", key)
    said = (
        f"{_time(row.tokens / row.tokens_per_second)} on BERT-base (computed: {row.tokens:,} tokens)"
        for row in rows.itertuples()
    )
    return next(said, NOT_RUN + _NO_PRICE)


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} processor minutes" if seconds >= 100 else f"{seconds:.0f} processor seconds"


def _on_real(key: str, measure: Measure, entry: Metric) -> Iterator[tuple[str, str]]:
    """The fields of the calibrations of real encoders."""
    rows = rows_of("calibration", key)
    if rows.empty:
        why = "a calibration measures the encoder itself, and this measures models that are trained on a task"
        if measure.group != OUTSIDE and entry.pretrained:
            why = "the metric is not in the calibrations that are stored; name it under papers.calibrated.metrics"
        yield "on real encoders", NOT_RUN + why
        return
    sentences = _evidence(key).set_index(KEYS)["sentence"]
    for about, of in rows.assign(follows=follows(rows)).groupby(KEYS, sort=False):
        rows_of_test = list(of.itertuples())
        slopes = "; ".join(f"{row.encoder} {_followed(row)}" for row in rows_of_test)
        said = f"{sentences[about]} ({slopes})" if about in sentences else slopes
        yield f"on real encoders{_where(rows_of_test[0])}", said


def _followed(row) -> str:
    if pd.isna(row.slope):
        return "not defined"
    changes = " (it changes)" * (row.follows and row.group == COST)
    return f"{_number(row.slope)}{_interval(row.slope_low, row.slope_high)}{changes}"


def _where(row) -> str:
    """The test and the occupations of a row of a calibration, if there are several: " (C6)", " (occupations seen)"."""
    return _in_brackets([_test(row), "" if row.occupations == ALL else f"occupations {row.occupations}"])


def _test(row) -> str:
    """The test of a measure that has several: "sent-weat6"."""
    return row.measure.partition(" (")[2].rstrip(")") or ("" if row.measure in BY_LABEL else row.measure)


def _shares(row) -> str:
    parts = [(name, getattr(row, f"share_{name}")) for name in ("dose", "seed", "items")]
    known = [(name, f"{share:.2f}") for name, share in parts if pd.notna(share)]
    return " ".join("/".join(words) for words in zip(*known, strict=True)) or "too few seeds"


def _number_of(seeds: int | None) -> str:
    return str(seeds) if seeds else "more than 1,000"


def _on_embedded(key: str, measure: Measure) -> Iterator[tuple[str, str]]:
    """The fields of the study of planted bias."""
    rows = rows_of("planted_calibration", key)
    if rows.empty:
        yield "on artificial text", NOT_RUN + _NOT_JUDGED
    for row in rows.assign(smallest_dose=smallest_dose(rows)).itertuples():
        said = [f"smallest dose {row.smallest_dose:g}" if pd.notna(row.smallest_dose) else "not shown to follow it"]
        if pd.notna(row.spearman):
            said.insert(0, f"rank correlation {row.spearman:.2f}{_interval(row.low, row.high)}, q {row.q:.2g}")
        sd = ((row.sd_bias_0**2 + row.sd_bias_1**2) / 2) ** 0.5
        half_way = abs(row.mean_bias_1 - row.mean_bias_0) / 2
        said += [_shares(row), f"{_number_of(seeds_needed(sd, half_way))} seeds needed"]
        yield f"on artificial text{_of(row, measure)}", "; ".join(said)


def _on_held_out(key: str, measure: Measure) -> Iterator[tuple[str, str]]:
    """The fields of the world of other words, which tests what the study of planted bias shows."""
    rows = rows_of("held_out_calibration", key)
    for row in rows.assign(follows=follows(rows)).itertuples():
        ends = f"{_number(row.mean_bias_0)} without bias, {_number(row.mean_bias_1)} with the full bias"
        tested = f"{'yes' if row.follows else 'no'} ({ends}; exact p {row.p_full:.2g})"
        yield f"with other words{_of(row, measure)}: sees the full bias?", tested


def _sources(key: str, measure: Measure, entry: Metric) -> Iterator[tuple[str, str]]:
    """Whether it follows the bias of the pre-training text or of the task's data."""
    rows = rows_of("planted_two_by_two", key)
    if rows.empty:
        why = "it measures encoders that are not fine-tuned, so there is no task to follow"
        yield "follows pre-training or task", NOT_RUN + ("the study has no value of it" if entry.finetuned else why)
    for row in rows.itertuples():
        effects = []
        for column, name in (("pretraining", "pre-training"), ("task", "task")):
            effect, *ends = (getattr(row, f"{column}_{part}") for part in ("effect", "low", "high"))
            effects.append(f"{name} {_number(effect)}{_interval(*ends)}")
        yield f"follows{_of(row, measure)}", f"{row.follows} (effects: {', '.join(effects)})"


def _erased(key: str, measure: Measure) -> Iterator[tuple[str, str]]:
    """Which share of the way to models that were never biased each method goes."""
    rows = rows_of("planted_erased", key).dropna(subset="closed")
    if rows.empty:
        yield "what erasing does", NOT_RUN + "in the study of planted bias it followed no bias, or was not judged"
    for _, of in rows.groupby("measure", sort=False):
        shares = [
            f"{_METHODS[row.method]} {_number(row.closed)}{_interval(row.low, row.high)}" for row in of.itertuples()
        ]
        yield f"share of the planted bias that erasing undoes{_of(of.iloc[0], measure)}", "; ".join(shares)


def _of(row, measure: Measure) -> str:
    """Of which task and reading a row is: " (planted shares, occupation)"."""
    return _in_brackets(part.strip() for part in re.split("[(),]", row.measure.removeprefix(measure.label)))


def _in_brackets(parts: Iterable[str]) -> str:
    more = ", ".join(filter(None, parts))
    return f" ({more})" if more else ""


def _agrees(key: str) -> Iterator[tuple[str, str]]:
    """With which other measures it moves when the dose of bias in a real encoder changes."""
    judged = rows_of("calibration", key)["encoder"].unique()
    asked = [name for name, about in runs().items() if name in judged and "calibration_agreement" in about["tables"]]
    if not asked:
        yield "agrees with", NOT_RUN + _AGREEMENT
    rows = rows_of("calibration_agreement", key).sort_values("spearman", key=abs, ascending=False, kind="stable")
    rows = rows[rows["other"].map(label_of) != LABELS[key]]  # not another test of the same measure
    for encoder in asked:
        claims = [
            f"{_test(row)}{': ' * bool(_test(row))}{row.other} {row.spearman:.2f}{_interval(row.low, row.high)}"
            for row in rows[rows["encoder"] == encoder].itertuples()
        ]
        more = [f"{len(claims) - _MOST} more"] if len(claims) > _MOST else []
        said = "; ".join([*claims[:_MOST], *more]) or f"{NOT_SHOWN}with another measure"
        yield f"moves with, on {encoder}", said


def _distinct(key: str, entry: Metric) -> Iterator[tuple[str, str]]:
    """Whether what moves the measure is the planted bias alone: a dose also changes which gender is preferred whatever
    the occupation is."""
    rows = stored("calibration")
    rows = rows[(rows["measure"] == GENERAL) & (rows["slope_low"] * rows["slope_high"] > 0)]
    if entry.readout in READOUTS and READOUTS[entry.readout].head == "masked_lm" and len(rows_of("calibration", key)):
        moved = ", ".join(f"{_number(row.slope)} nats in {row.encoder}" for row in rows.itertuples())
        yield "tells bias from preference", f"not known: a dose moves the preference for one pronoun, too ({moved})"


def _printed(key: str) -> str:
    rows = rows_of("conformance", key).fillna("").itertuples()
    said = [f"{row.reproduced:,} of {row.numbers:,} of {row.source}{row.cause and f' ({row.cause})'}" for row in rows]
    return "; ".join(said) or NOT_RUN + _NO_NUMBERS


def _problems(measure: Measure, entry: Metric) -> str:
    said = [f"{entry.criticism.rstrip('.')}."] * bool(entry.criticism)
    said += [f"No claim where {beside.why}." for beside in measure.beside if beside.why]
    when = "" if measure.unsigned == ALWAYS else " over seeds"
    unsigned = f"It can lie off neutral without any bias, so a distance from neutral{when} shows nothing."
    said += [unsigned] * bool(measure.unsigned)
    return " ".join(said) or "none known to us"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.095 else f"{value:.2g}"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" [{_number(low)}, {_number(high)}]"
