"""Every strategy of paper C against none: means, changes and permutation tests over seeds and heads."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scripts.biasflow.papers.orgad2022.rows import (
    AFTER,
    BEFORE,
    FROZEN,
    MEASURE,
    NONE,
    RAW,
    compression_runs,
    extrinsic_runs,
    undefined_cells,
)
from scripts.biasflow.results.statistics import paired_permutation

LEVEL = 0.05
SAMPLES = 10_000  # sign patterns drawn where there are more than 20 pairs
CELL = ["encoder", *MEASURE, "strategy", "setting"]
PRINTED_IN = {BEFORE: "3", AFTER: "4", FROZEN: "5"}  # stage -> the paper's table


def comparisons(scores: pd.DataFrame, stage: str, measures: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """A row per CELL of a stage: mean, sd, n, n_heads, and each strategy's change from none with its tests."""
    runs = extrinsic_runs(scores, stage)
    undefined = undefined_cells(runs).groupby(["encoder", "metric", "strategy", "setting"])["value"].mean()
    if stage != FROZEN:
        compression = compression_runs(scores)
        runs = pd.concat([runs, compression[compression["encoder"].isin(runs["encoder"])]], ignore_index=True)
    table = compare(runs[pd.MultiIndex.from_frame(runs[MEASURE]).isin(measures)])
    cells = pd.MultiIndex.from_frame(table[["encoder", "metric", "strategy", "setting"]])
    table["undefined_cells"] = undefined.reindex(cells).to_numpy(dtype=float)
    return table


def compare(runs: pd.DataFrame, *, samples: int = SAMPLES) -> pd.DataFrame:
    """Mean and sd of each encoder, metric, variant, strategy and setting, and its change from none on raw text.

    `runs`: RUN_KEY, metric, variant, value (NaN: left out). `change` is the mean over `pairs` with the same seed and
    head seed; `p` their paired permutation test, `p_by_encoder` that of the means over the heads of each encoder seed.
    `star`: "yes" where p < 0.05, "" without a test."""
    blocks = [_compare_encoder(block, samples).assign(encoder=name) for name, block in runs.groupby("encoder")]
    columns = [*CELL, "mean", "sd", "n", "n_heads", "change", "pairs", "p", "p_by_encoder"]
    numbers = dict.fromkeys(["mean", "sd", "change", "p", "p_by_encoder"], float)
    table = (pd.concat(blocks, ignore_index=True) if blocks else pd.DataFrame(columns=columns))[columns].astype(numbers)
    table["star"] = np.where(table["p"].isna(), "", np.where(table["p"] < LEVEL, "yes", "no"))
    return table


def _compare_encoder(runs: pd.DataFrame, samples: int) -> pd.DataFrame:
    """`compare` of one encoder, without correction: a row per measure, strategy and test input."""
    wide = runs.pivot(index=["seed", "head_seed"], columns=[*MEASURE, "strategy", "setting"], values="value")
    # Encoder of each run as a number, and whether the run is a retrained head.
    seeds, heads = pd.factorize(wide.index.get_level_values("seed"))[0], wide.index.get_level_values("head_seed") != ""
    values = dict(zip(wide.columns, wide.to_numpy(dtype=float).T, strict=True))
    rows = []
    for (metric, variant, strategy, setting), own in values.items():
        there = np.isfinite(own)
        row = {"metric": metric, "variant": variant, "strategy": strategy, "setting": setting}
        row |= {"n": len(set(seeds[there])), "n_heads": int(heads[there].sum())}
        row |= {"mean": own[there].mean() if there.any() else np.nan}
        row |= {"sd": own[there].std(ddof=1) if there.sum() > 1 else np.nan}
        base = values.get((metric, variant, NONE, RAW if setting else ""))
        rows.append(row | (_change(own, base, seeds, samples) if strategy != NONE and base is not None else {}))
    return pd.DataFrame(rows).reindex(columns=[*rows[0], "change", "pairs", "p", "p_by_encoder"])


def _change(own: np.ndarray, base: np.ndarray, seeds: np.ndarray, samples: int) -> dict[str, float]:
    """The change from `base`, paired by position, and its tests: over all pairs, and over the means of each seed."""
    both = np.isfinite(own) & np.isfinite(base)
    if not both.any():
        return {"pairs": 0}
    own, base, seeds = own[both], base[both], np.unique(seeds[both], return_inverse=True)[1]
    by_encoder = [np.bincount(seeds, values) / np.bincount(seeds) for values in (own, base)]
    p = paired_permutation(own, base, samples=samples)
    return {
        "change": float((own - base).mean()),
        "pairs": len(own),
        "p": p,
        # Without several heads the two tests are the same.
        "p_by_encoder": p if len(own) == len(by_encoder[0]) else paired_permutation(*by_encoder, samples=samples),
    }


def seeds_named(seeds: Sequence[str]) -> str:
    """["3", "7"] -> "seeds 3, 7"; "" for none."""
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}" if seeds else ""
