"""Which scores of two runs, methods or models differ: by known intervals, by resamples, and whatever the rows."""

from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.results.bootstrap import RESAMPLED, interval, weighted_mean
from biasflow.results.changes import COLUMNS as DRAWN
from biasflow.results.changes import are_changes, changes, digest_of_items, distance_differences, resampled_measures
from biasflow.results.comparison import (
    DRAWS,
    ITEMS,
    SAME_ITEMS,
    SEEDS,
    change,
    distance,
    distances,
    p_of_interval,
    smallest_seen,
    with_items,
)
from biasflow.results.differences import (
    COLUMNS,
    DIFFERS,
    ONLY_FIRST,
    ONLY_SECOND,
    UNTESTED,
    Side,
    apart,
    between,
    differences,
    in_words,
)
from biasflow.results.matrix import by_rows
from biasflow.results.scores import KEYS, NA, tidy
from biasflow.results.statistics import t_interval

NAN = float("nan")


def made(**scores: tuple[float, float, float]) -> pd.DataFrame:
    rows = [{"metric": name, "value": value, "low": low, "high": high} for name, (value, low, high) in scores.items()]
    return tidy(pd.DataFrame(rows, columns=["metric", "value", "low", "high"]), encoder="bert")


def kinds(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, str]:
    found = differences(first, second)
    return dict(zip(found["metric"], found["what"], strict=True))


def test_a_difference_counts_if_its_interval_leaves_out_zero():
    first = made(far=(0, -1, 1), near=(0, -1, 1), sharp=(0, 0, 0))
    # Half-widths of 1 and 1 make one of sqrt(2): 1.5 is beyond, 1.4 is not.
    second = made(far=(1.5, 0.5, 2.5), near=(1.4, 0.4, 2.4), sharp=(0.1, 0.1, 0.1))
    assert kinds(first, second) == {"far": DIFFERS, "sharp": UNTESTED}  # intervals without width show nothing
    (row,) = differences(first, second).query("metric == 'far'").to_dict("records")
    assert row["difference"] == 1.5 and row["difference_low"] == pytest.approx(1.5 - np.sqrt(2))
    assert list(differences(first, second)) == COLUMNS


def test_what_has_no_interval_differs_where_it_is_not_the_same():
    first = made(same=(1, NAN, NAN), rounded=(1, NAN, NAN), other=(1, NAN, NAN), none=(NAN, NAN, NAN), lost=(1, 0, 2))
    second = made(
        same=(1, NAN, NAN),
        rounded=(1 + 1e-12, NAN, NAN),
        other=(1.01, 0, 2),
        none=(NAN, NAN, NAN),
        lost=(NAN, NAN, NAN),
    )
    assert kinds(first, second) == {"other": UNTESTED, "lost": UNTESTED}


def test_rows_that_only_one_has():
    found = differences(made(a=(1, 0, 2), b=(1, 0, 2)), made(b=(1, 0, 2), c=(1, 0, 2)))
    assert dict(zip(found["metric"], found["what"], strict=True)) == {"a": ONLY_FIRST, "c": ONLY_SECOND}
    assert in_words(found.to_dict("records")[0]) == "encoder=bert metric=a"
    assert kinds(made(), made(a=(1, 0, 2))) == {"a": ONLY_SECOND}


def test_changes_differ_where_both_runs_have_them():
    """A run of an older version has none, and is not told of each. The measure vector_change is no change."""
    names = ["weat_effect_size_change", "weat_effect_size_distance_change", "accuracy_distance_against_control"]
    one, other = (dict.fromkeys([*names, "vector_change"], (value, value - 1, value + 1)) for value in (0, 5))
    assert kinds(made(), made(**one)) == {"vector_change": ONLY_SECOND}
    assert kinds(made(**one), made(**other)) == dict.fromkeys(one, DIFFERS)


def measured(metric, value, low, high, **keys) -> dict:
    """A score of an untouched model, with the part and variant of the measure."""
    part, variant = next(key[1:] for key in by_rows() if key[0] == metric)
    about = {"metric": metric, "part": part, "variant": variant, "method": "none", "encoder": "bert"}
    return {**about, "value": value, "low": low, "high": high, **keys}


