"""Predicted clusters under methods: against the model as it is, the hooked model, and scorers trained one by one."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll
from biasflow.encoders.edit import edited
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.readouts import clusters
from biasflow.readouts.predicted_clusters import COLUMNS, NAMES, TEXTS, load_clusters
from biasflow.readouts.source import Source
from biasflow.tasks.coreference import task
from biasflow.tasks.coreference.heads import StoredVectors, train_heads
from biasflow.tasks.coreference.model import (
    Examples,
    Recipe,
    TokenVectors,
    load_coreference,
    predict,
    predicted_clusters,
)
from biasflow.tasks.coreference.segments import SpecialTokens
from tests.unit.synthetic_conll import conll_text
from tests.unit.tasks.coreference.made_up import RECIPE, save_encoder, save_file, text
from tests.unit.training.test_finetune import KilledError, steps_taken, stopping_before

NUMBERS = {
    "train": range(4),
    "validation": range(4, 6),
    "test": range(6, 9),
    "pro": range(9, 13),
    "anti": range(12, 16),
}
EMPTY = "#begin document (nw/empty); part 000\n#end document\n"
SINGLE = conll_text("nw/single", [["john"]])
HEADS = {"head_seeds": [3, 4], "recipe": RECIPE}


def eraser(shift: float, components: int) -> Eraser:
    waves = torch.cos(1.7 * torch.arange(32.0 * components) ** 1.1 + shift).reshape(32, components)
    return Eraser.projection(torch.linalg.qr(waves)[0].mT.contiguous())


EDITS = {"none": (), "early": (("layer[0]", eraser(1, 16)),), "last": (("layer[-1]", eraser(2, 16)),)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("clusters")
    make(path)
    return path


def make(path: Path) -> None:
    """A trained model, fitted methods, and the documents of every role."""
    for role, numbers in NUMBERS.items():
        more = (EMPTY, SINGLE) if role == "test" else ()
        save_file(path / f"{role}.conll", *(text(number, 3) for number in numbers), *more)
    data = {
        role: (save_file(path / f"{role}-of-task.conll", *(text(n, 3) for n in range(9))),) for role in clusters.LEARNT
    }
    options = {"strategy": "plain", "seed": 3, "recipe": RECIPE | {"epochs": 6}}
    task.train(save_encoder(path / "source"), path / "model", path / "work-of-task", data, **options)
    fitted = {name: (Active(name, "-", edits),) for name, edits in EDITS.items()}
    fitted["first"] = (Active("first", "-", (("layer[-1].cls", eraser(0, 1)),)),)
    fitted["idle"] = (Active("idle", "-", (("layer[-1]", Eraser.projection(torch.zeros(1, 32))),)),)
    save(Fitted(fitted, {name: [] for name in fitted}), path / "methods.safetensors")


def source(folder: Path, *methods: str, **options) -> Source:
    data = {role: (folder / f"{role}.conll",) for role in NUMBERS}
    return Source(folder / "model", methods, "coref", data, folder / "methods.safetensors", **options)


def read(folder: Path, output: Path, *methods: str, **options) -> dict:
    return clusters.read(source(folder, *methods), output, **{"head_seeds": [], "recipe": RECIPE} | options)


def predictions(path: Path) -> dict:
    """(method, head, head_seed, text) -> the clusters of its documents."""
    table = pd.read_parquet(path)
    assert list(table.columns) == COLUMNS and not table.duplicated(COLUMNS[:-1]).any()
    found = {}
    for (method, _, head, seed, name), rows in table.groupby([*NAMES, "text"]):
        assert rows["document"].tolist() == list(range(len(rows)))
        found[method, head, seed, name] = [
            tuple(tuple(map(tuple, cluster)) for cluster in json.loads(cell)) for cell in rows["clusters"]
        ]
    return found


def opened(folder: Path):
    return load_coreference(folder / "model"), {
        role: read_conll(folder / f"{role}.conll").documents for role in NUMBERS
    }


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory) -> Path:
    """The file of a run that was not killed, under all methods, with two retrained scorers."""
    path = tmp_path_factory.mktemp("whole") / "coref.parquet"
    read(folder, path, *EDITS, **HEADS)
    return path


def test_the_own_scorer_predicts_what_the_model_does_under_every_method(folder, whole):
    found, ((model, tokenizer), documents) = predictions(whole), opened(folder)
    for method, edits in EDITS.items():
        for name in TEXTS:
            with edited(model, edits):
                expected = predict(model, tokenizer, documents[name])
            assert found[method, "own", "-", name] == expected, (method, name)
    assert any(found["none", "own", "-", "pro"])
    assert len({str([found[method, "own", "-", name] for name in TEXTS]) for method in EDITS}) == len(EDITS)


def test_retrained_scorers_are_those_trained_alone_on_the_documents_as_they_are(folder, whole, tmp_path):
    found, ((model, tokenizer), documents) = predictions(whole), opened(folder)
    encode = TokenVectors(model.base_model, SpecialTokens.of(tokenizer))

    def stored(documents, dtype):
        pieces = model.reading.segmenter(model, tokenizer)(documents)
        with torch.inference_mode():
            states = torch.cat([encode(each) for each in pieces if len(each)])
        return pieces, StoredVectors(states.to(dtype), model.device)

    for method, edits in EDITS.items():
        for seed in HEADS["head_seeds"]:
            with edited(model, edits):
                learnt, vectors = stored((*documents["train"], *documents["validation"]), torch.float16)
                texts = {name: stored(documents[name], torch.float32) for name in TEXTS}
            split = len(documents["train"])
            dev = Examples(documents["validation"], learnt[split:])
            options = {"recipe": Recipe.of(RECIPE), "seeds": [seed], "work": tmp_path / f"{method}-{seed}"}
            ((_, scorer, _),) = train_heads(vectors, learnt[:split], dev, **options)
            for name, (pieces, vectors) in texts.items():
                expected = predicted_clusters(scorer, vectors, pieces)
                assert found[method, "retrained", str(seed), name] == expected, (method, seed, name)


def test_a_killed_run_goes_on_to_the_same_file(folder, whole, tmp_path, monkeypatch):
    work = tmp_path / "work"
    with stopping_before(21, monkeypatch), pytest.raises(KilledError):  # 8 steps a head: in the third one
        clusters.read(source(folder, *EDITS, work=work), tmp_path / "coref.parquet", **HEADS)
    assert work.is_dir() and not (tmp_path / "coref.parquet").exists()
    steps = steps_taken(monkeypatch)
    facts = clusters.read(source(folder, *EDITS, work=work), tmp_path / "coref.parquet", **HEADS)
    assert (tmp_path / "coref.parquet").read_bytes() == whole.read_bytes()
    assert len(steps) < 8 * 6 - 16 and not work.exists()
    assert facts["edits"][0]["calls"] > 0


def test_a_head_predicts_every_document_once(whole, tmp_path):
    found = load_clusters(whole, "pro", 4)
    assert found.heads["head"].tolist() == ["own", "retrained", "retrained"] * 3 and found.places.shape == (9, 4)
    expected = predictions(whole)
    for names, places in zip(found.heads.itertuples(index=False), found.places, strict=True):
        assert [found.answers[place][0] for place in places] == [0, 1, 2, 3]
        of_head = expected[names.method, names.head, names.head_seed, "pro"]
        assert [found.answers[place][1] for place in places] == of_head
    with pytest.raises(BiasflowError, match="4 documents"):
        load_clusters(whole, "pro", 5)
    with pytest.raises(BiasflowError, match="no prediction"):
        load_clusters(whole, "dev", 4)
    table = pd.read_parquet(whole)
    table.loc[table["text"] == "pro", "clusters"] = "[[1]]"
    table.to_parquet(tmp_path / "broken.parquet")
    with pytest.raises(BiasflowError, match=r"broken.parquet: clusters '\[\[1\]\]'"):
        load_clusters(tmp_path / "broken.parquet", "pro", 4)
