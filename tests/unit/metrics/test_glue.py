"""GLUE: the official metrics by task. Scores of whole readouts stand with the predictions."""

import math

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.glue import glue_scores, score
from biasflow.readouts.files import save_arrays


def test_known_answers():
    # 2 true positives, 1 false one, 1 missed, 2 true negatives
    gold, predicted = [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0]
    assert glue_scores("cola", gold, predicted) == pytest.approx({"matthews": 1 / 3, "score": 1 / 3})
    both = {"accuracy": 2 / 3, "f1": 2 / 3, "score": 2 / 3}
    assert glue_scores("mrpc", gold, predicted) == glue_scores("qqp", gold, predicted) == pytest.approx(both)
    assert glue_scores("rte", gold, predicted) == pytest.approx({"accuracy": 2 / 3, "score": 2 / 3})


def test_f1_is_that_of_the_second_class():
    found = glue_scores("mrpc", ["equivalent", "equivalent", "not_equivalent"], ["equivalent"] * 3)
    assert (found["accuracy"], found["f1"]) == pytest.approx((2 / 3, 0.8))
    assert found["score"] == pytest.approx((2 / 3 + 0.8) / 2)
    assert glue_scores("mrpc", [0, 0], [0, 0]) == {"accuracy": 1.0, "f1": 0.0, "score": 0.5}


def test_correlations_of_the_similarity_task():
    found = glue_scores("stsb", [0.0, 1.0, 2.0, 5.0], [0.0, 1.0, 8.0, 9.0])
    assert found["spearman"] == pytest.approx(1)
    assert found["pearson"] == pytest.approx(np.corrcoef([0, 1, 2, 5], [0, 1, 8, 9])[0, 1])
    assert found["score"] == pytest.approx((found["pearson"] + 1) / 2)
    constant = glue_scores("stsb", [0.0, 1.0], [2.0, 2.0])
    assert math.isnan(constant["pearson"]) and math.isnan(constant["score"])


@pytest.mark.parametrize(
    ("task", "gold", "predicted", "named"),
    [
        ("ax", [0], [0], "ax"),
        ("cola", [], [], "cola"),
        ("cola", [0, 1], [0], "cola"),
        ("rte", ["entailment", "neutral"], [0, 0], "gold: row 1"),
        ("rte", [0, 1], [0, 2], "predicted: row 1"),
        ("stsb", [1.0, 2.0], [1.0, math.nan], "predicted: row 1"),
        ("stsb", [1.0, 2.0], ["a", "b"], "predicted"),
        ("stsb", [1.0, 1.0], [1.0, 2.0], "gold"),
    ],
)
def test_what_cannot_be_scored_is_named(task, gold, predicted, named):
    with pytest.raises(BiasflowError, match=named):
        glue_scores(task, gold, predicted)


def scored(tmp_path, arrays, **meta):
    save_arrays(tmp_path / "predictions", arrays, [("none", "-"), ("leace", "-")], **meta)
    return score(tmp_path / "predictions")


def test_every_head_and_method_of_a_readout_is_scored(tmp_path):
    gold = [1, 1, 1, 0, 0, 0]
    own = np.array([gold, [1, 1, 0, 1, 0, 0]], dtype=np.uint8)
    found = scored(tmp_path, {"own": own, "retrained": own[::-1]}, gold=gold, name="mrpc")
    table = found.pivot(index=["head", "method"], columns="metric", values="value")
    shares = table[["largest_label_share", "majority_share"]]
    table = table.drop(columns=[*shares, "majority_p"])
    assert (shares == 0.5).all(axis=None) and (table.loc[[("own", "none"), ("retrained", "leace")]] == 1).all(axis=None)
    assert np.allclose(table.loc[("own", "leace"), ["accuracy", "f1", "glue_score"]], 2 / 3)
    assert (found["n"] == 6).all() and (found["setting"] == "-").all()


def test_a_task_that_is_not_of_glue_has_its_accuracy(tmp_path):
    found = scored(tmp_path, {"own": np.array([[0, 1, 2, 1], [0, 0, 0, 0]], dtype=np.uint8)}, gold=[0, 1, 2, 0])
    assert found[["method", "metric", "value"]].to_numpy().tolist() == [
        ["none", "accuracy", 0.75],
        ["none", "largest_label_share", 0.5],
        ["none", "majority_share", 0.5],
        ["none", "majority_p", 5 / 16],
        ["leace", "accuracy", 0.5],
        ["leace", "largest_label_share", 1.0],
        ["leace", "majority_share", 0.5],
        ["leace", "majority_p", 11 / 16],
    ]
