"""Tables 1 to 4: example sentences, printed ones or chosen by rule."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics import stereoset
from biasflow.papers.dawkins2024.examples import digest, examples, examples_of, mended, printed_examples, table2
from tests.unit.papers.dawkins2024.made_up import BERT, NO_HEAD, NOTHING, NUMBERS, run_of, stimuli, worded

EXAMPLES = printed_examples(NUMBERS)
WORDED = worded(EXAMPLES)
KNOWN = EXAMPLES["context_id"].unique().tolist()


def probabilities(triples, *, seed=0):
    """p(NS) of an untouched model."""
    cells = stimuli(triples)[["triple", "label"]].merge(pd.DataFrame({"swapped": [False, True]}), how="cross")
    return cells.assign(p=np.random.default_rng(seed).beta(0.3, 0.3, len(cells)))


def changes():
    """A mended triple, and one that was dropped."""
    texts = ["original_context", "original_next_sentence", "authors_context", "authors_next_sentence"]
    return pd.DataFrame(
        {"triple": ["x", "y"], "authors_triple": ["5x", ""], "change": ["mended", "dropped"], "label": "unrelated"}
    ).assign(**dict.fromkeys(texts, "text") | {"original_context": ["text x", "text y"]})


@pytest.mark.parametrize("number", [1, 3, 4])
def test_printed_examples_are_found_by_their_text(number):
    names = {triple: f"own name {place}" for place, triple in enumerate([*KNOWN, "other1", "other2"])}
    sentences = stimuli(list(names))
    frame = probabilities(list(names))
    renamed = [each.assign(triple=each["triple"].map(names)).iloc[::-1] for each in (sentences, frame)]
    table = examples(number, *renamed, WORDED)
    printed = WORDED[WORDED["table"] == str(number)]
    assert set(table["chosen"]) == {"printed"}
    assert table["triple"].tolist() == printed["context_id"].map(names).tolist()
    assert table["p_published"].tolist() == printed["p"].tolist()
    assert table["label"].tolist() == printed["label"].tolist()
    assert (table["p"] - table["p_published"]).tolist() == table["p_difference"].tolist()


@pytest.mark.parametrize(("number", "column"), [(3, "swapped_context"), (3, "next_sentence"), (4, "context")])
def test_other_sentences_under_the_same_ids_are_not_the_printed_ones(number, column):
    """One sentence that reads otherwise is enough: the example is chosen by rule and has no published number."""
    sentences = stimuli([*KNOWN, "other1", "other2"])
    own = WORDED.loc[(WORDED["table"] == str(number)) & (WORDED["example"] == "a"), "context_id"].iloc[0]
    sentences.loc[sentences["triple"] == own, column] += "!"
    table = examples(number, sentences, probabilities([*KNOWN, "other1", "other2"]), WORDED)
    first, second = (block for _, block in table.groupby("example"))
    assert set(second["chosen"]) == {"printed"} and "printed" not in set(first["chosen"])
    assert first["p_published"].isna().all() and second["p_published"].notna().all()


def test_table_1_prefers_a_triple_that_is_predicted_right():
    frame = probabilities(["close", "right"])
    p = {"close": (0.2, 0.2, 0.9), "right": (0.9, 0.8, 0.1)}
    labels = list(stereoset.LABELS)
    frame["p"] = [p[t][labels.index(label)] for t, label in zip(frame["triple"], frame["label"], strict=True)]
    assert set(examples(1, stimuli(p), frame, EXAMPLES)["triple"]) == {"right"}
    frame["p"] = frame["p"].where(frame["triple"] != "right", 0.4 + frame["p"] / 10)
    assert set(examples(1, stimuli(p), frame, EXAMPLES)["triple"]) == {"close"}


def test_examples_name_what_is_missing():
    frame = probabilities(["a"])
    with pytest.raises(BiasflowError, match="triple b"):
        examples(1, stimuli(["a", "b"]), frame, EXAMPLES)
    with pytest.raises(BiasflowError, match="table 4"):
        examples(4, stimuli(["a"]), frame, EXAMPLES)


def test_table_2_joins_both_wordings():
    original, authors = probabilities(["x", "y"]), probabilities(["5x"], seed=1)
    printed = pd.DataFrame({"example": ["b"], "digest": [digest("text y", "text")]})
    table = mended(changes(), original, authors, printed)
    cell = original.query("not swapped and label == 'unrelated' and triple == 'x'")["p"].item()
    assert table.loc[0, "p_original"] == cell
    assert table.loc[0, "p_difference"] == table.loc[0, "p_authors"] - cell
    assert np.isnan(table.loc[1, "p_authors"])
    assert table["example"].tolist() == ["", "b"]  # the one that the paper prints


@pytest.fixture
def read(tmp_path):
    """The files of a run in which `tiny` was read on planted stimuli and on both versions of StereoSet."""
    files = {"stimuli": {}, "next_sentence": {}, "stereoset-changes": {"stereoset-changes": tmp_path / "changes.csv"}}
    changes().to_csv(files["stereoset-changes"]["stereoset-changes"], index=False)
    for name, triples in (("stereoset-authors", [*KNOWN, "5x"]), ("stereoset-swapped", ["x", "y", "z"])):
        files["stimuli"][name] = tmp_path / f"{name}.csv"
        stimuli(triples).to_csv(files["stimuli"][name], index=False)
        files["next_sentence"][f"tiny/{name}"] = tmp_path / f"{name}.parquet"
        untouched = probabilities(triples).assign(method="none", setting="-")
        debiased = untouched.assign(method="dawkins2024", setting="sent 0", p=0.5)
        pd.concat([debiased, untouched]).to_parquet(files["next_sentence"][f"tiny/{name}"])
    return files


def test_examples_are_those_of_the_untouched_model_on_each_stimuli_set(read, monkeypatch):
    monkeypatch.setattr("biasflow.papers.dawkins2024.examples.printed_examples", lambda printed: WORDED)
    asked = {"encoders": ["tiny"], "not_run": NO_HEAD, "files": read}
    table = examples_of(run_of(NOTHING, **asked, about={"tiny": BERT}), 1)
    assert set(table["encoder"]) == {"tiny"} and "no NSP head" in table.attrs["note"]
    assert table.groupby("chosen")["p_published"].count()["printed"] == 3
    assert examples_of(run_of(NOTHING, **asked), 1)["p_published"].isna().all()
    chosen = table.drop_duplicates("stimuli").set_index("stimuli")["chosen"].to_dict()
    assert chosen["stereoset-authors"] == "printed" and chosen["stereoset-swapped"].startswith("smallest")
    assert 0.5 not in table["p"].tolist()
    nothing = examples_of(run_of(NOTHING, not_run=NO_HEAD), 1)
    assert nothing.empty and "no NSP head" in nothing.attrs["note"]


def test_table_2_says_why_an_encoder_has_none(read):
    table = table2(run_of(NOTHING, encoders=["tiny"], not_run=NO_HEAD, files=read)).set_index("encoder")
    assert table.loc["tiny", "status"].tolist() == ["run", "run"]
    assert "no NSP head" in table.loc["roberta", "status"] and np.isnan(table.loc["roberta", "p_original"])
    del read["stereoset-changes"]
    planted = table2(run_of(NOTHING, encoders=["tiny"], files=read))
    assert len(planted) == 1 and list(planted)[1:] == list(table)
