"""Tables 1, 3, 4 and 5: means, changes and tests, printed values, divergence, holes, and what was not run."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.results.scores import NA, concatenate
from tests.unit.papers.orgad2022.made_up import (
    EXTRINSIC,
    MODELS,
    SIX,
    TABLES,
    run,
    scores,
    with_diverged,
    with_value,
    without,
)

STAGES = {"before": TABLES["table3"], "after": TABLES["table4"], "frozen": TABLES["table5"]}


@pytest.fixture(scope="module")
def tiny():
    return scores()


def row_of(table, measure, strategy, *, variant=None, **keys):
    """The one row with these keys; the text that it was trained on and the first reading unless said otherwise."""
    keys = {"setting": "scrubbed" if strategy == "scrubbing" else "raw", "encoder": "tiny"} | keys
    rows = table[(table["measure"] == measure) & (table["strategy"] == strategy)]
    for key, value in keys.items():
        rows = rows[rows[key] == value]
    rows = rows.head(1) if variant is None else rows[rows["variant"] == variant]
    assert len(rows) == 1
    return rows.iloc[0]


def expected(metric, variant=NA):
    """What the maker gives this measure without debiasing before retraining, first seed."""
    return (EXTRINSIC.index((metric, variant)) + 1) / 10


def of_encoder(table, name="tiny"):
    return table[table["encoder"] == name]


@pytest.mark.parametrize(("stage", "base"), [("before", 0), ("frozen", 2)])
def test_means_sds_and_changes_over_seeds(stage, base, tiny):
    table = STAGES[stage](run(tiny))
    # Seeds add 0, 0.01, 0.02 to every strategy s, which itself adds s.
    for s, strategy in enumerate(MODELS):
        row = row_of(table, "TPR gap (S)", strategy)
        assert row["mean"] == pytest.approx(expected("tpr_gap_sum") + s + 0.01 + base)
        assert row["sd"] == pytest.approx(0.01) and row["n"] == 3
        if strategy != "none":
            assert row["change"] == pytest.approx(s) and row["pairs"] == 3
            assert row["p"] == 0.25 and row["star"] == "no" and row["p_holm"] == 1  # 2 / 2^3
    none = row_of(table, "Accuracy", "none")
    assert np.isnan(none["p"]) and np.isnan(none["change"]) and none["star"] == ""


def test_p_is_exact_and_corrected_within_a_measure():
    table = of_encoder(TABLES["table3"](run(scores(seeds=SIX, parts=["before"]))))
    row = row_of(table, "FPR gap (P)", "oversampling")
    assert row["p"] == 2 / 2**6 and row["star"] == "yes"
    assert table["p"].count() == 4 * len(EXTRINSIC)
    # Oversampling, subsampling, and scrubbing on both texts.
    assert row["p_holm"] == 4 * 2 / 2**6
    both = concatenate([scores(seeds=SIX, parts=["before"]), scores(encoder="zeta", parts=["before"])])
    pd.testing.assert_series_equal(of_encoder(TABLES["table3"](run(both)))["p_holm"], table["p_holm"])


def test_after_retraining_pairs_are_heads_and_a_second_test_is_by_encoder(tiny):
    row = row_of(TABLES["table4"](run(tiny)), "TPR gap (S)", "oversampling")
    # Three encoders with two heads each; the second head adds 0.001.
    values = [expected("tpr_gap_sum") + 2 + j / 100 + k / 1000 for j in range(3) for k in range(2)]
    assert row["mean"] == pytest.approx(np.mean(values)) and row["sd"] == pytest.approx(np.std(values, ddof=1))
    assert (row["n"], row["n_heads"], row["pairs"]) == (3, 6, 6)
    assert row["p"] == 2 / 2**6 and row["p_by_encoder"] == 2 / 2**3
    assert row["star"] == "yes" and row["p_by_encoder_holm"] == 1


def test_diverged_seeds_are_left_out_in_pairs_and_named(tiny):
    lost = with_value(with_diverged(tiny, "oversampling", 11, 5), 99.0, head="own", strategy="oversampling", seed="5")
    table = TABLES["table3"](run(lost))
    row = row_of(table, "TPR gap (S)", "oversampling")
    assert row["mean"] == pytest.approx(expected("tpr_gap_sum") + 1) and row["n"] == row["pairs"] == 1
    assert row["diverged"] == "seeds 5, 11" and row["p"] == 1
    assert row_of(table, "TPR gap (S)", "subsampling")["pairs"] == 3
    assert row_of(table, "TPR gap (S)", "none")["diverged"] == ""
    assert row_of(table, "Compression", "oversampling")["n"] == 1
    # A diverged seed of none is missing in the pairs of every strategy, not in their means.
    table = TABLES["table3"](run(with_diverged(tiny, "plain", 0)))
    row = row_of(table, "TPR gap (S)", "subsampling")
    assert row["n"] == 3 and row["pairs"] == 2 and row["change"] == pytest.approx(2)
    assert row_of(table, "TPR gap (S)", "none")["diverged"] == "seed 0"
    # The frozen encoder was never fine-tuned.
    frozen = row_of(TABLES["table5"](run(lost)), "Accuracy", "oversampling")
    assert frozen["n"] == 3 and frozen["diverged"] == ""


def test_a_diverged_seed_needs_no_scores_and_a_strategy_may_lose_all(tiny):
    lost = without(with_diverged(tiny, "scrubbing", 0, 5, 11), strategy="scrubbing", seed="5", head="own")
    row = row_of(TABLES["table3"](run(lost)), "Accuracy", "scrubbing")
    assert row["n"] == 0 and np.isnan(row["mean"]) and row["diverged"] == "seeds 0, 5, 11" and np.isnan(row["p"])
    one = of_encoder(TABLES["table1"](run(lost))).set_index(["model", "setting"])
    assert np.isnan(one.loc[("scrubbing", "scrubbed"), "compression"])
    assert one.loc[("scrubbing", "scrubbed"), "diverged"] == "seeds 0, 5, 11"


def test_two_scores_of_the_same_are_an_error(tiny):
    again = tiny[(tiny["head"] == "own") & (tiny["strategy"] == "scrubbing") & (tiny["metric"] == "accuracy")]
    twice = concatenate([tiny, again.assign(split_seed="99")])
    with pytest.raises(BiasflowError, match=r"accuracy.*scrubbing.*more than one"):
        TABLES["table3"](run(twice))
