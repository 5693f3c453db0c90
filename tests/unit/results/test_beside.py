"""What stands beside a measure: matched score by score, and where it forbids a claim."""

import numpy as np
import pandas as pd

from biasflow.registry import METRICS, Beside, Measure
from biasflow.results.beside import beside, cautions, in_words, why
from biasflow.results.matrix import claimable
from biasflow.results.scores import tidy

SHARE = Beside("largest share", "share", most=0.95, why="one label has nearly all")
SPREAD = Beside("spread", "spread", variant=None)
MEASURE = Measure("gap", 0, "low", "outside", beside=(SHARE, SPREAD))


def scored(*rows):
    columns = ["seed", "metric", "variant", "value"]
    return tidy(pd.DataFrame(rows, columns=columns), encoder="bert", task="bios", strategy="plain", method="none")


def test_scores_are_matched_by_their_keys_and_their_own_variant():
    scores = scored(
        *(("0", "gap", "x", 1.0), ("1", "gap", "x", 2.0)),
        *(("0", "share", "-", 0.5), ("1", "share", "-", 0.99), ("0", "spread", "x", 7.0), ("0", "spread", "y", 8.0)),
    )
    rows = scores[scores["metric"] == "gap"]
    found = beside(rows, scores, MEASURE)
    assert list(found["largest share"]) == [0.5, 0.99]
    assert found["spread"].iloc[0] == 7 and np.isnan(found["spread"].iloc[1])
    doubts = cautions(found, MEASURE)
    assert list(doubts["largest share"]) == [False, True] and not doubts["spread"].any()
    assert why(doubts, MEASURE, rows["seed"]) == "one label has nearly all (1 of 2 seeds)"
    assert why(doubts.iloc[:1], MEASURE, rows["seed"].iloc[:1]) == ""
    assert in_words(found) == "largest share 0.745, spread 7.000"


def test_a_score_of_another_dataset_of_the_same_model_may_stand_beside_and_the_largest_counts():
    rows = [
        {"method": method, "dataset": dataset, "metric": metric, "value": value}
        for method, dataset, metric, value in (
            *((method, "pairs", "gap", 0.1) for method in ("none", "leace")),
            *(("none", "test", "p", 0.01), ("none", "test-mismatched", "p", 0.2), ("leace", "test", "p", 0.02)),
        )
    ]
    scores = tidy(pd.DataFrame(rows), encoder="bert", task="nli", strategy="plain")
    measure = Measure("gap", 0, "low", "outside", beside=(Beside("", "p", most=0.05, why="guesses", any_dataset=True),))
    gaps = scores[scores["metric"] == "gap"].set_index("method", drop=False)
    found = beside(gaps, scores, measure)
    assert found[""].to_dict() == {"none": 0.2, "leace": 0.02} and in_words(found) == ""
    assert cautions(found, measure)[""].to_dict() == {"none": True, "leace": False}


def test_a_gap_of_a_model_that_always_says_the_same_is_not_compared_with_others():
    rows = [
        {"seed": seed, "metric": metric, "value": value}
        for seed, share in (("0", 0.4), ("1", 1.0))
        for metric, value in (("independence", 0.0), ("largest_label_share", share), ("accuracy", 0.3))
    ]
    scores = tidy(pd.DataFrame(rows), encoder="bert", task="bios", strategy="plain", method="none")
    left = claimable(scores)
    assert list(left.loc[left["metric"] == "independence", "seed"]) == ["0"]
    assert list(left.loc[left["metric"] == "accuracy", "seed"]) == ["0", "1"]  # a cost is what it is


def test_what_stands_beside_a_measure_is_scored_by_the_same_metric():
    """A misspelt name would stand beside nothing, and never forbid a claim."""
    known = {"largest_label_share", "occtmp_p_sum", "control_compression", "nli_parity", "nli_accuracy"}
    known |= {"weat_spread", "seat_spread", "conll_f1", "pronoun_accuracy", "mlp_control_compression"}
    known |= {"majority_share", "majority_p", "smallest_gap_seen"}
    named = {other.metric for entry in METRICS.values() for one in entry.measures.values() for other in one.beside}
    assert named == known
