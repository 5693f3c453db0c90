"""What a measure follows: the bias of the pre-training, of the task's data, both or neither; and whether erasing a bias
brings it back to its value for models that never had the bias."""

import numpy as np
import pandas as pd
from scipy import stats

from biasflow.base.errors import BiasflowError
from biasflow.results.scores import NONE
from biasflow.results.statistics import false_discovery_rates, paired_permutations
from biasflow.studies.judge import LEVEL, TOO_FEW, least_p, permutation_p

PRETRAINING, TASK, INTERACTION = EFFECTS = ("pretraining", "task", "interaction")
NUMBERS = ("effect", "low", "high", "p", "q")  # of each
ETAS = (*(f"eta_{effect}" for effect in EFFECTS), "eta_residual")
CELLS = ("neither", "pretraining_only", "task_only", "both")  # where the bias was planted
UNDEFINED = "not defined everywhere"
FOLLOWS = {(False, False): "neither", (True, False): "pre-training", (False, True): "task", (True, True): "both"}


def two_by_two(values: pd.DataFrame) -> pd.DataFrame:
    """One row per measure of models of the design bias in pre-training (none, full) x bias in the task's data.

    `values`: columns measure, group, bias, task_bias, seed, value. An encoder is one unit, trained twice; with its two
    values a (no bias in the task) and b (full), the main effect of the pre-training is the difference between encoders
    with and without bias in the mean of (a + b) / 2, that of the task the mean of b - a, the interaction the difference
    in the mean of b - a. Each has the 95 % interval of Welch's t over encoders (low, high), and an exact two-sided
    permutation p: of encoders between the two groups, for the task of the sign of b - a. q: p adjusted over
    all measures (Benjamini and Hochberg 1995), each effect by itself. eta_*: shares of the sum of squares, residual
    too. follows: which main effects have q <= 0.05. A measure with a value that is not defined in a corner, or with too
    few encoders for any p below 0.05, has its means alone, and `follows` says which it is. BiasflowError, naming the
    measure, for other than two amounts of either bias."""
    rows, untested = [], []
    for measure, block in values.groupby("measure", sort=False):
        design = _design(block)
        cells = design.transpose(2, 0, 1).reshape(len(CELLS), -1)
        row = {"measure": measure, "group": block["group"].iloc[0], "seeds": cells.shape[1]}
        row |= {f"mean_{cell}": part.mean() for cell, part in zip(CELLS, cells, strict=True)}
        row |= dict.fromkeys([*(f"{effect}_{name}" for effect in EFFECTS for name in NUMBERS), *ETAS], np.nan)
        rows.append(row)
        enough = least_p(cells.shape[1], cells.shape[1], 0) <= LEVEL
        untested.append(UNDEFINED if enough else TOO_FEW)
        if np.isfinite(design).all() and enough:
            for effect in EFFECTS:
                row |= {f"{effect}_{name}": value for name, value in _effect(effect, design).items()}
            row |= {f"eta_{name}": share for name, share in shares(cells).items()}
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    table = table.assign(**{f"{effect}_q": false_discovery_rates(table[f"{effect}_p"]) for effect in EFFECTS})
    follows = [(table[f"{effect}_q"] <= LEVEL) for effect in (PRETRAINING, TASK)]
    verdicts = [FOLLOWS[bool(a), bool(b)] for a, b in zip(*follows, strict=True)]
    return table.assign(follows=np.where(table[f"{TASK}_q"].isna(), untested, verdicts))


def _design(block: pd.DataFrame) -> np.ndarray:
    """The values of a measure [bias of the pre-training, seed, bias of the task]; NaN for a model without a value."""
    wide = block.pivot_table(index=["bias", "seed"], columns="task_bias", values="value", dropna=False)
    if (block["bias"].nunique(), wide.shape[1]) != (2, 2):
        raise BiasflowError(
            f"measure {block['measure'].iloc[0]}: {block['bias'].nunique()} amounts of bias in the pre-training and "
            f"{wide.shape[1]} in the task; compare two of each"
        )
    return wide.to_numpy().reshape(2, -1, 2)


def _effect(effect: str, design: np.ndarray) -> dict[str, float]:
    """NUMBERS of an effect without q, from a number for each encoder."""
    without, having = design.mean(axis=2) if effect == PRETRAINING else design[:, :, 1] - design[:, :, 0]
    if effect == TASK:
        (p,) = paired_permutations(np.concatenate([without, having])[:, None])
    else:
        p = permutation_p(without, having, 0)
    # The mean of both groups is half the difference of one from the other with its signs turned.
    sides = (having / 2, -without / 2) if effect == TASK else (having, without)
    return {"effect": float(sides[0].mean() - sides[1].mean()), **welch_interval(*sides), "p": float(p)}


