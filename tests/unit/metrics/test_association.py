"""Measures of vectors: association tests, what stays of sentences' similarity, how much gender a place holds."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cosine

from biasflow.base.errors import BiasflowError
from biasflow.metrics.association import effect_interval, weat
from biasflow.metrics.association import score as score_association
from biasflow.metrics.gender_share import score as score_gender_share
from biasflow.metrics.similarity import score as score_similarity
from biasflow.metrics.similarity import similarity_kept
from biasflow.readouts.files import save_arrays
from biasflow.results.scores import tidy, undefined


def plain_association(w, A, B):
    return np.mean([1 - cosine(w, a) for a in A]) - np.mean([1 - cosine(w, b) for b in B])


def plain_p(X, Y, A, B, alternative, ties):
    """The permutation test with every cosine made anew for every partition."""
    words = [*X, *Y]

    def difference(chosen):
        s = [plain_association(w, A, B) for w in words]
        rest = set(range(len(words))) - set(chosen)
        return np.mean([s[i] for i in chosen]) - np.mean([s[i] for i in rest])

    far = {"greater": lambda t: t, "less": lambda t: -t, "two-sided": abs}[alternative]
    observed = far(difference(range(len(X))))
    everywhere = [far(difference(chosen)) for chosen in itertools.combinations(range(len(words)), len(X))]
    margin = 1e-10 if ties == "strict" else -1e-10
    return np.mean([t > observed + margin for t in everywhere])


def random_sets(seed, sizes=(4, 4, 3, 3), dimension=5):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(size, dimension)) for size in sizes]


seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(*[st.integers(2, 5)] * 4)


@given(seeds, sizes)
def test_effect_size_follows_its_formula_and_is_bounded(seed, sizes):
    X, Y, A, B = random_sets(seed, sizes)
    in_x, in_y = ([plain_association(w, A, B) for w in words] for words in (X, Y))
    found = weat(X, Y, A, B, ddof=1)
    assert found.effect_size == pytest.approx((np.mean(in_x) - np.mean(in_y)) / np.std(in_x + in_y, ddof=1))
    assert found.statistic == pytest.approx(sum(in_x) - sum(in_y))
    assert 0 <= found.p_value <= 1
    if len(X) == len(Y):
        assert abs(weat(X, Y, A, B).effect_size) <= 2 + 1e-12


@settings(max_examples=15)  # the plain way is slow
@given(seeds, st.tuples(*[st.integers(2, 4)] * 4))
def test_exact_p_equals_brute_force(seed, sizes):
    sets = random_sets(seed, sizes)
    for alternative, ties in itertools.product(["greater", "less", "two-sided"], ["strict", "inclusive"]):
        found = weat(*sets, alternative=alternative, ties=ties)
        assert found.exact and found.partitions == math.comb(sizes[0] + sizes[1], sizes[0])
        assert found.p_value == pytest.approx(plain_p(*sets, alternative, ties))


def test_exact_p_with_ties_equals_brute_force():
    """Words that occur twice tie with themselves in many partitions; rounding must not decide about them."""
    X, Y, A, B = random_sets(3)
    X, Y = np.concatenate([X[:3], Y[:1]]), np.concatenate([Y[:3], X[:1]])
    strict, inclusive = (weat(X, Y, A, B, ties=ties).p_value for ties in ("strict", "inclusive"))
    assert strict == plain_p(X, Y, A, B, "greater", "strict")
    assert inclusive == plain_p(X, Y, A, B, "greater", "inclusive")
    assert inclusive - strict > 1 / 70


def test_random_partitions_come_near_the_exact_p():
    sets = random_sets(2, (8, 8, 8, 8))
    exact, drawn = weat(*sets), weat(*sets, exact_up_to=0, samples=20_000)
    assert exact.exact and exact.partitions == 12_870
    assert not drawn.exact and drawn.partitions == 20_000
    assert drawn.effect_size == exact.effect_size
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)
    assert drawn.p_value == weat(*sets, exact_up_to=0, samples=20_000).p_value
    assert drawn.p_value != weat(*sets, exact_up_to=0, samples=20_000, seed=1).p_value


@pytest.mark.parametrize("name", ["X", "Y", "A", "B"])
def test_what_has_no_answer_says_why(name):
    sets = dict(zip("XYAB", random_sets(5), strict=True))
    zero = sets | {name: np.concatenate([sets[name][:1], np.zeros((1, 5)), sets[name][1:]])}
    for wrong, word in ((sets | {name: sets[name][:1]}, "fewer than two"), (zero, "word 1")):
        found = weat(**wrong)
        assert np.isnan([found.effect_size, found.statistic, found.p_value]).all()
        assert not found.exact and found.partitions == 0
        assert name in found.reason and word in found.reason


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": np.empty((0, 5))}, "X"),
        ({"Y": np.ones(5)}, "Y"),
        ({"A": np.full((3, 5), np.nan)}, "A, word 0"),
        ({"B": np.ones((3, 4))}, "B 4"),
        ({"ddof": 2}, "ddof"),
        ({"alternative": "larger"}, "alternative"),
        ({"ties": "half"}, "ties"),
        ({"exact_up_to": 0, "samples": 0}, "samples"),
        ({"about": [[0, 0, 1], [0, 1, 2, 3]]}, "3 and 4 rows; X and Y have 4 and 4"),
    ],
)
def test_wrong_input_is_named(change, named):
    with pytest.raises(BiasflowError, match=named):
        weat(**dict(zip("XYAB", random_sets(7), strict=True)) | change)


def test_a_method_without_a_value_has_its_reason(tmp_path):
    """Whatever other methods have: all vectors are the same under the first one."""
    axis, shown = [("none", "-"), ("hard", "-")], [("seat_effect_size", "-", "cls")]
    arrays = {
        role: np.stack([np.ones((4, 5)), random_sets(3)[0][:4]]) + 0.1 * number for number, role in enumerate("XYAB")
    }
    save_arrays(tmp_path / "v", arrays, axis, kind="seat", pooling="cls")
    rows = score_association(tmp_path / "v")
    assert undefined(rows, shown) == {"none": "every word of X and Y has the same association"}
    assert undefined(rows[rows["method"] == "hard"], shown) == {}
    rows.attrs.clear()
    assert undefined(rows, shown)["none"].startswith("its value is not defined")


AXIS = (("none", "-"), ("hard", "-"), ("densray-each", "layer[0]"))


def readout(path, seed=0, **meta):
    sets = [random_sets(seed + i, (4, 4, 3, 3)) for i in range(len(AXIS))]
    arrays = {role: np.stack([each[i] for each in sets]).astype(np.float32) for i, role in enumerate("XYAB")}
    save_arrays(path, arrays, AXIS, **meta)
    return path, arrays


@pytest.mark.parametrize(
    ("kind", "pooling", "ddof", "ties"), [("weat", "target", 0, "strict"), ("seat", "cls", 1, "inclusive")]
)
def test_scores_are_the_tests_of_each_method(tmp_path, kind, pooling, ddof, ties):
    path, arrays = readout(tmp_path / "v.safetensors", kind=kind, pooling=pooling)
    found = score_association(path)
    p = found["metric"].str.endswith("_p_value")  # one that is 0 is below 1 / n
    assert set(found["variant"]) == {pooling} and (found.loc[~p, "n"] == 8).all()
    assert (found.loc[p, "n"] == 70).all() and p.any()
    for i, (method, setting) in enumerate(AXIS):
        expected = weat(*(arrays[role][i] for role in "XYAB"), ddof=ddof, ties=ties)
        rows = found[(found["method"] == method) & (found["setting"] == setting)]
        assert rows.set_index("metric")["value"].to_dict() == {
            f"{kind}_effect_size": expected.effect_size,
            f"{kind}_spread": expected.spread,
            f"{kind}_p_value": expected.p_value,
            f"{kind}_partitions": 70,
            f"{kind}_exact": 1,
        } | ({"seat_word_p_value": expected.p_value} if kind == "seat" else {})


@given(seeds, sizes, st.randoms(use_true_random=False))
def test_neither_order_of_sentences_nor_names_of_words_matter(seed, sizes, random):
    X, Y, A, B = random_sets(seed, sizes)
    about = [np.arange(len(rows)) % max(2, len(rows) // 2) for rows in (X, Y)]
    order = [random.sample(range(len(rows)), len(rows)) for rows in (X, Y)]
    turned = [numbers[some] * 7 + 2 for numbers, some in zip(about, order, strict=True)]
    found, other = weat(X, Y, A, B, about=about), weat(X[order[0]], Y[order[1]], A, B, about=turned)
    assert other.word_p_value == pytest.approx(found.word_p_value, nan_ok=True)


def test_the_interval_is_over_the_target_words_and_shrinks_with_them():
    rng = np.random.default_rng(0)
    widths = []
    for n in (6, 24, 96):
        s = np.concatenate([rng.normal(0.5, 1, n), rng.normal(-0.5, 1, n)])
        low, high, _ = effect_interval(s, n)
        assert low <= (s[:n].mean() - s[n:].mean()) / s.std() <= high
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]
    for ddof in (0, 1):
        assert effect_interval(s, 96, ddof)[:2] == pytest.approx([np.sqrt(1 - ddof / 192) * end for end in (low, high)])
    assert effect_interval(3 * s + 1, 96)[:2] == pytest.approx(effect_interval(s, 96)[:2])


def test_sentences_about_one_word_count_once(tmp_path):
    """Where every word has three equal sentences, the test of words is that of the words themselves."""
    X, Y, A, B = random_sets(3, (4, 5, 3, 3))
    sentences = np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0), A, B
    about = np.repeat(np.arange(4), 3), np.repeat(np.arange(5), 3)
    words, found = weat(X, Y, A, B, ties="inclusive"), weat(*sentences, ties="inclusive", about=about)
    assert found.effect_size == pytest.approx(words.effect_size)
    assert (found.word_p_value, found.word_partitions) == (words.p_value, math.comb(9, 4)) != (found.p_value, 1)
    assert (found.low, found.high) == pytest.approx((words.low, words.high))
    path = tmp_path / "v.safetensors"
    arrays = {role: rows[None].astype(np.float32) for role, rows in zip("XYAB", sentences, strict=True)}
    stored = dict(zip("XY", (numbers.tolist() for numbers in about), strict=True))
    save_arrays(path, arrays, AXIS[:1], kind="seat", pooling="cls", about=stored)
    row = score_association(path).set_index("metric").loc["seat_word_p_value"]
    assert row["value"] == words.p_value and row["n"] == 126


ANGLES = np.array([0.0, 0.1, 0.3, 0.7, 1.5])  # of unit vectors in the plane: the nearer the angles, the more similar
ON_A_CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])


def test_known_answer():
    """The third and the fifth change places: the first now has the others in the order 2, 5, 4, 3, not 2, 3, 4, 5."""
    after = ON_A_CIRCLE[[0, 1, 4, 3, 2]]
    found = similarity_kept(ON_A_CIRCLE, after)
    assert found[0] == pytest.approx(1 - 6 * (2**2 + 2**2) / (4 * (4**2 - 1)))  # Spearman's formula without ties
    # A sixth vector, which is zero after: it is left out, and changes nothing for the others.
    erased = similarity_kept(np.vstack([ON_A_CIRCLE, [1, 1]]), np.vstack([after, [0, 0]]))
    assert erased.tolist() == pytest.approx([*found, np.nan], nan_ok=True)


@given(st.integers(0, 10_000), st.floats(0.1, 10))
def test_rotating_and_scaling_change_nothing_and_values_stay_in_range(seed, factor):
    rng = np.random.default_rng(seed)
    before, after = rng.standard_normal((2, 8, 5))
    rotation, lengths = np.linalg.qr(rng.standard_normal((5, 5)))[0], rng.uniform(0.5, 2, (8, 1))
    found = similarity_kept(before, after)
    assert (np.abs(found) <= 1).all()
    assert similarity_kept(before, factor * lengths * after @ rotation).tolist() == pytest.approx(found.tolist())
    assert similarity_kept(after, before).tolist() == pytest.approx(found.tolist())


def test_vectors_that_are_not_finite_are_refused():
    with pytest.raises(BiasflowError, match="not finite"):
        similarity_kept(np.full((5, 2), np.nan), ON_A_CIRCLE)


def test_scores_compare_every_method_with_the_untouched_encoder(tmp_path):
    rng = np.random.default_rng(0)
    plain = rng.standard_normal((40, 6)).astype("float32")
    erased = plain.copy()
    erased[:, 0] = 0  # what moved is a part of what was there, not of what is left
    save_arrays(tmp_path / "v", {"vectors": np.stack([erased, plain])}, [("hard", "-"), ("none", "-")], pooling="cls")
    found = score_similarity(tmp_path / "v").set_index(["metric", "method"])
    assert found.loc[("similarity_kept", "none"), ["value", "low", "high"]].tolist() == pytest.approx([1, 1, 1])
    assert found.loc[("vector_change", "none"), "value"] == 0
    hard = found.loc["similarity_kept", "hard"]
    assert hard["low"] < hard["value"] < hard["high"] < 1 and hard["n"] == 40
    shares = np.abs(plain[:, 0]) / np.linalg.norm(plain, axis=1)
    assert found.loc[("vector_change", "hard"), "value"] == pytest.approx(shares.mean(), rel=1e-5)


def test_a_readout_without_the_untouched_encoder_is_refused(tmp_path):
    save_arrays(tmp_path / "v", {"vectors": np.ones((1, 5, 2))}, [("hard", "-")], pooling="cls")
    with pytest.raises(BiasflowError, match="untouched"):
        score_similarity(tmp_path / "v")


def test_a_place_and_its_heads_are_parts(tmp_path):
    rows = {
        "method": "none",
        "setting": "-",
        "place": ["layer[0]", "layer[0].attention.value", "layer[0].attention.value"],
        "head": ["", "0", "1"],
        "share": [0.5, 0.25, 0.125],
    }
    pd.DataFrame(rows).to_parquet(tmp_path / "shares.parquet")
    found = tidy(score_gender_share(tmp_path / "shares.parquet"), encoder="tiny", dataset="words")
    assert found.set_index("part")["value"].to_dict() == {
        "layer[0]": 0.5,
        "layer[0].attention.value[0]": 0.25,
        "layer[0].attention.value[1]": 0.125,
    }
    assert set(found["metric"]) == {"gender_share"} and set(found["method"]) == {"none"}
