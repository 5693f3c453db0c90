"""What a fine-tuning says of itself: from training.json to scores."""

import json

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.training import score

FACTS = {
    "method": ["none", "-"], "validation_metric": "accuracy", "validation_score": 0.9, "majority_share": 0.4,
    "train": 585, "validation": 90, "cut": 7, "steps": 12,
}  # fmt: skip


def scores(tmp_path, **changes):
    facts = {key: value for key, value in (FACTS | changes).items() if value is not ...}
    (tmp_path / "training.json").write_text(json.dumps(facts))
    return score(tmp_path / "training.json")


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


def test_files_that_are_no_facts(tmp_path):
    (tmp_path / "training.json").write_text("{")
    with pytest.raises(BiasflowError, match=r"training\.json: not JSON"):
        score(tmp_path / "training.json")