def welch_interval(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """low, high: the 95 % interval of mean(a) - mean(b) by Welch's t; NaN where neither varies."""
    ends = stats.ttest_ind(a, b, equal_var=False).confidence_interval() if np.ptp(a) or np.ptp(b) else None
    return {"low": float(ends.low), "high": float(ends.high)} if ends else dict.fromkeys(("low", "high"), np.nan)


def shares(cells: np.ndarray) -> dict[str, float]:
    """Eta squared of the balanced design: SS of each effect and of the residual over their sum; cells: the values in
    the order of CELLS [4, seeds]. NaN where all are equal."""
    means = cells.mean(axis=1)
    contrasts = {PRETRAINING: [-1, 1, -1, 1], TASK: [-1, -1, 1, 1], INTERACTION: [1, -1, -1, 1]}
    squares = {name: cells.shape[1] * float(means @ signs) ** 2 / 4 for name, signs in contrasts.items()}
    squares["residual"] = float(((cells - means[:, None]) ** 2).sum(axis=1).sum())
    total = sum(squares.values())
    return {name: part / total if total else np.nan for name, part in squares.items()}


BACK, SHORT, BEYOND, AWAY = "as if never there", "falls short", "goes beyond", "moves away"
NOISY = "too noisy to say"
NOT_SEEN = "the measure does not see the bias"


def erased(values: pd.DataFrame) -> pd.DataFrame:
    """Return a row per measure and method: its mean without planted bias, with it, and with the bias erased.

    `values`: columns measure, group, sign, bias, seed, method, value, of the smallest and the largest bias. closed =
    (present - erased) / (present - never): 0 where the method changes nothing, 1 where the measure says what it says of
    models without bias; with the 95 % interval over seeds of `ratio_interval`. p: exact two-sided permutation test of
    erased against never. For a measure that does not see the full bias (`permutation_p` > 0.05), or of quality, there
    is nothing to close: `closed` is NaN."""
    rows = []
    for measure, block in values.groupby("measure", sort=False):
        ends = block["bias"].min(), block["bias"].max()
        untouched = block[block["method"] == NONE]
        never = untouched.loc[untouched["bias"] == ends[0], "value"].to_numpy()
        wide = block[block["bias"] == ends[1]].pivot(index="seed", columns="method", values="value")
        sign = int(block["sign"].iloc[0])
        for method in [name for name in block["method"].unique() if name != NONE]:
            both = wide[[NONE, method]].to_numpy()
            row = {"measure": measure, "group": block["group"].iloc[0], "method": method, "seeds": len(both)}
            row |= {"never": never.mean(), "present": both[:, 0].mean(), "erased": both[:, 1].mean()}
            row |= dict.fromkeys(("closed", "low", "high", "p"), np.nan) | {"verdict": ""}
            if np.isfinite(both).all() and np.isfinite(never).all():
                row |= {"p": permutation_p(never, both[:, 1], 0)} | _closed(never, both, sign)
            rows.append(row)
    return pd.DataFrame(rows)


def _closed(never: np.ndarray, both: np.ndarray, sign: int) -> dict[str, object]:
    if not sign:
        return {}
    if permutation_p(never, both[:, 0], sign) > LEVEL:
        return {"verdict": NOT_SEEN}

    present, erased = both.T
    closed = (present - erased).mean() / (present.mean() - never.mean())
    low, high = ratio_interval(present, erased, never)
    verdict = AWAY if high < 0 else SHORT if high < 1 else BEYOND if low > 1 else BACK if low > 0 else NOISY
    return {"closed": float(closed), "low": low, "high": high, "verdict": verdict}


def ratio_interval(present: np.ndarray, erased: np.ndarray, never: np.ndarray) -> tuple[float, float]:
    """95 % interval (low, high) of r = (mean present - mean erased) / (mean present - mean never), by Fieller (1954).

    present, erased [n]: the same models; never [m]: others. It is every r for which the mean of (1 - r) present -
    erased, plus r times that of never, does not differ from 0 by a t test, with the degrees of freedom of Welch at the
    estimate. NaN where none of the values vary, or where the denominator is not sure to differ from 0."""
    n, m = len(present), len(never)
    above, below = (present - erased).mean(), present.mean() - never.mean()
    of_above, of_both, _, of_below = np.cov(present - erased, present).ravel() / n
    of_never = never.var(ddof=1) / m
    ratio = above / below
    of_pairs, of_others = of_above - 2 * ratio * of_both + ratio**2 * of_below, ratio**2 * of_never
    if not of_pairs + of_others > 0:
        return np.nan, np.nan
    freedom = (of_pairs + of_others) ** 2 / (of_pairs**2 / (n - 1) + of_others**2 / (m - 1))
    t = stats.t.ppf(0.975, freedom)
    # (above - r below)^2 <= t^2 (of_above - 2 r of_both + r^2 (of_below + of_never)), a quadratic in r
    square = below**2 - t**2 * (of_below + of_never)
    linear, constant = above * below - t**2 * of_both, above**2 - t**2 * of_above
    if square <= 0:
        return np.nan, np.nan
    half = np.sqrt(max(linear**2 - square * constant, 0))
    return float((linear - half) / square), float((linear + half) / square)
