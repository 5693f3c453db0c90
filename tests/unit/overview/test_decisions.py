"""What the page says first of a classifier that is given."""

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.decisions import answers_of, decisions
from biasflow.overview.overview import _TEMPLATES
from biasflow.readouts.files import save_arrays
from biasflow.results.scores import tidy

SAYS = '{% import "decisions.html" as decided %}'


def scores(*more: tuple, flips=0.0234, control=0.004) -> pd.DataFrame:
    rows = [
        ("none", "-", "flips", "-", "-", flips, 812, flips - 0.01, flips + 0.01),
        ("none", "-", "flips", "-", "control", control, 310, 0.001, 0.011),
        ("none", "-", "flips", "-", "paired", 0.02, 310, 0.01, 0.04),
        ("none", "-", "flips_p", "-", "-", 0.002, 310),
        *(("none", "-", "words_exchanged", "-", of, words, 310) for of, words in (("paired", 4.1), ("control", 1.7))),
        *(("none", "-", "flips", "-", of, 0.03, 120, 0.0, 0.07) for of in ("paired-matched", "control-matched")),
        ("none", "-", "gendered_texts", "-", "-", 0.812, 1000),
        *(
            ("none", "-", "he_minus_she", name, "-", value, 812, value - 0.01, value + 0.01)
            for name, value in (("nurse", -0.05), ("surgeon", 0.04), ("other", 0.01))
        ),
        *(
            ("none", "-", "moved_to", name, side, value, 812, 0, 0.05)
            for name, he, she in (("nurse", 0.003, 0.015), ("surgeon", 0.02, 0.001), ("other", 0.0, 0.007))
            for side, value in (("he", he), ("she", she))
        ),
        *(("none", "-", "tpr", "surgeon", gender, rate, n) for gender, rate, n in (("F", 0.5, 20), ("M", 0.7, 60))),
        ("none", "-", "tpr_gap", "nurse", "-", 0.12, 90, 0.02, 0.22),
        ("none", "-", "tpr_gap", "surgeon", "-", -0.2, 80, -0.3, -0.1),
        ("leace", "-", "flips", "-", "-", 0.01, 812, 0.005, 0.02),
        ("leace", "-", "decisions_kept", "-", "-", 0.991, 1000, 0.98, 1),
        *(("leace-random-matched", f"draw{k}", "flips", "-", "-", 0.02 + k / 1000, 812, 0, 1) for k in (1, 2, 3)),
        *more,
    ]
    columns = ["method", "setting", "metric", "part", "variant", "value", "n", "low", "high"]
    frame = pd.DataFrame([row + (float("nan"),) * (9 - len(row)) for row in rows], columns=columns)
    return tidy(frame, encoder="mine", task="bios", strategy="given", seed="0", head="own", dataset="copies")


def test_the_page_begins_with_how_many_decisions_change_and_towards_which_label():
    (one,) = decisions(scores())
    assert (one.tested, one.gendered, one.above) == (1000, 812, 0.002)
    assert one.flips.of_1000 == "23 (13 to 33)" and one.control.of_1000 == "4 (1 to 11)"
    assert (one.towards.name, one.away.name) == ("nurse", "surgeon")
    assert [label.name for label in one.gaps] == ["surgeon", "nurse"]
    (method,) = one.methods
    assert method.name == "leace" and method.draws == pytest.approx([0.021, 0.022, 0.023])
    assert method.kept.value == 0.991 and not method.accuracy.is_there


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (
            {},
            (
                "Of 1,000 decisions 23 change",
                "20 (10 to 40) of 1,000 change so, but 4 (1 to 11) if",
                "words of gender change more (p 0.002)",
                "4.1 words of gender are exchanged on average, and 1.7 neutral ones. In the 120 texts with as many "
                "of each, 30 (0 to 70) of 1,000 change by gender, 30 (0 to 70) by neutral words.",
                "3 random edits of the same size: 21 to 23",
                "188 of them have no word",
            ),
        ),
        ({"flips": 0.0}, ("No decision changes", "words of gender change more")),
        ({"control": float("nan")}, ("so there is no control",)),
    ],
)
def test_the_text_for_a_report_names_n_the_control_and_what_was_not_tested(more, wanted):
    (one,) = decisions(scores(**more))
    text = " ".join(_TEMPLATES.from_string(SAYS + "{{ decided.report(one) }}").render(one=one).split())
    assert all(words in text for words in wanted) and "Not tested:" in text
    assert "surgeon -0.200 [-0.300, -0.100] (20 women, 60 men)" in text