def table(*scores: dict) -> pd.DataFrame:
    return tidy(pd.DataFrame(scores))


def side(scores, drawn=None, families=MappingProxyType({})):
    return Side(scores, pd.DataFrame(columns=DRAWN) if drawn is None else drawn, families)


@pytest.mark.parametrize(
    ("metric", "first", "second", "expected"),
    [
        ("weat_effect_size", (0.1, 0, 0.2), (-0.9, -1, -0.8), ["second"]),  # nearer to neutral is better
        ("weat_effect_size", (-0.5, -0.6, -0.4), (0.5, 0.4, 0.6), [""]),  # as far on both sides
        ("stereotype_score", (70, 65, 75), (50, 45, 55), ["first"]),
        ("accuracy", (0.9, 0.89, 0.91), (0.5, 0.49, 0.51), []),  # a cost
    ],
)
def test_which_of_two_is_more_biased_is_farther_from_neutral(metric, first, second, expected):
    sides = [side(table(measured(metric, *score))) for score in (first, second)]
    assert list(apart(*sides)["more"]) == expected
    assert apart(*(side(one.scores.assign(method="leace")) for one in sides)).empty


def test_a_score_that_may_be_neutral_may_be_apart_by_all_of_the_other_ones_distance():
    sides = [side(table(measured("weat_effect_size", *score))) for score in ((1.4, 1.2, 1.5), (0.4, -0.2, 0.9))]
    assert apart(*sides)["apart_high"].item() == 1.5 and apart(*sides[::-1])["apart_low"].item() == -1.5


def test_a_method_that_changes_no_answer_costs_nothing():
    """Though the accuracy may be 1, beyond which none lies."""
    right = np.arange(40) > 1
    ends = interval(lambda counts: weighted_mean(counts, right), np.arange(40))
    assert ends.high == 1
    for better, width in (("high", 0), ("neutral", 0.1)):
        sides = [np.full(2, right.mean())] * 2, [np.stack([ends.resampled] * 2)] * 2
        value, low, high = distance_differences(*sides, 1, better)
        assert (value == 0).all() and (low <= -width).all() and (high >= width).all() and (width or not high.any())


def of_items(values: np.ndarray, items: str, **keys) -> tuple[dict, dict]:
    """A score of CrowS-Pairs, the mean of items, and the same with its resamples."""
    ends = interval(lambda counts: weighted_mean(counts, values), np.arange(len(values)))
    score = measured("crows_pairs_score", values.mean(), ends.low, ends.high, n=len(values), **keys)
    return score, dict.fromkeys(KEYS, NA) | score | {"items": items, RESAMPLED: ends.resampled}


@pytest.mark.parametrize(
    ("items", "over", "more"),
    [("same", SAME_ITEMS, ["second"]), ("other", ITEMS, [""]), (NAN, ITEMS, [""])],  # NaN: of an older version
)
def test_runs_are_paired_on_the_same_items_alone(items, over, more):
    """Items of the second run are about 0.02 higher: beyond chance on the same items, but not on as many others."""
    rng = np.random.default_rng(0)
    values, more_by = 0.6 + rng.normal(0, 0.3, 100), rng.uniform(0, 0.04, 100)
    (first, kept), (second, others) = of_items(values, "same"), of_items(values + more_by, items)
    found = apart(side(table(first), pd.DataFrame([kept])), side(table(second), pd.DataFrame([others])))
    assert list(found["over"]) == [over] and list(found["more"]) == more
    assert found["apart"].item() == pytest.approx(-more_by.mean())


def test_the_spread_of_seeds_enters_where_it_is_known():
    """Three seeds of 0.8, 1.0 and 1.2, and one of 0.5: sd 0.2, t 4.303 with two degrees of freedom; the items add 0.1
    of either side, as squares."""
    seeds = [
        measured("weat_effect_size", value, value - 0.1, value + 0.1, encoder=f"s{value}") for value in (0.8, 1, 1.2)
    ]
    alone = [measured("weat_effect_size", 0.5, 0.4, 0.6, encoder="s0.8")]
    family = {f"s{value}": "s0.8" for value in (0.8, 1, 1.2)}
    found = apart(side(table(*seeds), families=family), side(table(*alone))).iloc[0]
    assert found["over"] == "items and seeds" and (found["seeds_first"], found["seeds_second"]) == (3, 1)
    reach = np.hypot(4.3027 * 0.2 * np.sqrt(1 / 3 + 1), np.hypot(0.1, 0.1))
    assert (found["apart_low"], found["apart_high"]) == pytest.approx((0.5 - reach, 0.5 + reach), abs=1e-4)
    assert found["more"] == ""
    one_seed = apart(side(table(seeds[0])), side(table(*alone)))  # one seed each: by the items alone
    assert list(one_seed["more"]) == ["first"]


