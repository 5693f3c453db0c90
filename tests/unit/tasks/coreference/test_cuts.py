"""Cuts of professions: no profession is in two parts, and what compresses is what unseen professions share."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertConfig, BertModel

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import write_conll
from biasflow.corpora.seat import examples_of
from biasflow.corpora.winobias import PROFESSIONS
from biasflow.encoders.load import load_encoder
from biasflow.metrics.codelength import score
from biasflow.metrics.combined_effect import score as score_associations
from biasflow.planted.association import planted_test
from biasflow.planted.coreference import coreference_pairs
from biasflow.readouts import associations, probes, professions, vectors
from biasflow.readouts.files import load_arrays
from biasflow.readouts.word_contexts import find_word_contexts
from biasflow.tasks.coreference.cuts import cuts
from biasflow.tasks.coreference.model import CoreferenceModel, Reading, new_scorer
from biasflow.tasks.coreference.professions import write_rows
from biasflow.tasks.coreference.scorer import Sizes
from tests.unit.conftest import SIZES
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.plan.configs import asking, planned
from tests.unit.synthetic_bios import source
from tests.unit.tasks.coreference.made_up import SIZES_OF_SCORER

BOTH = ["released", "paper"]


def rows_of(feminine: int, masculine: int, per_profession: int = 3) -> pd.DataFrame:
    """Rows of so many professions of either stereotype, one of each after the other."""
    names = [f"woman {i}" for i in range(feminine)] + [f"man {i}" for i in range(masculine)]
    rows = pd.DataFrame({"profession": names * per_profession})
    rows["feminine"] = rows["profession"].str.startswith("woman").astype(int)
    return rows.assign(document=range(len(rows)), first=0, last=0)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("cuts") / "vectors.safetensors"


def cut(path, rows, **options):
    write_rows(rows, path)
    return cuts({"vectors": (path,)}, **{"data": BOTH, "split_seeds": [7], "orders": 2} | options)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 20), st.integers(3, 20), st.integers(0, 2**32 - 1))
def test_every_profession_is_in_one_part_and_no_row_is_lost(path, feminine, masculine, seed):
    n = feminine + masculine
    if min(feminine, masculine) <= n - int(0.8 * n):
        with pytest.raises(BiasflowError, match=f"of {n} professions"):
            cut(path, rows_of(feminine, masculine))
        return
    rows = rows_of(feminine, masculine)
    labels, found = cut(path, rows, split_seeds=[seed])
    assert labels.tolist() == rows["feminine"].tolist()
    for each in found:
        assert sorted(each.rows) == list(range(len(rows)))
        parts = [rows["profession"][part] for part in (each.train, each.dev, each.test)]
        names = [list(dict.fromkeys(part)) for part in parts]
        assert sorted(name for own in names for name in own) == sorted(set(rows["profession"]))
        assert [len(own) for own in names] == [int(0.8 * n), (n - int(0.8 * n)) // 2, -(-(n - int(0.8 * n)) // 2)]
        assert [name for part in names for name in part for _ in range(3)] == [name for part in parts for name in part]
        control = pd.Series(each.control).groupby(rows["profession"])
        assert (control.nunique() == 1).all() and control.first().sum() == feminine
    again = cut(path, rows, split_seeds=[seed])[1]
    for one, other in zip(found, again, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rows", "control"))


@pytest.mark.parametrize(
    ("rows", "options", "named"),
    [
        (rows_of(3, 2), {}, "5 professions"),
        (rows_of(2, 8), {}, "2 of 10 professions"),
        (rows_of(5, 5), {"data": ["same-seed"]}, "same-seed"),
    ],
)
def test_what_cannot_be_cut_is_named(path, rows, options, named):
    with pytest.raises(BiasflowError, match=named):
        cut(path, rows, **options)


BLOCK = {
    "encoders": ["own"],
    "task": "coref",
    "trainings": ["finetuned", "pretrained"],
    "seeds": [3, 5],
    "methods": ["none", "leace"],
    "metrics": ["ceat", "compression"],
}


def test_professions_are_read_once_and_probed_in_orders():
    found = planned(asking(BLOCK, ("metrics.compression", {"data": ["paper", "same-seed", "released"], "orders": 3})))
    assert {cell.status for cell in found.cells} == {"run"}
    assert {cell.dataset for cell in found.cells if cell.metric == "compression"} == {"coref-professions"}
    read = {(reading.model.training, reading.readout): reading for reading in found.readings.values()}
    for training, seeds in (("coref/plain/seed3", [3]), ("coref/plain/seed5", [5]), ("pretrained", [3, 5])):
        options = read[training, "probes"].dataset.options
        assert (options["split_seeds"], options["orders"], options["data"]) == (seeds, 3, ["paper", "released"])
        assert read[training, "professions"].methods == ("none", "leace")


@pytest.fixture
def folder(tmp_path):
    """Sentences of the embedded world, and a coreference model with their words."""
    pro, _ = coreference_pairs(bias=1.0, seed=0, n=120)
    write_conll(pro.documents, tmp_path / "pro.conll")
    words = {word.lower() for document in pro.documents for word in document.words}
    words |= {word for examples in examples_of(planted_test()).values() for word in examples}
    tokenizer = word_tokenizer(sorted(words | {"is", "he", "him", "she", "her"}))
    torch.manual_seed(0)
    encoder = BertModel(BertConfig(**SIZES | {"vocab_size": len(tokenizer)}))
    scorer = new_scorer(SIZES["hidden_size"], Sizes(**SIZES_OF_SCORER), 0)
    CoreferenceModel(encoder, scorer, Reading(16, True)).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path


METHODS = ("none", "last")


def test_compression_of_a_coreference_model(folder):
    files = {"pro": folder / "pro.conll", "professions": PROFESSIONS}
    path = folder / "coref-professions.safetensors"
    facts = professions.read(source(folder, methods=METHODS, **files), path, word_prefix_space=True)
    assert facts["rows"] == 240 and load_arrays(path).arrays["vectors"].shape == (1, 240, SIZES["hidden_size"])
    options = {"data": ["released", "paper"], "split_seeds": [3], "orders": 2, "fractions": [10.0, 50.0, 100.0]}
    cuts = "biasflow.tasks.coreference.cuts"
    probes.read(
        source(folder, methods=METHODS, vectors=path), folder / "probes.parquet", cuts=cuts, epochs=3, **options
    )
    scores = score(folder / "probes.parquet")
    assert set(scores["method"]) == set(METHODS) and np.isfinite(scores["value"]).all()
    sent = scores[scores["metric"] == "compression"].groupby(["method", "variant"])["n"]
    assert (sent.size().xs("paper-bits-best", level="variant") == 2).all() and sent.min().min() > 100


def test_association_tests_of_a_coreference_model(folder):
    _, tokenizer = load_encoder(folder / "model", head="none")
    sets = {"X": ["nurse", "teacher"], "Y": ["driver", "guard"], "A": ["she", "her"], "B": ["he", "him"]}
    words = [word for own in sets.values() for word in own]
    texts = [f"the {word} was late ." for word in words] * 3
    find_word_contexts(tokenizer, [texts], words).table.to_parquet(folder / "contexts.parquet")
    lines = [f"jobs,{role},{role},{word}" for role, own in sets.items() for word in own]
    (folder / "words.csv").write_text("\n".join(["test,role,set_name,word", *lines, ""]))
    files = {"words": folder / "words.csv", "contexts": folder / "contexts.parquet"}
    asked = source(folder, "jobs", methods=METHODS, **files)
    associations.read(asked, folder / "jobs.safetensors", draws=20, seed=0, missing="error")
    effects = score_associations(folder / "jobs.safetensors")
    effects = effects[effects["metric"] == "ceat_effect_size"]
    assert set(effects["method"]) == set(METHODS) and np.isfinite(effects["value"]).all()

    roles = dict(zip(("targ1", "targ2", "attr1", "attr2"), sets.values(), strict=True))
    content = {
        role: {"category": role, "examples": [f"the {word} was late ." for word in own]} for role, own in roles.items()
    }
    (folder / "seat.jsonl").write_text(json.dumps(content))
    for asked, n in (
        (source(folder, "planted", methods=METHODS), len(planted_test().X.examples)),
        (source(folder, "seat", methods=METHODS, test=folder / "seat.jsonl"), 2),
    ):
        vectors.read(asked, folder / "vectors.safetensors")
        found = load_arrays(folder / "vectors.safetensors").arrays["X"]
        assert found.shape == (2, n, SIZES["hidden_size"]) and (found[0] != found[1]).any()
