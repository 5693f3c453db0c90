"""Does a measure see the bias that was planted?"""

from itertools import combinations

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.results.statistics import correlation

LEVEL = 0.05  # of the one-sided permutation test
SEES, DOES_NOT, TOO_FEW = "sees the planted bias", "does not see the planted bias", "too few seeds to say"


def permutation_p(low: np.ndarray, high: np.ndarray) -> float:
    """Exact one-sided p that mean(high) - mean(low) is so large by chance: the share of all ways to deal the values
    into two groups of these sizes with a difference at least as large. Three against three can reach 1/20."""
    pooled = np.concatenate([low, high])
    sums = np.array([pooled[list(chosen)].sum() for chosen in combinations(range(len(pooled)), len(high))])
    return float((sums >= high.sum() - 1e-12).mean())


def judge(values: pd.DataFrame) -> pd.DataFrame:
    """One row per measure: means and standard deviations by planted bias, and whether the measure sees the bias.

    `values`: columns measure, bias, seed, value, with two amounts of bias or more. `p` is the exact one-sided
    permutation test of the highest against the lowest bias over seeds; `spearman` is the rank correlation of all values
    with the bias. A measure sees the bias if p <= 0.05; with so few seeds that no outcome could reach 0.05 the verdict
    is that there are too few."""
    if values["value"].isna().any():
        row = values[values["value"].isna()].iloc[0]
        raise BiasflowError(f"measure {row['measure']}: no value at bias {row['bias']}, seed {row['seed']}")
    rows = []
    for measure, block in values.groupby("measure", sort=False):
        groups = {bias: group["value"].to_numpy() for bias, group in block.groupby("bias")}
        if len(groups) < 2:
            raise BiasflowError(f"measure {measure}: one amount of bias only; give two or more")
        low, high = groups[min(groups)], groups[max(groups)]
        least = permutation_p(np.zeros(len(low)), np.ones(len(high)))
        p = permutation_p(low, high)
        verdict = TOO_FEW if least > LEVEL else SEES if p <= LEVEL else DOES_NOT
        row = {"measure": measure, "seeds": block["seed"].nunique()}
        for bias, group in groups.items():
            row[f"mean_bias_{bias:g}"] = group.mean()
            row[f"sd_bias_{bias:g}"] = group.std(ddof=1) if len(group) > 1 else np.nan
        spearman = correlation(block["bias"].to_numpy(), block["value"].to_numpy(), "spearman").estimate
        rows.append(row | {"spearman": spearman, "p": p, "verdict": verdict})
    return pd.DataFrame(rows)
