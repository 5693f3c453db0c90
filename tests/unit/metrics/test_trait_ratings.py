"""Trait ratings: associations from what was read, and the mixed model of a pair of groups."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from biasflow.base.errors import BiasflowError
from biasflow.metrics.trait_ratings import associations, fit, score

WORDS = {"masculine": 6, "feminine": 6, "neo": 3}


def read(association, *, templates=6, traits=8, words=WORDS, pieces=1, other=0.0):
    """A file's rows, without method: association(template, trait, group, word) in nats, shared by so many pieces;
    other: what a trait adds to every piece in a place that is not its own."""
    rows = []
    for template, trait in np.ndindex(templates, traits):
        for group, word in ((group, word) for group, n in words.items() for word in range(n)):
            about = f"{template}/{trait}/{group}{word}", f"t{template}", f"r{trait}", group
            for piece in range(pieces**2):
                added = other if piece % (pieces + 1) else association(template, trait, group, word) / pieces
                rows += [(*about, "hidden", piece, -3.0), (*about, "shown", piece, -3.0 + added)]
            rows += [(*about, "whole", piece, -1.0 - 0.1 * (word % 3)) for piece in range(4)]
    return pd.DataFrame(rows, columns=["item", "template", "trait", "group", "masked", "piece", "log_p"])


def scores(tmp_path, table):
    table.assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
    return score(tmp_path / "p.parquet").set_index(["metric", "part", "variant"])


def by_chance(seed):
    """An association of every sentence, with differences between templates, traits and words."""
    rng = np.random.default_rng(seed)
    noise = {group: rng.normal(size=(6, 8, n)) for group, n in WORDS.items()}
    return lambda template, trait, group, word: 0.2 * template - 0.1 * trait + noise[group][template, trait, word]


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_a_word_has_its_pieces_in_their_own_places_and_the_released_one_has_all_in_all(pieces):
    table = read(lambda *of: 0.6, templates=1, traits=2, pieces=pieces, other=0.25)
    found = associations(table.sample(frac=1, random_state=0))
    assert len(found) == 2 * sum(WORDS.values())
    assert found["own-places"].to_numpy() == pytest.approx(0.6)
    assert found["released"].to_numpy() == pytest.approx(0.6 + 0.25 * (pieces**2 - pieces))
    assert sorted(found["perplexity"].unique()) == pytest.approx(np.exp([1.0, 1.1, 1.2]))


def test_known_answers_by_pair_of_groups(tmp_path):
    table = read(lambda template, trait, group, word: {"masculine": 1, "feminine": 1.5, "neo": -1}[group] + 0.1 * trait)
    found = scores(tmp_path, table)
    for variant in ("own-places", "released"):
        feminine = found.loc["trait_ratings_feminine", "feminine-masculine", variant]
        neo = found.loc["trait_ratings_neo", "neo-masculine", variant]
        assert [feminine["value"], neo["value"]] == pytest.approx([0.5, -2]) and feminine["n"] == 8
        assert [feminine["low"], feminine["high"]] == pytest.approx([0.5, 0.5], abs=1e-6)
    r2 = found.loc["trait_ratings_r2", "feminine-masculine"]["value"]
    assert 0 < r2["own-places"] <= r2["released"] <= 1


@settings(max_examples=8)
@given(st.integers(0, 50), st.floats(-5, 5))
def test_a_constant_of_a_group_moves_its_coefficient_alone_and_the_order_of_rows_nothing(
    tmp_path_factory, seed, constant
):
    association, folder = by_chance(seed), tmp_path_factory.mktemp("t")
    before = scores(folder, read(association))
    moved = read(lambda *of: association(*of) + constant * (of[2] == "neo"))
    after = scores(folder, moved.sample(frac=1, random_state=seed))
    others = before.index[before.index.get_level_values("part") == "feminine-masculine"]
    numbers = ["value", "low", "high"]
    np.testing.assert_allclose(
        after.loc[others, numbers].astype(float), before.loc[others, numbers].astype(float), atol=1e-4
    )
    neo = ("trait_ratings_neo", "neo-masculine", "own-places")
    shifts = after.loc[neo, numbers].astype(float) - before.loc[neo, numbers].astype(float)
    np.testing.assert_allclose(shifts, constant, atol=1e-4)


def drawn(seed=0):
    """Arguments of `fit`: 3 templates, 5 traits, 4 words, unequal weights, and 3 rows missing."""
    rng = np.random.default_rng(seed)
    template, trait, word = (axis.ravel()[3:] for axis in np.indices((3, 5, 4)))
    values = rng.normal(size=3)[template] + rng.normal(size=5)[trait] + 0.5 * (word % 2) + rng.normal(size=len(word))
    return values, word % 2 == 1, template, trait, rng.gamma(3, size=len(word))


def test_the_model_is_weighted_least_squares_with_the_variances_that_it_estimates():
    values, is_second, template, trait, weights = drawn()
    found = fit(values, is_second, template, trait, weights)
    of_template, of_trait, residual = found.variances
    covariance = np.diag(residual * weights.mean() / weights)
    for numbers, variance in ((template, of_template), (trait, of_trait)):
        covariance += variance * (numbers[:, None] == numbers)
    fixed, inverse = np.column_stack([np.ones(len(values)), is_second]), np.linalg.inv(covariance)
    of_beta = np.linalg.inv(fixed.T @ inverse @ fixed)
    beta = of_beta @ fixed.T @ inverse @ values
    assert found.coefficient == pytest.approx(beta[1]) and found.standard_error == pytest.approx(of_beta[1, 1] ** 0.5)
    moved = (of_beta @ fixed.T @ inverse)[1] * (values - fixed @ beta)
    assert found.of_traits == pytest.approx(np.bincount(trait, moved))
    assert found.of_templates == pytest.approx(np.bincount(template, moved))
    explained = np.var(fixed @ beta, ddof=1)
    assert found.marginal_r2() == pytest.approx(explained / (explained + found.variances.sum()))
    assert found.marginal_r2(2) == pytest.approx(explained / (explained + found.variances.sum() + residual))


@pytest.mark.filterwarnings("ignore")  # of MixedLM, near 0
@pytest.mark.parametrize("seed", [0, 1])
def test_the_variances_are_those_of_statsmodels_on_weighted_rows(seed):
    values, is_second, template, trait, weights = drawn(seed)
    found, root = fit(values, is_second, template, trait, weights), np.sqrt(weights / weights.mean())
    matrices = [[np.eye(numbers.max() + 1)[numbers] * root[:, None]] for numbers in (template, trait)]
    names = [[[str(number) for number in range(each[0].shape[1])]] for each in matrices]
    fixed = np.column_stack([np.ones(len(values)), is_second]) * root[:, None]
    theirs = MixedLM(values * root, fixed, np.ones(len(values)), exog_vc=VCSpec(["t", "r"], names, matrices)).fit()
    assert found.coefficient == pytest.approx(theirs.fe_params[1], abs=1e-3)
    assert found.variances == pytest.approx([*theirs.vcomp, theirs.scale], rel=0.01, abs=1e-3)


def test_no_interval_of_few_templates_and_no_score_of_a_group_without_words(tmp_path):
    found = scores(tmp_path, read(by_chance(0), templates=5, words=WORDS | {"neo": 0}))
    feminine = found.loc["trait_ratings_feminine", "feminine-masculine", "own-places"]
    assert np.isfinite(feminine["value"]) and np.isnan(feminine["low"])
    assert found.loc["trait_ratings_neo"]["value"].isna().all()


@pytest.mark.parametrize("lacking", ["masked == 'whole'", "masked == 'hidden' and item == '0/0/neo0'"])
def test_a_sentence_without_all_of_its_readings_is_refused(tmp_path, lacking):
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: trait ratings"):
        scores(tmp_path, read(by_chance(0)).query(f"not ({lacking})"))
