"""Perplexity in its two forms, and pseudo-perplexity."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics import perplexity as module
from biasflow.metrics.perplexity import perplexity, perplexity_of_batches, pseudo_perplexity

LOSSES = st.lists(st.floats(0, 30), min_size=1, max_size=30)


def test_known_answers():
    losses = np.log([2.0, 2.0, 8.0])
    assert perplexity(losses) == pytest.approx(2 ** (5 / 3))
    assert perplexity_of_batches(losses, [0, 0, 1]) == pytest.approx(4)  # the mean of ln 2 and ln 8 is ln 4
    assert pseudo_perplexity([-math.log(4), -math.log(2)], [2, 1]) == pytest.approx(2)


@given(LOSSES)
def test_pseudo_perplexity_is_the_perplexity_of_all_tokens(losses):
    half = len(losses) // 2
    parts = [part for part in (losses[:half], losses[half:]) if part]
    found = pseudo_perplexity([-sum(part) for part in parts], [len(part) for part in parts])
    assert found == pytest.approx(perplexity(losses))


@pytest.mark.parametrize(
    "call",
    [
        lambda: perplexity([]),
        lambda: perplexity([[1.0]]),
        lambda: perplexity([1.0, -0.5]),
        lambda: perplexity([math.inf]),
        lambda: pseudo_perplexity([1.0], [1]),
    ],
)
def test_what_is_no_loss_is_refused(call):
    with pytest.raises(BiasflowError):
        call()


def test_scores_by_method_and_mask_seed_in_both_forms(tmp_path):
    """Blocks 0 to 3 are one released batch, block 4 another."""
    rows = pd.DataFrame({"readout_seed": 1, "block": [0, 3, 4], "loss": np.log([2.0, 2.0, 8.0])})
    doubled = rows.assign(loss=2 * rows["loss"])
    parts = [rows.assign(method="none", setting="-"), doubled.assign(method="hard", setting="-")]
    parts.append(rows.assign(method="none", setting="-", readout_seed=2, block=[0, 4, 4]))
    pd.concat(parts).to_parquet(tmp_path / "losses.parquet")
    rows = module.score(tmp_path / "losses.parquet")
    changed = rows["metric"] == "perplexity_change"
    assert rows[changed]["value"].tolist() == pytest.approx([2 ** (10 / 3) - 2 ** (5 / 3)])
    found = rows[~changed].set_index(["method", "readout_seed", "variant"])
    assert found.loc[("none", 1, "-"), "value"] == pytest.approx(2 ** (5 / 3))
    assert found.loc[("none", 1, "released"), "value"] == pytest.approx(4)
    assert found.loc[("hard", 1, "released"), "value"] == pytest.approx(16)
    assert found.loc[("none", 2, "released"), "value"] == pytest.approx(math.sqrt(8))
    assert (found["n"] == 3).all() and set(found["metric"]) == {"perplexity"} and len(found) == 6


@given(st.integers(6, 30), st.integers(0, 2**32 - 1), st.floats(-0.5, 0.5))
def test_a_change_on_the_same_pieces_is_known_better_than_on_others(pieces, seed, shift):
    """A method that adds the same loss to every token: perplexity is multiplied by one factor in every resample."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, 20, pieces).astype(float)
    before = tokens * rng.uniform(1, 4, pieces)
    value, low, high = module.paired_change(before + shift * tokens, tokens, before)
    factor, ends = math.exp(shift) - 1, module.ratio_interval(before, tokens)
    assert value == pytest.approx(factor * math.exp(before.sum() / tokens.sum()), abs=1e-9)
    assert (low, high) == pytest.approx(tuple(sorted(factor * end for end in ends)), rel=1e-3, abs=1e-9)
    assert module.paired_change(before, tokens, before) == (0, 0, 0)


def test_the_change_of_pseudo_perplexity_is_that_of_the_same_sentences(tmp_path):
    sentences = pd.DataFrame({"log_likelihood": -np.log([4.0, 2.0, 3.0, 5.0, 2.0, 7.0]), "tokens": 1})
    parts = [sentences.assign(method="none", setting="-"), sentences.assign(method="hard", setting="-")]
    parts[1]["log_likelihood"] *= 2
    pd.concat(parts).to_parquet(tmp_path / "likelihoods.parquet")
    rows = module.score_pseudo_perplexity(tmp_path / "likelihoods.parquet").set_index(["method", "metric"])
    value = rows.loc[("none", "pseudo_perplexity"), "value"]
    changed = rows.loc[("hard", "pseudo_perplexity_change")]
    assert changed["value"] == pytest.approx(value**2 - value) and changed["low"] > 0
    assert ("none", "pseudo_perplexity_change") not in rows.index
