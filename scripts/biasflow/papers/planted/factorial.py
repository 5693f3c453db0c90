"""Does a measure of trained models follow the bias of the pre-training, of the task's data, both or neither?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from biasflow.papers.judge import LEVEL, TOO_FEW, least_p, permutation_p
from biasflow.results.statistics import false_discovery_rates

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
    few encoders for any p below 0.05, has its means alone, and `follows` says which it is."""
    rows, untested = [], []
    for measure, block in values.groupby("measure", sort=False):
        wide = block.pivot_table(index=["bias", "seed"], columns="task_bias", values="value", dropna=False)
        groups = [wide.loc[bias].to_numpy() for bias in sorted(block["bias"].unique())]  # [seeds, task_bias]
        without, having = groups
        row = {"measure": measure, "group": block["group"].iloc[0], "seeds": len(having)}
        row |= {f"mean_{cell}": part.mean() for cell, part in zip(CELLS, _cells(groups), strict=True)}
        row |= dict.fromkeys([*(f"{effect}_{name}" for effect in EFFECTS for name in NUMBERS), *ETAS], np.nan)
        rows.append(row)
        defined = np.isfinite(wide.to_numpy()).all()
        enough = least_p(len(without), len(having), 0) <= LEVEL
        untested.append(UNDEFINED if enough else TOO_FEW)
        if defined and enough:
            for effect in EFFECTS:
                row |= {f"{effect}_{name}": value for name, value in _effect(effect, groups).items()}
            row |= {f"eta_{name}": share for name, share in shares(_cells(groups)).items()}
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    table = table.assign(**{f"{effect}_q": false_discovery_rates(table[f"{effect}_p"]) for effect in EFFECTS})
    follows = [(table[f"{effect}_q"] <= LEVEL) for effect in (PRETRAINING, TASK)]
    verdicts = [FOLLOWS[bool(a), bool(b)] for a, b in zip(*follows, strict=True)]
    return table.assign(follows=np.where(table[f"{TASK}_q"].isna(), untested, verdicts))


def _cells(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The values in the order of CELLS."""
    without, having = groups
    return [without[:, 0], having[:, 0], without[:, 1], having[:, 1]]


def _units(effect: str, groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The two groups that an effect compares, with a number for each encoder without and with bias."""
    return [group.mean(axis=1) if effect == PRETRAINING else group[:, 1] - group[:, 0] for group in groups]


def _effect(effect: str, groups: Sequence[np.ndarray]) -> dict[str, float]:
    without, having = _units(effect, groups)
    if effect == TASK:
        signs = stats.permutation_test(
            (np.concatenate([without, having]), np.zeros(len(without) + len(having))),
            lambda a, b, axis: (a - b).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        p = float(signs.pvalue)
    else:
        p = permutation_p(without, having, 0)
    # The mean of both groups is half the difference of one from the other with its signs turned.
    sides = (having / 2, -without / 2) if effect == TASK else (having, without)
    return {"effect": float(sides[0].mean() - sides[1].mean()), **welch_interval(*sides), "p": p}


def welch_interval(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """low, high: the 95 % interval of mean(a) - mean(b) by Welch's t; NaN where neither varies."""
    ends = stats.ttest_ind(a, b, equal_var=False).confidence_interval() if np.ptp(a) or np.ptp(b) else None
    return {"low": float(ends.low), "high": float(ends.high)} if ends else dict.fromkeys(("low", "high"), np.nan)


def shares(cells: Sequence[np.ndarray]) -> dict[str, float]:
    """Eta squared of the balanced design: SS of each effect and of the residual over their sum; cells: the values in
    the order of CELLS, as many each. NaN where all are equal."""
    n, means = len(cells[0]), np.array([cell.mean() for cell in cells])
    contrasts = {PRETRAINING: [-1, 1, -1, 1], TASK: [-1, -1, 1, 1], INTERACTION: [1, -1, -1, 1]}
    squares = {name: n * float(means @ signs) ** 2 / 4 for name, signs in contrasts.items()}
    squares["residual"] = float(sum(((cell - mean) ** 2).sum() for cell, mean in zip(cells, means, strict=True)))
    total = sum(squares.values())
    return {name: part / total if total else np.nan for name, part in squares.items()}
