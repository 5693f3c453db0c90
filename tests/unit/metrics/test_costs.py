"""What shows the cost of a method: GLUE, what a fine-tuning says of itself, perplexity."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.glue import glue_scores
from biasflow.metrics.glue import score as score_glue
from biasflow.metrics.perplexity import (
    perplexity,
    perplexity_of_batches,
    pseudo_perplexity,
    score_pseudo_perplexity,
)
from biasflow.metrics.perplexity import score as score_losses
from biasflow.metrics.training import score as score_training
from biasflow.readouts.files import save_arrays


@pytest.mark.parametrize(
    ("task", "gold", "predicted", "scores"),
    [
        # 2 true positives, 1 false one, 1 missed, 2 true negatives
        ("cola", [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], {"matthews": 1 / 3}),
        ("mrpc", [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], {"accuracy": 2 / 3, "f1": 2 / 3}),
        ("qqp", [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], {"accuracy": 2 / 3, "f1": 2 / 3}),
        ("rte", [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], {"accuracy": 2 / 3}),
        # the F1 is that of the second class
        ("mrpc", [1, 1, 0], [1, 1, 1], {"accuracy": 2 / 3, "f1": 0.8}),
        ("mrpc", [0, 0], [0, 0], {"accuracy": 1, "f1": 0}),
        ("cola", [0, 1], [1, 1], {"matthews": 0}),
        ("stsb", [0, 1, 2, 5], [0, 1, 8, 9], {"pearson": np.corrcoef([0, 1, 2, 5], [0, 1, 8, 9])[0, 1], "spearman": 1}),
        ("stsb", [0, 1, 2], [0.1] * 3, {"pearson": np.nan, "spearman": np.nan}),
    ],
)
def test_known_answers(task, gold, predicted, scores):
    found = glue_scores(task, gold, np.array(predicted))
    expected = {"glue_score": np.mean([*scores.values()]), **scores}
    assert found == pytest.approx(expected, nan_ok=True)


def scored(tmp_path, arrays, **meta):
    save_arrays(tmp_path / "predictions", arrays, [("none", "-"), ("leace", "-")], **meta)
    return score_glue(tmp_path / "predictions")


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


FACTS = {
    "method": ["none", "-"], "validation_metric": "accuracy", "validation_score": 0.9, "majority_share": 0.4,
    "train": 585, "validation": 90, "cut": 7, "steps": 12,
}  # fmt: skip


def scores(tmp_path, **changes):
    facts = {key: value for key, value in (FACTS | changes).items() if value is not ...}
    (tmp_path / "training.json").write_text(json.dumps(facts))
    return score_training(tmp_path / "training.json")


def values(table) -> dict[str, float]:
    return dict(zip(table["metric"], table["value"], strict=True))


def test_facts_of_both_parts_of_the_data(tmp_path):
    table = scores(tmp_path, method=["dawkins2024", "sent 0"])
    assert values(table[table["dataset"] == "train"]) == {"train_size": 585, "truncated": 7}
    assert values(table[table["dataset"] == "validation"]) == {
        "validation_accuracy": 0.9, "majority_share": 0.4, "diverged": 0,
    }  # fmt: skip
    assert set(table["method"]) == {"dawkins2024"} and set(table["setting"]) == {"sent 0"}
    assert (table["n"] == table["dataset"].map({"train": 585, "validation": 90})).all()


@pytest.mark.parametrize(("reached", "expected"), [(0.9, 0), (0.3, 1), (0.4, 1), (None, 1)])
def test_a_model_that_learned_nothing_is_marked(tmp_path, reached, expected):
    found = values(scores(tmp_path, validation_score=reached))
    assert found["diverged"] == expected
    assert np.isnan(found["validation_accuracy"]) == (reached is None)


LOSSES = st.lists(st.floats(0, 30), min_size=1, max_size=30)


def test_known_answers_of_perplexity():
    losses = np.log([2.0, 2.0, 8.0])
    assert perplexity(losses) == pytest.approx(2 ** (5 / 3))
    assert perplexity_of_batches(losses, [0, 0, 1]) == pytest.approx(4)  # the mean of ln 2 and ln 8 is ln 4
    assert pseudo_perplexity([-math.log(4), -math.log(2)], [2, 1]) == pytest.approx(2)


def test_what_n_counts(tmp_path):
    """Tokens, of losses; sentences, of pseudo-perplexity."""
    method = {"method": "none", "setting": "-"}
    pd.DataFrame(
        {**method, "readout_seed": 0, "block": [0] * 4 + [4] * 2, "loss": np.log([2.0] * 4 + [8.0] * 2)}
    ).to_parquet(tmp_path / "losses")
    pd.DataFrame({**method, "log_likelihood": np.log([1 / 4, 1 / 2]), "tokens": [2, 1]}).to_parquet(tmp_path / "pll")
    rows = score_losses(tmp_path / "losses").set_index("variant")
    assert rows["value"].to_dict() == pytest.approx({"-": 2 ** (10 / 6), "released": 4})
    assert set(rows["n"]) == {6}
    (row,) = score_pseudo_perplexity(tmp_path / "pll").to_dict("records")
    assert row["value"] == pytest.approx(2) and row["n"] == 2


@given(LOSSES)
def test_pseudo_perplexity_is_the_perplexity_of_all_tokens(losses):
    half = len(losses) // 2
    parts = [part for part in (losses[:half], losses[half:]) if part]
    found = pseudo_perplexity([-sum(part) for part in parts], [len(part) for part in parts])
    assert found == pytest.approx(perplexity(losses))


@pytest.mark.parametrize(
    "call",
    [
        lambda: perplexity([]),
        lambda: perplexity([[1.0]]),
        lambda: perplexity([1.0, -0.5]),
        lambda: perplexity([math.inf]),
        lambda: pseudo_perplexity([1.0], [1]),
    ],
)
def test_what_is_no_loss_is_refused(call):
    with pytest.raises(BiasflowError):
        call()
