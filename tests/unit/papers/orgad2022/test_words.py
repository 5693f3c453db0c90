"""Tables 9 and 10, words that tell gender; the professions; a biography before and after scrubbing."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_text_csv
from biasflow.papers.orgad2022.words import WORDS as FILE
from biasflow.papers.orgad2022.words import figure2, gender_told, words_table
from biasflow.text.scrub import TERMS, scrub
from tests.unit.papers.orgad2022.made_up import run, scores

WORDS = read_text_csv(FILE)
PRINTED = dict(list(WORDS.groupby("table")))


@pytest.fixture(scope="module")
def tiny():
    return scores(parts=["training"])


def file_of(frame, folder, name="table"):
    path = folder / f"{name}.csv"
    frame.to_csv(path, index=False)
    return {"bios": path}


def top_words(rows):
    columns = ["seed", "iteration", "gender", "rank", "word"]
    return pd.DataFrame(rows, columns=columns).assign(weight=1.0, accuracy=0.7, majority_share=0.5, converged=True)


def test_words_by_seeds_and_ranks_beside_the_printed_ones():
    ours = top_words(
        [
            (0, 1, "F", 1, "husband"),
            (0, 1, "F", 2, "women"),
            (1, 1, "F", 1, "women"),
            (1, 1, "F", 2, "dance"),
            (0, 1, "M", 1, "chief"),
            (1, 1, "M", 1, "chief"),
            (0, 2, "F", 1, "nurse"),
            (1, 2, "F", 1, "yoga"),
        ]
    )
    table = words_table(ours, PRINTED["9"], "all").set_index(["iteration", "gender"])
    assert table.index.tolist() == [("all", "F"), ("all", "M"), ("1", "F"), ("1", "M"), ("2", "F")]
    assert table.loc[("1", "F"), "words"] == "women (2), husband (1), dance (1)"
    assert table.loc[("1", "M"), "words"] == "chief (2)"
    every = table.loc[("all", "F")]
    assert every["printed_words"] == 20 and every["printed_found"] == 3 and every["seeds"] == 2
    assert every["printed"].startswith("husband, women") and table.loc[("1", "F"), "printed_found"] == 2
    assert table.loc[("2", "F"), "accuracy"] == 0.7 and np.isnan(every["accuracy"])


def test_how_well_gender_is_told_by_scrubbing_and_profession(tiny, tmp_path):
    columns = ["version", "seed", "part", "n", "accuracy", "majority_share", "converged"]
    rows = [
        ("raw", seed, part, n, accuracy + seed / 10, 0.5, seed == 0 or part == "all")
        for part, n, accuracy in (("all", 50, 0.8), ("nurse", 20, 0.9))
        for seed in (0, 1)
    ]
    rows += [("gendered", 0, "all", 50, 0.6, 0.52, True)]
    files = {"gender_accuracy": file_of(pd.DataFrame(rows, columns=columns), tmp_path)}
    table = gender_told(run(tiny, files=files, scrubbing="gendered"))
    assert table["scrubbing"].tolist() == ["raw", "raw", "gendered"] and table["used"].tolist() == ["no", "no", "yes"]
    assert table["profession"].tolist() == ["all", "nurse", "all"] and table["converged"].tolist() == [
        "yes",
        "no",
        "yes",
    ]
    assert table["accuracy"].tolist() == pytest.approx([0.85, 0.95, 0.6]) and table["n"].tolist() == [50, 20, 50]
    assert table["sd"].tolist() == pytest.approx([0.1 / np.sqrt(2)] * 2 + [np.nan], nan_ok=True)
    none = {"gender_accuracy": file_of(pd.DataFrame(columns=columns), tmp_path)}
    assert gender_told(run(tiny, files=none))["status"].item().startswith("not run: ")


RAW = "Ann & her wife met HE <b>."


def test_the_page_shows_every_scrubbing_and_escapes(tmp_path):
    texts = {"raw": RAW} | {terms: scrub(RAW, ["Ann"], terms=terms) for terms in TERMS}
    rows = [("F", "yoga_teacher", version, text) for version, text in texts.items()]
    path = tmp_path / "examples.csv"
    pd.DataFrame(rows, columns=["gender", "profession", "version", "text"]).to_csv(path, index=False)
    tiny = scores(parts=["training"])
    page = figure2(run(tiny, files={"scrubbed_examples": {"bios": path}}), "Marked <words>.")
    assert "Marked &lt;words&gt;." in page and "a woman, yoga teacher" in page
    cells = [re.findall(r"<del>(.*?)</del>", html.unescape(cell)) for cell in re.findall(r"<td>(.*)</td>", page)]
    gendered = ["Ann", "her", "wife", "HE"]
    assert cells == [[], gendered[:2], ["Ann", "her", "HE"], gendered]
    with pytest.raises(BiasflowError, match="scrubbed_examples"):
        figure2(run(tiny), "")
