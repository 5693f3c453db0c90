"""Does a measure see the bias that was planted?"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.results.statistics import correlation

LEVEL = 0.05  # of the one-sided permutation test
SEES, DOES_NOT, TOO_FEW = "sees the planted bias", "does not see the planted bias", "too few seeds to say"

# What is judged: name in the table -> (metric, variant) of the untouched encoder's scores.
MEASURES = {
    "Strength": ("strength", "top=10%"),
    "Strength, all triples": ("strength", "top=100%"),
    "Distance": ("distance", "top=10%"),
    "Stereotype Score": ("stereotype_score", "original"),
    "Stereotype Score, both genders": ("stereotype_score", "both"),
    "she-he log-odds: correlation with the planted": ("log_odds_correlation", ""),
    "she-he log-odds: slope on the planted": ("log_odds_slope", ""),
}
CAPTION = (
    "What each measure says of the untouched encoder by the bias planted in its pre-training corpus (0 none, 1 full): "
    "mean and standard deviation over seeds. A measure sees the bias if the exact one-sided permutation test of the "
    f"highest against the lowest bias over seeds has p <= {LEVEL}."
)


def measures_of(scores: pd.DataFrame, encoders: Mapping[str, Mapping]) -> pd.DataFrame:
    """The values to judge (columns measure, bias, seed, value) from tidy scores; `encoders`: name -> bias and seed.

    BiasflowError names the first encoder that has no value of a measure."""
    untouched = scores[scores["method"].isin(["base", ""])]
    keyed = untouched.set_index(["encoder", "metric", "variant"])["value"]
    rows = []
    for measure, key in MEASURES.items():
        for name, encoder in encoders.items():
            if (name, *key) not in keyed.index:
                raise BiasflowError(f"encoder {name}: no score {' '.join(key)}; run its rules again")
            rows.append((measure, encoder["bias"], encoder["seed"], keyed[(name, *key)]))
    return pd.DataFrame(rows, columns=["measure", "bias", "seed", "value"])


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


def agreement_with_world(log_odds: pd.DataFrame, shares: dict[str, float]) -> dict[str, float]:
    """How she-he log-odds by occupation follow the world's full shares of women: Pearson correlation with
    logit(share), and the slope (1 would be the world's own log-odds).

    `log_odds`: columns occupation, log_odds; `shares`: occupation -> share of women in (0, 1) at bias 1."""
    share = log_odds["occupation"].map(shares).to_numpy(float)
    logit = np.log(share / (1 - share))
    found = log_odds["log_odds"].to_numpy()
    slope = float(np.polyfit(logit, found, 1)[0])
    return {"log_odds_correlation": float(np.corrcoef(logit, found)[0, 1]), "log_odds_slope": slope}
