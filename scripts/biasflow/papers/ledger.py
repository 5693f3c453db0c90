"""The ledger: every number that a paper prints, ours beside it, and whether they agree; the same of numbers that were
printed from published scores of single items; and errors in released code and files of tests and papers, with their
effect if a run has both readings.

Nothing is listed here. The numbers are those of the paper's printed.csv; ours are those of the tables that its
paper.yaml names under `ledger`. What can be compared at all is decided by the encoder and the data that the
configuration names, before any number of ours is looked at."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import shipped
from biasflow.papers.frames import NOT_ASKED, Run
from biasflow.papers.paper import PaperText, load
from biasflow.papers.rows import ABOUT, BOUND, CONSTRUCTION, MEASURE, joined, other_data, same_encoders, sampled
from biasflow.results.scores import KEYS

CAPTIONS = shipped("papers/ledger.yaml")
REPRODUCED, OFF, NOT_COMPARABLE, NOT_RUN = "reproduced", "off", "not comparable", "not run"
BY_CONSTRUCTION = "by construction"  # equal, and no encoder and no data could give another
STATUSES = (REPRODUCED, BY_CONSTRUCTION, OFF, NOT_COMPARABLE, NOT_RUN)
DISAGREES = "disagrees"  # how what others say of a number begins
_ABOUT = ["paper", "table", "encoder", "row", "measure", "variant", "unit", "printed", "printed_sd"]
_OURS = ["ours", "ours_sd", "ours_n", "ours_encoder", "difference", "difference_in_printed_sd"]
COLUMNS = [*_ABOUT, *_OURS, "status", "off_by", "reason", "audit"]


def ledger(runs: Mapping[str, Run]) -> pd.DataFrame:
    """Return the ledgers of all papers of a run that print numbers, in one table: COLUMNS.

    runs: paper -> the run as its tables see it."""
    ledgers = [of_paper(load(name, run.options.get("folder")), run) for name, run in runs.items()]
    return pd.concat(ledgers, ignore_index=True) if ledgers else pd.DataFrame(columns=COLUMNS)


def of_paper(text: PaperText, run: Run) -> pd.DataFrame:
    """Return a row for each printed number of a paper: COLUMNS."""
    numbers, same, other = run.printed, same_encoders(text, run), other_data(run, text)
    _check(text, numbers, other)
    samples = {of: sampled(run, text, of) for of in numbers["of"].unique()}
    incomparable = pd.Series(
        [_incomparable(text, same, other, samples, number) for number in numbers.itertuples()],
        index=numbers.index,
    )
    rows = joined(run, text)
    judged = [
        judge(row.printed, row.sd, row.ours, incomparable=why, absent=row.absent, counted=_is_counted(row))
        for row, why in zip(rows.itertuples(), incomparable, strict=True)
    ]
    keys = [name for name in numbers if name not in (*ABOUT, *MEASURE, "value", "value_sd")]
    named = [
        "; ".join(f"{key} {value}" for key, value in zip(keys, row, strict=True) if value)
        for row in numbers[keys].itertuples(index=False)
    ]
    rows = rows.assign(paper=text.name, row=named).rename(columns={"metric": "measure", "sd": "printed_sd"})
    return rows.join(pd.DataFrame(judged, index=rows.index))[COLUMNS].astype({"ours_n": "Float64"})


def _check(text: PaperText, numbers: pd.DataFrame, other: Mapping[str, str]) -> None:
    """BiasflowError for an encoder or for data that a number is of, and of which nothing says whether the run has
    them."""
    for name in sorted(set(numbers["encoder"]) - {"", *text.encoders}):
        raise BiasflowError(
            f"{text.name}/printed.csv: encoder {name!r}: paper.yaml names no such encoder; add it there"
        )
    for word in sorted({*" ".join(numbers["of"]).split()} - {*other, *text.reads}):
        raise BiasflowError(f"{text.name}/printed.csv: of {word!r}: `other_data` does not know these data; add them")


def _incomparable(
    text: PaperText, same: Mapping[str, Sequence[str]], other: Mapping[str, str], samples: Mapping, number: NamedTuple
) -> str:
    """Why a number cannot be compared: its encoder is none of the run's, or its data are others, or a sample; "" where
    it can be."""
    reasons = [other.get(word, "") for word in number.of.split()]
    if number.encoder and not same[number.encoder]:
        about = text.encoders[number.encoder]
        reasons.insert(0, f"other encoder: printed of {about['id']} at revision {about['revision'][:7]}")
    if names := samples[number.of]:
        reasons.append(f"a quick look: a sample of {' and '.join(names)}")
    return "; ".join(filter(None, reasons))


def _is_counted(number: NamedTuple) -> bool:
    """Whether a number follows from the paper's settings alone: from no encoder, and from no data."""
    return number.of == CONSTRUCTION or not (number.encoder or number.of)


