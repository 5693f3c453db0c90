"""CEAT in all tests and readings: summaries over seeds, printed values, dropped words, what is missing."""

import pandas as pd

from biasflow.papers.orgad2022.ceat import contexts
from biasflow.results.scores import concatenate
from biasflow.stimuli.ceat_sets import WORDS, ceat_tests, words_of
from tests.unit.papers.orgad2022.made_up import TABLES, run, scores

ROBERTA = "roberta-base"
PARTS = ("ceat", "training")


def counts(tests, **used):
    words = words_of(tests.values())
    table = pd.DataFrame({"word": words, "found": 500, "used": [used.get(word, 200) for word in words]})
    return table.assign(wanted=200, text="english-wikipedia")


def test_every_word_has_its_counts(tmp_path):
    counts(ceat_tests(["C6", "C8"]), Donna=0, art=7).to_csv(tmp_path / "counts.csv", index=False)
    files = {"ceat_counts": {"tiny": tmp_path / "counts.csv"}, "ceat_words": {"ceat": WORDS}}
    own = contexts(run(scores(parts=PARTS), files=files)).set_index("word")
    assert own.index.tolist() == words_of(ceat_tests(["C6", "C8"]).values())
    assert own.loc["Donna", "sets"] == "C6 female names" and own.loc["art", "sets"] == "C8 arts"  # C7 was not asked for
    assert own.index[own["short"]].tolist() == ["Donna", "art"] and set(own["status"]) == {"run"}
    assert own.loc["art", ["text", "wanted", "found", "used"]].tolist() == ["english-wikipedia", 200, 500, 7]


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
