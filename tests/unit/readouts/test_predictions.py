"""Predictions of a fine-tuned encoder under every method, and heads retrained for each of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_csv
from biasflow.corpora.nli import LABELS
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import CARRIED, NONE, Active, Fitted, Grid, load, save
from biasflow.methods.grid import chosen_settings
from biasflow.metrics import glue
from biasflow.readouts import predictions, sweep_heads
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.tasks.classification.nli import COLUMNS
from biasflow.text.occupation_pairs import OccupationPairs, save_pairs
from tests.unit.conftest import HIDDEN, MODELS, random_eraser, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer

NLI = {"task": "biasflow.tasks.classification.task", **COLUMNS}
WORDS_OF_PAIRS = {"task": "biasflow.tasks.classification.pairs"}
WORDS = "the man woman doctor nurse chef bought saw a hat dog . cat he she it".split()
PAIRS = OccupationPairs(("doctor", "nurse", "chef"), (("bought", "hat"), ("saw", "dog")), ("man",), ("woman",), "the")
HEADS = {"epochs": 3, "batch_size": 4, "learning_rate": 1e-2}


def pairs_of_words(n: int = 17) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    texts = {
        text: [" ".join(rng.choice(WORDS, size=rng.integers(2, 9))) for _ in range(n)]
        for text in ("premise", "hypothesis")
    }
    return pd.DataFrame(texts | {"label": rng.choice(LABELS, size=n)})


def methods_of(subspaces=None) -> Fitted:
    torch.manual_seed(1)
    hard = random_eraser(1, HIDDEN)
    methods = {
        "densray": (Active("densray", "-", tuple((f"layer[{i}]", hard) for i in range(3))),),
        "dawkins2024": Grid("dawkins2024", chosen_settings(), subspaces or random_subspaces()),
        "last": (Active("last", "-", (("layer[2].cls", hard),)),),
    }
    return Fitted(methods, {name: [] for name in methods})


METHODS = (NONE, "densray", "dawkins2024", "last")


def save_classifier(folder: Path, family: str = "bert-classification", classes=LABELS) -> Path:
    torch.manual_seed(0)
    model = MODELS[family]()
    model.config.id2label = dict(enumerate(classes))
    model.save_pretrained(folder)
    word_tokenizer(WORDS).save_pretrained(folder)
    return folder


@pytest.fixture
def source(tmp_path):
    return make_source(tmp_path)


def make_source(tmp_path, family="bert-classification", methods=METHODS, dataset="test", **changes) -> Source:
    save_classifier(tmp_path / "model", family)
    save(methods_of(), tmp_path / "methods.safetensors")
    write_csv(pairs_of_words(), tmp_path / "test.csv")
    save_pairs(PAIRS, tmp_path / "pairs.json")
    data = {"examples": (tmp_path / "test.csv",)} if dataset == "test" else {"pairs": (tmp_path / "pairs.json",)}
    given = {"data": data, "methods_file": tmp_path / "methods.safetensors", "training": "nli/plain/seed5"}
    return Source(tmp_path / "model", methods, dataset, **given | changes)


def read(source: Source, **options):
    output = source.model_folder.parent / "output.safetensors"
    predictions.read(
        source, output, **{**(WORDS_OF_PAIRS if "pairs" in source.data else NLI), "batch_size": 4} | options
    )
    return load_arrays(output)


def by_hand(source: Source, texts: tuple[list[str], ...]) -> np.ndarray:
    """[methods, n]: of the model's own forward pass, with the edits of each method hooked in."""
    model, tokenizer = load_encoder(source.model_folder, head="classification")
    batch = tokenizer(*texts, padding=True, return_tensors="pt")
    found = []
    for active in load(source.methods_file, source.methods).every_setting():
        with torch.inference_mode(), edited(model, active.edits):
            found.append(model(**batch).logits.argmax(-1).numpy())
    return np.stack(found)


@pytest.mark.parametrize("family", ["bert-classification", "roberta", "distilbert"])
def test_they_are_those_of_the_plainly_hooked_model(tmp_path, family):
    source = make_source(tmp_path, family)
    found = read(source)
    assert found.arrays["own"].shape == (1 + 1 + 75 + 1, 17) and found.arrays["own"].dtype == np.uint8
    assert found.axis == load(source.methods_file, source.methods).axis
    pairs = pairs_of_words()
    assert (found.arrays["own"] == by_hand(source, tuple(pairs[text].tolist() for text in pairs.columns[:2]))).all()
    assert [LABELS[number] for number in found.meta["gold"]] == pairs["label"].tolist()
    assert found.meta["classes"] == list(LABELS) and set(found.arrays) == {"own"}


