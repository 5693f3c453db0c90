"""Classifiers, probes and erasers on the vectors that sentence-transformers makes of a task's texts."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.methods.fitting import fit_block
from biasflow.metrics.occupation import score
from biasflow.plan.cells import plan
from biasflow.plan.configuration import resolve
from biasflow.plan.facts import gather
from biasflow.plan.setup import Setup
from biasflow.readouts import first_token, heads, probes
from biasflow.readouts.files import load_arrays
from biasflow.readouts.linear_heads import train_heads
from biasflow.readouts.reader import open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.states import States
from biasflow.registry import ERASERS, module_of
from biasflow.tasks.classification.gendered_vectors import gendered_vectors
from biasflow.tasks.classification.splits import RAW, classes_of, rows_of, split
from tests.unit.conftest import HIDDEN, random_eraser
from tests.unit.encoders.test_sentence_encoder import assert_equal, saved
from tests.unit.plan.configs import SCHEMA, asking, folder_of, jobs_of
from tests.unit.plan.test_encoders import MODULES, module
from tests.unit.synthetic_bios import PLAIN, readable, save_model

BIOS = readable(200)
WIDTH = {"dense": 20, "short": 20}
STORED = {"mean": ["inside", "none"], "max": ["inside", "last", "none"]}  # and no method more


@pytest.fixture(params=["mean", "max", "dense", "short", "prompts"])
def folder(request, tmp_path):
    BIOS.to_parquet(tmp_path / "texts.parquet")
    saved(tmp_path / "model", save_model(tmp_path / "transformer"), request.param)
    return tmp_path


def source_of(folder, **edits):
    methods = {name: (Active(name, edits=tuple(of_method)),) for name, of_method in edits.items()}
    save(Fitted(methods, {name: [] for name in methods}), folder / "methods")
    data = {"texts": (folder / "texts.parquet",)}
    return Source(folder / "model", ("none", *methods), "bios-raw-sentence", data, folder / "methods")


def encoded(folder):
    return SentenceTransformer(str(folder / "model"), device="cpu").encode(BIOS["text"].tolist())


def test_kept_vectors_are_those_that_the_library_encodes_and_every_method_acts_before_they_are_normalised(
    folder, request, monkeypatch
):
    monkeypatch.setattr(first_token, "CHUNK", 90)  # texts that are read together
    case = request.node.callspec.params["folder"]
    width = WIDTH.get(case, HIDDEN)
    at_sentence, last = ("sentence", random_eraser(2, width)), ("layer[-1]", random_eraser(1, HIDDEN))
    inside = ("layer[0]", random_eraser(1, HIDDEN))
    source = source_of(
        folder,
        sentence=[at_sentence],
        last=[last],
        inside=[inside, at_sentence],
        first=[("layer[-1].cls", random_eraser(1, HIDDEN))],
    )
    facts = first_token.read(source, folder / "vectors", text=RAW, place="sentence")
    assert facts["texts"] == len(BIOS) and facts["truncated"] == load_arrays(folder / "vectors").meta["truncated"]
    stored = [method for method, _ in load_arrays(folder / "vectors").axis]
    assert sorted(stored) == sorted([*STORED["mean" if case in ("mean", "prompts") else "max"], "first"])
    reader = open_reader(source, "none").reaching(sentence=True)
    found = {method: X.numpy() for method, _, X in States(folder / "vectors", reader.fitted).under_each()}
    assert_equal(found["none"], encoded(folder))
    for (method, _), wanted in zip(reader.axis, reader.each_sentences(BIOS["text"].tolist()), strict=True):
        np.testing.assert_allclose(found[method], wanted, rtol=0, atol=2e-6 * np.abs(wanted).max())
    assert len({X.tobytes() for X in found.values()}) == len(found) == 5


@pytest.mark.parametrize("folder", ["dense"], indirect=True)
def test_heads_and_probes_learn_from_kept_sentence_vectors(folder):
    source = source_of(folder, erased=[("sentence", random_eraser(2, WIDTH["dense"]))])
    first_token.read(source, folder / "vectors", text=RAW, place="sentence")
    source.data["vectors"] = (folder / "vectors",)
    strategies = [{"name": "plain", "module": PLAIN.module, "text": RAW}]
    training = {"epochs": 40, "learning_rate": 0.1}
    heads.read(source, folder / "heads", text=RAW, split_seeds=[0], strategies=strategies, **training)
    scores = score(folder / "heads").query("metric == 'accuracy'").set_index("method")["value"]
    y, rows, reader = classes_of(BIOS), rows_of(BIOS, PLAIN, 0), open_reader(source, "none").reaching(sentence=True)
    parts = {"rows": [rows.train], "valid_rows": [rows.validation]}
    for (method, _), X in zip(reader.axis, reader.each_sentences(BIOS["text"].tolist()), strict=True):
        by_hand = train_heads(X, y, n_classes=3, seeds=[0], **parts, **training).predict(X[rows.test])
        assert scores[method] == pytest.approx((by_hand == y[rows.test]).mean())
    cuts = {"cuts": "biasflow.tasks.classification.cuts", "data": ["released"], "split_seeds": [0], "probe_seeds": [0]}
    facts = probes.read(source, folder / "probes", epochs=2, **cuts)
    assert facts["device"] == "cpu"


@pytest.mark.parametrize("folder", ["mean", "dense"], indirect=True)
def test_class_centred_leace_of_sentences_leaves_no_gender_to_a_linear_probe_within_classes(folder):
    model, tokenizer = load_encoder(folder / "model", head="none")
    data = {"texts": [folder / "texts.parquet"]}
    X, z, y = gendered_vectors(model, tokenizer, data, seed=5, place="sentence")
    rows = split(BIOS, 5).train
    unit = X / X.norm(dim=1, keepdim=True)
    wanted = encoded(folder)[rows]
    assert_equal(unit.numpy(), wanted / np.linalg.norm(wanted, axis=1, keepdims=True))
    assert z.tolist() == (BIOS["gender"].iloc[rows] == "F").astype(int).tolist()

    step = {"eraser": "leace", "module": module_of(ERASERS["leace"]), "places": "sentence", "fitted_to": "task"}
    steps = {"own": {}, "centred": {"class_centred": True}, "balanced": {"balanced": True}}
    steps |= {"draws": {"control": [0, 1], "matched": True}, "permuted": {"control": [0, 1], "permuted": True}}
    first = {"first": [step | {"places": "last.cls"}]}
    methods = {name: [step | keys] for name, keys in steps.items()} | first
    task = {"sentence": (X, z, y), "last.cls": gendered_vectors(model, tokenizer, data, seed=5, max_length=32)}
    fitted = fit_block(model, tokenizer, methods, task=task)
    assert {place for active in fitted.hooked for place, _ in active.edits} == {"sentence", "layer[2].cls"}
    assert [len(fitted.methods[name]) for name in methods] == [1, 1, 1, 2, 2, 1]
    moved = fitted.tables["movements"].set_index("method")["sentences of task"]
    assert moved.drop("first").gt(0).all() and moved["draws"].std() < 0.5 * moved["draws"].mean()

    classes = np.eye(3)[y]

    def told(X):
        """How much more of gender than the classes alone a linear probe tells that knows them: a share of variance."""
        left, of_class = (
            z - known @ np.linalg.lstsq(known, z, rcond=1e-4)[0] for known in (np.column_stack([classes, X]), classes)
        )
        return 1 - left @ left / (of_class @ of_class)

    ((_, eraser),) = fitted.methods["centred"][0].edits
    assert told(X.numpy()) > 0.2 and told(eraser.apply(X).numpy()) < 1e-3
    for active in fitted.methods["permuted"]:
        assert told(active.edits[0][1].apply(X).numpy()) > 0.2


TASK_KEYS = {"kind": "occupation", "data": {"files": ["bias-in-bios-dev"]}, "pooling": "sentence"}
STEP = {"eraser": "leace", "places": "sentence", "fitted_to": "task"}
METHODS = {"own": [STEP], "centred": [STEP | {"class_centred": True}], "first": [STEP | {"places": "last.cls"}]}


def planned_in(tmp_path, *, is_sentence_encoder=True, **task):
    folder = folder_of(tmp_path / "encoder")
    if is_sentence_encoder:
        (tmp_path / "encoder/1_Pooling").mkdir()
        (tmp_path / "encoder/1_Pooling/config.json").write_text('{"pooling_mode": "mean"}')
        listed = [module("Transformer", ""), module("Pooling", "1_Pooling")]
        (tmp_path / "encoder" / MODULES).write_text(json.dumps(listed))
    methods = ["none", "own", "centred", "centred-random-matched", "centred-permuted", "first", "leace"]
    block = {"encoders": ["real"], "task": "bios", "trainings": ["pretrained", "finetuned", "random"], "seeds": [3]}
    block |= {"methods": methods, "metrics": ["fairness", "compression", "people_search"]}
    changes = [("encoders.real.path", folder), ("tasks.bios", TASK_KEYS | task), ("methods", METHODS)]
    setup = Setup(config := resolve(asking(block, *changes), SCHEMA), gather(config))
    return setup, plan(setup)


def test_a_task_says_whether_texts_stand_as_sentence_vectors_where_nothing_is_fine_tuned(tmp_path):
    setup, found = planned_in(tmp_path)
    reasons = {(cell.model.training, cell.method, cell.metric, cell.dataset): cell.reason for cell in found.cells}
    names = {cell.dataset for cell in found.cells if cell.model.training in ("pretrained", "random/seed3")}
    assert names == {"bios-raw-sentence", "people"}
    for (training, method, metric, dataset), reason in reasons.items():
        if "/plain/" in training and metric != "people_search":
            assert dataset == "bios-raw" and ("acts at sentence only" in reason) == (method in ("own", *CENTRED))
        elif "/plain/" not in training:
            assert reason == ""
    fit = jobs_of(setup).of("fit_methods", ["real", "pretrained", "block"])
    places = {"last.cls": {"seed": 3, "max_length": 128}, "sentence": {"seed": 3, "place": "sentence"}}
    assert fit.params["fit"]["task"]["places"] == places
    notes = {cell.method: cell.note for cell in found.cells if cell.dataset == "bios-raw-sentence"}
    assert notes["leace"] == notes["centred"] == "" and "class_centred" in notes["own"]


CENTRED = ("centred", "centred-random-matched", "centred-permuted")


def test_an_encoder_without_sentence_vectors_has_a_reason_and_by_default_the_first_token_is_read(tmp_path):
    _, found = planned_in(tmp_path, is_sentence_encoder=False)
    reasons = {cell.reason for cell in found.cells if cell.dataset == "bios-raw-sentence"}
    assert reasons == {"tasks.bios.pooling: encoders.real has no modules.json, so no vector of sentences"}
    _, found = planned_in(tmp_path, is_sentence_encoder=False, pooling="cls")
    untouched = {cell.dataset: cell.reason for cell in found.cells if cell.method == "none" and cell.model.task == "-"}
    assert untouched["bios-raw"] == ""
