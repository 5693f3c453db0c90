"""Words that tell gender: planted words are found in the right iteration, and leaving out a column is scrubbing."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.tasks.occupation.gender_classifier import COLUMNS, top_words

# Share of the texts of (women, men) that hold the word: two words a gender, from telling to less telling.
SHARES = {"husband": (0.5, 0.02), "wife": (0.02, 0.5), "ballet": (0.4, 0.1), "football": (0.1, 0.4)}
FILLERS = ["works", "lives", "studied", "joined", "enjoys", "since", "city", "school"]
PUBLISHED = Path(__file__).parents[4] / "scripts/biasflow/papers/orgad2022/words.csv"


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


def test_leaving_out_the_columns_equals_scrubbing_the_texts(top):
    """The second iteration is the first one on texts in which the words found have been replaced."""
    texts, gender = biographies()
    scrubbed = [re.sub(r"\b(husband|wife)\b", "_", text, flags=re.IGNORECASE) for text in texts]
    again = top_words(scrubbed, gender, seeds=[3, 4], iterations=1, n=1)
    second = top[top["iteration"] == 2].reset_index(drop=True)
    assert again[["seed", "gender", "word", "accuracy"]].equals(second[["seed", "gender", "word", "accuracy"]])
    assert again["weight"].to_numpy() == pytest.approx(second["weight"].to_numpy(), abs=1e-3)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"gender": ["F"] * 39 + ["M"]}, "gender M"),
        ({"gender": ["F"] * 40}, "gender M"),
        ({"texts": ["_ ."] * 40}, "word"),
        ({"iterations": 9}, "seed 0"),
    ],
)
def test_wrong_input_is_named(change, named):
    arguments = {"texts": ["she dances", "he sings"] * 20, "gender": ["F", "M"] * 20, "seeds": [0]}
    with pytest.raises(BiasflowError, match=named):
        top_words(**arguments | change)


def test_the_printed_words():
    printed = pd.read_csv(PUBLISHED)
    assert list(printed.columns) == ["table", "iteration", "gender", "rank", "word"]
    sizes = printed.groupby(["table", "gender"])["word"].agg(["size", "nunique"])
    assert sizes["size"].to_dict() == {(9, "F"): 20, (9, "M"): 20, (10, "F"): 8, (10, "M"): 8}
    assert (sizes["size"] == sizes["nunique"]).all()
    assert (printed.groupby("table")["word"].nunique() == printed["table"].value_counts()).all()
    assert printed.query("rank == 1 and gender == 'F'")["word"].tolist() == ["husband", "husband"]
