"""The readout `families`: of whom probes of four families tell the gender, from vectors of texts under every method.

    linear     ridge regression on the vectors
    quadratic  the same on all products of two of their first 64 principal components, and on these
    rbf        the same on a Gaussian kernel (Nystroem's method: 500 rows), as wide as the median distance
    hidden     a network with one hidden layer

How strongly a ridge regression is penalised, and when a network stops, its error on other rows decides. The networks of
all splits are trained together.

File: a table with a row for each person that a probe is tested on: method, setting, split_seed, family, labels ("-":
the true ones; "shuffled": in random order, for what a family finds where nothing is; "after-leace" and "after-qleace":
the true ones, of untouched vectors that were erased by what was fitted to rows like them, see `erased`), z (1: a
woman), right (whether the probe says so).

Sources: Belrose et al. (2023) for probes that are not linear after linear erasers, Hewitt & Liang (2019) for shuffled
labels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist

from biasflow.base.by_name import module_named
from biasflow.base.tabular import write_parquet
from biasflow.erasers import leace
from biasflow.erasers.qleace import qleace
from biasflow.readouts.probe import Code, send
from biasflow.readouts.source import Source, load_for
from biasflow.readouts.states import PLAIN, States
from biasflow.tasks.cuts import Cut

if TYPE_CHECKING:  # scikit-learn takes a second to load, which other readings need not wait for
    from sklearn.base import TransformerMixin

LINEAR, QUADRATIC, RBF, HIDDEN = FAMILIES = ("linear", "quadratic", "rbf", "hidden")
PORTIONS = (0.1, 1.0)  # the fewest that `probe.send` takes; the network that learns from all rows is the one asked
TRUE, SHUFFLED = "-", "shuffled"
COMPONENTS, LANDMARKS = 64, 500
PENALTIES = np.logspace(0, 6, 5)
MEDIAN_OF = 500  # rows, for the width of the kernel
FOLDS = 5


def read(source: Source, output: Path, *, cuts: str, hidden: int, **options) -> dict:
    """Train the probes on every cut of the task's rows under every method of the block, and test them.

    Roles: `vectors` (a file that readouts.states reads), and those of the cuts. cuts: the full name of a module;
    options: of its `cuts`, whose dev rows choose penalties; hidden: units of the hidden layer.
    BiasflowError: whatever the cuts refuse, and a method that changes nothing."""
    z, all_cuts = module_named(cuts).cuts(source.data, **options)
    vectors = States(source.file("vectors"), load_for(source)).under_each()
    write_parquet(tables(vectors, z, all_cuts, hidden), output)
    return {"tested": {cut.split_seed: len(cut.test) for cut in all_cuts}}


def tables(
    vectors: Iterable[tuple[str, str, torch.Tensor]], z: np.ndarray, cuts: Sequence[Cut], hidden: int
) -> pd.DataFrame:
    """What the file holds, of (method, setting, vectors [n, d]) and labels z [n], on every cut of the rows."""
    made = []
    for method, setting, X in vectors:
        X = X.float().numpy()
        of_method = [probed(X, cuts, {TRUE: [z] * len(cuts), SHUFFLED: [cut.control for cut in cuts]}, hidden)]
        if (method, setting) == PLAIN:
            for name, erase in OF_THESE_VECTORS.items():
                of_method += [probed(erased(erase, X, z, cut), [cut], {name: [z]}, hidden) for cut in cuts]
        made += [table.assign(method=method, setting=setting) for table in of_method]
    return pd.concat(made, ignore_index=True)


def _leace(X: np.ndarray, z: np.ndarray, *, train: np.ndarray) -> np.ndarray:
    return leace.fit(X[train], z[train]).apply(torch.from_numpy(X)).numpy()


OF_THESE_VECTORS = {"after-leace": _leace, "after-qleace": qleace}


def erased(erase: Callable[..., np.ndarray], X: np.ndarray, z: np.ndarray, cut: Cut) -> np.ndarray:
    """Vectors X erased by an eraser that was fitted to the train rows of a cut; each of these rows by one that was
    fitted to four fifths of them without it.

    So probes learn from rows that were erased like those that they are tested on. (An eraser takes more out of the rows
    that it was fitted to; a probe of these finds the opposite of what is left in others.)"""
    moved = erase(X, z, train=cut.train)
    for held in np.array_split(cut.train, FOLDS):
        moved[held] = erase(X, z, train=np.setdiff1d(cut.train, held))[held]
    return moved


def probed(X: np.ndarray, cuts: Sequence[Cut], labels: Mapping[str, Sequence[np.ndarray]], hidden: int) -> pd.DataFrame:
    """The tests of the probes of all families on vectors X [n, d]: a table of split_seed, family, labels, z, right.

    labels: name -> for each cut the labels of all rows [n]."""
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(X)  # of all rows: it sees no label
    pairs = [(number, name) for number in range(len(cuts)) for name in labels]
    codes = [Code(labels[name][number], *_parts(cuts[number]), cuts[number].seeds[0]) for number, name in pairs]
    answers = send(X, codes, fractions=PORTIONS, batch_size=32, hidden=hidden).answers[0, 0]
    right = {
        (number, HIDDEN, name): np.unpackbits(np.frombuffer(of_test, np.uint8), count=len(cuts[number].test)) > 0
        for (number, name), of_test in zip(pairs, answers, strict=True)
    }
    for number, cut in enumerate(cuts):
        parts = [X[rows] for rows in _parts(cut)]
        train, dev, test = (np.column_stack([z[number][rows] for z in labels.values()]) for rows in _parts(cut))
        for family in (LINEAR, QUADRATIC, RBF):
            features = _features(family, parts[0], cut.seeds[0])
            women = _ridge(*map(features.transform, parts), 2.0 * train - 1, 2.0 * dev - 1) > 0
            right |= {(number, family, name): told for name, told in zip(labels, (women == test).T, strict=True)}
    tables = [
        pd.DataFrame({"split_seed": cuts[number].split_seed, "family": family, "labels": name, "right": told}).assign(
            z=labels[name][number][cuts[number].test]
        )
        for (number, family, name), told in right.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _features(family: str, X: np.ndarray, seed: int) -> "TransformerMixin":
    """What turns vectors into what the ridge regression of a family reads, fitted to the scaled rows X."""
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    if family == LINEAR:
        return StandardScaler().fit(X)
    if family == QUADRATIC:
        components = PCA(min(COMPONENTS, *X.shape), whiten=True, random_state=seed)
        return make_pipeline(components, PolynomialFeatures(include_bias=False), StandardScaler()).fit(X)
    some = np.random.default_rng(seed).permutation(len(X))[:MEDIAN_OF]
    width = np.median(pdist(X[some]))
    landmarks = min(LANDMARKS, len(X))
    return make_pipeline(
        Nystroem(gamma=0.5 / width**2, n_components=landmarks, random_state=seed), StandardScaler()
    ).fit(X)


def _ridge(train: np.ndarray, dev: np.ndarray, test: np.ndarray, signs: np.ndarray, of_dev: np.ndarray) -> np.ndarray:
    """What ridge regressions of signs [n, labels] on the features `train` [n, p], whose columns have mean 0, say of
    `test`: [rows, labels], each with the penalty that has the least squared error on `dev`.

    Where there are more features than rows it solves for a number a row, which is the same and takes less time."""
    mean = signs.mean(axis=0)
    if len(train) < train.shape[1]:
        square, product = train @ train.T, signs - mean
        dev, test = dev @ train.T, test @ train.T
    else:
        square, product = train.T @ train, train.T @ signs
    one = np.eye(len(square), dtype=square.dtype)
    weights = [cho_solve(cho_factor(square + square.dtype.type(penalty) * one), product) for penalty in PENALTIES]
    errors = [((dev @ of_penalty + mean - of_dev) ** 2).sum(axis=0) for of_penalty in weights]
    best = np.argmin(errors, axis=0)
    return np.column_stack([test @ weights[number][:, label] + mean[label] for label, number in enumerate(best)])


def _parts(cut: Cut) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return cut.train, cut.dev, cut.test
