"""CEAT in all tests and readings: summaries over seeds, printed values, dropped words, what is missing."""

import numpy as np
import pandas as pd
import pytest

from biasflow.papers.orgad2022.ceat import contexts
from biasflow.results.scores import concatenate
from biasflow.results.tables import write_table
from biasflow.stimuli.ceat_sets import WORDS, ceat_tests, words_of
from tests.unit.papers.orgad2022.made_up import MODELS as TUNED
from tests.unit.papers.orgad2022.made_up import TABLES, run, scores, with_diverged

MODELS = ["random", "pretrained", *TUNED]
ROBERTA = "roberta-base"
PARTS = ("ceat", "training")
KEYS = ["test", "order", "variance", "model"]
STATED = ("concepts", "spread")


@pytest.fixture(scope="module")
def tiny():
    return scores(parts=PARTS)


def cells(table, encoder="tiny"):
    own = table[table["encoder"] == encoder]
    assert not own.duplicated(KEYS).any()
    return own.set_index(KEYS).sort_index()


def row_of(table, model, test="C6", reading=STATED, encoder="tiny"):
    return cells(table, encoder).loc[(test, *reading, model)]


def test_diverged_seeds_are_left_out_and_listed(tiny):
    table = TABLES["ceat"](run(with_diverged(tiny, "oversampling", 5, 11)))
    row = row_of(table, "oversampling")
    assert row["diverged"] == "seeds 5, 11" and row["n"] == 1 and row["effect_size"] == pytest.approx(0.1)
    assert row["pairs"] == 1 and np.isnan(row["effect_size_sd"]) and row["significant_two_sided"] == 1
    assert row_of(table, "none")["diverged"] == "" and row_of(table, "none")["n"] == 3
    lost = row_of(TABLES["ceat"](run(with_diverged(tiny, "oversampling", 0, 5, 11))), "oversampling")
    assert lost["n"] == 0 and np.isnan(lost["effect_size"]) and pd.isna(lost["significant_two_sided"])


def counts(tests, **used):
    words = words_of(tests.values())
    table = pd.DataFrame({"word": words, "found": 500, "used": [used.get(word, 200) for word in words]})
    return table.assign(wanted=200, text="english-wikipedia")


def test_every_word_has_its_counts(tmp_path):
    both = concatenate([scores(encoder=name, parts=PARTS) for name in ("tiny", "other")])
    counts(ceat_tests(["C6", "C8"]), Donna=0, art=7).to_csv(tmp_path / "counts.csv", index=False)
    files = {"ceat_counts": {"tiny": tmp_path / "counts.csv"}, "ceat_words": {"ceat": WORDS}}
    table = contexts(run(both, not_run={ROBERTA: "no weights"}, files=files))
    assert set(table["encoder"]) == {"tiny", "other", ROBERTA}
    own = table[table["encoder"] == "tiny"].set_index("word")
    assert own.index.tolist() == words_of(ceat_tests(["C6", "C8"]).values())
    assert own.loc["Donna", "sets"] == "C6 female names" and own.loc["art", "sets"] == "C8 arts"  # C7 was not asked for
    assert own.index[own["short"]].tolist() == ["Donna", "art"] and set(own["status"]) == {"run"}
    assert own.loc["art", ["text", "wanted", "found", "used"]].tolist() == ["english-wikipedia", 200, 500, 7]
    rest = table[table["encoder"] != "tiny"].set_index("encoder")
    assert (
        rest.loc[ROBERTA, "status"] == "not run: no weights" and rest.loc["other", "status"] == "not run: not asked for"
    )
    assert (rest[["word", "sets", "text"]] == "").all(axis=None) and rest[["wanted", "short"]].isna().all(axis=None)
    write_table(table, *(tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")), caption="")
    assert len(pd.read_csv(tmp_path / "table.csv")) == len(table)


def test_dropped_words_stand_in_every_row_of_their_test(tmp_path):
    both = concatenate([scores(encoder=name, parts=PARTS) for name in ("tiny", "other")])
    file = tmp_path / "counts.csv"
    counts(ceat_tests(["C6", "C7"]), Donna=0, Amy=7).to_csv(file, index=False)
    files = {"ceat_counts": {"tiny": file, "not of the paper": tmp_path}, "ceat_words": {"ceat": WORDS}}
    table = TABLES["ceat"](run(both, not_run={ROBERTA: "no weights"}, files=files))
    own = table[(table["encoder"] == "tiny") & (table["test"] == "C6")]
    assert set(own["words_dropped"]) == {"Donna"} and set(own["least_contexts"]) == {7} and len(own) == 24
    rest = table.drop(index=own.index)
    assert set(rest["words_dropped"]) == {""}
    assert rest.loc[rest["encoder"] != "tiny", "least_contexts"].isna().all()
