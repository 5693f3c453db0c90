"""What stays of sentences' similarity: known answers, what changes nothing, and what cannot be compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.similarity import score, similarity_kept
from biasflow.readouts.files import save_arrays

ANGLES = np.array([0.0, 0.1, 0.3, 0.7, 1.5])  # of unit vectors in the plane: the nearer the angles, the more similar
ON_A_CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])


def test_known_answer():
    """The third and the fifth change places: the first now has the others in the order 2, 5, 4, 3, not 2, 3, 4, 5."""
    found = similarity_kept(ON_A_CIRCLE, ON_A_CIRCLE[[0, 1, 4, 3, 2]])
    assert found[0] == pytest.approx(1 - 6 * (2**2 + 2**2) / (4 * (4**2 - 1)))  # Spearman's formula without ties


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
    erased[:, 0] = 0
    save_arrays(tmp_path / "v", {"vectors": np.stack([erased, plain])}, [("hard", "-"), ("none", "-")], pooling="cls")
    found = score(tmp_path / "v").set_index(["metric", "method"])
    assert found.loc[("similarity_kept", "none"), ["value", "low", "high"]].tolist() == pytest.approx([1, 1, 1])
    assert found.loc[("vector_change", "none"), "value"] == 0
    hard = found.loc["similarity_kept", "hard"]
    assert hard["low"] < hard["value"] < hard["high"] < 1 and hard["n"] == 40
    shares = np.abs(plain[:, 0]) / np.linalg.norm(plain, axis=1)
    assert found.loc[("vector_change", "hard"), "value"] == pytest.approx(shares.mean(), rel=1e-5)


def test_a_readout_without_the_untouched_encoder_is_refused(tmp_path):
    save_arrays(tmp_path / "v", {"vectors": np.ones((1, 5, 2))}, [("hard", "-")], pooling="cls")
    with pytest.raises(BiasflowError, match="untouched"):
        score(tmp_path / "v")
