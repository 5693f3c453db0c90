"""Known answers for classifiers that are made by hand: what changes when the words for one gender are exchanged."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import AbsentError
from biasflow.base.tabular import write_parquet
from biasflow.metrics.flips import score
from biasflow.readouts.files import save_arrays
from biasflow.registry import METRICS
from biasflow.results.changes import resampled_measures
from biasflow.results.matrix import matrix
from biasflow.results.scores import tidy
from biasflow.tasks.classification.given import with_copies

CLASSES = ("engineer", "nurse")
PEOPLE = ["{she} drew a plan in {n} days", "on Monday {she} saw the house", "the room was {n} feet long"]


def texts(words=("she", "he"), n: int = 60) -> pd.DataFrame:
    made = [
        PEOPLE[number % 3].replace("{she}", words[number // 3 % 2]).replace("{n}", str(number)) + f" and {number} more"
        for number in range(n)
    ]
    about = {"label": "nurse", "gender": "", "compared": False, "tested": True}
    return with_copies(pd.DataFrame({"text": made} | about))


def scored(tmp_path, table: pd.DataFrame, *classifiers, gold=True) -> pd.DataFrame:
    """The scores of classifiers, each a function of a text that returns p(nurse); the first is the untouched model."""
    tested = table[table["tested"]]
    nurse = np.array([[classifier(text) for text in tested["text"]] for classifier in classifiers], dtype=np.float32)
    probabilities = np.stack([1 - nurse, nurse], axis=-1)
    right = [1] * int((tested["version"] == "original").sum()) if gold else None
    arrays = {"own": (nurse > 0.5).astype(np.uint8), "probabilities": probabilities}
    axis = [("none", "-"), *(("method", f"draw{k}") for k in range(1, len(classifiers)))]
    save_arrays(tmp_path / "texts.safetensors", arrays, axis, classes=CLASSES, gold=right, truncated={"own": [3, 9]})
    write_parquet(table, tmp_path / "texts.parquet")
    return score(tmp_path / "texts.safetensors", texts=tmp_path / "texts.parquet")


def values(scores: pd.DataFrame, **keys) -> pd.DataFrame:
    rows = scores[(scores["method"] == "none")]
    return rows.set_index(["metric", "part", "variant"])


def counts_she(text: str) -> float:
    return 0.9 if "she" in text.split() else 0.2


def test_a_count_of_she_changes_every_decision_towards_the_label_of_women(tmp_path):
    of = values(scored(tmp_path, texts(), counts_she))
    assert of.loc[("flips", "-", "-"), ["value", "n", "high"]].tolist() == [1, 40, 1]
    assert of.loc[("flips", "-", "control"), ["value", "low"]].tolist() == [0, 0]
    assert of.loc[("flips_p", "-", "-"), "value"] < 0.01
    assert of.loc[("gendered_texts", "-", "-"), "value"] == pytest.approx(40 / 60)
    assert of.loc[("he_minus_she", "nurse", "-"), "value"] == pytest.approx(-0.7, abs=1e-6)
    assert of.loc[("he_minus_she", "engineer", "-"), "value"] == pytest.approx(0.7, abs=1e-6)
    moved = {(part, side): of.loc[("moved_to", part, side), "value"] for part in CLASSES for side in ("he", "she")}
    assert moved == {("engineer", "he"): 1, ("engineer", "she"): 0, ("nurse", "he"): 0, ("nurse", "she"): 1}
    assert of.loc[("probability_change", "-", "-"), "value"] == pytest.approx(0.7, abs=1e-6)


def test_gender_and_control_are_compared_where_they_exchange_as_many_words(tmp_path):
    """Of 60 texts 40 have three words of gender and one number, and only these lose their label."""
    people = ["she left", "she saw her and her dog", "she fed her and her cat"]
    made = [f"{people[number % 3]} on {number} days" for number in range(60)]
    about = {"label": "nurse", "gender": "", "compared": False, "tested": True}
    of = values(
        scored(
            tmp_path,
            with_copies(pd.DataFrame({"text": made} | about)),
            lambda text: float(text.split().count("her") > 1),
        )
    )
    words = [of.loc[("words_exchanged", "-", variant), "value"] for variant in ("-", "paired", "control")]
    assert words == pytest.approx([7 / 3, 7 / 3, 1])
    assert of.loc[("flips", "-", "paired"), ["value", "n"]].tolist() == [pytest.approx(2 / 3), 60]
    assert of.loc[("flips", "-", "paired-matched"), ["value", "n"]].tolist() == [0, 20]
    assert of.loc[("flips", "-", "control-matched"), ["value", "n"]].tolist() == [0, 20]


def test_true_positive_rates_have_the_number_of_each_gender(tmp_path):
    table = texts().assign(compared=True)
    table["gender"] = np.where(table["of"] < 40, "F", "M")
    of = values(scored(tmp_path, table, counts_she))
    says = table[table["version"] == "original"].set_index("gender")["text"].str.contains("she")
    found = {gender: says[gender].mean() for gender in ("F", "M")}
    rates = {gender: of.loc[("tpr", "nurse", gender), ["value", "n"]].tolist() for gender in ("F", "M")}
    assert rates == {"F": [pytest.approx(found["F"]), 40], "M": [pytest.approx(found["M"]), 20]}
    gap = of.loc[("tpr_gap", "nurse", "-"), ["value", "n"]].tolist()
    assert gap == [pytest.approx(found["F"] - found["M"]), 60] and found["F"] != found["M"]
    low, high = of.loc[("tpr_gap", "nurse", "-"), ["low", "high"]]
    its_ends = {gender: of.loc[("tpr", "nurse", gender), ["low", "high"]] for gender in ("F", "M")}
    below, above = (abs(its_ends[gender] - found[gender]) for gender in ("F", "M"))
    assert gap[0] - low == pytest.approx(np.hypot(below["low"], above["high"]))
    assert high - gap[0] == pytest.approx(np.hypot(below["high"], above["low"]))


@pytest.mark.parametrize("words", [("she", "he"), ("his mother", "her father"), ("Mary", "John")])
def test_a_bag_of_words_without_words_of_gender_changes_no_decision(tmp_path, words):
    def classifier(text: str) -> float:
        return 0.4 * ("plan" in text.split()) + 0.3 * ("house" in text.split()) + 0.3 * ("saw" in text.split())

    of = values(scored(tmp_path, texts(words), classifier))
    assert of.loc[("flips", "-", "-"), ["value", "low"]].tolist() == [0, 0] and of.loc[("flips", "-", "-"), "n"] == 40
    assert of.loc[("probability_change", "-", "-"), "value"] == 0
    assert (of.xs("he_minus_she")["value"] == 0).all() and (of.xs("moved_to")["value"] == 0).all()


def test_a_fragile_classifier_changes_as_many_decisions_for_neutral_words_and_no_bias_is_claimed(tmp_path):
    def classifier(text: str) -> float:  # of the sum of all letters, whatever they are
        return 0.9 if sum(map(ord, text)) % 2 else 0.1

    scores = scored(tmp_path, texts(), classifier, counts_she)
    keys = {"encoder": "e", "task": "t", "strategy": "given", "seed": "0", "dataset": "copies"}
    cells = matrix(tidy(scores, **keys), pd.DataFrame({**keys, "method": ["none"], "metric": "flips", "status": "run"}))
    cell = cells[(cells["measure"] == "flips") & (cells["method"] == "none")].iloc[0]
    assert cell["value"] > 0 and "change as many decisions" in cell["caution"]
    kept = cells[(cells["measure"] == "decisions_kept") & (cells["method"] == "none")].iloc[0]
    assert kept["value"] == 1
    cut = scores[(scores["metric"] == "truncated") & (scores["method"] == "none")]
    assert cut[["value", "n", "part", "variant"]].to_numpy().tolist() == [[3, 9, "-", "-"]]


def test_accuracy_on_swapped_texts_stands_beside_its_change(tmp_path):
    of = values(scored(tmp_path, texts(), counts_she))
    assert (
        of.loc[("accuracy_swapped", "-", "-"), "value"] == 0.5 and of.loc[("accuracy_change", "-", "-"), "value"] == 0
    )
    without = values(scored(tmp_path, texts(), counts_she, gold=False))
    assert "accuracy_swapped" not in without.index and "majority_p" not in without.index


def test_resamples_of_the_flips_are_drawn_alike_for_every_method(tmp_path):
    scores = scored(tmp_path, texts(), counts_she, counts_she)
    of_flips = scores[(scores["metric"] == "flips") & (scores["variant"] == "-")]["resampled"].to_list()
    np.testing.assert_array_equal(*of_flips)
    keys = {"encoder": "e", "task": "t", "strategy": "given", "seed": "0", "dataset": "copies"}
    drawn = resampled_measures(scores, [list(row) for row in METRICS["flips"].rows()], "digest", **keys)
    assert len(drawn)


def test_texts_without_a_word_of_gender_have_no_flips(tmp_path):
    with pytest.raises(AbsentError, match="no tested text"):
        scored(tmp_path, texts(("it", "this")), counts_she)


@pytest.mark.parametrize(("neutral", "p"), [(0, 1.0), (1, 0.5), (5, 0.5**5)])
def test_a_small_control_shows_nothing(tmp_path, neutral, p):
    """p is that of as many coins: a control of one text cannot be below one half."""
    table = texts(n=60)
    controls = table[table["version"] == "control"].index
    kept = table.drop(controls[neutral:]).reset_index(drop=True)
    of = values(scored(tmp_path, kept, counts_she))
    if neutral:
        assert of.loc[("flips_p", "-", "-"), ["value", "n"]].tolist() == [pytest.approx(p), neutral]
        assert of.loc[("flips", "-", "paired"), ["value", "n"]].tolist() == [1, neutral]
    else:
        assert ("flips_p", "-", "-") not in of.index
    assert of.loc[("flips", "-", "-"), "n"] == 40


def test_few_texts_with_a_word_of_gender_are_no_score(tmp_path):
    with pytest.raises(AbsentError, match="6 tested"):
        scored(tmp_path, texts(n=9), counts_she)
