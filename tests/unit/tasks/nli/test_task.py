"""Predictions of a fine-tuned encoder under all interventions, and heads retrained for each of them."""

import numpy as np
import pandas as pd
import pytest
import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.edit import edited, edits_of
from scripts.biasflow.methods.grid import all_settings, setting_named
from scripts.biasflow.methods.subspaces import load_subspaces
from scripts.biasflow.metrics.nli import CLASSES
from scripts.biasflow.readouts.predictions import load_predictions, named, save_predictions, scores_by_stage
from scripts.biasflow.readouts.sweep_heads import Heads, load_heads, own_heads, retrain_heads, save_heads
from scripts.biasflow.tasks.nli import task as nli
from scripts.biasflow.tasks.nli.task import TEXTS, interventions_in_training, predict_all
from scripts.biasflow.text.occupation_pairs import OccupationPairs
from tests.unit.conftest import MODELS, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = "the man woman doctor nurse chef bought saw a hat dog . cat he she it".split()
PAIRS = OccupationPairs(("doctor", "nurse", "chef"), (("bought", "hat"), ("saw", "dog")), ("man",), ("woman",), "the")
SETTINGS = all_settings()
SOME = [setting_named(name) for name in ("base", "sent 0", "layer-12 0,1,1", "layer-11+attention 0,1,1,0,0")]


@pytest.fixture(params=["bert-classification", "roberta", "distilbert"])
def classifier(request):
    torch.manual_seed(0)
    model = MODELS[request.param]().eval()
    model.config.id2label = dict(enumerate(CLASSES))
    return model


@pytest.fixture
def bert_classifier():
    torch.manual_seed(0)
    model = MODELS["bert-classification"]().eval()
    model.config.id2label = dict(enumerate(CLASSES))
    return model


def test_pairs(n: int = 17) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    texts = {text: [" ".join(rng.choice(WORDS, size=rng.integers(2, 9))) for _ in range(n)] for text in TEXTS}
    return pd.DataFrame(texts | {"label": rng.choice(CLASSES, size=n)})


test_pairs.__test__ = False


def predictions(model, settings=SETTINGS, **options):
    tokenizer, subspaces = word_tokenizer(WORDS), random_subspaces()
    return predict_all(model, tokenizer, PAIRS, test_pairs(), settings, subspaces, **({"batch_size": 4} | options))


def test_they_are_those_of_the_plainly_hooked_model(classifier):
    torch.manual_seed(1)
    subspaces, tokenizer = random_subspaces(), word_tokenizer(WORDS)
    found, edits = predict_all(classifier, tokenizer, PAIRS, test_pairs(), SETTINGS, subspaces, batch_size=4)
    assert found["before/occupations"].shape == (76, 3, 2, 2, 1)
    assert found["before/test"].shape == (76, 17)
    pairs = test_pairs()
    batch = tokenizer(*(pairs[text].tolist() for text in TEXTS), padding=True, return_tensors="pt")
    if "token_type_ids" in batch and classifier.config.model_type != "bert":
        del batch["token_type_ids"]
    for row, setting in enumerate(SETTINGS):
        with torch.inference_mode(), edited(classifier, edits_of(setting, subspaces)):
            expected = classifier(**batch).logits.argmax(-1).numpy()
        assert (found["before/test"][row] == expected).all(), setting
    assert {"edit", "calls", "mean_change"} <= set(edits)


def test_neither_chunks_nor_batches_change_them(bert_classifier, monkeypatch):
    torch.manual_seed(1)
    whole, _ = predictions(bert_classifier)
    torch.manual_seed(1)
    monkeypatch.setattr(nli, "CHUNK", 5)
    parts, _ = predictions(bert_classifier, batch_size=3)
    assert all((whole[name] == parts[name]).all() for name in whole)


def test_only_a_chunk_of_the_occupation_pairs_is_text_at_a_time(bert_classifier, monkeypatch):
    monkeypatch.setattr(nli, "CHUNK", 5)
    made = []
    original = OccupationPairs.sentences
    monkeypatch.setattr(OccupationPairs, "sentences", lambda self, a, b: (made.append(b - a), original(self, a, b))[1])
    predictions(bert_classifier)
    assert sum(made) == len(PAIRS) and max(made) == 5


def test_retrained_heads_are_a_stage_of_their_own(bert_classifier):
    own = own_heads(bert_classifier, len(SETTINGS))
    always_neutral = Heads(torch.zeros_like(own.weight), torch.tensor([0.0, 1.0, 0.0]).repeat(len(SETTINGS), 1))
    found, _ = predictions(bert_classifier, retrained=always_neutral)
    assert set(found) == {named(stage, part) for stage in ("before", "after") for part in ("occupations", "test")}
    scores = scores_by_stage(found, [(s.level, s.settings) for s in SETTINGS], test_pairs()["label"])
    after = scores[(scores["stage"] == "after") & (scores["metric"] == "nli_fairness")]
    assert (after["value"] == 1).all() and len(after) == 2 * 76
    assert (scores["stage"] == "before").sum() == (scores["stage"] == "after").sum()


