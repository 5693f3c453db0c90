"""How the stereotypes of professions are cut for a probe, which is always tested on professions that it has not seen.

Professions stand in a random order, and with them their rows; 80 % of the professions are sent, 10 % stop the training,
10 % test the probe (32, 4 and 4 of 40; the cut is ours). The order decides much (the first portion is of one or two
professions), so that the spread of the scores over the orders (column readout_seed) belongs to the result.

    released   the script of Orgad et al. (2022): one order, that of the model's seed (all seeds of the block for a
               model without one). Rows are learnt from as they are sent, so that most batches have one label
    paper      what the text asks for ("previously unseen professions"): several orders, the same for all models, and
               the rows sent so far are learnt from in a random order

The control has stereotypes drawn for professions, as all rows of a profession have one label (Hewitt & Liang 2019)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from biasflow.base.errors import BiasflowError
from biasflow.tasks.coreference.professions import read_rows
from biasflow.tasks.cuts import NA, PAPER, RELEASED, Cut, control_labels, probe_split

LEAST = 6  # professions of which none of the three parts is empty


def cuts(
    files: Mapping[str, tuple[Path, ...]], *, data: Sequence[str], split_seeds: Sequence[int], orders: int
) -> tuple[np.ndarray, list[Cut]]:
    """The stereotypes (1: F) of the rows of the role `vectors` (readouts.professions), and their cuts in each reading
    of `data`, for a model of the seeds `split_seeds`. orders: how many `paper` has.

    BiasflowError: fewer than 6 professions, and so few of a stereotype that all of them may be
    in the parts that are not sent."""
    (path,) = files["vectors"]
    rows = read_rows(path)
    labels = rows["feminine"].to_numpy()
    of_profession = [*rows.groupby("profession").indices.values()]
    stereotypes = np.array([labels[members[0]] for members in of_profession])
    _check(path, stereotypes)
    result = []
    for reading in data:
        for seed in split_seeds if reading == RELEASED else range(orders):
            parts = probe_split(len(of_profession), seed)
            sent, dev, test = (np.concatenate([of_profession[profession] for profession in part]) for part in parts)
            control = np.empty_like(labels)
            for members, label in zip(of_profession, control_labels(stereotypes, seed), strict=True):
                control[members] = label
            result.append(Cut(reading, NA, [seed], sent, dev, test, control, shuffled=False, mixed=reading == PAPER))
    return labels, result


def _check(path: Path, stereotypes: np.ndarray) -> None:
    n, rarer = len(stereotypes), int(np.bincount(stereotypes, minlength=2).min())
    if n < LEAST:
        raise BiasflowError(f"{path}: {n} professions; a probe needs at least {LEAST}: give sentences about more.")
    kept = n - len(probe_split(n, 0).train)
    if rarer <= kept:
        raise BiasflowError(
            f"{path}: only {rarer} of {n} professions have the rarer stereotype; the probe holds out {kept}, which may "
            "be all of these, so give sentences about more of them."
        )
