"""A method against the random draws of its control: how many of them does it beat, and by how much?"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from biasflow.methods.controls import CONTROL, control_of
from biasflow.results.scores import MEASURE, NA

LEAST_DRAWS = 5  # with fewer nothing is said of a method
# Scores under random edits have longer tails than a normal distribution, and some draws hardly differ until one in a
# hundred does: Student's t has at most so many degrees of freedom, and a further draw deviates by this share, too.
MOST_FREEDOM, LEAST_SPREAD = 4, 0.05
DRAW = r"draw(\d+)"  # the setting of a control that has several (methods.controls.draw_name)


class Beyond(NamedTuple):
    """A number beside those of `draws` random draws. beats: how many of them it lies below; low, high: where a further
    draw lies in 95 % of cases; p: one-sided, of a number that is a further draw itself."""

    draws: int
    beats: int
    low: float
    high: float
    p: float


def beyond(value: float, drawn: ArrayLike, untouched: float) -> Beyond:
    """Compare a number (a distance from neutral, a share of bias left) with the same number under each draw [n], and of
    the untouched model.

    With m the mean of the draws and s^2 their variance + (LEAST_SPREAD untouched)^2, a further one differs from m by
    t s sqrt(1 + 1/n): an interval for a draw, not for their mean. t has n - 2 degrees of freedom, at most MOST_FREEDOM:
    pages of useless methods name one in at most 5 % with both (docs/scores/intervals.md). p is that of
    (m - value) / (s sqrt(1 + 1/n)), but at least (1 + k) / (n + 1) where k >= 1 draws are as low: then ranks decide.
    NaN for fewer than LEAST_DRAWS."""
    drawn = np.asarray(drawn, dtype=float)
    drawn, n = drawn[np.isfinite(drawn)], int(np.isfinite(drawn).sum())
    as_low = int((drawn <= value).sum())
    if n < LEAST_DRAWS or np.isnan(value):
        return Beyond(n, n - as_low, np.nan, np.nan, np.nan)
    spread = np.hypot(drawn.std(ddof=1), LEAST_SPREAD * np.nan_to_num(untouched))
    mean, reach = float(drawn.mean()), float(spread * np.sqrt(1 + 1 / n))
    freedom = min(n - 2, MOST_FREEDOM)
    half = float(stdtrit(freedom, 0.975)) * reach
    of_rank = (1 + as_low) / (n + 1) if as_low or not reach else 0.0
    p = max(of_rank, float(stdtr(freedom, (value - mean) / reach)) if reach else 0.0)
    return Beyond(n, n - as_low, mean - half, mean + half, p)


def draw_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Of each row of a table of scores the control that it belongs to ("" where the method is none), without the number
    of its draw, and that number: columns control and draw.

    A draw is a setting of a control ("leace-random-matched", "draw3") or a method of its own
    ("leace-random-matched3")."""
    names = {name: _control(name) for name in scores["method"].unique()}
    control, numbers = (scores["method"].map({name: parts[side] for name, parts in names.items()}) for side in (0, 1))
    of_setting = scores["setting"].str.extract(DRAW, expand=False)
    return pd.DataFrame({"control": control, "draw": of_setting.fillna(numbers)})


def of_measures_alone(rows: pd.DataFrame, measures: Collection[Sequence[str]]) -> pd.DataFrame:
    """The rows of a metric without those of draws that are no measure (metric, part, variant): of a draw alone what is
    compared with the method is kept."""
    keys = pd.MultiIndex.from_frame(rows.reindex(columns=MEASURE, fill_value=NA).fillna(NA))
    return rows[~is_draw(rows) | keys.isin([tuple(names) for names in measures])]


def is_draw(scores: pd.DataFrame) -> pd.Series:
    """Which rows of a table of scores are of one of several draws of a control."""
    if "setting" not in scores:
        return pd.Series(False, scores.index)
    return scores["setting"].astype(str).str.fullmatch(DRAW) & scores["method"].map(control_of).notna()


def _control(name: str) -> tuple[str, str]:
    of = control_of(name)
    if not of:
        return "", ""
    whole = CONTROL.fullmatch(name)
    return name.rstrip("0123456789"), whole[0][len(name.rstrip("0123456789")) :]
