"""How the genders of labelled texts are cut for a probe.

Whose genders are sent is not the same in the paper (Orgad et al. 2022) and in its authors' public script:

    released   the script: the training part of a split whose seed is the probe's, with its validation and test part for
               stopping and testing; as many women and men as there are. A fine-tuned model was trained on 65 % of them
    same-seed  the same, with the model's seed as the probe's (all splits of the block for a model without a seed): it
               was trained on all of them
    paper      the text ("the test set"): of the balanced test part of the model's split, on which the model was not
               trained, 80 % are sent, 10 % stop the training, 10 % test the probe (the cut is ours)
    balanced   (ours) the parts of the model's split, subsampled to as many women as men of every label, so that
               labels tell no gender

Texts of further groups are not sent. The control has labels drawn for rows, as a row occurs only once."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.tabular import read_parquet
from biasflow.strategies import Strategy
from biasflow.tasks.classification.splits import held_out, of_genders, rows_of, split, women
from biasflow.tasks.cuts import BALANCED, NA, PAPER, RELEASED, SAME_SEED, Cut, control_labels, probe_split

DATA = (RELEASED, SAME_SEED, PAPER, BALANCED)
SUBSAMPLING = Strategy("subsampling", "strategies.balance")


def cuts(
    files: Mapping[str, tuple[Path, ...]],
    *,
    data: Sequence[str],
    split_seeds: Sequence[int],
    probe_seeds: Sequence[int],
) -> tuple[np.ndarray, list[Cut]]:
    """The genders of the texts of the role `texts`, and their cuts in each reading of `data`, for a model
    that is read on the splits of `split_seeds`. BiasflowError: what the splits refuse."""
    (path,) = files["texts"]
    texts = read_parquet(path)
    z = women(texts)
    return z, [cut for reading in data for cut in _cuts_of(texts, z, reading, split_seeds, probe_seeds)]


def _cuts_of(
    texts: pd.DataFrame, z: np.ndarray, reading: str, split_seeds: Sequence[int], probe_seeds: Sequence[int]
) -> Iterator[Cut]:
    for seed in probe_seeds if reading == RELEASED else split_seeds:
        if reading == PAPER:
            rows = held_out(texts, seed)
            parts = [rows[part] for part in probe_split(len(rows), seed)]
        else:
            of_seed = rows_of(texts, SUBSAMPLING, seed) if reading == BALANCED else split(texts, seed)
            parts = [of_genders(texts, part) for part in (of_seed.train, of_seed.validation, of_seed.test)]
        together, control = np.concatenate(parts), z.copy()
        control[together] = control_labels(z[together], seed)
        seeds = (NA, [seed]) if reading in (RELEASED, SAME_SEED) else (str(seed), probe_seeds)
        yield Cut(reading, *seeds, *parts, control)
