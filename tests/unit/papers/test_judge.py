"""Does a measure follow the planted bias, from which dose on, and how much of it is noise?"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway, page_trend_test, spearmanr

from benchmarks.coverage import claims_of_calibrations, coverage_of_rank_correlations
from biasflow.base.errors import BiasflowError
from biasflow.papers import judge as module
from biasflow.papers.judge import (
    follows,
    judge,
    permutation_p,
    rank_correlation,
    smallest_dose,
    trend_within_seeds,
    variance_shares,
)

FEW = settings(max_examples=15, deadline=None)
numbers = st.lists(st.integers(0, 9), min_size=2, max_size=4)


def values(by_bias: dict, measure="m", sign=1, error=np.nan) -> pd.DataFrame:
    rows = [(measure, bias, seed, value) for bias, row in by_bias.items() for seed, value in enumerate(row)]
    return pd.DataFrame(rows, columns=["measure", "bias", "seed", "value"]).assign(
        sign=sign, error=error, group="inside"
    )


def test_three_against_three_that_do_not_overlap_is_one_in_twenty():
    low, high = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    assert permutation_p(low, high) == permutation_p(high, low, -1) == 1 / 20
    assert permutation_p(high, low) == 1
    assert permutation_p(low, high, 0) == 2 / 20


@FEW
@given(numbers, numbers)
def test_p_is_a_share_that_a_shift_of_the_high_group_does_not_raise(low, high):
    low, high = np.array(low, float), np.array(high, float)
    p = permutation_p(low, high)
    assert 0 < p <= 1
    assert permutation_p(low, high + 1) <= p + 1e-12


def test_a_measure_with_a_known_rank_correlation():
    groups = {0: np.array([1.0, 3]), 1: np.array([2.0, 5]), 2: np.array([4.0, 6])}
    estimate, low, high, p = rank_correlation(groups)
    assert estimate == pytest.approx(spearmanr([0, 0, 1, 1, 2, 2], [1, 3, 2, 5, 4, 6]).statistic)
    assert low < estimate < high
    assert 0.05 < p < 0.25


def test_what_never_overlaps_has_the_largest_correlation_there_is():
    groups = {dose: 10.0 * dose + np.arange(5) for dose in range(5)}
    estimate, low, high, p = rank_correlation(groups)
    assert 0.9 < low < estimate < high < 1 and estimate > 0.97
    assert (low, high) == pytest.approx(np.tanh(np.arctanh(estimate) + np.array([-0.5083, 0.5083])), abs=1e-4)
    assert p == 1 / (module.RESAMPLES + 1)
    assert rank_correlation({dose: -group for dose, group in groups.items()}, -1)[0] == pytest.approx(-estimate)


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_the_interval_of_a_rank_correlation_covers(slope):
    found = coverage_of_rank_correlations(slope, doses=5, replications=400)
    assert found["fisher"] >= 0.92 > found["percentile"]


def test_a_constant_measure_has_no_correlation():
    assert np.isnan(rank_correlation({0: np.ones(3), 1: np.ones(3)})).all()


@FEW
@given(st.integers(1, 5), st.floats(0.1, 100), st.floats(-5, 5))
def test_rank_correlation_does_not_depend_on_the_scale(seed, scale, shift):
    rng = np.random.default_rng(seed)
    groups = {dose: rng.normal(dose, 1, 3) for dose in (0, 1)}
    moved = {dose: scale * group + shift for dose, group in groups.items()}
    assert rank_correlation(moved) == pytest.approx(rank_correlation(groups))


DOSES = [-1.0, -0.5, 0.0, 0.5, 1.0]


@FEW
@given(st.integers(0, 99), st.floats(0, 0.5))
def test_the_trend_within_seeds_is_that_of_page(seed, slope):
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 9, (3, 1)) + rng.normal(slope * np.array(DOSES), 1, (3, 5))
    estimate, p = trend_within_seeds(table, DOSES)
    assert estimate == pytest.approx(np.mean([spearmanr(DOSES, row).statistic for row in table]))
    assert p == pytest.approx(page_trend_test(table).pvalue, abs=0.03)  # 4,999 permutations against all
    assert trend_within_seeds(-table, DOSES, -1) == pytest.approx((-estimate, p))


def test_what_all_seeds_share_does_not_hide_a_trend_and_makes_none():
    rng = np.random.default_rng(1)
    noise = [rng.normal(0, 9, (3, 1)) + rng.normal(0, 1, (3, 5)) for _ in range(300)]
    false = np.mean([trend_within_seeds(table, DOSES)[1] <= 0.05 for table in noise])
    assert false <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    rising = [table + 2 * np.array(DOSES) for table in noise[:40]]
    assert np.mean([trend_within_seeds(table, DOSES)[1] <= 0.05 for table in rising]) > 0.9
    assert np.mean([rank_correlation(dict(zip(DOSES, table.T, strict=True))).p <= 0.05 for table in rising]) < 0.5


def test_a_calibration_finds_what_follows_and_makes_few_false_claims():
    rates = claims_of_calibrations(4.0, seeds=3, measures=20, followers=4, replications=20)
    assert rates["a false claim"] <= 0.15 and rates["power"] > 0.8


def test_a_trend_needs_two_seeds_and_a_seed_without_changes_counts_as_none():
    assert np.isnan(trend_within_seeds(np.ones((1, 5)), DOSES)).all()
    estimate, p = trend_within_seeds(np.array([DOSES, [2.0] * 5]), DOSES)
    assert estimate == pytest.approx(0.5) and p > 0.005
    assert trend_within_seeds(np.ones((3, 2)), [0, 1]) == (0, 1)


def test_a_row_follows_if_it_sees_the_bias_and_the_correction_leaves_it():
    table = pd.DataFrame({"verdict": [module.SEES] * 3 + [module.DOES_NOT], "q": [0.05, 0.2, np.nan, 0.01]})
    assert follows(table).tolist() == [True, False, False, False]


def test_the_smallest_dose_is_that_from_which_on_all_differ():
    low, high = np.arange(5.0), 10 + np.arange(5.0)
    assert smallest_dose({0: low, 0.5: high, 1: high}, 1) == 0.5
    assert smallest_dose({0: low, 0.5: low, 1: high}, 1) == 1
    assert np.isnan(smallest_dose({0: low, 0.5: high, 1: low}, 1))  # it would be an accident at 0.5
    assert smallest_dose({0: high, 1: low}, -1) == 1


def test_known_variance_components():
    # Doses 0 and 2 with two seeds each, 1 to either side: MS within 2, MS between 4 = 2 + 2 * 1.
    groups = [np.array([-1.0, 1]), np.array([1.0, 3])]
    assert variance_shares(groups, np.array([np.nan])) == pytest.approx(
        {"dose": 1 / 3, "seed": 2 / 3, "items": np.nan}, nan_ok=True
    )
    assert variance_shares(groups, np.array([1.0, 1.0])) == pytest.approx({"dose": 0.25, "seed": 0.5, "items": 0.25})


def test_components_of_a_large_sample_are_those_that_it_was_drawn_with():
    rng = np.random.default_rng(0)
    groups = [dose + rng.normal(0, 2, 400) for dose in rng.normal(0, 3, 400)]
    assert variance_shares(groups, np.array([np.nan]))["dose"] == pytest.approx(9 / 13, abs=0.03)


@FEW
@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=4))
def test_shares_are_those_of_the_f_statistic_and_sum_to_one(groups):
    groups = [np.array(group, float) for group in groups]
    found = variance_shares(groups, np.array([np.nan]))
    if all(np.ptp(group) == 0 for group in groups):
        return
    f = f_oneway(*groups).statistic
    assert found["dose"] == pytest.approx(max(0, (f - 1) / (f + 2)))
    assert found["dose"] + found["seed"] == pytest.approx(1)


def test_verdicts():
    seen = judge(values({0: [1, 2, 3], 0.5: [2, 5, 4], 1: [7, 8, 9]})).iloc[0]
    assert (seen["verdict"], seen["p_full"], seen["mean_bias_1"], seen["sd_bias_0"]) == (module.SEES, 0.05, 8, 1)
    assert judge(values({0: [1, 2, 9], 1: [7, 8, 3]})).iloc[0]["verdict"] == module.DOES_NOT
    assert judge(values({0: [1, 2], 1: [7, 8]})).iloc[0]["verdict"] == module.TOO_FEW
    assert judge(values({0: [9, 8, 7], 1: [1, 2, 3]})).iloc[0]["verdict"] == module.DOES_NOT
    assert judge(values({0: [9, 8, 7], 1: [1, 2, 3]}, sign=-1)).iloc[0]["verdict"] == module.SEES


def test_of_one_seed_nothing_is_said():
    assert permutation_p(np.array([0.0]), np.array([1.0, 2, 3])) == 1
    assert judge(values({0: [1], 1: [7]})).iloc[0]["verdict"] == module.TOO_FEW


def test_what_is_not_defined_is_counted_and_left_out():
    row = judge(values({0: [np.nan, 1, 2, 3], 1: [7, 8, 9, 9]})).iloc[0]
    assert (row["undefined"], row["mean_bias_0"], row["verdict"]) == (1, 2, module.SEES)
    none = judge(values({0: [np.nan] * 3, 1: [1, 2, 3]})).iloc[0]
    assert (none["undefined"], none["verdict"]) == (3, module.TOO_FEW)
    with pytest.raises(BiasflowError, match="m: one amount"):
        judge(values({1: [1, 2, 3]}))
