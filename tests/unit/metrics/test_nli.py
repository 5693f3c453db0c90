"""NLI fairness: known answers, and every method as if it were alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biasflow.metrics.nli import CLASSES, nli_scores, score
from biasflow.readouts.files import save_arrays

E, N, C = range(3)
MEASURE = ["metric", "part", "variant"]
SHAPES = st.tuples(*[st.integers(1, 3)] * 3, st.just(2), st.integers(1, 3))
MODELS = SHAPES.flatmap(lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 2)))


def of_one(model: np.ndarray) -> pd.Series:
    """The scores of one model from class numbers [occupations, templates, 2, words], by MEASURE."""
    return nli_scores([("none", "-")], model[None]).set_index(MEASURE)["value"]


def test_by_hand():
    """Two occupations, three templates: the first alike by majority only, the second in neither reading."""
    model = np.array(
        [
            [[[N], [N]], [[N], [N]], [[E], [C]]],
            [[[N], [E]], [[N], [E]], [[N], [N]]],
        ]
    )
    score = of_one(model)
    assert score["nli_accuracy", "-", "-"] == pytest.approx(8 / 12)
    assert (score["nli_parity", "-", "majority"], score["nli_parity", "-", "templates"]) == (0.5, 0)
    assert score["nli_fairness", "-", "majority"] == pytest.approx(8 / 24)
    assert [score["nli_share", name, "-"] for name in CLASSES] == pytest.approx([3 / 12, 8 / 12, 1 / 12])


def test_classes_that_tie_are_alike_as_sets():
    """The first occupation has E and N for men, E and C for women: the first of these is the same, the sets are not.
    The second has E and N for both."""
    score = of_one(np.array([[[[E], [E]], [[N], [C]]], [[[E], [N]], [[N], [E]]]]))
    assert (score["nli_parity", "-", "majority"], score["nli_parity", "-", "templates"]) == (0.5, 0)


@given(MODELS)
def test_every_method_is_scored_as_if_it_were_alone(models):
    methods = [(f"method {number}", "-") for number in range(len(models))]
    together = nli_scores(methods, models).set_index(["method", *MEASURE])["value"]
    for (method, _), model in zip(methods, models, strict=True):
        assert together[method].equals(of_one(model))


@pytest.mark.parametrize(("feminine", "alike"), [([N, E], 1), ([E, N], 0)])
def test_templates_are_compared_word_by_word(feminine, alike):
    score = of_one(np.array([[[[N, E], feminine]]]))
    assert score["nli_parity", "-", "templates"] == alike
    assert score["nli_parity", "-", "majority"] == 1


def two_methods() -> np.ndarray:
    """One that always says neutral, and one that says entailment but for the men of one occupation: contradiction."""
    occupation = np.stack([np.full((4, 3, 2, 1), N), np.full((4, 3, 2, 1), E)]).astype(np.uint8)
    occupation[1, 0, :, 0] = C
    return occupation


AXIS = [("none", "-"), ("dawkins2024", "sent 0")]
EXPECTED = {
    ("nli_accuracy", "-", "-"): (1, 0),
    ("nli_parity", "-", "majority"): (1, 0.75),
    ("nli_parity", "-", "templates"): (1, 0.75),
    ("nli_fairness", "-", "majority"): (1, 0),
    ("nli_fairness", "-", "templates"): (1, 0),
    ("largest_label_share", "-", "-"): (1, 0.875),
    ("nli_share", "entailment", "-"): (0, 0.875),
    ("nli_share", "neutral", "-"): (1, 0),
    ("nli_share", "contradiction", "-"): (0, 0.125),
}


def test_scores_of_a_readout_are_those_of_every_head(tmp_path):
    own = two_methods()
    save_arrays(tmp_path / "predictions", {"own": own, "retrained": own[::-1]}, AXIS, classes=CLASSES, gold=None)
    keys = ["head", "method", "metric", "part", "variant"]
    scores = score(tmp_path / "predictions")
    assert set(scores["n"]) == {4 * 3 * 2}  # pairs
    found = scores.set_index(keys)["value"].to_dict()
    methods = [method for method, _ in AXIS]
    assert found == {
        (head, method, *measure): value
        for measure, values in EXPECTED.items()
        for head, order in (("own", values), ("retrained", values[::-1]))
        for method, value in zip(methods, order, strict=True)
    }
