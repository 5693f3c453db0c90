"""What calibrations on real encoders say for a measure: in how many it followed a bias that was planted, how far, and
whether it could have been seen to follow where it did not."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import chdtrc, nctdtr, stdtrit

from biasflow.registry import INSIDE, METRICS
from biasflow.results.comparison import has_width, smallest_seen
from biasflow.results.statistics import t_interval

SEES, LEVEL = "sees the planted bias", 0.05
IN_ALL, IN_SOME = "followed in all", "followed in some"
COULD_NOT_TELL, DID_NOT, NOT_TRIED = "could not tell", "did not follow", "not tried"
ORDER = (IN_ALL, IN_SOME, COULD_NOT_TELL, NOT_TRIED, DID_NOT)  # from the most to the least that speaks for a measure
ALL, HELD_OUT = "all", "held out"  # occupations: all, and those that the text is not about
REFERENCE = ("log-odds slope", HELD_OUT)  # whose relative change a measure must be able to show
POWER, AGREE = 0.8, 0.2
THIS = "this very encoder"  # the name of one whose calibration does not name it
MEASURES = {name: measure for entry in METRICS.values() for name, measure in entry.measures.items()}
BY_LABEL = {measure.label: name for name, measure in MEASURES.items()}
KEYS = ["measure", "occupations"]
NUMBERS = ["encoders", "followed", "against", "slope", "slope_low", "slope_high", "share_dose"]
NUMBERS += ["power", "smallest_slope"]  # of the encoder that sees best
COLUMNS = ["card", *KEYS, "evidence", "sentence", *NUMBERS, "own"]


class Evidence(NamedTuple):
    """What calibrations say of a test of a measure: one of IN_ALL, IN_SOME, COULD_NOT_TELL, DID_NOT and NOT_TRIED, the
    same in a sentence with its numbers, in how many encoders it moved against the bias, followed, and was tried; own:
    whether the one that was tried is the very encoder that it is asked of."""

    evidence: str = NOT_TRIED
    sentence: str = "never tried in an encoder whose bias is known"
    against: int = 0
    followed: int = 0
    encoders: int = 0
    own: bool = False

    @property
    def green(self) -> bool:
        """Whether the measure followed in every encoder that was tried, in agreeing size."""
        return self.evidence == IN_ALL

    @property
    def tried(self) -> bool:
        return self.evidence != NOT_TRIED

    @property
    def failed(self) -> bool:
        """Whether it did not follow, though it could, or moved against the bias in an encoder."""
        return self.evidence == DID_NOT or bool(self.against)

    @property
    def unlike(self) -> bool:
        """Whether it followed in every encoder of two or more, in sizes that do not agree."""
        return bool(self.evidence == IN_SOME and self.followed == self.encoders > 1)

    @property
    def brief(self) -> str:
        """Whether the measure followed, in at most two short lines, as "yes, in all 3" or "reversed in 1 of 3"; its
        evidence where no number of encoders is known."""
        if not self.encoders:
            return {IN_ALL: "yes", DID_NOT: "no"}.get(self.evidence, self.evidence)
        if self.green or self.unlike:
            return f"yes, in all {self.encoders}" + ",\nnot equally far" * self.unlike
        where = "this very model" if self.own else f"{self.against or self.followed} of {self.encoders}"
        if self.against or self.followed:
            return f"reversed in\n{where}" if self.against else f"in {where}"
        no = f"no, in {where}" if self.own else f"no, in none of {self.encoders}"
        return COULD_NOT_TELL if self.evidence == COULD_NOT_TELL else no


class Pooled(NamedTuple):
    """The slope of several encoders with its 95 % interval, and whether their slopes agree."""

    slope: float
    low: float
    high: float
    agree: bool


def label_of(name: str, labels: Iterable[str] = BY_LABEL) -> str | None:
    """The label of the measure to which a row of a calibration belongs: the longest one that the row's name begins
    with, as "LPBS (absolute)" is a measure and "SEAT (sent-weat6)" a test of one; None if there is none."""
    return max((label for label in labels if name == label or name.startswith(f"{label} (")), key=len, default=None)


def follows(table: pd.DataFrame) -> pd.Series:
    """Whether each row of a calibration follows the bias: the row itself sees it (`verdict`), and so does q, the p of
    the rank correlation adjusted over all rows (q <= 0.05)."""
    return (table["verdict"] == SEES) & (table["q"] <= LEVEL)


def evidence(calibrations: pd.DataFrame) -> pd.DataFrame:
    """Say of every measure what calibrated encoders speak for it; a row (COLUMNS) per measure and set of occupations.

    calibrations: rows of calibrated_calibration.csv, with a column encoder if they are of several. evidence:

    IN_ALL          it followed the dose (`follows`) in every encoder, of two or more, in agreeing size (`pooled`)
    IN_SOME         it followed in one or more, but not so
    DID_NOT         it followed in none, and in one or more it could: if it moved by as large a share of its distance
                    from neutral at dose 0 as held-out log-odds did in that encoder (REFERENCE), its interval would lie
                    on the side of more bias in POWER of the cases
    COULD_NOT_TELL  it followed in none, and could in none

    encoders, followed, against: how many were tried, in how many it followed, and in how many its whole interval lies
    on the side of less bias; slope [slope_low, slope_high]: `pooled`, in
    units of the measure for each unit of dose; share_dose: the mean share of the variance of single values that lies
    between doses; power: for such a slope, and smallest_slope: the least slope that would have been seen in POWER of
    the cases, both of the encoder that sees best. Rows of controls, of costs, and without any slope are left out."""
    rows = calibrations.assign(encoder=calibrations.get("encoder", THIS))
    rows = rows[rows["slope"].notna()].reset_index(drop=True)
    cards = rows["measure"].map(label_of).map(BY_LABEL)
    rows = _with_power(rows.assign(follows=follows(rows), card=rows.get("card", cards).fillna(cards)))
    rows = rows[rows["group"].eq(INSIDE)]
    found = [{**dict(zip(KEYS, keys, strict=True)), **_judged(block)} for keys, block in rows.groupby(KEYS, sort=False)]
    return pd.DataFrame(found, columns=COLUMNS)


def evidence_of(table: pd.DataFrame, measure: str, test: str) -> Evidence:
    """What a table of `evidence` says of a measure of the registry on a dataset: by the row of this test or, of a
    measure that was calibrated with one test alone, by that. test: the dataset, without the sign of a sample."""
    rows = table[table["card"].eq(measure) & table["occupations"].eq(ALL)]
    label = MEASURES[measure].label
    rows = rows[rows["measure"].isin([label, f"{label} ({test})"])]
    return Evidence(*rows[[*Evidence._fields]].iloc[0]) if len(rows) else Evidence()


def pooled(slopes: Sequence[float], errors: Sequence[float], freedom: Sequence[float]) -> Pooled:
    """The slope of a measure in all encoders together, from those of single ones with their errors, and whether they
    agree.

    They agree if Cochran's Q, the sum of squared differences from their mean in standard errors, is no larger than in
    80 % of the cases in which all are equal (1 - AGREE; with 95 %, two that are drawn at random would agree too often).
    Then the mean is weighted by 1 / error^2, and its interval Student's, with the degrees of freedom of all. If not,
    all count alike, and the interval says what a further encoder would add (Student's over encoders). One encoder
    agrees with nothing; its interval is its own."""
    slopes, errors, n = np.asarray(slopes, dtype=float), np.asarray(errors, dtype=float), len(slopes)
    known = np.isfinite(errors).all()
    weights = 1 / np.square(errors) if known else np.ones(n)
    mean = float(np.average(slopes, weights=weights))
    agree = bool(known and n > 1 and chdtrc(n - 1, (weights * (slopes - mean) ** 2).sum()) > AGREE)
    if agree or (known and n == 1):
        half = stdtrit(np.sum(freedom), 0.975) / np.sqrt(weights.sum())
        return Pooled(mean, mean - float(half), mean + float(half), agree)
    return Pooled(float(slopes.mean()), *t_interval(slopes), agree)


def _with_power(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with sign (of a change with more bias), error (the standard error of the slope), smallest and power: see
    `evidence`."""
    about = rows["card"].map(MEASURES)
    neutral, better = (about.map(lambda one, name=name: getattr(one, name, np.nan)) for name in ("neutral", "better"))
    reference = (rows[KEYS] == REFERENCE).all(axis=1)
    distance = (rows["mean_dose_0"] - neutral.where(~reference, 0)).abs()
    moved = (rows["slope"] / distance)[reference].groupby(rows["encoder"]).first().clip(lower=0)
    freedom = rows["seeds"] - 1
    t = stdtrit(freedom, 0.975)
    wide = has_width(rows["slope_low"], rows["slope_high"])
    error = ((rows["slope_high"] - rows["slope_low"]) / 2 / t).where(wide)
    return rows.assign(
        sign=np.where(better.eq("high"), -1, 1),
        error=error,
        smallest=smallest_seen(rows["slope_low"], rows["slope_high"], rows["seeds"]),
        power=1 - nctdtr(freedom, rows["encoder"].map(moved) * distance / error, t),
    )


def _judged(rows: pd.DataFrame) -> dict[str, object]:
    """The evidence of a measure, a row per encoder."""
    slope, low, high, agree = pooled(rows["slope"], rows["error"], rows["seeds"] - 1)
    against = rows["encoder"][np.where(rows["sign"] > 0, rows["slope_high"] < 0, rows["slope_low"] > 0)]
    could = rows["encoder"][rows["power"] >= POWER]
    k, n = int(rows["follows"].sum()), len(rows)
    found = IN_ALL if k == n and agree else IN_SOME if k else DID_NOT if len(could) else COULD_NOT_TELL
    best = rows["power"].max(), rows["smallest"].min()
    numbers = (n, k, len(against), slope, low, high, rows["share_dose"].mean(), *best)
    row = dict(zip(NUMBERS, numbers, strict=True)) | {"card": rows["card"].iloc[0], "evidence": found, "own": False}
    return row | {"sentence": _sentence(row, rows, could, against)}


def _sentence(row: dict, rows: pd.DataFrame, could: Sequence[str], against: Sequence[str]) -> str:
    """The evidence in words, with n, the size and the share of the variance."""
    of = f"{row['encoders']} encoder{'s' * (row['encoders'] > 1)}"
    shares = rows["share_dose"].dropna()
    if row["evidence"] == IN_ALL:
        said = [f"followed in all {of}, by {row['slope']:.2g} [{row['slope_low']:.2g}, {row['slope_high']:.2g}] a dose"]
    elif row["evidence"] == IN_SOME:
        said = [f"followed in {row['followed']} of {of} ({', '.join(rows['encoder'][rows['follows']])})"]
        said += ["in sizes that do not agree"] * (row["followed"] == row["encoders"] > 1)
    elif row["evidence"] == DID_NOT:
        said = [f"followed in 0 of {of}, though it could have in {', '.join(could)}"]
    else:
        power = "not known" if np.isnan(row["power"]) else f"at most {100 * row['power']:.0f} %"
        said = [f"could not tell: followed in 0 of {of}, power {power}"]
    if row["evidence"] in (DID_NOT, COULD_NOT_TELL) and row["smallest_slope"] > 0:
        said += [f"would have been seen: {row['smallest_slope']:.2g} a dose"]
    said += [f"moved against the dose in {', '.join(against)}"] * bool(len(against))
    return "; ".join(said + [f"{_range(shares)} of the variance"] * bool(len(shares)))


def _range(shares: pd.Series) -> str:
    least, most = (f"{100 * share:.0f}" for share in (shares.min(), shares.max()))
    return f"{most} %" if least == most else f"{least} to {most} %"