def test_pairs_are_corrected_over_all_of_them_and_all_measures():
    """Of six comparisons the one with p = 0.02 counts alone, but not among six (Holm)."""
    values = {"a": 0.7, "b": 0.5, "c": 0.52}
    sides = {
        name: side(
            table(
                measured("weat_effect_size", value, value - 0.12, value + 0.12),
                measured("seat_effect_size", 1, 0.5, 1.5),
            )
        )
        for name, value in values.items()
    }
    alone, found = apart(sides["a"], sides["b"]).set_index("metric"), between(sides).set_index(["metric", "first"])
    assert alone["more"].to_dict() == {"weat_effect_size": "first", "seat_effect_size": ""}
    assert 0.01 < alone.loc["weat_effect_size", "p"] < 0.03 and len(found) == 6 and set(found["more"]) == {""}
    of_pair = found.loc[("weat_effect_size", "a")]
    assert of_pair.loc[of_pair["second"] == "b", "p"].item() == pytest.approx(6 * alone.loc["weat_effect_size", "p"])
    assert between({"a": sides["a"]}).empty


KEY = dict.fromkeys(KEYS, NA) | {"encoder": "bert", "dataset": "data", "method": "none", "items": "digest"}
RATE = {"metric": "crows_pairs_score", "part": "all", "variant": "exact"}  # neutral is 0.5
LISTED = np.random.default_rng(0).random(80)


def score(values, *, n=None, resamples=2000, **keys):
    """A score that is the mean of some items, with its resamples."""
    ends = interval(lambda counts: weighted_mean(counts, values), np.arange(len(values)), resamples=resamples)
    return KEY | RATE | keys | {"value": values.mean(), "n": n or len(values), RESAMPLED: ends.resampled}


def changed(*scores):
    """(method, ending of the metric) -> value, low, high."""
    found = changes(pd.DataFrame(scores)[DRAWN])
    endings = found["metric"].str.removeprefix(RATE["metric"])
    rows = zip(found["method"], endings, strict=True), found[["value", "low", "high"]].itertuples(index=False)
    return dict(zip(*rows, strict=True))


def test_a_change_on_the_same_items_has_an_interval_of_its_own():
    """All items rise by the same, so the change is known, however little the scores are. Not so of other items."""
    found = changed(score(LISTED), score(LISTED + 0.1, method="hard"), score(LISTED, method="leace", n=79))
    assert found["hard", "_change"] == pytest.approx((0.1, 0.1, 0.1))
    assert {method for method, _ in found} == {"hard"}


def test_as_many_other_items_are_not_paired_and_the_log_says_so(caplog):
    """Nor are those of a file of an older version, which does not say what its items were."""
    scores = pd.DataFrame(
        [score(LISTED), score(LISTED + 0.1, method="hard"), score(LISTED, method="leace", items="other")]
    )
    assert set(changes(scores)["method"]) == {"hard"}
    assert "crows_pairs_score of bert: 1 of 2 scores are of other items" in caplog.text
    assert changes(scores.drop(columns="items")).empty


def test_items_are_the_same_if_files_choice_and_what_is_left_out_are(tmp_path):
    for name, text in {"one": "he is late\n", "again": "he is late\n", "other": "she is late\n"}.items():
        (tmp_path / name).write_text(text)

    def digest(*names, limit=100, left_out=()):
        return digest_of_items({"test": [tmp_path / name for name in names]}, {"limit": limit}, left_out)

    same = digest("one")
    others = digest("other"), digest("one", limit=99), digest("one", left_out=["row 3"])
    assert digest("again") == same and same not in others
    assert digest("one", "other") != digest("other", "one")  # their order is that of the items


