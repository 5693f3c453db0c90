"""The words in which the page judges cells of the matrix: is bias shown, does a method move a score nearer to neutral,
does it keep quality?"""

import numpy as np
from numpy.typing import ArrayLike

from biasflow.results.comparison import distance, has_width

DIFFERS, SAME, NO_CLAIM = "bias shown", "no bias shown", "cannot be judged"
NO_INTERVAL = "it has no 95 % interval"
NO_WIDTH = "its 95 % interval has no width: all resamples give the same score"
UNSIGNED = "such a value is off neutral in every model, biased or not"
HELPS, NEARER, NO_CHANGE = "helps", "nearer", "no change shown"
FARTHER, UNCOMPARED = "farther", "not compared"
BETTER, WORSE = "better", "worse"  # what nearer and farther are called of a cost
COST = "cost"
VIABLE, NOT_VIABLE, UNCLEAR = "keeps quality", "loses quality", "quality unclear"
UNMEASURED = "cost not measured"
LIMIT = 0.05  # the share of the untouched value by which a cost may be worse
LARGE = 0.4  # of the largest possible distance from neutral: an effect size of 0.8, which is called large
# The perplexity above which a language model is called weak. To predict each word piece by its frequency in the
# training part of WikiText-2 gives 532 (BERT's vocabulary) and 592 (one of 8,192 pieces) on its test part.
WEAK = 600
_SLACK = 1e-9  # of floating point


def left(distance: ArrayLike, untouched: ArrayLike) -> np.ndarray:
    """The share of the untouched model's distance from neutral that is left, [...]: 0 at neutral, above 1 farther away.

    Infinite where only the untouched model is at neutral, 1 where both are; NaN where one is missing."""
    distance, untouched = np.broadcast_arrays(np.asarray(distance, float), np.asarray(untouched, float))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((distance == 0) & (untouched == 0), 1.0, distance / untouched)


def verdict(low: float, high: float, neutral: float, better: str) -> str:
    """DIFFERS if the whole interval [low, high] is on the biased side of the neutral value, SAME if not, and NO_CLAIM
    without an interval, or with one that has no width.

    Where less (or more) is better, an interval beyond neutral on the good side shows no bias."""
    if not has_width(low, high):
        return NO_CLAIM
    outside = not low <= neutral <= high
    return DIFFERS if outside and distance((low, high), neutral, better).min() > 0 else SAME


def compared(cell) -> str:
    """Whether a cell of the matrix is nearer to neutral than the untouched model, farther, or neither is shown:
    by the interval of the change of the distance, if the two numbers differ as they are printed; of a cost whether it
    is BETTER or WORSE. HELPS for a method
    that is shown to be nearer than its control, too (results.matrix). UNCOMPARED without an interval, and where a
    caution forbids a claim: that against a method's own cost does not, as it may be what the method has done."""
    low, high = cell.change_low, cell.change_high
    cautioned = cell.untouched_caution or (cell.caution and cell.group != COST)
    if cautioned or np.isnan(low) or np.isnan(high):
        return UNCOMPARED
    if printed(cell.value) == printed(cell.untouched) or low <= 0 <= high:
        return NO_CHANGE
    if cell.group == COST:
        return BETTER if high < 0 else WORSE
    if low > 0:
        return FARTHER
    return HELPS if cell.helps == "yes" else NEARER


def turned(cell) -> bool:
    """Whether the whole interval of a cell lies on the other side of neutral than the untouched model's score, for a
    measure that is best at neutral."""
    if cell.better != "neutral" or not has_width(cell.low, cell.high):
        return False
    return cell.high < cell.neutral < cell.untouched or cell.untouched < cell.neutral < cell.low


def printed(value: float) -> str:
    """A score as the page prints it: three decimals, from 1,000 on none."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def kept(low: float, high: float) -> str:
    """Whether quality is kept by a cost that is worse by the share [low, high] of the untouched value (95 % interval):
    VIABLE if it is worse by at most LIMIT in the whole interval, NOT_VIABLE if by more, UNCLEAR otherwise, and without
    an interval."""
    if low > LIMIT + _SLACK:
        return NOT_VIABLE
    return VIABLE if high <= LIMIT + _SLACK else UNCLEAR


def percent(share: float) -> str:
    """Return a share as text: 0.45 -> "45 %", with a decimal near LIMIT, next to 100 % and below 1 %; never "-0 %"."""
    near_whole = 0.0005 <= abs(abs(share) - 1) < 0.005
    digits = int(near_whole or abs(abs(share) - LIMIT) < 0.01 or 0.0005 <= abs(share) < 0.01)
    return f"{round(100 * share, digits) + 0.0:.{digits}f} %"


def brief(value: float) -> str:
    """A score as a sentence has it: two decimals, from 100 on none."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
