"""The linear classifier on the first token, and the first token's vectors of many texts."""

import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    DebertaConfig,
    DebertaModel,
    DistilBertConfig,
    DistilBertModel,
    RobertaConfig,
    RobertaModel,
)

from biasflow.encoders.first_token import first_token_vectors, new_first_token_classifier
from biasflow.encoders.linear_head import load_head
from biasflow.encoders.load import load_encoder
from biasflow.training import loop
from biasflow.training.finetune import Recipe, finetune
from tests.unit.conftest import DISTILBERT, SIZES
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.training.test_finetune import LABELS, TRAIN, VALIDATION, WORDS

ENCODERS = {
    "bert": lambda: BertModel(BertConfig(**SIZES)),
    "roberta": lambda: RobertaModel(RobertaConfig(**SIZES)),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(**DISTILBERT)),
    "deberta": lambda: DebertaModel(DebertaConfig(**SIZES, relative_attention=True, pos_att_type=["c2p", "p2c"])),
}
RECIPE = Recipe(
    epochs=3, batch_size=8, learning_rate=3e-3, warmup=0.0, weight_decay=0.0, max_length=32, keep="best",
    checkpoint_steps=4, schedule="constant", adam_epsilon=1e-6, clip=0.0,
)  # fmt: skip


@pytest.fixture(params=ENCODERS)
def source(request, tmp_path):
    return save(request.param, tmp_path / "source")


def save(name, folder):
    torch.manual_seed(0)
    ENCODERS[name]().save_pretrained(folder)
    word_tokenizer(WORDS).save_pretrained(folder)
    return folder


def tuned(source, folder, work, **options):
    arguments = {"texts": ("first",), "labels": LABELS, "recipe": RECIPE, "seed": 3} | options
    return finetune(source, folder, work, TRAIN, VALIDATION, new_model=new_first_token_classifier, **arguments)


def test_a_tuned_encoder_tells_the_classes_by_a_linear_layer_on_its_first_token(source, tmp_path):
    recipe = Recipe(**vars(RECIPE) | {"epochs": 15})
    facts = tuned(source, tmp_path / "tuned", tmp_path / "work", recipe=recipe)
    assert facts["validation_score"] > 0.8
    model, tokenizer = load_encoder(tmp_path / "tuned", head="none")
    weight, bias = load_head(tmp_path / "tuned")
    found, _ = first_token_vectors(model, tokenizer, VALIDATION["first"].tolist(), max_length=32)
    predicted = (found @ weight.T + bias).argmax(1)
    agreed = [LABELS[k] for k in predicted] == VALIDATION["label"]
    assert agreed.mean() == pytest.approx(facts["validation_score"])


def test_a_constant_learning_rate_and_no_clipping_reach_the_trainer(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(loop.Watch, "on_step_begin", lambda self, args, *others, **more: seen.append(args), False)
    tuned(save("bert", tmp_path / "source"), tmp_path / "tuned", tmp_path / "work")
    arguments = seen[0]
    assert (arguments.max_grad_norm, arguments.adam_epsilon, arguments.weight_decay) == (0.0, 1e-6, 0.0)
    assert arguments.lr_scheduler_type == "constant_with_warmup" and arguments.warmup_steps == 0