def test_scores_of_one_measure_may_differ_in_their_resamples():
    """As those of STS-B, which are correlations, and of the other tasks of GLUE do."""
    tasks = {"sst2": 2000, "stsb": 1000}
    scores = [
        score(LISTED + change, task=task, strategy="plain", method=method, resamples=resamples)
        for task, resamples in tasks.items()
        for method, change in (("none", 0), ("hard", 0.1))
    ]
    found = changes(pd.DataFrame(scores)[DRAWN]).set_index(["task", "metric"])
    assert [found["value"][task, "crows_pairs_score_change"] for task in tasks] == pytest.approx([0.1, 0.1])
    assert changes(pd.DataFrame([scores[0], {**scores[3], "task": "sst2"}])[DRAWN]).empty


def test_what_crosses_neutral_is_no_nearer():
    """From 0.2 above neutral to 0.2 below it: the score has changed, and the distance has not."""
    above = LISTED - LISTED.mean() + 0.7
    found = changed(score(above), score(above - 0.4, method="hard"))
    assert found["hard", "_change"] == pytest.approx((-0.4, -0.4, -0.4))
    value, low, high = found["hard", "_distance_change"]
    assert value == pytest.approx(0) and low < -0.05 and high > 0.05


def test_an_untouched_model_stands_beside_its_seed_or_beside_all():
    tuned = {"task": "bios", "strategy": "plain"}
    seeds = [score(LISTED + 0.1 * seed, seed=str(seed), **tuned) for seed in (0, 1)]
    hard = [score(LISTED + 0.1 * seed + 0.2, seed=str(seed), method="hard", **tuned) for seed in (0, 1, 2)]
    blind = score(LISTED + 0.5, seed="1", task="bios", strategy="blind")
    found = changes(pd.DataFrame([*seeds, *hard, blind])[DRAWN])
    found = found[found["metric"] == "crows_pairs_score_change"].set_index(["strategy", "seed"])["value"]
    assert found.to_dict() == pytest.approx({("plain", "0"): 0.2, ("plain", "1"): 0.2, ("blind", "1"): 0.4})
    untrained = score(LISTED + 0.3, seed="0", strategy="random")
    found = changes(pd.DataFrame([score(LISTED), untrained])[DRAWN])
    assert found["value"].iloc[0] == pytest.approx(0.3)


@given(st.integers(6, 40), st.integers(0, 2**32 - 1))
def test_every_interval_is_that_of_the_differences_of_the_items(n, seed):
    before, after = np.random.default_rng(seed).random((2, n))
    value, low, high = changed(score(before), score(after, method="hard"))["hard", "_change"]
    ends = interval(lambda counts: weighted_mean(counts, after - before), np.arange(n))
    assert value == pytest.approx((after - before).mean())
    assert low < ends.low < ends.high < high  # Student's t
    assert (low, high) == pytest.approx(tuple(np.percentile(ends.resampled, [2.5, 97.5])))


def test_a_change_has_the_name_of_no_measure():
    names = pd.Series([name for name, _, _ in by_rows()])
    assert not are_changes(names).any()
    assert are_changes(pd.Series(["distance_change", "vector_change", "vector_change_change"])).tolist() == [
        True,
        False,
        False,
    ]


def test_resamples_are_kept_of_measures_alone():
    rows = pd.DataFrame([score(LISTED), score(LISTED, variant="aul"), score(LISTED) | {RESAMPLED: np.nan}])
    kept = resampled_measures(
        rows.drop(columns=["encoder", "part", "items"]), [["crows_pairs_score", NA, "exact"]], "digest", encoder="mine"
    )
    assert list(kept.columns) == DRAWN and len(kept) == 1 and kept["encoder"].item() == "mine"
    assert kept["items"].item() == "digest"
    assert resampled_measures(rows.drop(columns=RESAMPLED), [["crows_pairs_score", "all", "exact"]], "digest").empty
    assert changes(kept[:0]).empty


NUMBERS = st.floats(-10, 10)


