"""NLI fairness: known answers, symmetries, the two ways to ask for it, and errors that name the row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import OF_WORDS as GENDERS
from biasflow.metrics.nli import CLASSES, fairness_score, fairness_scores, score
from biasflow.readouts.files import save_arrays

E, N, C = range(3)


def predictions(leading: int = 0):
    """Class numbers [..., occupations, templates, 2, words], with so many leading axes."""
    shapes = st.tuples(*[st.integers(1, 3)] * (leading + 2), st.just(2), st.integers(1, 3))
    return shapes.flatmap(lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 2)))


def as_rows(model: np.ndarray) -> dict[str, list]:
    """One row per pair, from class numbers [occupations, templates, 2, words]."""
    columns = {"predictions": [], "occupation": [], "gender": [], "template": []}
    for (occupation, template, gender, _), number in np.ndenumerate(model):
        columns["predictions"].append(CLASSES[number])
        columns["occupation"].append(f"occupation {occupation}")
        columns["gender"].append(GENDERS[gender])
        columns["template"].append(template)
    return columns


def test_by_hand():
    """Two occupations, three templates: the first alike by majority only, the second in neither reading."""
    model = np.array(
        [
            [[[N], [N]], [[N], [N]], [[E], [C]]],
            [[[N], [E]], [[N], [E]], [[N], [N]]],
        ]
    )
    score = fairness_scores(model)
    assert score["nli_accuracy", "-", "-"] == pytest.approx(8 / 12)
    assert (score["nli_parity", "-", "majority"], score["nli_parity", "-", "templates"]) == (0.5, 0)
    assert score["nli_fairness", "-", "majority"] == pytest.approx(8 / 24)
    assert [score["nli_share", name, "-"] for name in CLASSES] == pytest.approx([3 / 12, 8 / 12, 1 / 12])


@settings(max_examples=100, deadline=None)
@given(predictions())
def test_both_ways_to_ask_agree_for_any_order_of_the_rows(model):
    expected = fairness_scores(model)
    rows = pd.DataFrame(as_rows(model))
    # a stable sort moves the cells about but keeps the words of a cell in pairs
    for ordered in (rows, rows.sort_values("gender", kind="stable"), rows.sort_values("template", kind="stable")):
        columns = {name: ordered[name] for name in rows}
        for parity in ("majority", "templates"):
            found = fairness_score(**columns, parity=parity)
            assert found.accuracy == pytest.approx(expected["nli_accuracy", "-", "-"])
            assert found.parity == pytest.approx(expected["nli_parity", "-", parity])
            assert found.eta == pytest.approx(expected["nli_fairness", "-", parity])


@settings(max_examples=30, deadline=None)
@given(predictions(leading=2))
def test_leading_axes_are_models_of_their_own(models):
    together = fairness_scores(models)
    for position in np.ndindex(models.shape[:2]):
        for name, value in fairness_scores(models[position]).items():
            assert np.array_equal(together[name][position], value)


def test_templates_are_compared_word_by_word():
    rows = {"occupation": ["nurse"] * 4, "gender": [0, 0, 1, 1], "template": ["lost a ticket"] * 4}
    assert fairness_score([N, E, N, E], **rows, parity="templates").parity == 1
    assert fairness_score([N, E, E, N], **rows, parity="templates").parity == 0
    assert fairness_score([N, E, E, N], **rows, parity="majority").parity == 1


ROWS = {
    "predictions": ["neutral"] * 4,
    "occupation": ["nurse", "nurse", "poet", "poet"],
    "gender": ["masculine", "feminine"] * 2,
    "template": ["lost a ticket"] * 4,
}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"predictions": ["neutral", "maybe", "neutral", "neutral"]}, "row 1.*maybe"),
        ({"predictions": [1, 1, 1, float("nan")]}, "row 3"),
        ({"predictions": [1, 1, 3, 1]}, "row 2"),
        ({"gender": ["masculine", "feminine", "masculine", "both"]}, "row 3.*both"),
        ({"gender": ["masculine", "feminine", "masculine", "masculine"]}, "row 2.*poet.*feminine"),
        ({"template": ["a", "a", "a", "b"]}, "row 2.*poet"),
        ({"occupation": ["nurse", "nurse", None, "poet"]}, "occupation: row 2"),
        ({"template": ["a", float("nan"), "a", "a"]}, "template: row 1"),
        ({"occupation": ["nurse"]}, "occupation"),
        ({name: [] for name in ROWS}, "at least one"),
        ({"parity": "mean"}, "mean"),
    ],
)
def test_errors_name_the_row(change, names):
    with pytest.raises(BiasflowError, match=names):
        fairness_score(**(ROWS | change))


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
    found = score(tmp_path / "predictions").set_index(keys)["value"].to_dict()
    methods = [method for method, _ in AXIS]
    assert found == {
        (head, method, *measure): value
        for measure, values in EXPECTED.items()
        for head, order in (("own", values), ("retrained", values[::-1]))
        for method, value in zip(methods, order, strict=True)
    }
