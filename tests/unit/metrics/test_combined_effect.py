"""CEAT: the random-effects model by hand, the draws against WEAT and against the plain loop, and what has no answer."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from biasflow.base.errors import BiasflowError
from biasflow.metrics import association
from biasflow.metrics.combined_effect import METRICS, ceat, ceat_rows, random_effects, score
from biasflow.metrics.combined_effect import draw_effects as effects_of
from biasflow.readouts.cosines import drawn_cosines
from biasflow.readouts.files import save_arrays
from tests.unit.reference_ceat import one_by_one

NAMES = "XYAB"


def draw_effects(*sets, draws, seed=0, ddof=1):
    return effects_of(drawn_cosines(*sets, draws=draws, seed=seed), tuple(map(len, sets)), ddof=ddof)


def random_sets(seed, sizes=(3, 4, 3, 2), most=6, dimension=7):
    rng = np.random.default_rng(seed)
    return [
        [rng.normal(size=(rng.integers(1, most + 1), dimension)).astype(np.float32) for _ in range(n)] for n in sizes
    ]


def one_each(seed, sizes=(3, 4, 3, 2)):
    return random_sets(seed, sizes, most=1)


seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(*[st.integers(2, 5)] * 4)


def test_random_effects_by_hand():
    """w = 1, 1/2; m = 1, Q = 3 > 1; c = 3/2 - 5/6 = 2/3; tau^2 = 3; w* = 1/4, 1/5."""
    found = random_effects([0, 3], [1, 2])
    assert found.tau_squared == pytest.approx(3)
    assert found.effect_size == pytest.approx(0.6 / 0.45)
    assert found.standard_error == pytest.approx(1 / math.sqrt(0.45))
    assert found.z == pytest.approx(0.6 / math.sqrt(0.45))
    assert found.p_one_sided == pytest.approx(norm.sf(found.z))
    assert found.p_two_sided == pytest.approx(2 * norm.sf(found.z))
    assert (found.draws, found.mean, found.reason) == (2, 1.5, "")
    assert found.sd == pytest.approx(math.sqrt(4.5))


@given(st.floats(-2, 2), st.floats(0.01, 10), st.integers(1, 50))
def test_equal_effects_have_no_heterogeneity(effect, variance, n):
    found = random_effects([effect] * n, [variance] * n)
    assert found.tau_squared == 0
    assert found.effect_size == pytest.approx(effect)
    assert found.standard_error == pytest.approx(math.sqrt(variance / n))


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


def test_little_dispersion_is_clamped_at_zero():
    assert random_effects([0, 0.1, -0.1], [1, 1, 1]).tau_squared == 0
    assert random_effects([0, 10, -10], [1, 1, 1]).tau_squared > 0


def test_one_effect_alone():
    found = random_effects([0.5], [4])
    assert (found.effect_size, found.standard_error, found.tau_squared) == (0.5, 2, 0)
    assert math.isnan(found.sd)


@settings(max_examples=20, deadline=None)
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


@settings(max_examples=20, deadline=None)
@given(seeds, sizes)
def test_one_occurrence_per_word_is_weat_in_both_orders(seed, sizes):
    X, Y, A, B = sets = one_each(seed, sizes)
    words = [np.concatenate(some) for some in sets]
    for ddof in (0, 1):
        drawn = draw_effects(*sets, draws=3, ddof=ddof)
        d = association.weat(*words, ddof=ddof).effect_size
        swapped = association.weat(*words[2:], *words[:2], ddof=ddof).effect_size
        assert drawn["concepts"].effects == pytest.approx([d] * 3, abs=1e-4)
        assert drawn["genders"].effects == pytest.approx([swapped] * 3, abs=1e-4)
    found = ceat(X, Y, A, B, draws=3)
    assert found.effect_size == pytest.approx(association.weat(*words, ddof=1).effect_size, abs=1e-4)
    assert found.tau_squared == 0 and found.draws == 3


def test_both_variances_by_their_formulas():
    sets = random_sets(0, (3, 5, 4, 4))
    drawn = draw_effects(*sets, draws=50)["concepts"]
    assert drawn.variances("sampling") == pytest.approx(1 / 3 + 1 / 5 + drawn.effects**2 / 16)
    assert drawn.variances("spread") is drawn.spread
    for variance in ("spread", "sampling"):
        assert ceat(*sets, draws=50, variance=variance) == random_effects(drawn.effects, drawn.variances(variance))


def test_every_occurrence_is_drawn_equally_often():
    """In X's first word three of four occurrences point towards A: the effect is large in three of four draws."""
    A, B = np.eye(3)[0], np.eye(3)[1]
    X = [np.stack([A, A, A, B]), np.stack([A + B])]
    Y = [np.stack([A + B + np.eye(3)[2]]), np.stack([A + 2 * B])]
    effects = draw_effects(X, Y, [A[None]] * 2, [B[None]] * 2, draws=4000)["concepts"].effects
    assert len(np.unique(effects.round(4))) == 2
    assert (effects > 0).mean() == pytest.approx(0.75, abs=0.03)