def rows(values, *, seeds=None, half=None, splits=NA, orders=NA):
    """Scores of one method: a value for each seed or draw, with an interval of `half` to both sides."""
    n = len(values)
    values = np.array(values, dtype=float)
    half = np.nan if half is None else half
    keys = {"seed": seeds or [NA] * n, "split_seed": splits, "readout_seed": orders, "head_seed": NA}
    return pd.DataFrame({**keys, "value": values, "low": values - half, "high": values + half})


def test_distances_have_a_side_where_less_or_more_is_better():
    assert distance([0.3, 0.7], 0.5, "neutral").tolist() == pytest.approx([0.2, 0.2])
    assert distance([0.3, 0.7], 0.5, "low").tolist() == pytest.approx([0, 0.2])
    assert distance([0.3, 0.7], 0.5, "high").tolist() == pytest.approx([0.2, 0])


@given(NUMBERS, st.floats(0, 5), st.floats(0, 5), NUMBERS, st.sampled_from(["neutral", "low", "high"]))
def test_every_value_of_an_interval_is_as_far_as_its_distances_say(value, below, above, neutral, better):
    away, least, most = distances([value], [value - below], [value + above], neutral, better)
    between = distance(np.linspace(value - below, value + above, 50), neutral, better)
    assert least[0] <= away[0] + 1e-9 and away[0] <= most[0] + 1e-9
    assert (between >= least[0] - 1e-9).all() and (between <= most[0] + 1e-9).all()


def test_where_lower_is_better_a_value_below_neutral_is_no_bias():
    """A compression of 0.971 [0.946, 0.996]: the code costs more than it saves, which is as far as can be."""
    found = change(rows([0.971], half=0.025), rows([1.2], half=0.05), 1, "low")
    assert found.distance == 0 and found.high < 0 and found.over == ITEMS
    assert change(rows([0.971], half=0.025), rows([0.9], half=0.05), 1, "low")[:4] == (0, 0, 0, 0)


def test_differences_that_are_all_the_same_are_no_interval():
    """Three seeds of a classifier that is as right as before on each: the items say how sure that is."""
    names = ["0", "1", "2"]
    found = change(rows([0.5] * 3, seeds=names, half=0.1), rows([0.5] * 3, seeds=names, half=0.1), 1, "high")
    assert found.over == ITEMS and found.low < 0 < found.high
    assert change(rows([0.4] * 3, seeds=names), rows([0.5] * 3, seeds=names), 1, "high").over == NA
    assert change(rows([0.4], half=0), rows([0.5], half=0), 1, "high").over == NA
    assert change(rows([0.5], half=0), rows([0.5], half=0), 1, "high").over == NA
    assert change(rows([0.4], half=0), rows([0.9], half=0.1), 1, "high").over == NA  # one says how sure it is


def test_three_seeds_are_paired():
    """Seeds differ by far more than the method does, and it does the same on each."""
    names, plain = ["0", "1", "2"], np.array([1.0, 3.0, 5.0])
    found = change(rows(plain - [0.5, 0.6, 0.4], seeds=names, half=9), rows(plain, seeds=names, half=9), 0, "low")
    assert found.over == SEEDS and (found.low, found.high) == pytest.approx(t_interval([-0.5, -0.6, -0.4]))
    assert (found.distance, found.other) == pytest.approx((2.5, 3.0))


@pytest.mark.parametrize(
    ("better", "half", "paired", "over"),
    [("low", 0.1, True, SEEDS), ("low", 0.1, False, ITEMS), ("neutral", 0.1, False, NA), ("low", None, False, NA)],
)
def test_seeds_alone_do_not_say_how_sure_a_change_of_gaps_is(better, half, paired, over):
    names, plain, differences = ["0", "1", "2"], np.array([1.0, 1.3, 1.6]), np.array([-0.5, -0.6, -0.4])
    pair = rows(plain + differences, seeds=names, half=half), rows(plain, seeds=names, half=half)
    found = change(*pair, 0, better, rows(differences, seeds=names, half=0.2) if paired else None, noisy=True)
    assert found.over == over
    if paired:
        low, _ = t_interval(differences)
        assert found.low == pytest.approx(-0.5 - np.hypot(-0.5 - low, 0.2))


