"""What is known of whether a measure follows a bias that is there: the stored results of the study of planted bias, of
the calibrations of real encoders, and of the comparison with printed numbers (data/cards)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from biasflow.base.files import read_text
from biasflow.base.shipped import shipped
from biasflow.papers.calibrated.values import ALL, SEEN, TEXTS
from biasflow.papers.judge import follows
from biasflow.registry import METRICS

CARDS = shipped("data/cards")
EMBEDDED = "planted"  # the corpus of encoders that are pre-trained on the embedded language
BY_LABEL = {measure.label: name for entry in METRICS.values() for name, measure in entry.measures.items()}
LABELS = {name: label for label, name in BY_LABEL.items()}


def label_of(name: str, labels: Iterable[str] = BY_LABEL) -> str | None:
    """The label of the measure to which a row of a calibration belongs: the longest one that the row's name begins
    with, as "LPBS (absolute)" is a measure and "SEAT (sent-weat6)" a test of one; None if there is none."""
    return max((label for label in labels if name == label or name.startswith(f"{label} (")), key=len, default=None)


@cache
def stored(table: str) -> pd.DataFrame:
    """A stored table; its column `card` names the measure of the registry that a row belongs to."""
    return pd.read_csv(CARDS / f"{table}.csv")


@cache
def runs() -> dict[str, dict[str, str]]:
    """Name of a run -> what it was: kind, tables, config, commit, date, units."""
    return yaml.safe_load(read_text(CARDS / "runs.yaml"))


def rows_of(table: str, card: str) -> pd.DataFrame:
    """The rows of a stored table that belong to a measure."""
    rows = stored(table)
    return rows[rows["card"] == card]


def smallest_dose(rows: pd.DataFrame) -> pd.Series:
    """The smallest dose that each row of a calibration tells from none; NaN for a row that does not follow the dose,
    which may differ at one dose by chance."""
    return rows["smallest_dose"].where(follows(rows))


def kind_of(names: pd.DataFrame, encoders: pd.DataFrame, encoder: str) -> str:
    """The kind of an encoder of a run, as calibrations tell kinds apart: "embedded" (pre-trained on the embedded
    language), "head" (any other with a masked-LM head) or "" (without one). names, encoders: the CSV files, as texts;
    an encoder that continues another is of that one's kind."""
    about = names[(names["kind"] == "encoder") & (names["name"] == encoder)].set_index("attribute")["value"]
    if "parent" in about:
        return kind_of(names, encoders, about["parent"]) or _head(encoders, encoder)
    return "embedded" if EMBEDDED in about.get("corpus", "").split() else _head(encoders, encoder)


def _head(encoders: pd.DataFrame, encoder: str) -> str:
    heads = encoders.loc[encoders["encoder"] == encoder, "masked_lm_head"]
    return "head" if heads.isin(["yes", "ours"]).any() else ""


def in_short(labels: Iterable[str], kind: str) -> list[str]:
    """Which measures of bias followed a planted dose on this kind of encoder, which did not, and which were never
    calibrated on it: a line each, after a line that says what was done. labels: of the measures of a run; kind: of
    `kind_of`."""
    cards = {label: BY_LABEL[label] for label in labels if label in BY_LABEL}
    lines = _lines({label: _verdict(card, kind) for label, card in cards.items()})
    calibrated = kind == "head" and stored("calibration")["card"].isin(cards.values()).any()
    return [_real_encoders(), *lines] if calibrated else lines


def calibrations_of_run(encoders: Sequence[str], paths: Sequence[Path | str]) -> dict[str, pd.DataFrame]:
    """Encoder -> the table of its calibration in this run (calibrated_calibration.csv)."""
    return dict(zip(encoders, map(pd.read_csv, paths), strict=True))


def in_short_of_run(labels: Iterable[str], table: pd.DataFrame) -> list[str]:
    """The same of an encoder that the run itself calibrates. table: calibrated_calibration.csv of the run."""
    texts = table[(table["measure"] == TEXTS) & (table["occupations"] == SEEN)]
    if not follows(texts).all():
        return [
            "The calibration of this run says nothing about the measures: the encoder was not shown to learn the bias "
            "that was planted in its texts. Raise learning_rate or examples under papers.calibrated "
            "(docs/howto/calibrate.md)."
        ]
    whole, verdicts = table[table["occupations"] == ALL], {}
    for label in labels:
        seen = follows(whole[whole["measure"].map(label_of) == label])
        said = "Followed it" if seen.all() else "Followed it in some tests" if seen.any() else "Not shown to follow it"
        verdicts[label] = said if len(seen) else "Never tested with a planted bias in this run"
    return [f"This run planted a known bias in this encoder ({units_of(table)}).", *_lines(verdicts)]


def units_of(table: pd.DataFrame) -> str:
    """What a calibration compares, in words; table: calibrated_calibration.csv of its run."""
    doses = ", ".join(column.removeprefix("mean_dose_") for column in table if column.startswith("mean_dose_"))
    return f"{table['seeds'].max()} encoders at each of the doses {doses}, trained further on real biographies"


def _lines(verdicts: Mapping[str, str]) -> list[str]:
    """A line for each verdict, with its measures; those that were never tested last. verdicts: label -> verdict."""
    lines = [
        f"{said}: {', '.join(label for label, other in verdicts.items() if other == said)}."
        for said in dict.fromkeys(verdicts.values())
    ]
    return sorted(lines, key=lambda line: line.startswith("Never tested"))


def _verdict(card: str, kind: str) -> str:
    """What a calibration of this kind says of a measure, in words."""
    if kind == "embedded":
        for table, where in (("planted", "the embedded language"), ("held_out", "the held-out world")):
            seen = follows(rows_of(f"{table}_calibration", card))
            if len(seen):
                some = "" if seen.all() or not seen.any() else " (some of its readings)"
                said = "Followed" if seen.any() else "Not shown to follow"
                return f"{said} the known bias that we planted in encoders of {where}{some}"
    if kind == "head":
        rows = rows_of("calibration", card)
        whole = rows["occupations"] == ALL
        rows = rows[whole] if whole.any() else rows
        if len(rows):
            by_encoder = follows(rows).groupby(rows["encoder"]).mean()
            whole, part = (
                list(by_encoder.index[chosen]) for chosen in (by_encoder == 1, by_encoder.between(0, 1, "neither"))
            )
            others = [name for name in by_encoder.index if name not in whole + part]
            if not whole and not part:
                return f"Not shown to follow it in {' or '.join(others)}"
            where = " and ".join([*whole, *(f"{name} (some tests)" for name in part)])
            return f"Followed it in {where}" + (f", not shown to in {' or '.join(others)}" if others else "")
    return f"Never tested with a planted bias in {KINDS[kind]}"


def _real_encoders() -> str:
    """What the stored calibrations of real encoders compared, in a sentence."""
    names = list(stored("calibration")["encoder"].unique())
    units = "; ".join(dict.fromkeys(runs()[name]["units"] for name in names))
    return f"We planted a known bias in {' and '.join(names)} ({'each: ' if len(names) > 1 else ''}{units})."


KINDS = {
    "embedded": "encoders of the embedded language",
    "head": "a real encoder with a masked-LM head",
    "": "an encoder without a masked-LM head",
}