def test_a_model_that_was_trained_here_has_no_such_section():
    assert decisions(scores().assign(strategy="plain")) == []


def test_several_classifiers_stand_beside_the_share_of_texts_on_which_they_differ():
    labels = pd.Series(["nurse", "surgeon"] * 500)
    others = labels.copy()
    others[:30] = "other"
    answers = {("mine", "bios"): labels, ("seed1", "bios"): others, ("seed1", "another task"): labels}
    (one,) = decisions(scores(), answers)
    ((name, share),) = one.others
    assert (name, share.value, share.n) == ("seed1", 0.03, 1000) and share.low < 0.03 < share.high
    text = _TEMPLATES.from_string(SAYS + "{{ decided.short(one) }}").render(one=one)
    assert "mine and seed1 give 30 (21 to 42) of 1,000 texts different labels (1,000 texts)" in text
    assert decisions(scores())[0].others == []


def test_two_classifiers_are_compared_on_the_same_texts_if_one_leaves_some_out():
    labels = pd.Series(["nurse", "surgeon"] * 500)
    left_out = labels.drop([0, 7, 500])  # by position all others would differ
    (one,) = decisions(scores(), {("mine", "bios"): labels, ("seed1", "bios"): left_out.sample(frac=1, random_state=0)})
    assert [(share.value, share.n) for _, share in one.others] == [(0, 997)]
    (one,) = decisions(scores(), {("mine", "bios"): labels, ("seed1", "bios"): pd.Series(["nurse"], [4000])})
    assert one.others == []


def test_answers_are_those_of_the_model_as_it_is(tmp_path):
    arrays = {"own": np.array([[1, 1, 1], [0, 1, 0]], np.uint8)}
    axis = [("leace", "-"), ("none", "-")]
    save_arrays(tmp_path / "texts.safetensors", arrays, axis, classes=["nurse", "surgeon"], ids=[3, 5])
    answers = answers_of(tmp_path / "texts.safetensors")
    assert answers.to_dict() == {3: "nurse", 5: "surgeon"}  # without that to a copy, which is behind
    assert answers_of(tmp_path / "absent.safetensors").empty


def test_both_accuracies_are_named_beside_that_of_the_most_frequent_label():
    more = [
        ("none", "-", "accuracy_tested", "-", "-", 0.9, 1000, 0.88, 0.92),
        ("none", "-", "majority_share", "-", "-", 0.447, 1000),
        ("none", "-", "accuracy", "-", "-", 0.75, 180),
        ("leace", "-", "accuracy", "-", "-", 0.7, 180),
    ]
    both = scores(*more)
    both.loc[both["metric"] == "accuracy", "dataset"] = "people"
    of_people = both[both["metric"] == "majority_share"].assign(dataset="people", value=0.6)
    (one,) = decisions(pd.concat([both, of_people]))
    text = " ".join(_TEMPLATES.from_string(SAYS + "{{ decided.report(one) }}").render(one=one).split())
    assert (
        "Accuracy 0.900 [0.880, 0.920] on all 1,000 tested texts; always the most frequent label would have 0.447. The "
        "accuracy in the tables, 0.750, is that on 180 of them: as many women as men of surgeon, nurse, "
        "which have enough of both."
    ) in text


def test_probabilities_and_gaps_have_one_direction():
    (one,) = decisions(scores())
    page = _TEMPLATES.from_string(SAYS + "{{ decided.section(one) }}").render(one=one)
    assert "Probability, she minus he" in page and "Women minus men" in page
    row = page[page.index(">surgeon<") : page.index(">other<")]
    assert "-0.040 [-0.050, -0.030]" in row and "-0.200" in row and "0.500 (20)" in row and "0.700 (60)" in row