def test_two_seeds_are_compared_by_their_items():
    names = ["0", "1"]
    found = change(rows([1, 2], seeds=names, half=0.3), rows([2, 3], seeds=names, half=0.4), 0, "low")
    assert found.over == ITEMS and (found.low, found.high) == pytest.approx((-1.5, -0.5))


def test_changes_on_the_same_items_come_before_the_intervals_of_two_scores():
    after, before = rows([52], half=20), rows([50], half=20)
    found = change(after, before, 1, "low", rows([2], half=0.5))
    assert (found.low, found.high, found.over) == (1.5, 2.5, SAME_ITEMS)
    assert change(after, before, 1, "low", rows([2, 2], half=0.5)).over == ITEMS  # not one for each score
    assert change(after, before, 1, "neutral").over == NA  # the two may lie on both sides of neutral


@pytest.mark.parametrize("units", [None, 3, 20])
@given(value=st.floats(0.01, 5), half=st.floats(0.01, 5), sign=st.sampled_from([-1, 1]))
def test_p_is_at_most_5_percent_where_the_interval_leaves_out_0(value, half, sign, units):
    low, high = sorted((sign * (value - half), sign * (value + half)))
    p = p_of_interval(sign * value, low, high, units)
    assert p == pytest.approx(0.05, rel=1e-6) if value == half else (p < 0.05) == (value > half)
    assert p_of_interval(0, low, high) == 1 and np.isnan(p_of_interval(value, np.nan, np.nan))


def test_only_seeds_of_the_untouched_model_compare():
    plain = rows([1, 2], seeds=["0", "1"], half=0.1)
    assert change(rows([5], seeds=["1"], half=0.1), plain, 0, "low").other == 2
    alone = change(rows([5], seeds=["2"], half=0.1), plain, 0, "low")
    assert alone.distance == 5 and np.isnan(alone.other) and alone.over == NA
    assert change(rows([5], half=0.1), None, 0, "low").over == NA


def test_errors_of_seeds_and_items_add_up_as_squares():
    assert with_items(1.0, (0.7, 1.3), (0.6, 1.4)) == pytest.approx((0.5, 1.5))
    assert with_items(1.0, (0.7, 1.3), (np.nan, np.nan)) == (0.7, 1.3)
    assert np.isnan(with_items(1.0, (np.nan, np.nan), (0.6, 1.4))).all()
    names = ["0", "1", "2"]
    after, before = rows([1.0, 1.1, 0.9], seeds=names), rows([2.0, 2.0, 2.0], seeds=names)
    seeds = change(after, before, 0, "low")
    both = change(after, before, 0, "low", rows([-1.0, -0.9, -1.1], seeds=names, half=0.5))
    assert both.over == SEEDS and (both.high + 1) ** 2 == pytest.approx((seeds.high + 1) ** 2 + 0.5**2)


def test_splits_of_the_same_people_make_an_interval_and_orders_of_a_probe_do_not():
    """Two orders in which a probe is sent the people of each of three splits are one value a split."""
    splits, orders, plain = list("001122"), list("010101"), np.array([2.0, 2.2, 3.0, 3.2, 4.0, 4.2])
    differences = np.array([-0.5, -0.6, -0.4])
    after, before = (rows(values, splits=splits, orders=orders) for values in (plain + differences.repeat(2), plain))
    found = change(after, before, 0, "low")
    half = 4.303 * 0.1 * np.sqrt(1 / 3 + 1 / 3)
    assert found.over == DRAWS and (found.low, found.high) == pytest.approx((-0.5 - half, -0.5 + half), abs=1e-3)
    assert found.p == pytest.approx(p_of_interval(-0.5, found.low, found.high, 3))
    orders_alone = [rows(values, splits=["0"] * 6, orders=list("012345")) for values in (plain - 1, plain)]
    assert change(*orders_alone, 0, "low").over == NA


def test_the_smallest_effect_is_seen_in_80_of_100_cases():
    """(1.96 + 0.84) standard errors; Student's t over three seeds."""
    assert smallest_seen(-1.96, 1.96) == pytest.approx(2.8, abs=0.01)
    assert smallest_seen(-4.303, 4.303, 3) == pytest.approx(4.303 + 1.061, abs=0.01) and np.isnan(smallest_seen(1, 1))
