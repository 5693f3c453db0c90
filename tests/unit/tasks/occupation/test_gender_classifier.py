"""Words that tell gender: planted words are found in the right iteration, and leaving out a column is scrubbing."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.tasks.occupation import gender_classifier
from biasflow.tasks.occupation.gender_classifier import ALL, COLUMNS, gender_accuracy, of_profession, top_words

# Share of the texts of (women, men) that hold the word: two words a gender, from telling to less telling.
SHARES = {"husband": (0.5, 0.02), "wife": (0.02, 0.5), "ballet": (0.4, 0.1), "football": (0.1, 0.4)}
FILLERS = ["works", "lives", "studied", "joined", "enjoys", "since", "city", "school"]
PUBLISHED = Path(__file__).parents[4] / "scripts/biasflow/papers/orgad2022/published/words.csv"


def biographies(n=400, seed=0):
    rng = np.random.default_rng(seed)
    gender = np.array(["F", "M"])[(rng.random(n) < 0.4).astype(int)]
    texts = []
    for value in gender:
        words = [word for word, shares in SHARES.items() if rng.random() < shares["FM".index(value)]]
        words += list(rng.choice(FILLERS, size=4))
        texts.append(" ".join(["_", *words]).capitalize() + ".")
    return texts, gender.tolist()


@pytest.fixture(scope="module")
def top():
    return top_words(*biographies(), seeds=[3, 4], iterations=2, n=1)


def test_planted_words_come_in_the_order_of_how_much_they_tell(top):
    assert list(top.columns) == COLUMNS
    for seed in (3, 4):
        words = top[top["seed"] == seed].set_index(["iteration", "gender", "rank"])["word"]
        assert words.to_dict() == {
            (1, "F", 1): "husband",
            (1, "M", 1): "wife",
            (2, "F", 1): "ballet",
            (2, "M", 1): "football",
        }
    assert (top["weight"] > 0).all()


def test_accuracy_falls_with_scrubbing_and_is_above_the_majority(top):
    accuracy = top.groupby(["seed", "iteration"])["accuracy"].first().unstack()
    assert (accuracy[1] > accuracy[2]).all()
    assert (accuracy[1] > top["majority_share"].iloc[0] + 0.05).all()
    assert top["majority_share"].iloc[0] == pytest.approx(0.6, abs=0.05)


def test_leaving_out_the_columns_equals_scrubbing_the_texts(top):
    """The second iteration is the first one on texts in which the words found have been replaced."""
    texts, gender = biographies()
    scrubbed = [re.sub(r"\b(husband|wife)\b", "_", text, flags=re.IGNORECASE) for text in texts]
    again = top_words(scrubbed, gender, seeds=[3, 4], iterations=1, n=1)
    second = top[top["iteration"] == 2].reset_index(drop=True)
    assert again[["seed", "gender", "word", "accuracy"]].equals(second[["seed", "gender", "word", "accuracy"]])
    assert again["weight"].to_numpy() == pytest.approx(second["weight"].to_numpy(), abs=1e-3)


def test_the_same_arguments_give_the_same_rows(top):
    pd.testing.assert_frame_equal(top, top_words(*biographies(), seeds=[3, 4], iterations=2, n=1))


def test_rare_words_can_be_left_out():
    texts, gender = biographies()
    texts[gender.index("F")] += " unique unique unique unique"
    listed = set(top_words(texts, gender, seeds=range(3), iterations=1, n=20)["word"])
    assert "unique" in listed
    assert "unique" not in set(top_words(texts, gender, seeds=range(3), iterations=1, n=20, min_texts=2)["word"])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"gender": ["F"]}, "genders"),
        ({"gender": ["F", "female"] * 20}, "text 1.*'female'"),
        ({"gender": ["F"] * 39 + ["M"]}, "gender M"),
        ({"gender": ["F"] * 40}, "gender M"),
        ({"texts": ["_ ."] * 40}, "word"),
        ({"iterations": 0}, "iterations"),
        ({"n": 0}, "n is 0"),
        ({"seeds": []}, "seeds"),
        ({"iterations": 9}, "seed 0"),
    ],
)
def test_wrong_input_is_named(change, named):
    arguments = {"texts": ["she dances", "he sings"] * 20, "gender": ["F", "M"] * 20, "seeds": [0]}
    with pytest.raises(BiasflowError, match=named):
        top_words(**arguments | change)


def test_a_fit_that_does_not_end_gives_rows_that_say_so(top, monkeypatch, caplog):
    assert top["converged"].all()
    monkeypatch.setattr(gender_classifier, "STEPS", 1)
    rows = top_words(*biographies(), seeds=[3], iterations=1, n=1)
    assert len(rows) == 2 and not rows["converged"].any()
    assert "seed 3, iteration 1: the fit did not converge" in caplog.text


PROFESSIONS = ["nurse", "pastor"]


def by_profession(told, n=200, seed=0):
    """Women are 9 in 10 nurses and 1 in 10 pastors; `told`: the share of texts of each profession that say it."""
    rng = np.random.default_rng(seed)
    rows = []
    for number, profession in enumerate(PROFESSIONS):
        for _ in range(n):
            gender = "FM"[int(rng.random() < (0.1, 0.9)[number])]
            word = {"F": "wife", "M": "husband"}[gender] if rng.random() < told[number] else "spouse"
            rows.append((f"{profession} {word} {rng.choice(FILLERS)}", gender, profession))
    return [list(column) for column in zip(*rows, strict=True)]


def test_only_the_gender_that_is_told_is_told_not_the_profession():
    nothing = gender_accuracy(*by_profession((0, 0), n=2000), seeds=range(3)).groupby("part")["accuracy"].mean()
    assert nothing[ALL] == pytest.approx(0.5, abs=0.08)  # although 9 in 10 nurses are women
    assert gender_accuracy(*by_profession((1, 1), n=400), seeds=[0])["accuracy"].tolist() == [1, 1, 1]


def test_professions_are_told_apart():
    found = gender_accuracy(*by_profession((1, 0), n=2000), seeds=[0, 1])
    assert list(found.columns) == ["seed", "part", "n", "accuracy", "majority_share", "converged"]
    assert found["part"].tolist() == [ALL, *PROFESSIONS] * 2 and found["converged"].all()
    accuracy = found.groupby("part")["accuracy"].mean()
    assert accuracy["nurse"] == 1 and accuracy["pastor"] == pytest.approx(0.5, abs=0.1)
    assert found["majority_share"].between(0.5, 0.53).all()
    n = found.query("seed == 0").set_index("part")["n"]
    assert n[ALL] == n["nurse"] + n["pastor"]


def test_a_profession_with_too_few_of_a_gender_is_left_out():
    texts, gender, professions = by_profession((1, 1))
    texts, gender, professions = [*texts, "a dentist"], [*gender, "F"], [*professions, "dentist"]
    assert set(gender_accuracy(texts, gender, professions, seeds=[0], least=5)["part"]) == {ALL, *PROFESSIONS}
    with pytest.raises(BiasflowError, match="no profession has 500"):
        gender_accuracy(texts, gender, professions, seeds=[0], least=500)
    with pytest.raises(BiasflowError, match="professions"):
        gender_accuracy(texts, gender, professions[:-1], seeds=[0])


def test_a_profession_without_biographies_is_named_with_those_there_are():
    table = pd.DataFrame({"profession": ["nurse", "pastor", "nurse"], "scrubbed": ["a", "b", "c"]})
    assert of_profession(table, "nurse")["scrubbed"].tolist() == ["a", "c"]
    assert len(of_profession(table, ALL)) == 3
    with pytest.raises(BiasflowError, match=r"astronaut.*nurse, pastor"):
        of_profession(table, "astronaut")


def test_the_printed_words():
    printed = pd.read_csv(PUBLISHED)
    assert list(printed.columns) == ["table", "iteration", "gender", "rank", "word"]
    sizes = printed.groupby(["table", "gender"])["word"].agg(["size", "nunique"])
    assert sizes["size"].to_dict() == {(9, "F"): 20, (9, "M"): 20, (10, "F"): 8, (10, "M"): 8}
    assert (sizes["size"] == sizes["nunique"]).all()
    assert (printed.groupby("table")["word"].nunique() == printed["table"].value_counts()).all()
    assert printed.query("rank == 1 and gender == 'F'")["word"].tolist() == ["husband", "husband"]