def test_a_planted_association_is_found_and_its_sign_turns_with_the_targets():
    rng = np.random.default_rng(1)
    towards, away = np.eye(20)[0], np.eye(20)[1]
    A, B = ([vector + 0.2 * rng.normal(size=(9, 20)) for _ in range(4)] for vector in (towards, away))
    X, Y = ([vector + 0.5 * rng.normal(size=(9, 20)) for _ in range(4)] for vector in (towards, away))
    found = ceat(X, Y, A, B, draws=300)
    assert found.effect_size > 1 and found.p_one_sided < 1e-6
    turned = ceat(Y, X, A, B, draws=300)
    assert turned.effect_size == pytest.approx(-found.effect_size, abs=0.1)
    assert turned.p_one_sided > 0.99 and turned.p_two_sided < 1e-6


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(-3, 3))
def test_the_length_of_vectors_does_not_matter(seed, power):
    sets = random_sets(seed)
    longer = [[word * 10**power for word in words] for words in sets]
    before, after = draw_effects(*sets, draws=5), draw_effects(*longer, draws=5)
    for order, drawn in before.items():
        assert after[order].effects == pytest.approx(drawn.effects, abs=1e-3)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_very_short_and_very_long_vectors_have_cosines(factor):
    X, Y, A, B = random_sets(3)
    scaled = ceat([factor * word for word in X], Y, A, B, draws=10)
    assert scaled.effect_size == pytest.approx(ceat(X, Y, A, B, draws=10).effect_size, abs=1e-4)


def test_the_seed_decides_and_chunks_do_not(monkeypatch):
    sets = random_sets(4)
    found = ceat(*sets, draws=100, seed=1)
    assert found == ceat(*sets, draws=100, seed=1)
    assert found != ceat(*sets, draws=100, seed=2)
    monkeypatch.setattr("biasflow.readouts.cosines.CHUNK_BYTES", 1)
    assert ceat(*sets, draws=100, seed=1).effect_size == pytest.approx(found.effect_size, abs=1e-5)


def test_half_precision_is_taken():
    sets = random_sets(5)
    half = [[word.astype(np.float16) for word in words] for words in sets]
    assert ceat(*half, draws=20).effect_size == pytest.approx(ceat(*sets, draws=20).effect_size, abs=0.02)


def test_rows_hold_all_readings():
    sets = random_sets(6)
    rows = ceat_rows(draw_effects(*sets, draws=30, seed=2))
    assert list(rows.columns) == ["metric", "variant", "value", "n", "low", "high"] and (rows["n"] == 30).all()
    values = rows.set_index(["variant", "metric"])["value"]
    assert list(dict.fromkeys(rows["variant"])) == [
        "concepts-spread",
        "concepts-sampling",
        "genders-spread",
        "genders-sampling",
    ]
    for order in ("concepts", "genders"):
        for variance in ("spread", "sampling"):
            found = ceat(*sets, draws=30, seed=2, order=order, variance=variance)
            for metric in METRICS:
                assert values[f"{order}-{variance}", metric] == getattr(found, metric)


def test_scores_of_a_file_are_those_of_its_cosines_under_every_method(tmp_path):
    several = [random_sets(seed, (3, 2, 2, 4)) for seed in (1, 2)]
    cosines = np.stack([drawn_cosines(*sets, draws=20, seed=3) for sets in several])
    sizes = {"X": 3, "Y": 2, "A": 2, "B": 4}
    save_arrays(tmp_path / "c", {"cosines": cosines}, [("none", "-"), ("grid", "layer[1]")], sizes=sizes)
    rows = score(tmp_path / "c").set_index(["method", "setting", "metric", "variant"])
    for sets, method in zip(several, [("none", "-"), ("grid", "layer[1]")], strict=True):
        expected = ceat_rows(draw_effects(*sets, draws=20, seed=3)).set_index(["metric", "variant"])
        for (metric, variant), row in expected.iterrows():
            assert np.array_equal(rows.loc[(*method, f"ceat_{metric}", variant)], row, equal_nan=True)
    assert len(rows) == 2 * (4 * len(METRICS) + 1)  # and how many words there are


