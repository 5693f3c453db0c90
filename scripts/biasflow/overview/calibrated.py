"""What is known of whether a measure follows a bias that is there: the stored results of the study of planted bias, of
the calibrations of real encoders, and of the comparison with printed numbers (data/cards)."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from biasflow.base.files import read_text
from biasflow.base.sample import SUFFIX
from biasflow.base.shipped import shipped
from biasflow.overview.judgements import brief
from biasflow.results.evidence import (
    ALL,
    BY_LABEL,
    COLUMNS,
    DID_NOT,
    IN_ALL,
    IN_SOME,
    KEYS,
    THIS,
    evidence,
    follows,
)
from biasflow.studies.calibrated.values import SEEN, TEXTS

SPREAD = "sd_dose_0"  # of seeds without a planted bias
CARDS = shipped("data/cards")
EMBEDDED = "planted"  # the corpus of encoders that are pre-trained on the embedded language
OF_LANGUAGE = "embedded"  # the kind of such an encoder
SHIPPED = "planted_bert"  # the folder of such an encoder that comes with the package
BY_MEAN = "-mean"  # ends the name of a test of sentences that are pooled so, as their encoder's folder says
LABELS = {name: label for label, name in BY_LABEL.items()}


@cache
def stored(table: str) -> pd.DataFrame:
    """A stored table; its column `card` names the measure of the registry that a row belongs to."""
    return pd.read_csv(CARDS / f"{table}.csv")


def published(measure: str, dataset: str) -> dict[str, float]:
    """Model -> the score of this measure that we computed from what others published for its single items, on the same
    data (both versions of GEST's sentences count as such)."""
    rows = rows_of("published", measure)
    rows = rows[rows["dataset"].str.removesuffix("-paper") == dataset.removesuffix("-paper")]
    return dict(zip(rows["encoder"], rows["value"], strict=True))


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


def kind_of(names: pd.DataFrame, encoders: pd.DataFrame, encoder: str) -> str | None:
    """The kind of an encoder of a run, as calibrations tell kinds apart: "embedded" (pre-trained on the embedded
    language), "head" (any other with a masked-LM head), "" (without one) or None (not listed). names, encoders: the CSV
    files, as texts; an encoder that continues another is of that one's kind."""
    about = names[(names["kind"] == "encoder") & (names["name"] == encoder)].set_index("attribute")["value"]
    if "parent" in about:
        return kind_of(names, encoders, about["parent"]) or _head(encoders, encoder)
    of_language = EMBEDDED in about.get("corpus", "").split() or Path(about.get("path", "")).name == SHIPPED
    return OF_LANGUAGE if of_language else _head(encoders, encoder)


def _head(encoders: pd.DataFrame, encoder: str) -> str | None:
    heads = encoders.loc[encoders["encoder"] == encoder, "masked_lm_head"]
    return None if heads.empty else "head" if heads.isin(["yes", "ours"]).any() else ""


@cache
def stored_evidence() -> pd.DataFrame:
    """`evidence` of the stored calibrations of real encoders."""
    return evidence(stored("calibration"))


def evidence_for(kind: str | None, of_run: pd.DataFrame | None = None) -> pd.DataFrame:
    """What is known of the measures of an encoder of this kind (`kind_of`; None: of no kind that is known), as a table
    of `results.evidence`, for `evidence_of`. of_run: the calibration of this very encoder. It counts alone, unless a
    measure followed in it: then all encoders say whether it does so in agreeing size."""
    if of_run is None and kind is not None:
        return _of_study() if kind == OF_LANGUAGE else stored_evidence()
    if of_run is None or not learnt(of_run):
        return pd.DataFrame(columns=COLUMNS)
    others, own = stored("calibration"), of_run.assign(encoder=of_run.get("encoder", THIS))
    alone, together = evidence(own), evidence(pd.concat([others[~others["encoder"].isin(own["encoder"])], own]))
    followed, is_one = alone.merge(together, on=KEYS, suffixes=("_alone", ""))[COLUMNS], alone["evidence"] == IN_SOME
    alone = alone.assign(own=True, sentence="in this very encoder, which counts alone: " + alone["sentence"])
    return pd.concat([alone[~is_one], followed[is_one.to_numpy()]])


def _of_study() -> pd.DataFrame:
    """What the study of planted bias, or else the held-out world, says of each measure: whether it followed in one of
    its readings. Its encoders were pre-trained apart, so what moves by chance does not move alike in all."""
    study, held_out = stored("planted_calibration"), stored("held_out_calibration")
    rows = pd.concat([study, held_out[~held_out["card"].isin(study["card"])]]).dropna(subset="card")
    followed = rows.assign(followed=follows(rows)).groupby("card", sort=False)["followed"].any()
    found = followed.map({True: IN_ALL, False: DID_NOT})
    said = found + " encoders of artificial text with a known bias"
    table = pd.DataFrame({"evidence": found, "sentence": said, "measure": found.index.map(LABELS)}).reset_index()
    return table.assign(occupations=ALL, against=0, own=False).reindex(columns=COLUMNS)


def calibrated_test(dataset: str) -> str:
    """A dataset as calibrations name its test: whole, and whatever its sentences are pooled by."""
    return dataset.partition(SUFFIX)[0].removesuffix(BY_MEAN)


def moved_by_seeds(measure: str, test: str) -> dict[str, float]:
    """Encoder -> how much another seed moved a measure of the registry on it: the standard deviation of six encoders
    that were trained further without a planted bias. Of encoders that were calibrated with this test; test: the
    dataset, or a sample of it."""
    rows = _of_test(rows_of("calibration", measure), calibrated_test(test)).drop_duplicates("encoder", keep=False)
    return dict(zip(rows["encoder"], rows[SPREAD], strict=True)) if rows[SPREAD].notna().all() else {}


def moved_in_words(measure: str, test: str) -> str:
    """What `moved_by_seeds` says: "by 0.04 (splade-tiny) and by 0.42 (litwiki-bert)"; "" where nothing is known."""
    return " and ".join(f"by {brief(sd)} ({encoder})" for encoder, sd in moved_by_seeds(measure, test).items())


def _of_test(rows: pd.DataFrame, test: str) -> pd.DataFrame:
    """The rows of a calibration for a dataset, where it has several, over all occupations."""
    if "occupations" in rows and (rows["occupations"] == ALL).any():
        rows = rows[rows["occupations"] == ALL]
    of_test = rows["measure"].str.endswith(f"({test})")
    return rows[of_test] if of_test.any() else rows


def learnt(of_run: pd.DataFrame) -> bool:
    """Whether the encoder of a calibration was shown to learn the bias that was planted in its texts; if not, the
    calibration says nothing about measures."""
    return bool(follows(of_run[(of_run["measure"] == TEXTS) & (of_run["occupations"] == SEEN)]).all())


def own_calibrations(
    encoders: pd.DataFrame, of_run: Sequence[str], paths: Sequence[Path | str]
) -> dict[str, pd.DataFrame]:
    """Encoder -> its own calibration: a stored one of the same weights, or the table of this run.

    encoders: encoders.csv, as texts; of_run: those that this run calibrates, whose calibrated_calibration.csv are at
    `paths`."""
    rows, known = stored("calibration"), {about["sha256"]: name for name, about in runs().items() if "sha256" in about}
    same = {row.encoder: known[row.sha256] for row in encoders.itertuples() if row.sha256 in known}
    stored_ones = {encoder: rows[rows["encoder"] == name] for encoder, name in same.items()}
    return stored_ones | dict(zip(of_run, map(pd.read_csv, paths), strict=True))


def units_of(table: pd.DataFrame) -> str:
    """What a calibration compares, in words; table: calibrated_calibration.csv of its run."""
    doses = ", ".join(column.removeprefix("mean_dose_") for column in table if column.startswith("mean_dose_"))
    return f"{table['seeds'].max()} encoders at each of the doses {doses}, trained further with planted bias"
