"""Does a measure see the bias that was planted?"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.planted import judge as module
from scripts.biasflow.planted.judge import agreement_with_world, judge, measures_of, permutation_p


def values(by_bias: dict, measure="m") -> pd.DataFrame:
    rows = [(measure, bias, seed, value) for bias, row in by_bias.items() for seed, value in enumerate(row)]
    return pd.DataFrame(rows, columns=["measure", "bias", "seed", "value"])


def test_three_against_three_that_do_not_overlap_is_one_in_twenty():
    assert permutation_p(np.array([1, 2, 3]), np.array([4, 5, 6])) == 1 / 20
    assert permutation_p(np.array([4, 5, 6]), np.array([1, 2, 3])) == 1


def test_it_equals_scipy():
    from scipy.stats import permutation_test

    rng = np.random.default_rng(0)
    for _ in range(5):
        low, high = rng.normal(size=4), rng.normal(0.5, size=3)
        oracle = permutation_test(
            (high, low), lambda a, b: a.mean() - b.mean(), alternative="greater", n_resamples=np.inf
        )
        assert permutation_p(low, high) == pytest.approx(oracle.pvalue)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_p_is_a_share_that_a_shift_of_the_high_group_does_not_raise(low, high):
    low, high = np.array(low, float), np.array(high, float)
    p = permutation_p(low, high)
    assert 0 < p <= 1
    assert permutation_p(low, high + 1) <= p


def test_verdicts():
    seen = judge(values({0: [1, 2, 3], 0.5: [2, 5, 4], 1: [7, 8, 9]})).iloc[0]
    assert (seen["verdict"], seen["p"], seen["mean_bias_1"], seen["sd_bias_0"]) == (module.SEES, 0.05, 8, 1)
    assert judge(values({0: [1, 2, 9], 1: [7, 8, 3]})).iloc[0]["verdict"] == module.DOES_NOT
    assert judge(values({0: [1, 2], 1: [7, 8]})).iloc[0]["verdict"] == module.TOO_FEW
    assert judge(values({0: [9, 8, 7], 1: [1, 2, 3]})).iloc[0]["verdict"] == module.DOES_NOT


def test_bad_values_are_named():
    with pytest.raises(BiasflowError, match=r"m.*bias 0"):
        judge(values({0: [np.nan, 1, 2], 1: [1, 2, 3]}))
    with pytest.raises(BiasflowError, match="m"):
        judge(values({1: [1, 2, 3]}))


def test_the_log_odds_of_the_world_itself_have_slope_one():
    shares = {"nurse": 0.9, "teacher": 0.7, "plumber": 0.1}
    own = pd.DataFrame({"occupation": list(shares), "log_odds": [np.log(s / (1 - s)) for s in shares.values()]})
    assert agreement_with_world(own, shares) == pytest.approx({"log_odds_correlation": 1, "log_odds_slope": 1})
    half = own.assign(log_odds=own["log_odds"] / 2 + 3)
    assert agreement_with_world(half, shares) == pytest.approx({"log_odds_correlation": 1, "log_odds_slope": 0.5})


def test_the_measures_come_from_the_untouched_encoder():
    encoders = {"a": {"bias": 0, "seed": 1}, "b": {"bias": 1, "seed": 1}}
    rows = [
        (name, method, metric, variant, number + (100 if method == "sent" else 0))
        for number, name in enumerate(encoders)
        for method in ("base", "sent", "")
        for metric, variant in module.MEASURES.values()
        if (method == "") == metric.startswith("log_odds")
    ]
    scores = pd.DataFrame(rows, columns=["encoder", "method", "metric", "variant", "value"])
    found = measures_of(scores, encoders)
    assert list(found["measure"].unique()) == list(module.MEASURES)
    assert (found["value"] == found["bias"]).all()
    with pytest.raises(BiasflowError, match="encoder c"):
        measures_of(scores, {**encoders, "c": {"bias": 0.5, "seed": 1}})