EQUAL = 1e-9  # printed decimals are not exact in floating point


def judge(
    printed: str,
    printed_sd: str,
    ours: float,
    *,
    incomparable: str = "",
    absent: str = NOT_ASKED,
    counted: bool = False,
) -> dict[str, object]:
    """Compare our value with a printed number: status (of STATUSES), difference (ours minus printed),
    difference_in_printed_sd, off_by and reason.

    It is reproduced where |ours - printed| is at most its printed deviation, or half a unit of its last decimal where
    that is more or no deviation is printed; of a printed BOUND where it is below that. `incomparable`: why the two
    cannot be compared; `absent`: why there is no ours (NaN): these decide in this order, and then nothing is compared.
    `counted`: whether ours is so by construction."""
    nothing = {"difference": np.nan, "difference_in_printed_sd": np.nan, "off_by": ""}
    if incomparable:
        missing = f"; no value here: {absent}" if np.isnan(ours) else ""
        return nothing | {"status": NOT_COMPARABLE, "reason": incomparable + missing}
    if np.isnan(ours):
        return nothing | {"status": NOT_RUN, "reason": absent}
    if printed.startswith(BOUND):
        times = ours / float(printed.removeprefix(BOUND))
        if times < 1:
            return nothing | {"status": REPRODUCED, "reason": "below the printed bound"}
        return nothing | {"status": OFF, "off_by": f"{times:.1f} times the printed bound", "reason": ""}
    value, sd, rounding = float(printed), float(printed_sd or 0), half_a_unit(printed)
    difference, by_sd = ours - value, sd > rounding + EQUAL
    apart = {"difference": difference, "difference_in_printed_sd": difference / sd if sd > 0 else np.nan, "off_by": ""}
    if abs(difference) <= max(sd, rounding) + EQUAL:
        if counted:
            return apart | {"status": BY_CONSTRUCTION, "reason": "it follows from the settings of the paper alone"}
        return apart | {"status": REPRODUCED, "reason": f"within its printed {'deviation' if by_sd else 'rounding'}"}
    units = abs(difference) * 10 ** decimals_of(printed)
    many = f"{abs(difference) / sd:.1f} printed deviations" if sd > 0 else f"{units:.1f} units of the last decimal"
    return apart | {"status": OFF, "off_by": many, "reason": ""}


def decimals_of(printed: str) -> int:
    """Return the number of decimals of a printed number: "0.3840" has 4, "242" none."""
    return len(printed.partition(".")[2])


def half_a_unit(printed: str) -> float:
    """Return half a unit of the last decimal of a printed number: by how much it may be rounded."""
    return 0.5 * 10 ** -decimals_of(printed)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per paper: how many numbers it prints, how many have each status, for how many there is no value of
    ours, how many contradict other printed ones by its audit, and the commonest reasons why numbers are off, as far as
    they are known, or not compared."""
    summaries = []
    for paper, numbers in rows.groupby("paper", sort=False):
        counts = [(numbers["status"] == status).sum() for status in STATUSES]
        doubted = numbers["audit"].str.startswith(DISAGREES).sum()
        reasons = numbers.loc[(numbers["status"] != REPRODUCED) & (numbers["reason"] != ""), "reason"].value_counts()
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons.head(3).items())
        summaries.append((paper, len(numbers), *counts, numbers["ours"].isna().sum(), doubted, why))
    statuses = (status.replace(" ", "_") for status in STATUSES)
    columns = ["paper", "numbers", *statuses, "no_value_of_ours", "disputed_by_audit", "reasons"]
    return pd.DataFrame(summaries, columns=columns)


SOURCES = shipped("papers/items/sources.yaml")
PUBLISHED = shipped("papers/items/published")
ITEM_KEYS = ["encoder", "dataset", "metric", "part", "variant"]
ENDS = {"printed": "value", "low": "low", "high": "high"}  # column of a printed number -> of ours
UNITS = {"1": "", "100": "percent"}  # scale of a printed number -> its unit
MOST_DECIMALS = 6  # more are printed by programs that do not round: scores.csv has ten digits
Z_95 = 1.959963984540054
MOST_ERRORS = 3.0  # standard deviations that noise of resampling may make


def of_items(encoders_by_file: Mapping[str, Sequence[str]], scores: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each number that was printed from published scores of single items, beside what our formulas
    make of the same items: COLUMNS. It is compared where the run reads the very file of scores that it was printed
    from, by the sha256 of the catalogue: nothing else is asked, and so no result decides what is compared.

    encoders_by_file: name of a file of scores, with ":column" behind it where one is named -> the encoders that the
    file stands for; scores: of the run; plan: a row per cell with its reason (results.scores.read_plan). A number that
    is off has the cause as its reason, "" where none is known."""
    sources = yaml.safe_load(SOURCES.read_text("utf-8"))
    files = {name: pd.read_csv(PUBLISHED / f"{name}.csv", dtype=str, keep_default_na=False) for name in sources}
    numbers = pd.concat(files, names=["source"]).reset_index("source")
    encoders = numbers["file"].map(encoders_by_file).astype(object)
    numbers = numbers.assign(encoder=encoders).explode("encoder").dropna(subset="encoder")
    ours = scores[[*ITEM_KEYS, *ENDS.values(), "n"]].rename(columns="ours_{}".format)
    numbers = numbers.merge(ours, how="left", left_on=ITEM_KEYS, right_on=[f"ours_{key}" for key in ITEM_KEYS])
    reasons = plan[plan["reason"] != ""].drop_duplicates(["encoder", "dataset"])[["encoder", "dataset", "reason"]]
    numbers = numbers.merge(reasons, how="left").fillna({"reason": NOT_ASKED})
    rows = [
        _row_of(sources[number["source"]], number, column)
        for number in numbers.to_dict("records")
        for column in ENDS
        if number[column]
    ]
    table = pd.DataFrame(rows, columns=COLUMNS).fillna({"printed_sd": "", "audit": ""})
    return table.astype({"ours_n": "Float64"})


