"""CEAT: the random-effects model by hand, the draws against the plain loop, and what has no answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from biasflow.base.errors import BiasflowError
from biasflow.metrics.association import ceat, weat
from biasflow.metrics.combined_effect import RESAMPLES, EffectDraws, ceat_rows, random_effects
from biasflow.metrics.combined_effect import draw_effects as effects_of
from biasflow.readouts.cosines import drawn_cosines
from biasflow.results.bootstrap import interval
from tests.unit.reference_ceat import one_by_one

NAMES = "XYAB"


def draw_effects(*sets, draws, seed=0, ddof=1):
    return effects_of(drawn_cosines(*sets, draws=draws, seed=seed), tuple(map(len, sets)), ddof=ddof)


def random_sets(seed, sizes=(3, 4, 3, 2), most=6, dimension=7):
    rng = np.random.default_rng(seed)
    return [
        [rng.normal(size=(rng.integers(1, most + 1), dimension)).astype(np.float32) for _ in range(n)] for n in sizes
    ]


seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(*[st.integers(2, 5)] * 4)


def test_random_effects_by_hand():
    """w = 1, 1/2; m = 1, Q = 3 > 1; c = 3/2 - 5/6 = 2/3; tau^2 = 3; w* = 1/4, 1/5."""
    found = random_effects([0, 3], [1, 2])
    assert found.tau_squared == pytest.approx(3)
    assert found.effect_size == pytest.approx(0.6 / 0.45)
    z = 0.6 / math.sqrt(0.45)  # the standard error is 1 / sqrt(0.45)
    assert found.p_one_sided == pytest.approx(norm.sf(z))
    assert found.p_two_sided == pytest.approx(2 * norm.sf(z))
    assert found.draws == 2


@given(st.lists(st.tuples(st.floats(-2, 2), st.floats(0.01, 10)), min_size=2, max_size=20))
def test_random_effects_lie_within_the_effects_and_tau_squared_is_never_negative(pairs):
    effects, variances = map(np.array, zip(*pairs, strict=True))
    found = random_effects(effects, variances)
    assert found.tau_squared >= 0
    assert effects.min() - 1e-9 <= found.effect_size <= effects.max() + 1e-9
    turned = random_effects(-effects[::-1], variances[::-1])
    assert turned.effect_size == pytest.approx(-found.effect_size, abs=1e-9)
    assert turned.p_one_sided == pytest.approx(1 - found.p_one_sided, abs=1e-9)
    assert turned.p_two_sided == pytest.approx(found.p_two_sided, abs=1e-9)


@given(seeds, sizes)
def test_draws_equal_the_plain_loop(seed, sizes):
    sets = random_sets(seed, sizes)
    effects, variances = one_by_one(*sets, draws=5, seed=seed)
    found = draw_effects(*sets, draws=5, seed=seed)["concepts"]
    assert found.effects == pytest.approx(effects, abs=2e-4)
    assert found.spread == pytest.approx(variances, rel=2e-4)
    assert draw_effects(*sets, draws=5, seed=seed, ddof=0)["concepts"].effects == pytest.approx(
        one_by_one(*sets, draws=5, seed=seed, ddof=0)[0], abs=2e-4
    )


def test_both_variances_by_their_formulas():
    sets = random_sets(0, (3, 5, 4, 4))
    drawn = draw_effects(*sets, draws=50)["concepts"]
    assert drawn.variances("sampling") == pytest.approx(1 / 3 + 1 / 5 + drawn.effects**2 / 16)
    assert drawn.variances("spread") is drawn.spread
    for variance in ("spread", "sampling"):
        assert drawn.combined(variance) == random_effects(drawn.effects, drawn.variances(variance))


@pytest.mark.parametrize("name", NAMES)
def test_what_has_no_answer_is_empty(name):
    sets = dict(zip(NAMES, random_sets(7), strict=True))
    zero = [sets[name][0], np.vstack([sets[name][1], np.zeros((1, 7))]), *sets[name][2:]]
    for wrong in (sets[name][:1], zero):
        drawn = draw_effects(*(sets | {name: wrong}).values(), draws=100)
        found = drawn["concepts"].combined()
        assert np.isnan([found.effect_size, found.p_two_sided, found.tau_squared]).all()
        assert found.draws == 0
        rows = ceat_rows(drawn)
        assert rows["value"].isna().all() and (rows["n"] == 0).all()
        variants = [f"{order}-{variance}" for order in ("concepts", "genders") for variance in ("spread", "sampling")]
        assert rows["variant"].unique().tolist() == variants


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": []}, "X"),
        ({"Y": [np.ones((2, 7)), np.empty((0, 7))]}, "Y, word 1"),
        ({"A": [np.ones((2, 7)), np.ones(7)]}, "A, word 1"),
        ({"B": [np.ones((2, 7)), np.ones((2, 6))]}, "B, word 1"),
        ({"B": [np.ones((2, 7)), np.full((2, 7), np.nan)]}, "B, word 1"),
    ],
)
def test_wrong_input_is_named(change, named):
    with pytest.raises(BiasflowError, match=named):
        drawn_cosines(**dict(zip(NAMES, random_sets(9), strict=True)) | {"draws": 5, "seed": 0} | change)


@pytest.mark.parametrize("ddof", [0, 1])
def test_resamples_are_effects_of_words_that_are_drawn_anew(ddof):
    draws = draw_effects(*random_sets(3, sizes=(6, 7, 3, 2)), draws=4, ddof=ddof)["concepts"]

    def by_hand(counts):
        """The combined effect of the words of each resample, of which some are there several times."""
        combined = []
        for row in counts.astype(int):
            s = draws.s[:, np.repeat(np.arange(6 + 7), row)]
            spread = s.var(axis=1, ddof=ddof)
            effects = (s[:, :6].mean(axis=1) - s[:, 6:].mean(axis=1)) / np.sqrt(spread)
            combined.append(EffectDraws(s, effects, spread, draws.sizes, ddof).combined("spread").effect_size)
        return np.array(combined)

    expected = interval(by_hand, np.arange(6 + 7) >= 6, strata=True, resamples=RESAMPLES)
    assert draws.intervals()["spread"].resampled == pytest.approx(expected.resampled, rel=1e-3)


def test_ceat_of_one_occurrence_a_word_is_weat_and_of_several_that_of_a_run():
    words = np.random.default_rng(0).normal(size=(4, 5, 3, 8)).astype(np.float32)  # [sets, words, occurrences, ...]
    once = [[word[:1] for word in of_set] for of_set in words]
    expected = weat(*(of_set[:, 0] for of_set in words), ddof=1).effect_size
    assert ceat(*once, draws=3, ddof=1).effect_size == pytest.approx(expected, abs=1e-5)
    of_run = draw_effects(*words, draws=50, seed=2)["genders"].combined("sampling")
    assert ceat(*words, draws=50, seed=2, order="genders", variance="sampling") == of_run
    with pytest.raises(BiasflowError, match="order"):
        ceat(*words, order="none")
