"""Biographies under every scrubbing, and those that are shown."""

import pandas as pd
import pytest

from biasflow.base.tabular import write_parquet
from biasflow.planted.bios import biographies as planted
from biasflow.tasks.occupation import gender_classifier
from biasflow.tasks.occupation.versions import LONGEST, scrubbed_texts, versions
from biasflow.text.scrub import TERMS

ROWS = [
    (" Ada King is here.", "F", "poet", "Ada|King", ""),
    ("HE and his wife met Ada King.", "F", "nurse", "Ada|King", ""),
    ("She and her husband paint.", "F", "poet", "", ""),
    ("HE paints with his wife." + "!" * LONGEST, "M", "painter", "", ""),
    ("Sir Paul paints.", "M", "painter", "Paul", "_ _ paints."),
]


@pytest.fixture
def bios():
    return pd.DataFrame(ROWS, columns=["text", "gender", "profession", "name", "scrubbed_by_source"])


def test_every_scrubbing_starts_from_the_raw_text_or_from_the_sources_own(bios):
    texts = dict(versions(bios))
    assert list(texts) == ["raw", *TERMS]
    assert [text[1] for text in texts.values()] == [
        "HE and his wife met Ada King.",
        "HE and _ wife met _ _.",
        "_ and _ wife met _ _.",
        "_ and _ _ met _ _.",
    ]
    assert texts["raw"][0] == "Ada King is here." and texts["released"][4] == "_ _ paints."


def test_the_step_writes_words_accuracies_and_examples(tmp_path, caplog):
    bios = planted(bias=1.0, seed=0, n=900)
    write_parquet(bios.assign(scrubbed_by_source=bios["scrubbed"]), tmp_path / "bios.parquet")
    outputs = {name: tmp_path / f"{name}.csv" for name in ("top_words", "gender_accuracy", "scrubbed_examples")}
    options = {"seeds": [0], "iterations": 1, "words": 2, "least": 1, "profession": "surgeon"}
    gender_classifier.prepare({"biographies": [tmp_path / "bios.parquet"]}, outputs, **options)
    told = pd.read_csv(outputs["gender_accuracy"])
    accuracy = told[told["part"] == "all"].set_index("version")["accuracy"]
    assert list(accuracy.index) == ["raw", *TERMS] and accuracy["raw"] > 0.9 > accuracy["pronouns"]
    assert len(pd.read_csv(outputs["scrubbed_examples"])) == 8

    few = bios.groupby(["profession", "gender"]).head(19)
    write_parquet(few.assign(scrubbed_by_source=few["scrubbed"]), tmp_path / "bios.parquet")
    gender_classifier.prepare({"biographies": [tmp_path / "bios.parquet"]}, outputs, **options)
    assert pd.read_csv(outputs["gender_accuracy"]).empty and "no profession has 20" in caplog.text


@pytest.fixture
def sources():
    rows = [
        (" She and Ann met her husband.", "Ann||Hill", ""),
        ("Mr. De La Cruz paints.", "Ann De La Cruz", ""),
        ("He paints.", "", "They paint for a wife."),
    ]
    return pd.DataFrame(rows, columns=["text", "name", "scrubbed"], index=[4, 5, 6])


def test_the_sources_own_text_is_kept_or_scrubbed_further(sources):
    sources.loc[6, "scrubbed"] = "They and SHe paint for a wife."
    assert scrubbed_texts(sources, terms="released").iloc[2] == "They and SHe paint for a wife."
    assert scrubbed_texts(sources, terms="pronouns").iloc[2] == "They and _ paint for a wife."
    sources.loc[6, "scrubbed"] = "They paint for a wife."
    assert scrubbed_texts(sources, terms="gendered").tolist() == [
        "_ and _ met _ _.",
        "_. _ _ _ paints.",
        "They paint for a _.",
    ]
