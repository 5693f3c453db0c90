"""Every model compared with the one that is not debiased: means, changes and permutation tests over seeds and heads."""

from collections.abc import Callable, Collection
from functools import partial

import numpy as np
import pandas as pd

from biasflow.papers.orgad2022.halves import FROZEN, RAW
from biasflow.papers.orgad2022.measures import Measure
from biasflow.papers.orgad2022.runs import CELL, MEASURE, coded, compression_runs, extrinsic_runs, undefined_cells
from biasflow.papers.orgad2022.selection import NONE, Selection
from biasflow.results.statistics import paired_permutations

LEVEL = 0.05
SAMPLES = 10_000  # sign patterns drawn where there are more than 20 pairs


def comparisons(chosen: Selection, stage: str, measures: Collection[Measure]) -> pd.DataFrame:
    """Compare the `measures` at a stage, including compression, with `undefined_cells` (mean per run) and, for
    compression, the number of labels `coded`."""
    runs = extrinsic_runs(chosen, stage)
    undefined, keys = undefined_cells(runs, chosen.half), ["encoder", *MEASURE, *CELL]
    labels = coded(compression_runs(chosen), *keys)
    if stage != FROZEN:
        compression = compression_runs(chosen)
        runs = pd.concat([runs, compression[compression["encoder"].isin(runs["encoder"])]], ignore_index=True)
    table = compare(runs[pd.MultiIndex.from_frame(runs[MEASURE]).isin([measure.key for measure in measures])])
    cells = pd.MultiIndex.from_frame(table[keys])
    return table.assign(
        undefined_cells=undefined.reindex(cells).to_numpy(dtype=float),
        coded=labels.reindex(cells).to_numpy(dtype=float),
    )


def compare(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean and sd (n - 1) for each encoder, MEASURE and CELL, and the change from the model "none" on raw text.

    `runs`: encoder, CELL, seed, head_seed, MEASURE, value (NaN: left out). `n` counts seeds and `n_heads` retrained
    heads; `change` is the mean over `pairs` of the same seed and head seed; `p` their two-sided paired permutation
    test, `p_one_sided` the same in the direction of the change, `p_by_encoder` two-sided, of the means over the heads
    of each seed. `star`, `star_one_sided`: "yes" where p or p_one_sided < LEVEL, "" without a test."""
    blocks = [_compare_encoder(block).assign(encoder=name) for name, block in runs.groupby("encoder")]
    table = pd.concat(blocks or [_compare_encoder(runs).assign(encoder="")], ignore_index=True)
    return table.assign(star=_stars(table["p"]), star_one_sided=_stars(table["p_one_sided"]))


def _stars(p: pd.Series) -> np.ndarray:
    return np.where(p.isna(), "", np.where(p < LEVEL, "yes", "no"))


def _compare_encoder(runs: pd.DataFrame) -> pd.DataFrame:
    """`compare` of one encoder: a row per measure, model and test input."""
    wide = runs.pivot(index=["seed", "head_seed"], columns=[*MEASURE, *CELL], values="value")
    values, present = wide.to_numpy(dtype=float), wide.notna().to_numpy()  # [runs, cells]
    cells = wide.columns.to_frame(index=False)
    base = pd.MultiIndex.from_frame(cells.assign(model=NONE, text=np.where(cells["text"] == "", "", RAW)))
    compared = (cells["model"] != NONE) & base.isin(wide.columns)
    differences = np.where(compared, values - wide.reindex(columns=base).to_numpy(dtype=float), np.nan)
    change = np.array(_of_defined(np.mean, differences))
    directed = differences * np.sign(change)
    seeds, heads = wide.index.get_level_values("seed"), wide.index.get_level_values("head_seed") != ""
    return cells.assign(
        mean=_of_defined(np.mean, values),
        sd=_of_defined(partial(np.std, ddof=1), values, least=2),
        n=pd.DataFrame(present).groupby(seeds).any().sum().to_numpy(),
        n_heads=present[heads].sum(axis=0),
        change=change,
        pairs=pd.Series(np.isfinite(differences).sum(axis=0), dtype="Int64").where(compared),
        p=paired_permutations(differences, samples=SAMPLES),
        p_one_sided=paired_permutations(directed, alternative="greater", samples=SAMPLES),
        p_by_encoder=paired_permutations(pd.DataFrame(differences).groupby(seeds).mean().to_numpy(), samples=SAMPLES),
    )


def _of_defined(statistic: Callable[[np.ndarray], float], columns: np.ndarray, *, least: int = 1) -> list[float]:
    """A statistic of the finite values of each column; NaN where there are fewer than `least`."""
    defined = (column[np.isfinite(column)] for column in columns.T)
    return [statistic(values) if len(values) >= least else np.nan for values in defined]
