"""The ledger of printed numbers whose items are published: each beside what our formulas make of the same items.

A number is compared where the run reads the very file of scores that it was printed from, by the sha256 of the
catalogue: nothing else is asked, and so no result decides what is compared."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from biasflow.base.shipped import shipped
from biasflow.papers.frames import NOT_ASKED
from biasflow.papers.ledger import COLUMNS, OFF, decimals_of, judge
from biasflow.results.rounding import rounded

SOURCES = shipped("papers/items/sources.yaml")
PUBLISHED = shipped("papers/items/published")
KEYS = ["encoder", "dataset", "metric", "part", "variant"]
ENDS = {"printed": "value", "low": "low", "high": "high"}  # column of a printed number -> of ours
UNITS = {"1": "", "100": "percent"}  # scale of a printed number -> its unit
DECIMALS = 6  # more are printed by programs that do not round: scores.csv has ten digits
Z_95 = 1.959963984540054
MOST = 3.0  # standard deviations that noise of resampling may make


def ledger(encoders_by_file: Mapping[str, Sequence[str]], scores: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each printed number whose file the run reads: papers.ledger.COLUMNS.

    encoders_by_file: name of a file of scores, with ":column" behind it where one is named -> the encoders that the
    file stands for; scores: of the run; plan: a row per cell with its reason (results.scores.read_plan). A number that
    is off has the cause as its reason, "" where none is known."""
    ours = {tuple(row[key] for key in KEYS): row for row in scores.to_dict("records")}
    reasons = plan[plan["reason"] != ""].drop_duplicates(["encoder", "dataset"]).set_index(["encoder", "dataset"])
    rows = [
        row
        for name, about in yaml.safe_load(SOURCES.read_text("utf-8")).items()
        for number in _printed(PUBLISHED / f"{name}.csv")
        for encoder in encoders_by_file.get(number["file"], ())
        for row in _rows(about, number, encoder, ours, reasons["reason"])
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"ours_n": "Float64"})


def _printed(path: Path) -> Iterator[dict[str, str]]:
    yield from pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def _rows(
    about: Mapping, number: Mapping[str, str], encoder: str, ours: Mapping[tuple, Mapping], reasons: pd.Series
) -> Iterator[dict[str, object]]:
    """The rows of a printed number, and of the ends of its interval."""
    score = ours.get((encoder, *(number[name] for name in KEYS[1:])))
    for column, of in ENDS.items():
        if not number[column]:
            continue
        value = np.nan if score is None else float(score[of]) * float(number["scale"])
        printed = number[column]
        if decimals_of(printed) > DECIMALS:
            printed = f"{float(printed):.{DECIMALS}f}"
        judged = judge(printed, "", value, absent=reasons.get((encoder, number["dataset"]), NOT_ASKED))
        if judged["status"] == OFF and column != "printed" and "resamples" in about:
            errors = standard_errors(printed, value, score["low"], score["high"], about["resamples"])
            judged["off_by"] += f"; {errors:.1f} standard errors of its resampling"
            judged["reason"] = about["noise"] if errors <= MOST else ""
        yield {
            "paper": about["title"],
            "table": about["printed"],
            "encoder": number["file"],
            "row": f"{number['dataset']}; {number['part']}",
            "measure": number["metric"] + ("" if column == "printed" else f", {column} end"),
            "variant": number["variant"],
            "unit": UNITS.get(number["scale"], f"1 / {number['scale']}"),
            "printed": number[column],
            "printed_sd": "",
            "ours": value,
            "ours_sd": np.nan,
            "ours_n": np.nan if score is None else score["n"],
            "ours_encoder": encoder,
            "audit": "",
            **judged,
        }


def standard_errors(printed: str, end: float, low: float, high: float, resamples: int) -> float:
    """Return how far the end of a printed bootstrap interval of a rate lies from ours, which has no noise, in standard
    errors of its resampling, beyond the rounding of the printed number.

    The authors take mean -+ 1.96 sd of the logarithm over so many resamples, so that the error of an end is that of the
    mean and of 1.96 sd together: end * sd * sqrt((1 + 1.96^2 / 2) / resamples). low, high: our ends, which tell sd."""
    sd = (np.log(high) - np.log(low)) / (2 * Z_95)
    error = end * sd * np.sqrt((1 + Z_95**2 / 2) / resamples)
    value = float(printed)
    rounding = rounded(value, decimals_of(printed)).high - value
    return max(abs(end - value) - rounding, 0) / error
