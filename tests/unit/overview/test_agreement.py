"""Do measures agree: what is drawn for an interval, ranks within models alone, and contradictions beyond doubt."""

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.agreement import (
    ENCODERS,
    ITEMS,
    SEEDS,
    agreement,
    conflicts,
    in_words,
    mean_ranks,
    observations,
    sentences,
)
from biasflow.results.scores import NA, concatenate, tidy

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
    """Three encoders whose levels go together in both measures, which order the methods the other way round."""
    scores = [
        side
        for level in range(3)
        for side in (
            strength({m: v + 100 * level for m, v in UP.items()}, encoder=f"e{level}"),
            occtmp({m: v + 100 * level for m, v in DOWN.items()}, encoder=f"e{level}"),
        )
    ]
    found = agreement(observations(concatenate(scores))).iloc[0]
    assert found["spearman"] == pytest.approx(-1) and found["over"] == ENCODERS
    assert (found["low"], found["high"]) == pytest.approx((-1, -1))


def test_the_interval_draws_encoders_not_methods():
    """Two encoders say 1 and one says -1: whole encoders are drawn, so that both ends are reached."""
    scores = [
        side
        for number, other in enumerate((UP, UP, DOWN))
        for side in (strength(UP, encoder=f"e{number}"), occtmp(other, encoder=f"e{number}"))
    ]
    found = agreement(observations(concatenate(scores))).iloc[0]
    assert found["spearman"] == pytest.approx(1 / 3)
    assert (found["low"], found["high"]) == pytest.approx((-1, 1))


@pytest.mark.parametrize(("seeds", "over"), [(2, NA), (3, SEEDS)])
def test_seeds_are_drawn_from_three_on(seeds, over):
    scores = [side for seed in range(seeds) for side in (gap(UP, seed=str(seed)), independence(UP, seed=str(seed)))]
    found = agreement(observations(concatenate(scores))).iloc[0]
    assert (found["over"], found["seeds"], found["methods"]) == (over, seeds, 5)
    assert np.isnan(found["low"]) == (over == NA)


def test_an_encoder_and_its_fine_tunings_are_compared_by_the_mean_of_the_seeds():
    turned = {**UP, "d": 0.5}
    scores = [strength(UP), *(gap(turned if seed else UP, seed=str(seed)) for seed in range(3))]
    found = agreement(observations(concatenate(scores))).iloc[0]
    assert found["over"] == NA and found["seeds"] == 1  # the encoder is one, however often it was trained
    assert found["spearman"] < 1


def test_mean_ranks_have_an_interval_from_three_seeds_on():
    scores = [side for seed in range(3) for side in (gap(UP, seed=str(seed)), independence(UP, seed=str(seed)))]
    found = mean_ranks(observations(concatenate(scores))).set_index("name")
    assert found["rank"].tolist() == [1, 2, 3, 4, 5] and found.index[0] == "none (untouched)"
    assert (found["over"] == SEEDS).all() and found["low"].tolist() == found["rank"].tolist()
    assert mean_ranks(observations(concatenate(scores[:2])))["low"].isna().all()


def test_contradictions_are_beyond_doubt():
    clear = conflicts(observations(concatenate([strength(UP), occtmp(DOWN)])))
    assert len(clear) == 10 and {each.over for each in clear} == {(ITEMS, ITEMS)}
    first = clear[0]
    assert {first.better, first.worse} == {"none (untouched)", "d"}
    assert first.better == ("none (untouched)" if first.a == "Strength" else "d")
    said = in_words(clear)
    assert sum(name in each for each in said for name in METHODS) >= 10 > len(said)
    assert not conflicts(observations(concatenate([strength(UP), occtmp(DOWN, half=3)])))
    assert not conflicts(observations(concatenate([strength(UP), occtmp(UP)])))


def test_methods_of_other_seeds_are_not_compared():
    """a has seed 0 alone and b seed 1 alone: whatever their intervals, nothing is said of the two."""
    scores = [
        side({method: value for method, value in order.items() if method != absent}, seed=seed)
        for seed, absent in (("0", "b"), ("1", "a"))
        for side, order in ((gap, UP), (independence, DOWN))
    ]
    pairs = {frozenset((each.better, each.worse)) for each in conflicts(observations(concatenate(scores)))}
    assert {"a", "b"} not in pairs and {"a", "d"} in pairs and len(pairs) == 9


def test_contradictions_over_seeds_and_over_encoders():
    rng = np.random.default_rng(0)

    def noisy(values):
        return {method: value + rng.normal(0, 0.01) for method, value in values.items()}

    seeds = [each for s in "012" for each in (gap(noisy(UP), seed=s), independence(noisy(DOWN), seed=s))]
    found = conflicts(observations(concatenate(seeds)))
    assert len(found) == 10 and {each.over for each in found} == {(SEEDS, SEEDS)} and "exclude" in in_words(found)[0]
    encoders = [
        each for e in "xyz" for each in (strength(noisy(UP), encoder=e, half=9), occtmp(noisy(DOWN), encoder=e, half=9))
    ]
    found = conflicts(observations(concatenate(encoders)))
    assert len(found) == 10 and {(each.over, each.where) for each in found} == {((ENCODERS, ENCODERS), "all encoders")}


def test_what_is_said_counts_what_was_found():
    scores = [side for seed in range(3) for side in (gap(UP, seed=str(seed)), independence(UP, seed=str(seed)))]
    said = " ".join(sentences(agreement(observations(concatenate(scores)))))
    assert "with an interval: 1." in said and "(it lies above 0): 1;" in said and "(below 0): 0;" in said
    alone = " ".join(sentences(agreement(observations(concatenate(scores[:2])))))
    assert "1 encoder and 1 seed" in alone
    assert len(sentences(agreement(observations(strength(UP))))) == 1
