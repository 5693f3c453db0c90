"""Does a measure follow the planted bias, from which dose on, and how much of it is noise?"""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway, page_trend_test, spearmanr

from biasflow.studies import judge as module
from biasflow.studies.judge import between_models, rank_correlation, trend_within_seeds, variance_shares

FEW = settings(max_examples=15)


def values(by_bias: dict, measure="m", sign=1, error=np.nan) -> pd.DataFrame:
    rows = [(measure, bias, seed, value) for bias, row in by_bias.items() for seed, value in enumerate(row)]
    return pd.DataFrame(rows, columns=["measure", "bias", "seed", "value"]).assign(
        sign=sign, error=error, group="inside"
    )


def test_a_measure_with_a_known_rank_correlation():
    groups = {0: np.array([1.0, 3]), 1: np.array([2.0, 5]), 2: np.array([4.0, 6])}
    estimate, low, high, p = rank_correlation(groups).values()
    assert estimate == pytest.approx(spearmanr([0, 0, 1, 1, 2, 2], [1, 3, 2, 5, 4, 6]).statistic)
    assert low < estimate < high
    assert 0.05 < p < 0.25


DOSES = [-1.0, -0.5, 0.0, 0.5, 1.0]


@FEW
@example(42, 0.5)  # many ties
@given(st.integers(0, 99), st.floats(0, 0.5))
def test_the_trend_within_seeds_is_that_of_page(seed, slope):
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 9, (3, 1)) + rng.normal(slope * np.array(DOSES), 1, (3, 5))
    estimate, p = trend_within_seeds(table, DOSES)
    assert estimate == pytest.approx(np.mean([spearmanr(DOSES, row).statistic for row in table]))
    assert p == pytest.approx(page_trend_test(table).pvalue, abs=0.03)  # 4,999 permutations against all
    assert trend_within_seeds(-table, DOSES, -1) == pytest.approx((-estimate, p))


def test_a_trend_needs_two_seeds_and_a_seed_without_changes_counts_as_none():
    assert np.isnan(trend_within_seeds(np.ones((1, 5)), DOSES)).all()
    estimate, p = trend_within_seeds(np.array([DOSES, [2.0] * 5]), DOSES)
    assert estimate == pytest.approx(0.5) and p > 0.005
    assert trend_within_seeds(np.ones((3, 2)), [0, 1]) == (0, 1)


@pytest.mark.parametrize(
    ("high_at", "sign", "smallest"),
    [((0.5, 1), 1, 0.5), ((1,), 1, 1), ((0.5,), 1, np.nan), ((0,), -1, 0.5)],  # the third was an accident at 0.5
)
def test_the_smallest_dose_is_that_from_which_on_all_differ(high_at, sign, smallest):
    made = values({dose: np.arange(5.0) + 10 * (dose in high_at) for dose in (0, 0.5, 1)}, sign=sign)
    assert module.judge(made, between_models).iloc[0]["smallest_dose"] == pytest.approx(smallest, nan_ok=True)


@FEW
@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=4))
def test_shares_are_those_of_the_f_statistic_and_sum_to_one(groups):
    groups = [np.array(group, float) for group in groups]
    found = variance_shares(groups, np.array([np.nan]))
    if all(np.ptp(group) == 0 for group in groups):
        return
    f = f_oneway(*groups).statistic
    assert found["share_dose"] == pytest.approx(max(0, (f - 1) / (f + 2)))
    assert found["share_dose"] + found["share_seed"] == pytest.approx(1)


def test_verdicts():
    judge = partial(module.judge, judged=between_models)
    seen = judge(values({0: [1, 2, 3], 0.5: [2, 5, 4], 1: [7, 8, 9]})).iloc[0]
    assert (seen["verdict"], seen["p_full"], seen["mean_bias_1"], seen["sd_bias_0"]) == (module.SEES, 0.05, 8, 1)
    assert judge(values({0: [1, 2, 9], 1: [7, 8, 3]})).iloc[0]["verdict"] == module.DOES_NOT
    assert judge(values({0: [1, 2], 1: [7, 8]})).iloc[0]["verdict"] == module.TOO_FEW
    assert judge(values({0: [9, 8, 7], 1: [1, 2, 3]})).iloc[0]["verdict"] == module.DOES_NOT
    assert judge(values({0: [9, 8, 7], 1: [1, 2, 3]}, sign=-1)).iloc[0]["verdict"] == module.SEES
