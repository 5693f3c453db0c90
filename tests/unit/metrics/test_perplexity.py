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
    found = rows.set_index(["method", "readout_seed", "variant"])
    assert found.loc[("none", 1, "-"), "value"] == pytest.approx(2 ** (5 / 3))
    assert found.loc[("none", 1, "released"), "value"] == pytest.approx(4)
    assert found.loc[("hard", 1, "released"), "value"] == pytest.approx(16)
    assert found.loc[("none", 2, "released"), "value"] == pytest.approx(math.sqrt(8))
    assert (found["n"] == 3).all() and set(found["metric"]) == {"perplexity"} and len(found) == 6