def _row_of(about: Mapping, number: Mapping, column: str) -> dict[str, object]:
    """The row of a printed number, or of an end of its interval. about: the source of the number."""
    printed, value = number[column], number[f"ours_{ENDS[column]}"] * float(number["scale"])
    if decimals_of(printed) > MOST_DECIMALS:
        printed = f"{float(printed):.{MOST_DECIMALS}f}"
    judged = judge(printed, "", value, absent=number["reason"])
    if judged["status"] == OFF and column != "printed" and "resamples" in about:
        errors = standard_errors(printed, value, number["ours_low"], number["ours_high"], about["resamples"])
        judged["off_by"] += f"; {errors:.1f} standard errors of its resampling"
        judged["reason"] = about["noise"] if errors <= MOST_ERRORS else ""
    return judged | {
        "paper": about["title"],
        "table": about["printed"],
        "encoder": number["file"],
        "row": f"{number['dataset']}; {number['part']}",
        "measure": number["metric"] + ("" if column == "printed" else f", {column} end"),
        "variant": number["variant"],
        "unit": UNITS.get(number["scale"], f"1 / {number['scale']}"),
        "printed": number[column],
        "ours": value,
        "ours_n": number["ours_n"],
        "ours_encoder": number["encoder"],
    }


def standard_errors(printed: str, end: float, low: float, high: float, resamples: int) -> float:
    """Return how far the end of a printed bootstrap interval of a rate lies from ours, which has no noise, in standard
    errors of its resampling, beyond the rounding of the printed number.

    The authors take mean -+ 1.96 sd of the logarithm over so many resamples, so that the error of an end is that of the
    mean and of 1.96 sd together: end * sd * sqrt((1 + 1.96^2 / 2) / resamples). low, high: our ends, which tell sd."""
    sd = (np.log(high) - np.log(low)) / (2 * Z_95)
    error = end * sd * np.sqrt((1 + Z_95**2 / 2) / resamples)
    return max(abs(end - float(printed)) - half_a_unit(printed), 0) / error


ERRORS = shipped("papers/released_errors.yaml")
_TEXT = ("of", "error", "where", "here")
_READINGS = ("metric", "released", "variant")
_OTHER_KEYS = [key for key in KEYS if key != "variant"]


def released_errors(scores: pd.DataFrame) -> pd.DataFrame:
    """A row per error: _TEXT, _READINGS, and of the scores that a run has in both readings how many (`compared`), their
    means and the largest difference."""
    entries = yaml.safe_load(ERRORS.read_text("utf-8"))
    rows = [entry | (_compared(scores, *map(entry.get, _READINGS)) if "metric" in entry else {}) for entry in entries]
    columns = [*_TEXT, *_READINGS, "compared", "mean_released", "mean_here", "largest_difference"]
    table = pd.DataFrame(rows).reindex(columns=columns).astype({"compared": "Int64"})
    return table.fillna(dict.fromkeys(_READINGS, ""))


def _compared(scores: pd.DataFrame, metric: str, released: str, variant: str) -> dict[str, float]:
    """Compare the scores of a metric that differ only in these two variants."""
    pairs = scores[scores["metric"] == metric].pivot(index=_OTHER_KEYS, columns="variant", values="value")
    pairs = pairs.reindex(columns=[released, variant]).dropna()
    if pairs.empty:
        return {"compared": 0}
    means = {"mean_released": pairs[released].mean(), "mean_here": pairs[variant].mean()}
    return {"compared": len(pairs), **means, "largest_difference": (pairs[released] - pairs[variant]).abs().max()}
