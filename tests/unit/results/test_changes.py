"""Changes of scores on the same items: what is subtracted from what, and the intervals of the same resamples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.results.bootstrap import RESAMPLED, interval, weighted_mean
from biasflow.results.changes import (
    COLUMNS,
    are_changes,
    changes,
    digest_of_items,
    resampled_measures,
)
from biasflow.results.matrix import by_rows
from biasflow.results.scores import KEYS, NA

KEY = dict.fromkeys(KEYS, NA) | {"encoder": "bert", "dataset": "data", "method": "none", "items": "digest"}
RATE = {"metric": "crows_pairs_score", "part": "all", "variant": "exact"}  # neutral is 0.5
ITEMS = np.random.default_rng(0).random(80)


def score(values, *, n=None, resamples=2000, **keys):
    """A score that is the mean of some items, with its resamples."""
    ends = interval(lambda counts: weighted_mean(counts, values), np.arange(len(values)), resamples=resamples)
    return KEY | RATE | keys | {"value": values.mean(), "n": n or len(values), RESAMPLED: ends.resampled}


def changed(*scores):
    """(method, ending of the metric) -> value, low, high."""
    found = changes(pd.DataFrame(scores)[COLUMNS])
    endings = found["metric"].str.removeprefix(RATE["metric"])
    rows = zip(found["method"], endings, strict=True), found[["value", "low", "high"]].itertuples(index=False)
    return dict(zip(*rows, strict=True))


def test_a_change_on_the_same_items_has_an_interval_of_its_own():
    """All items rise by the same, so the change is known, however little the scores are. Not so of other items."""
    found = changed(score(ITEMS), score(ITEMS + 0.1, method="hard"), score(ITEMS, method="leace", n=79))
    assert found["hard", "_change"] == pytest.approx((0.1, 0.1, 0.1))
    assert {method for method, _ in found} == {"hard"}


def test_as_many_other_items_are_not_paired_and_the_log_says_so(caplog):
    """Nor are those of a file of an older version, which does not say what its items were."""
    scores = pd.DataFrame(
        [score(ITEMS), score(ITEMS + 0.1, method="hard"), score(ITEMS, method="leace", items="other")]
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
        score(ITEMS + change, task=task, strategy="plain", method=method, resamples=resamples)
        for task, resamples in tasks.items()
        for method, change in (("none", 0), ("hard", 0.1))
    ]
    found = changes(pd.DataFrame(scores)[COLUMNS]).set_index(["task", "metric"])
    assert [found["value"][task, "crows_pairs_score_change"] for task in tasks] == pytest.approx([0.1, 0.1])
    assert changes(pd.DataFrame([scores[0], {**scores[3], "task": "sst2"}])[COLUMNS]).empty


def test_what_crosses_neutral_is_no_nearer():
    """From 0.2 above neutral to 0.2 below it: the score has changed, and the distance has not."""
    above = ITEMS - ITEMS.mean() + 0.7
    found = changed(score(above), score(above - 0.4, method="hard"))
    assert found["hard", "_change"] == pytest.approx((-0.4, -0.4, -0.4))
    value, low, high = found["hard", "_distance_change"]
    assert value == pytest.approx(0) and low < -0.05 and high > 0.05


def test_a_method_stands_beside_each_of_its_controls():
    """The distances are 0.3 and 0.1; the rows have the keys of the control. In training, too, and no other method's."""
    near, far = ITEMS - ITEMS.mean() + 0.6, ITEMS - ITEMS.mean() + 0.8
    pair = [score(near, method="leace"), score(far, method="leace-random0"), score(near, method="sal-random0")]
    trained = [{**row, "strategy": f"with-{row['method']}"} for row in pair]
    found = changed(*pair, *trained)
    assert found["leace-random0", "_distance_against_control"] == pytest.approx((-0.2, -0.2, -0.2))
    assert len(changes(pd.DataFrame([*pair, *trained])[COLUMNS])) == 2


def test_an_untouched_model_stands_beside_its_seed_or_beside_all():
    tuned = {"task": "bios", "strategy": "plain"}
    seeds = [score(ITEMS + 0.1 * seed, seed=str(seed), **tuned) for seed in (0, 1)]
    hard = [score(ITEMS + 0.1 * seed + 0.2, seed=str(seed), method="hard", **tuned) for seed in (0, 1, 2)]
    blind = score(ITEMS + 0.5, seed="1", task="bios", strategy="blind")
    found = changes(pd.DataFrame([*seeds, *hard, blind])[COLUMNS])
    found = found[found["metric"] == "crows_pairs_score_change"].set_index(["strategy", "seed"])["value"]
    assert found.to_dict() == pytest.approx({("plain", "0"): 0.2, ("plain", "1"): 0.2, ("blind", "1"): 0.4})
    untrained = score(ITEMS + 0.3, seed="0", strategy="random")
    found = changes(pd.DataFrame([score(ITEMS), untrained])[COLUMNS])
    assert found["value"].iloc[0] == pytest.approx(0.3)


@settings(deadline=None, max_examples=20)
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
    rows = pd.DataFrame([score(ITEMS), score(ITEMS, variant="aul"), score(ITEMS) | {RESAMPLED: np.nan}])
    kept = resampled_measures(
        rows.drop(columns=["encoder", "part", "items"]), [["crows_pairs_score", NA, "exact"]], "digest", encoder="mine"
    )
    assert list(kept.columns) == COLUMNS and len(kept) == 1 and kept["encoder"].item() == "mine"
    assert kept["items"].item() == "digest"
    assert resampled_measures(rows.drop(columns=RESAMPLED), [["crows_pairs_score", "all", "exact"]], "digest").empty
    assert changes(kept[:0]).empty
