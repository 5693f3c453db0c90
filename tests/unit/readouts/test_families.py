"""Probes of four families on vectors in which it is known how gender is hidden, and their scores."""

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.metrics.families import balanced_accuracy, score
from biasflow.readouts import families
from biasflow.readouts.families import FAMILIES, erased, probed
from biasflow.results.scores import tidy
from biasflow.tasks.classification.cuts import cuts
from biasflow.tasks.cuts import Cut
from tests.unit.synthetic_bios import biographies, save_states, source, vectors_of

N = 1600
Z = np.random.default_rng(0).permutation(np.repeat([0, 1], N // 2))
CUT = Cut("balanced", "0", [0], *np.split(np.arange(N), [1000, 1200]), np.random.default_rng(1).permutation(Z))


def noise(seed=0, d=6):
    return np.random.default_rng(seed).normal(size=(N, d)).astype(np.float32)


def found(X, labels=None, cut=CUT):
    tests = probed(X, [cut], {"-": [Z if labels is None else labels]}, 50)
    return {name: balanced_accuracy(table["z"], table["right"])[0] for name, table in tests.groupby("family")}


def test_a_shift_is_found_by_all_families_a_spread_by_those_that_are_not_linear_and_nothing_by_none():
    shift, spread = noise(), noise()
    shift[:, 0] += 3 * Z
    spread[:, 0] *= 1 + 4 * Z
    assert min(found(shift).values()) > 0.88  # 0.93 is possible
    of_spread = found(spread)
    assert of_spread.pop("linear") == pytest.approx(0.5, abs=0.08)
    assert min(of_spread.values()) > 0.7
    assert list(found(noise(1)).values()) == pytest.approx([0.5] * 4, abs=0.08)
    assert list(found(shift, CUT.control).values()) == pytest.approx([0.5] * 4, abs=0.08)


def test_what_an_eraser_leaves_is_read_off_rows_that_it_was_not_fitted_to():
    X = noise()
    X[:, 0] += 3 * Z
    X[:, 1] *= 1 + 4 * Z
    left = {name: found(erased(erase, X, Z, CUT)) for name, erase in families.OF_THESE_VECTORS.items()}
    assert left["after-leace"]["linear"] == pytest.approx(0.5, abs=0.08)
    assert left["after-leace"]["quadratic"] > 0.7  # the spread
    assert list(left["after-qleace"].values()) == pytest.approx([0.5] * 4, abs=0.1)
    calls = []

    def spying(X, z, *, train):
        calls.append(set(train))
        return np.full_like(X, len(calls))

    moved = erased(spying, X, Z, CUT)
    for fold in range(2, 7):  # each train row once, by what was fitted without it
        assert not calls[fold - 1] & set(np.flatnonzero(moved[:, 0] == fold))
    assert set(np.flatnonzero(moved[:, 0] > 1)) == set(CUT.train) and len(calls) == 6


def test_every_method_and_split_has_a_score_of_every_family_with_an_interval(tmp_path):
    bios = biographies(1200)
    bios.to_parquet(tmp_path / "texts.parquet")
    gender = Eraser.projection(torch.eye(6)[4:5])
    save(
        Fitted({"erased": (Active("erased", "-", (("layer[-1]", gender),)),)}, {"erased": []}),
        tmp_path / "methods.safetensors",
    )
    states = save_states(tmp_path / "vectors", vectors_of(bios, gender=0.6))
    options = {"data": ["balanced"], "split_seeds": [0, 5], "probe_seeds": [0]}
    made = source(tmp_path, methods=("none", "erased"), vectors=states)
    about = families.read(made, tmp_path / "f.parquet", cuts="biasflow.tasks.classification.cuts", hidden=20, **options)
    scores = score(tmp_path / "f.parquet")
    assert len(tidy(scores, encoder="e")) == 2 * (4 + 2) * len(FAMILIES)
    assert (scores["low"] <= scores["value"]).all() and (scores["value"] <= scores["high"]).all()
    of = scores.set_index(["method", "split_seed", "metric", "variant"])["value"]
    for family in FAMILIES:
        assert of["none", "0", f"{family}_probe", "-"] > 0.85
        assert of["erased", "0", f"{family}_probe", "-"] == pytest.approx(0.5, abs=0.1)
    _, parts = cuts(made.data, **options)
    assert about["tested"] == {cut.split_seed: len(cut.test) for cut in parts}
    professions, women = bios["label"].to_numpy(), (bios["gender"] == "F").to_numpy()
    for cut in parts:
        for rows in (cut.train, cut.dev, cut.test):
            counts = pd.crosstab(professions[rows], women[rows])
            assert (counts[True] == counts[False]).all()


def test_balanced_accuracy_is_the_mean_over_genders():
    z, right = np.array([1, 1, 1, 0]), np.array([True, True, False, False])
    assert balanced_accuracy(z, right)[0] == pytest.approx((2 / 3 + 0) / 2)
    assert balanced_accuracy(z, right, np.array([[0, 3, 1, 2.0]]))[0] == pytest.approx(3 / 8)


@pytest.mark.parametrize("d", [5, 300])  # fewer features than rows, and more
def test_ridge_has_the_penalty_that_errs_least_on_other_rows_and_agrees_with_the_closed_form(d):
    rng = np.random.default_rng(d)
    F = rng.normal(size=(360, d))
    signs = np.sign(F[:, :2] + rng.normal(size=(360, 2)))
    train, dev, test = np.split(F - F[:200].mean(axis=0), [200, 280])
    mean = signs[:200].mean(axis=0)
    said = [
        rows @ np.linalg.solve(train.T @ train + penalty * np.eye(d), train.T @ signs[:200]) + mean
        for penalty in families.PENALTIES
        for rows in (dev, test)
    ]
    errors = np.square(np.array(said[::2]) - signs[200:280]).sum(axis=1)
    expected = [said[2 * errors[:, label].argmin() + 1][:, label] for label in (0, 1)]
    assert families._ridge(train, dev, test, signs[:200], signs[200:280]) == pytest.approx(np.array(expected).T)
