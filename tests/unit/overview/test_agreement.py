"""Do measures agree: what is tested over, ranks within models alone, and no claim from noise or from few units."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from biasflow.overview.agreement import ENCODERS, SEEDS, agreement, conflicts, in_short, observations
from biasflow.overview.contents import contents
from biasflow.results.scores import NA, concatenate, tidy
from tests.unit.overview import made_up

METHODS = ["none", "a", "b", "c", "d"]
UP = {method: 1.0 + number for number, method in enumerate(METHODS)}
DOWN = {method: 6.0 - value for method, value in UP.items()}


def measured(metric, values, *, encoder="bert", task=NA, seed=NA, half=0.1, **keys):
    rows = [
        {"method": method, "metric": metric, "value": value, "low": value - half, "high": value + half}
        for method, value in values.items()
    ]
    head = "own" if task != NA else NA
    strategy = "plain" if task != NA else NA
    about = {"encoder": encoder, "task": task, "strategy": strategy, "seed": seed, "head": head, "dataset": "data"}
    return tidy(pd.DataFrame(rows), **about | keys)


def strength(values, **keys):
    return measured("strength", values, part="top=10%", **keys)


def occtmp(values, **keys):
    return measured("occtmp_diff", values, **keys)


def gap(values, **keys):
    return measured("tpr_gap_sum", values, task="bios", **keys)


def independence(values, **keys):
    return measured("independence", values, task="bios", **keys)


def test_same_and_opposite_orders():
    same = observations(concatenate([strength(UP), occtmp(UP)]))
    opposite = observations(concatenate([strength(UP), occtmp(DOWN)]))
    assert agreement(same)["spearman"].item() == pytest.approx(1)
    assert agreement(opposite)["spearman"].item() == pytest.approx(-1)
    assert in_short(agreement(same)) is None
    assert agreement(same)[["low", "high"]].isna().all(axis=None) and agreement(same)["over"].item() == NA


def test_costs_grids_and_retrained_heads_take_no_part():
    grid = {f"g{n}": float(n) for n in range(20)}
    many = pd.concat([strength({"grid": value}, setting=name) for name, value in grid.items()], ignore_index=True)
    scores = concatenate(
        [strength(UP), many, measured("perplexity", UP), gap(UP), gap(UP, head="retrained"), occtmp(UP)]
    )
    found = observations(scores)
    assert set(found["measure"]) == {"Strength", "OCCTMP", "TPR gap (S) (bios)"}
    assert "grid" not in set(found["name"]) and not found.duplicated(["measure", "encoder", "seed", "name"]).any()


def test_levels_of_encoders_are_no_agreement():
    """Six encoders whose levels go together in both measures, which order the methods the other way round."""
    scores = [
        side
        for level in range(6)
        for side in (
            strength({m: v + 100 * level for m, v in UP.items()}, encoder=f"e{level}"),
            occtmp({m: v + 100 * level for m, v in DOWN.items()}, encoder=f"e{level}"),
        )
    ]
    found = agreement(observations(concatenate(scores))).iloc[0]
    assert found["spearman"] == pytest.approx(-1) and found["over"] == ENCODERS
    assert (found["low"], found["high"]) == pytest.approx((-1, -1))
    short = in_short(agreement(observations(concatenate(scores))))
    assert short[:3] == (1, 0, 1) and short.best == short.least and short.best.spearman == pytest.approx(-1)


def test_the_interval_is_students_over_encoders_not_methods():
    """Four encoders say 1 and two say -1: six numbers, whatever the number of methods."""
    scores = [
        side
        for number, other in enumerate((UP, UP, UP, UP, DOWN, DOWN))
        for side in (strength(UP, encoder=f"e{number}"), occtmp(other, encoder=f"e{number}"))
    ]
    found = agreement(observations(concatenate(scores))).iloc[0]
    expected = ttest_1samp([1, 1, 1, 1, -1, -1], 0)
    interval = expected.confidence_interval()
    assert in_short(found.to_frame().T.infer_objects())[:3] == (1, 0, 0)  # p = 0.36
    assert found["spearman"] == pytest.approx(1 / 3) and found["p"] == found["q"] == pytest.approx(expected.pvalue)
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("seeds", "over"), [(5, NA), (6, SEEDS)])
def test_seeds_are_tested_from_six_on(seeds, over):
    scores = [side for seed in range(seeds) for side in (gap(UP, seed=str(seed)), independence(UP, seed=str(seed)))]
    found = agreement(observations(concatenate(scores))).iloc[0]
    assert (found["over"], found["seeds"], found["methods"]) == (over, seeds, 5)
    assert found[["low", "p", "q"]].isna().all() == (over == NA)


def noisy(values, rng):
    return {method: value + rng.normal(0, 0.01) for method, value in values.items()}


def seeds_of(number, rng=None, other=DOWN):
    rng = rng or np.random.default_rng(0)
    return [
        side
        for seed in range(number)
        for side in (gap(noisy(UP, rng), seed=str(seed)), independence(noisy(other, rng), seed=str(seed)))
    ]


def test_methods_of_other_seeds_are_not_compared():
    """a has seeds 0 to 5 alone and b seeds 6 to 11 alone: whatever their values, nothing is said of the two."""
    rng = np.random.default_rng(0)
    scores = [
        side({method: value for method, value in noisy(order, rng).items() if method != absent}, seed=str(seed))
        for seed, absent in [(seed, "b" if seed < 6 else "a") for seed in range(12)]
        for side, order in ((gap, UP), (independence, DOWN))
    ]
    pairs = {frozenset((each.better, each.worse)) for each in conflicts(observations(concatenate(scores)))}
    assert {"a", "b"} not in pairs and {"a", "d"} in pairs and len(pairs) == 9


def test_contradictions_that_are_not_listed_are_counted(monkeypatch):
    monkeypatch.setattr("biasflow.overview.contents.CONFLICTS", 4)
    scored = concatenate(seeds_of(6))
    found = contents(*made_up.run_of(scored))
    assert [*found.conflicts] == conflicts(observations(scored))[:4] and found.conflicts_left_out == 6


def test_contradictions_are_claimed_over_six_seeds_or_encoders_only():
    found = conflicts(observations(concatenate(seeds_of(6))))
    assert len(found) == 10 and {each.over for each in found} == {SEEDS}
    first = found[0]
    assert {first.better, first.worse} == {"none (untouched)", "d"}
    assert not conflicts(observations(concatenate(seeds_of(5)))) and not conflicts(observations(seeds_of(6)[0]))
    assert not conflicts(observations(concatenate(seeds_of(6, other=UP))))
    rng = np.random.default_rng(1)
    encoders = [
        each for e in "uvwxyz" for each in (strength(noisy(UP, rng), encoder=e), occtmp(noisy(DOWN, rng), encoder=e))
    ]
    found = conflicts(observations(concatenate(encoders)))
    assert len(found) == 10 and {(each.over, each.where) for each in found} == {(ENCODERS, "all encoders")}
