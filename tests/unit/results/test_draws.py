"""A method beside the random draws of its control: how many it beats, and how far a further draw lies."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from biasflow.registry import INSIDE, Measure
from biasflow.results.draws import LEAST_DRAWS, beyond, draw_of, is_draw, of_measures_alone
from biasflow.results.matrix import drawn_distances
from biasflow.results.scores import tidy

DRAWS = [0.9, 1.0, 1.1, 1.0, 1.0, 0.95, 1.05, 1.02, 0.98]


@pytest.mark.parametrize("untouched", [0.0, 2.0])
def test_a_number_below_all_draws_by_hand(untouched):
    """Nine draws with mean 1 and sd 0.0579, beside 5 % of the untouched number; t has min(9 - 2, 4) degrees of
    freedom."""
    found = beyond(0.5, DRAWS, untouched)
    reach = np.sqrt((np.var(DRAWS, ddof=1) + (0.05 * untouched) ** 2) * (1 + 1 / 9))
    assert (found.draws, found.beats) == (9, 9)
    assert found.p == pytest.approx(stats.t.cdf((0.5 - 1) / reach, 4))
    half = stats.t.ppf(0.975, 4) * reach
    assert (found.low, found.high) == pytest.approx((1 - half, 1 + half))


def test_where_a_draw_is_as_low_ranks_decide():
    assert beyond(0.9, DRAWS, 0.0)[1:2] == (8,) and beyond(0.9, DRAWS, 0.0).p == pytest.approx(2 / 10)
    assert beyond(2.0, DRAWS, 0.0).p == 1
    assert beyond(0.2, [1.0] * 9, 0.0).p == pytest.approx(
        1 / 10
    )  # draws without a spread say no more than their number


def test_few_draws_say_nothing():
    assert np.isnan(beyond(0.1, DRAWS[: LEAST_DRAWS - 1], 1.0).p) and not np.isnan(
        beyond(0.1, DRAWS[:LEAST_DRAWS], 1.0).p
    )
    assert np.isnan(beyond(np.nan, DRAWS, 1.0).p) and beyond(0.1, [np.nan, *DRAWS], 1.0).draws == 9


@given(st.lists(st.floats(0, 10), min_size=LEAST_DRAWS, max_size=50), st.floats(0, 10), st.floats(0, 1))
def test_a_lower_number_is_never_less_significant(draws, value, lower):
    one, other = beyond(value, draws, 1.0), beyond(value - lower, draws, 1.0)
    assert other.p <= one.p + 1e-12 and other.beats >= one.beats
    assert one.beats == sum(draw > value for draw in draws)


def test_draws_of_the_same_distribution_are_rarely_beaten():
    """The chance level that intervals.md states for one comparison, of normal and of long-tailed draws."""
    rng = np.random.default_rng(0)
    for drawn in (rng.normal, lambda size: rng.standard_t(4, size)):
        for n in (5, 7, 39):
            p = [beyond(table[0], table[1:], 0.0).p for table in (10 + drawn(size=(2000, n + 1)))]
            assert np.mean(np.array(p) <= 0.05) <= 0.06


def scores(**of):
    rows = [
        {"method": method, "setting": setting, "metric": "gap", "value": value, "seed": "0"}
        for method, values in of.items()
        for setting, value in (values.items() if isinstance(values, dict) else [("-", values)])
    ]
    return tidy(pd.DataFrame(rows), encoder="bert", dataset="data")


RUN = {"none": 1.0, "leace": 0.2, "leace-random-matched": {f"draw{seed}": 1 + seed / 10 for seed in range(6)}}
RUN |= {"leace-random-matched6": 2.0, "leace-random": {"draw0": 1.5}, "each": {"layer[0]": 0.1}}


def test_draws_are_settings_of_a_control_or_methods_of_their_own():
    found = scores(**RUN)
    about = draw_of(found).assign(method=found["method"])
    assert set(about.loc[about["control"] == "", "method"]) == {"none", "leace", "each"}
    assert about.loc[found["method"] == "leace-random-matched6"].iloc[0].tolist()[:2] == ["leace-random-matched", "6"]
    assert is_draw(found).sum() == 7  # six and one: a setting of another method is no draw
    measure = Measure("gap", "a gap", 0, "neutral", INSIDE)
    (keys, controls), *others = drawn_distances(found, measure).items()
    assert not others and "leace" in keys
    assert controls["leace-random-matched"].shape == (1, 7) and controls["leace-random"].shape == (1, 1)
    assert sorted(controls["leace-random-matched"].iloc[0]) == pytest.approx([1, 1.1, 1.2, 1.3, 1.4, 1.5, 2])


def test_of_a_draw_alone_only_measures_are_kept():
    rows = pd.concat([scores(**RUN), scores(**RUN).assign(metric="detail")], ignore_index=True)
    kept = of_measures_alone(rows, [["gap", "-", "-"]])
    assert len(rows) - len(kept) == 7 and set(kept.loc[kept["metric"] == "detail", "method"]).isdisjoint(
        {"leace-random"}
    )