def test_cosines_are_those_of_the_drawn_occurrences():
    sets = random_sets(12)
    words = [word for some in sets for word in some]
    chosen = np.random.default_rng(5).integers(0, [len(word) for word in words], size=(8, len(words)))
    found = drawn_cosines(*sets, draws=8, seed=5)
    assert found.dtype == np.float32 and found.shape == (8, 7, 5)
    for draw, row in enumerate(chosen):
        unit = [word[i] / np.linalg.norm(word[i].astype(float)) for word, i in zip(words, row, strict=True)]
        assert found[draw] == pytest.approx(np.array(unit[:7]) @ np.array(unit[7:]).T, abs=1e-6)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(BiasflowError, match="sets of 2, 2, 2 and 2"):
        effects_of(np.zeros((3, 4, 5)), (2, 2, 2, 2))


def test_the_public_name():
    assert association.ceat is ceat


@pytest.mark.parametrize("name", NAMES)
def test_what_has_no_answer_says_why(name):
    sets = dict(zip(NAMES, random_sets(7), strict=True))
    zero = [sets[name][0], np.vstack([sets[name][1], np.zeros((1, 7))]), *sets[name][2:]]
    for wrong, named in ((sets[name][:1], f"set {name} has fewer than two"), (zero, "a zero vector")):
        found = ceat(**sets | {name: wrong}, draws=100)
        assert np.isnan([found.effect_size, found.standard_error, found.p_two_sided, found.tau_squared, found.sd]).all()
        assert found.draws == 0 and named in found.reason
        rows = ceat_rows(draw_effects(*(sets | {name: wrong}).values(), draws=100))
        assert rows["value"].isna().all() and (rows["n"] == 0).all()


def test_no_spread_has_no_answer():
    X, Y, A, _ = one_each(8)
    same = ceat(X, Y, A, A, draws=10)
    assert math.isnan(same.effect_size) and "10 of 10" in same.reason
    assert math.isnan(ceat([X[0]] * 2, [X[0]] * 2, A, Y, draws=10).effect_size)
    assert math.isfinite(ceat(A, A, X, Y, draws=10, order="genders").effect_size) is False


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": []}, "X"),
        ({"Y": [np.ones((2, 7)), np.empty((0, 7))]}, "Y, word 1"),
        ({"A": [np.ones((2, 7)), np.ones(7)]}, "A, word 1"),
        ({"B": [np.ones((2, 7)), np.ones((2, 6))]}, "B, word 1"),
        ({"B": [np.ones((2, 7)), np.full((2, 7), np.nan)]}, "B, word 1"),
        ({"A": [np.full((2, 7), np.inf), np.ones((2, 7))]}, "A, word 0"),
        ({"draws": 0}, "draws"),
        ({"draws": 1.5}, "draws"),
        ({"ddof": 2}, "ddof"),
        ({"order": "reversed"}, "order"),
        ({"variance": "pooled"}, "variance"),
    ],
)
def test_wrong_input_is_named(change, named):
    with pytest.raises(BiasflowError, match=named):
        ceat(**dict(zip(NAMES, random_sets(9), strict=True)) | {"draws": 5} | change)


@pytest.mark.parametrize(
    ("effects", "variances", "named"),
    [
        ([], [], "shape"),
        ([1], [1, 2], "shape"),
        ([[1]], [[1]], "shape"),
        ([1, math.nan], [1, 1], "effect 1"),
        ([1, 2], [1, 0], "variance 1"),
        ([1, 2], [math.inf, 1], "variance 0"),
    ],
)
def test_effects_without_weight_are_named(effects, variances, named):
    with pytest.raises(BiasflowError, match=named):
        random_effects(effects, variances)


def test_scoring_takes_the_memory_of_one_method(tmp_path):
    """As much for twelve methods as for two, apart from their rows."""
    peaks, draws = [], 2000
    for methods in (2, 12):
        path = tmp_path / f"{methods}.safetensors"
        cosines = np.random.default_rng(0).uniform(-1, 1, (methods, draws, 16, 16)).astype(np.float32)
        axis = [(f"m{number}", "-") for number in range(methods)]
        save_arrays(path, {"cosines": cosines}, axis, sizes=dict.fromkeys(NAMES, 8), test="C6")
        score(path)  # what is kept for the next call
        tracemalloc.start()
        score(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + cosines[0].nbytes
