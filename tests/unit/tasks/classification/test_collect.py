"""The biographies of a task: what is dropped from files, and whether all splits can be balanced."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.corpora.labour import read_labour
from biasflow.overview.notes import dropped_of_tasks
from biasflow.planted.bios import biographies as planted
from biasflow.tasks.classification import gender_classifier
from biasflow.tasks.classification.collect import from_world, kept, profession_table
from biasflow.tasks.classification.gender_classifier import COLUMNS, gender_accuracy, top_words
from biasflow.tasks.classification.labels import dropped
from biasflow.tasks.classification.splits import check_balanceable, split_counts
from biasflow.tasks.classification.versions import LONGEST, versions
from biasflow.text.scrub import TERMS

COUNTS = {"nurse": (200, 3), "surgeon": (40, 60), "painter": (50, 50), "dj": (1, 30)}
DATA = {"professions": None, "least": 20, "small": "drop"}
SPLITS = {"seeds": [0, 5, 11, 26, 42, 46, 50, 63, 83, 90], "strategies": ["plain", "subsampling"]}


@pytest.fixture
def file(tmp_path) -> Path:
    rows = [
        {"text": f"{profession} {gender} {k}.", "profession": profession, "gender": gender}
        for profession, both in COUNTS.items()
        for gender, n in zip("FM", both, strict=True)
        for k in range(n)
    ]
    rows += [*rows[:4], {"text": "Nobody.", "gender": "F"}]
    path = tmp_path / "bios.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def collect(file: Path, **data):
    return kept({"mine": str(file)}, DATA | data)


def balanced(found) -> pd.DataFrame:
    """The counts of all splits, after they were tried as the rule `splits` does."""
    check_balanceable(found.texts, advice="give more of them", **SPLITS)
    return split_counts(found.texts, SPLITS["seeds"])


def test_what_is_dropped_is_in_the_table_and_not_in_the_data(file):
    found = collect(file)
    labour = file.with_name("labour.csv")
    labour.write_text("profession,share_of_women\nnurse,0.9\nsurgeon,0.26\n")
    table = profession_table(found.labels, read_labour(labour)).set_index("profession")
    assert table.index[table["kept"]].tolist() == ["painter", "surgeon"]
    assert set(table["reason"][["dj", "nurse"]]) == {"fewer than 20 of a gender"}
    assert table["labour_share"].dropna().to_dict() == {"nurse": 0.9, "surgeon": 0.26}
    assert set(found.texts["label"]) == {"painter", "surgeon"}
    (file.parent / "bios").mkdir()
    found.labels.to_csv(file.parent / "bios/professions.csv", index=False)  # as the job of the page reads it
    said = "2 of 4 professions dropped (fewer than 20 of a gender): dj (1 women, 30 men), nurse (200 women, 3 men)"
    assert dropped_of_tasks([file.parent / "bios/professions.csv"]) == [f"bios: {said}."]
    assert dropped(found.labels[found.labels["kept"]]) == ""


@pytest.mark.parametrize(("n", "enough"), [(400, False), (1000, True)])
def test_planted_biographies_are_enough_or_more_are_asked_for(n, enough):
    found = from_world(bias=1.0, seed=0, biographies=n, advice="more")
    assert len(found.texts) == n and found.labels["kept"].all()
    if enough:
        assert balanced(found)["women"].sum() == (found.texts["gender"] == "F").sum() * 10
    else:
        with pytest.raises(BiasflowError, match="give more of them"):
            balanced(found)


ROWS = [
    (" Ada King is here.", "F", "poet", "Ada|King", ""),
    ("HE and his wife met Ada King.", "F", "nurse", "Ada|King", ""),
    ("She and her husband paint.", "F", "poet", "", ""),
    ("HE paints with his wife." + "!" * LONGEST, "M", "painter", "", ""),
    ("Sir Paul paints.", "M", "painter", "Paul", "They and SHe paint for a wife."),
]


@pytest.fixture
def bios():
    return pd.DataFrame(ROWS, columns=["text", "gender", "label", "name", "scrubbed_by_source"])


def test_every_scrubbing_starts_from_the_raw_text_or_from_the_sources_own(bios):
    texts = dict(versions(bios))
    assert list(texts) == ["raw", *TERMS]
    assert [text[1] for text in texts.values()] == [
        "HE and his wife met Ada King.",
        "HE and _ wife met _ _.",
        "_ and _ wife met _ _.",
        "_ and _ _ met _ _.",
    ]
    assert texts["raw"][0] == "Ada King is here." and texts["released"][4] == "They and SHe paint for a wife."
    assert (
        texts["pronouns"][4] == "They and _ paint for a wife." and texts["gendered"][4] == "They and _ paint for a _."
    )


def test_the_step_writes_words_accuracies_and_examples(tmp_path, caplog):
    bios = planted(bias=1.0, seed=0, n=900).rename(columns={"profession": "label"})
    write_parquet(bios.assign(scrubbed_by_source=bios["scrubbed"]), tmp_path / "bios.parquet")
    outputs = {name: tmp_path / f"{name}.csv" for name in ("top_words", "gender_accuracy", "scrubbed_examples")}
    options = {"seeds": [0], "iterations": 1, "words": 2, "least": 1, "profession": "surgeon"}
    gender_classifier.prepare({"texts": [tmp_path / "bios.parquet"]}, outputs, **options)
    told = pd.read_csv(outputs["gender_accuracy"])
    accuracy = told[told["part"] == "all"].set_index("version")["accuracy"]
    assert list(accuracy.index) == ["raw", *TERMS] and accuracy["raw"] > 0.9 > accuracy["pronouns"]
    assert len(pd.read_csv(outputs["scrubbed_examples"])) == 8

    few = bios.groupby(["label", "gender"]).head(19)
    write_parquet(few.assign(scrubbed_by_source=few["scrubbed"]), tmp_path / "bios.parquet")
    gender_classifier.prepare({"texts": [tmp_path / "bios.parquet"]}, outputs, **options)
    assert pd.read_csv(outputs["gender_accuracy"]).empty and "no profession has 20" in caplog.text


# Share of the texts of (women, men) that hold the word: two words a gender, from telling to less telling.
SHARES = {"husband": (0.5, 0.02), "wife": (0.02, 0.5), "ballet": (0.4, 0.1), "football": (0.1, 0.4)}
FILLERS = ["works", "lives", "studied", "joined", "enjoys", "since", "city", "school"]


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


def test_the_majority_is_of_women_or_of_men(top):
    texts, gender = biographies()
    turned = top_words(texts, [{"F": "M", "M": "F"}[value] for value in gender], seeds=[3, 4], iterations=2, n=1)
    shares = pd.concat([top, turned])["majority_share"]
    assert shares.tolist() == pytest.approx([max(map(gender.count, "FM")) / 400] * len(shares), abs=0.01)


def test_a_seed_decides_who_is_drawn_and_who_is_tested():
    texts, gender = map(np.array, biographies())
    counts, rng = CountVectorizer().fit_transform(texts), np.random.RandomState(3)
    sides = [np.flatnonzero(gender == side) for side in "FM"]
    drawn = np.concatenate([rng.choice(side, size=min(map(len, sides)), replace=False) for side in sides])
    train, test = train_test_split(drawn, test_size=0.25, random_state=3, stratify=gender[drawn])
    expected = (
        LogisticRegression(tol=1e-8, max_iter=1000).fit(counts[train], gender[train]).score(counts[test], gender[test])
    )
    found = gender_accuracy(texts, gender, ["nurse"] * len(texts), seeds=[3])
    assert found["n"].tolist() == [len(test)] * 2 and found["accuracy"].tolist() == [expected] * 2


@pytest.mark.parametrize(("change", "named"), [({"texts": ["_ ."] * 40}, "word"), ({"iterations": 9}, "seed 0")])
def test_wrong_input_is_named(change, named):
    arguments = {"texts": ["she dances", "he sings"] * 20, "gender": ["F", "M"] * 20, "seeds": [0]}
    with pytest.raises(BiasflowError, match=named):
        top_words(**arguments | change)