def test_what_was_cut_is_counted_logged_and_among_the_scores(source, caplog):
    heads = retrained(source, n=30, max_length=10)
    lengths = [
        len(ids) for ids in word_tokenizer(WORDS)(*pairs_of_words().iloc[:, :2].to_numpy().T.tolist())["input_ids"]
    ]
    limit = sorted(lengths)[-3]
    cut = sum(length > limit for length in lengths)
    assert 0 < cut < len(lengths)
    output = source.model_folder.parent / "cut.safetensors"
    facts = predictions.read(with_heads(source, heads), output, **NLI, max_length=limit)
    assert (facts["truncated"], facts["texts"]) == (cut, len(lengths))
    assert f"{cut} of {len(lengths)} texts are longer" in caplog.text
    rows = glue.score(output).query("metric == 'truncated'")
    assert len(rows) == 2 * 78
    counts = rows.drop_duplicates("head").set_index("head")[["value", "n"]].T.to_dict("list")
    assert counts == {"own": [cut, len(lengths)], "retrained": load_arrays(heads).meta["truncated"]}
    assert counts["retrained"][0] > 0 and counts["retrained"][1] == 30
    predictions.read(source, output, **NLI, max_length=max(lengths))
    assert "truncated" not in set(glue.score(output)["metric"])


def test_neither_chunks_nor_batches_change_them(tmp_path, monkeypatch):
    source = make_source(tmp_path, dataset="occupation-pairs")
    whole = read(source)
    monkeypatch.setattr(predictions, "CHUNK", 5)
    assert (whole.arrays["own"] == read(source, batch_size=3).arrays["own"]).all()


# A model that was trained with a method


@pytest.fixture
def trained_with(source):
    folder = save_classifier(source.model_folder.parent / "trained")
    save(Fitted({"last": methods_of().methods["last"]}, {"last": []}), folder / CARRIED)
    return Source(folder, ("last",), "test", source.data, training="nli/with-last/seed5")


@pytest.mark.parametrize("asked", [("none",), ("none", "last"), ("densray",), ()])
def test_it_is_never_read_without_it_or_with_another(source, trained_with, asked):
    wrong = Source(trained_with.model_folder, asked, "test", source.data, source.methods_file, trained_with.training)
    with pytest.raises(
        BiasflowError, match=f"trained with method last .*{next(iter({*asked} - {'last'}), 'no method')}"
    ):
        read(wrong)


# Retrained heads


def retrained(source: Source, n: int = 30, name: str = "heads", **options) -> Path:
    path = source.model_folder.parent / f"{name}.safetensors"
    train = source.model_folder.parent / "train.csv"
    write_csv(pairs_of_words(n), train)
    of_training = replace(source, dataset="train", data={"examples": (train,)})
    sweep_heads.read(of_training, path, **NLI, **HEADS | options)
    return path


def test_a_retrained_head_fits_its_training_pairs_better_and_leaves_the_model_alone(tmp_path):
    source = make_source(tmp_path, methods=("none", "densray", "last"))
    before = load_file(source.model_folder / "model.safetensors")
    heads = retrained(source, n=17, epochs=60)
    after = load_file(source.model_folder / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before)
    found = read(with_heads(source, heads))
    own, new = ((found.arrays[name] == np.array(found.meta["gold"])).mean(axis=1) for name in ("own", "retrained"))
    assert (new > own).all()


def test_a_retrained_head_sees_every_pair_once_an_epoch_in_an_order_of_its_seed(tmp_path, monkeypatch):
    seen, in_batches = [], sweep_heads.batchwise
    monkeypatch.setattr(sweep_heads, "batchwise", lambda f, rows, **o: (seen.extend(rows), in_batches(f, rows, **o))[1])
    for seed in (5, 5, 6):
        retrained(make_source(tmp_path, methods=("none",), training=f"nli/plain/seed{seed}"), n=17)
    orders = np.reshape(seen, (3, HEADS["epochs"], 17))
    assert (np.sort(orders) == np.arange(17)).all() and (orders[0] == orders[1]).all()
    assert len(np.unique(orders.reshape(-1, 17), axis=0)) == 2 * HEADS["epochs"]


def with_heads(source: Source, heads: Path) -> Source:
    data = {**source.data, "heads": (heads,)}
    return Source(source.model_folder, source.methods, source.dataset, data, source.methods_file, source.training)


# Other tasks