def test_predictions_come_back_from_disk(bert_classifier, tmp_path):
    found, _ = predictions(bert_classifier, SOME)
    save_predictions(found, tmp_path / "file")
    again = load_predictions(tmp_path / "file")
    assert all((found[name] == again[name]).all() for name in found) and set(found) == set(again)
    (tmp_path / "file").write_bytes((tmp_path / "file").read_bytes()[:-3])
    with pytest.raises(BiasflowError, match="file"):
        load_predictions(tmp_path / "file")


def test_a_classifier_of_other_classes_is_refused(bert_classifier):
    bert_classifier.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
    with pytest.raises(BiasflowError, match="maybe"):
        predictions(bert_classifier)


def test_weights_that_give_nan_are_refused(bert_classifier):
    bert_classifier.classifier.weight.data[0, 0] = float("nan")
    with pytest.raises(BiasflowError, match="NaN"):
        predictions(bert_classifier)


HEADS = {"epochs": 3, "batch_size": 4, "learning_rate": 1e-2, "seed": 5, "texts": TEXTS, "labels": CLASSES}


def retrained(model, settings, train=None, **options):
    torch.manual_seed(1)
    train = test_pairs(30) if train is None else train
    return retrain_heads(model, word_tokenizer(WORDS), train, settings, random_subspaces(), **(HEADS | options))


def test_heads_trained_together_are_those_trained_one_by_one(bert_classifier):
    together = retrained(bert_classifier, SETTINGS)
    for row in (0, 1, 5, 20, 75):
        alone = retrained(bert_classifier, [SETTINGS[row]])
        assert torch.allclose(together.weight[row], alone.weight[0], atol=1e-5)
        assert torch.allclose(together.bias[row], alone.bias[0], atol=1e-5)
    assert not torch.allclose(together.weight[0], together.weight[75], atol=1e-3)


def test_a_retrained_head_fits_its_training_pairs_better_and_leaves_the_encoder_alone(bert_classifier):
    before = {name: value.clone() for name, value in bert_classifier.state_dict().items()}
    train = test_pairs(30)
    heads = retrained(bert_classifier, SOME, train, epochs=60)
    assert all(torch.equal(before[name], value) for name, value in bert_classifier.state_dict().items())
    torch.manual_seed(1)
    found, _ = predict_all(
        bert_classifier, word_tokenizer(WORDS), PAIRS, train, SOME, random_subspaces(), retrained=heads, batch_size=4
    )
    gold = train["label"].map({label: i for i, label in enumerate(CLASSES)}).to_numpy()
    own, new = ((found[named(stage, "test")] == gold).mean(axis=1) for stage in ("before", "after"))
    assert (new > own).all()


def test_heads_come_back_from_disk(bert_classifier, tmp_path):
    heads = own_heads(bert_classifier, 3)
    save_heads(heads, tmp_path / "heads")
    again = load_heads(tmp_path / "heads")
    assert torch.equal(heads.weight, again.weight) and torch.equal(heads.bias, again.bias)
    (tmp_path / "heads").write_bytes(b"nothing")
    with pytest.raises(BiasflowError, match="heads"):
        load_heads(tmp_path / "heads")


@pytest.mark.parametrize(("change", "match"), [({"label": "maybe"}, "maybe"), ({"label": None}, "row 1")])
def test_heads_need_known_labels(bert_classifier, change, match):
    with pytest.raises(BiasflowError, match=match):
        retrained(bert_classifier, SOME, test_pairs().assign(**change))


def test_interventions_in_training_are_those_that_are_saved(bert_classifier, tmp_path):
    setting = setting_named("layer-12 0,1,1")
    templates = pd.DataFrame(
        {
            "masculine": ["the man saw a dog .", "he bought a hat ."],
            "feminine": ["the woman saw a dog .", "she bought a hat ."],
        }
    )
    make = interventions_in_training(
        setting, {"interventions": templates, "sentence-debias": templates}, tmp_path / "subspaces",
        encoder="tiny", batch_size=2,
    )  # fmt: skip
    edits = make(bert_classifier, word_tokenizer(WORDS))
    saved = edits_of(setting, load_subspaces(tmp_path / "subspaces"))
    assert [place for place, _ in edits] == [place for place, _ in saved] == ["layer[-1].cls", "pooled"]
    assert all(torch.equal(a.basis, b.basis) for (_, a), (_, b) in zip(edits, saved, strict=True))
