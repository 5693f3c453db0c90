"""Training on biographies: what each strategy lets a training see, the folder that it fills, a method active in it."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.first_token import first_token_vectors
from biasflow.encoders.linear_head import load_head
from biasflow.encoders.load import load_encoder
from biasflow.methods import fitting
from biasflow.methods.fitted import Active, Fitted, carried
from biasflow.metrics.occupation import score
from biasflow.readouts import first_token, heads
from biasflow.readouts.source import Source
from biasflow.readouts.states import States
from biasflow.tasks.classification.gendered_vectors import gendered_vectors
from biasflow.tasks.classification.splits import RAW, held_out, labels_of, rows_of, split
from biasflow.tasks.classification.task import labelled_texts, train
from biasflow.training.finetune import Recipe
from tests.unit.synthetic_bios import STRATEGIES, biographies, projection, readable, save_model

BIOS = biographies()
RECIPE = asdict(
    Recipe(
        epochs=2, batch_size=16, learning_rate=3e-3, warmup=0.0, weight_decay=0.0, max_length=32, keep="best",
        checkpoint_steps=100, schedule="constant",
    )
)  # fmt: skip


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_strategy_trains_on_its_rows_and_texts(name):
    strategy = STRATEGIES[name]
    train_part, validation = labelled_texts(BIOS, strategy, 3)
    rows = rows_of(BIOS, strategy, 3)
    column = "scrubbed" if name == "scrubbing" else "text"
    assert train_part["text"].tolist() == BIOS[column].iloc[rows.train].tolist()
    assert validation["label"].tolist() == BIOS["label"].iloc[rows.validation].tolist()
    assert (train_part.index == rows.train).all() and (validation.index == rows.validation).all()
    assert not set(rows.test) & {*rows.train, *rows.validation}


@pytest.fixture
def folder(tmp_path):
    readable(200).to_parquet(tmp_path / "texts.parquet")
    save_model(tmp_path / "encoder")
    return tmp_path


def run(folder, name, *, recipe=RECIPE, **options):
    given = {"strategy": name, "seed": 5, "device": "cpu", **options}
    if name in STRATEGIES and name != "plain":
        given.setdefault("adaptation", {"module": STRATEGIES[name].module, "text": STRATEGIES[name].text})
    data = {"texts": (folder / "texts.parquet",), **given.pop("data", {})}
    return train(folder / "encoder", folder / name, folder / "work", data, recipe=recipe, **given)


def test_a_training_fills_its_folder_and_says_what_happened(folder):
    facts = run(folder, "subsampling")
    bios = readable(200)
    rows = rows_of(bios, STRATEGIES["subsampling"], 5)
    assert facts["train"] == len(rows.train) and facts["validation"] == len(rows.validation)
    majority = bios["label"].iloc[rows.validation].value_counts(normalize=True).max()
    assert facts["majority_share"] == pytest.approx(majority)
    assert json.loads((folder / "subsampling" / "training.json").read_text()) == facts
    model, tokenizer = load_encoder(folder / "subsampling", head="none")
    weight, bias = load_head(folder / "subsampling")
    validation = bios.iloc[rows.validation]
    vectors, _ = first_token_vectors(model, tokenizer, validation["text"].tolist(), max_length=32)
    predicted = np.array(labels_of(bios))[(vectors @ weight.T + bias).argmax(1).numpy()]
    assert (predicted == validation["label"]).mean() == pytest.approx(facts["validation_score"])


def test_a_lost_loss_keeps_the_model_as_it_was_and_says_so(folder):
    facts = run(folder, "plain", recipe=RECIPE | {"learning_rate": 1e30})
    assert facts["validation_score"] is None and facts["diverged_at"] >= 1 and facts["majority_share"] > 0
    found, source = (load_encoder(folder / name, head="none")[0].state_dict() for name in ("plain", "encoder"))
    assert all(torch.equal(found[key], source[key]) for key in source)
    assert (folder / "plain" / "head.safetensors").is_file()


def in_the_last_layer(model, tokenizer, methods, **options):
    """In the place of `fit_block`."""
    return Fitted({name: (Active(name, "-", (("layer[-1]", projection()),)),) for name in methods}, methods)


def test_a_method_in_training_is_carried_and_read_with_the_model(folder, monkeypatch):
    monkeypatch.setattr(fitting, "fit_block", in_the_last_layer)
    facts = run(folder, "with-erased", method={"methods": {"erased": []}})
    trained = folder / "with-erased"
    assert carried(trained).axis == (("erased", "-"),)

    source = Source(trained, ("erased",), "bios-raw", {"texts": (folder / "texts.parquet",)})
    first_token.read(source, folder / "vectors", max_length=32, text="raw")
    source.data["vectors"] = (folder / "vectors",)
    options = {"text": RAW, "split_seeds": [5], "head_seeds": [0], "epochs": 2}
    heads.read(source, folder / "heads.parquet", **options)
    scores = score(folder / "heads.parquet")
    assert set(scores["method"]) == {"erased"}
    own = scores[(scores["head"] == "own") & (scores["metric"] == "accuracy")]["value"].item()

    bios, (active,) = readable(200), carried(trained).every_setting()
    vectors, _ = first_token_vectors(*load_encoder(trained, head="none"), bios["text"].tolist(), max_length=32)
    edited = active.edits[0][1].apply(vectors)
    ((_, _, found),) = States(folder / "vectors", carried(trained)).under_each()
    assert torch.equal(found, edited)
    weight, bias = load_head(trained)
    test, gold = held_out(bios, 5), np.unique(bios["label"], return_inverse=True)[1]
    predicted = (edited[test] @ weight.T + bias).argmax(1).numpy()
    assert own == pytest.approx((predicted == gold[test]).mean())
    assert facts["method"] == ["erased", "-"]

    with pytest.raises(BiasflowError, match="erased"):
        first_token.read(Source(trained, ("none",), "bios-raw", source.data), folder / "x", max_length=32, text="raw")


def test_gendered_vectors_are_those_of_the_training_part(folder):
    model, tokenizer = load_encoder(folder / "encoder", head="none")
    X, z, y = gendered_vectors(model, tokenizer, {"texts": [folder / "texts.parquet"]}, seed=5, max_length=32)
    bios = readable(200)
    own = bios.iloc[split(bios, 5).train]
    assert z.tolist() == (own["gender"] == "F").astype(int).tolist()
    assert np.array(sorted(set(own["label"])))[y].tolist() == own["label"].tolist()
    expected, _ = first_token_vectors(model, tokenizer, own["text"].tolist(), max_length=32)
    assert torch.equal(X, expected)
