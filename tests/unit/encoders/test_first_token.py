"""The linear classifier on the first token, and the first token's vectors of many texts."""

import pytest
import torch
from safetensors.torch import load_file
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

from biasflow.base.errors import BiasflowError
from biasflow.encoders import first_token
from biasflow.encoders.first_token import first_token_vectors, new_first_token_classifier
from biasflow.encoders.linear_head import HEAD, load_head
from biasflow.encoders.load import load_encoder, load_model, random_encoder
from biasflow.tasks import finetune as finetuning
from biasflow.tasks.finetune import Recipe, finetune
from tests.unit.conftest import DISTILBERT, SIZES
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.tasks.test_finetune import LABELS, TRAIN, VALIDATION, WORDS, KillAt, KilledError

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
TEXTS_OF_ALL_LENGTHS = [" ".join(WORDS[: n % 8 + 1]) for n in range(37)]


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


def test_a_killed_run_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    source = save("bert", tmp_path / "source")
    tuned(source, tmp_path / "whole", tmp_path / "work")
    make = finetuning._trainer

    def with_kill(*arguments):
        trainer = make(*arguments)
        trainer.add_callback(KillAt(9))
        return trainer

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(finetuning, "_trainer", with_kill)
        tuned(source, tmp_path / "resumed", tmp_path / "work")
    assert any((tmp_path / "work").glob("checkpoint-*"))
    tuned(source, tmp_path / "resumed", tmp_path / "work")
    for file in ("model.safetensors", HEAD):
        whole, resumed = load_file(tmp_path / "whole" / file), load_file(tmp_path / "resumed" / file)
        assert whole.keys() == resumed.keys()
        assert all(torch.equal(whole[key], resumed[key]) for key in whole)


def test_a_constant_learning_rate_and_no_clipping_reach_the_trainer(tmp_path, monkeypatch):
    seen = []
    make = finetuning.FineTuner.__init__
    monkeypatch.setattr(
        finetuning.FineTuner,
        "__init__",
        lambda self, **options: (seen.append(options["args"]), make(self, **options))[1],
    )
    tuned(save("bert", tmp_path / "source"), tmp_path / "tuned", tmp_path / "work")
    (arguments,) = seen
    assert (arguments.max_grad_norm, arguments.adam_epsilon, arguments.weight_decay) == (0.0, 1e-6, 0.0)
    assert arguments.lr_scheduler_type == "constant_with_warmup" and arguments.warmup_steps == 0


def test_vectors_equal_those_of_one_text_at_a_time(source, monkeypatch):
    monkeypatch.setattr(first_token, "CHUNK", 10)
    model, tokenizer = load_encoder(source, head="none")
    found, truncated = first_token_vectors(model, tokenizer, TEXTS_OF_ALL_LENGTHS, max_length=32, batch_size=4)
    with torch.inference_mode():
        alone = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0] for text in TEXTS_OF_ALL_LENGTHS]
    assert torch.allclose(found, torch.stack(alone), atol=1e-5)
    assert truncated == 0


def test_texts_that_are_too_long_are_cut_and_counted(tmp_path):
    model, tokenizer = load_encoder(save("bert", tmp_path / "source"), head="none")
    exact, longer = " ".join(["one"] * 6), " ".join(["one"] * 7)
    found, truncated = first_token_vectors(model, tokenizer, [exact, longer, "one", longer + " two"], max_length=8)
    assert truncated == 2
    assert torch.allclose(found[0], found[1], atol=1e-6)


def test_no_texts_and_broken_encoders_are_refused(tmp_path):
    model, tokenizer = load_encoder(save("bert", tmp_path / "source"), head="none")
    with pytest.raises(BiasflowError):
        first_token_vectors(model, tokenizer, [], max_length=8)
    with torch.no_grad():
        model.encoder.layer[2].output.LayerNorm.weight.fill_(float("inf"))
    with pytest.raises(BiasflowError, match="finite"):
        first_token_vectors(model, tokenizer, ["one"], max_length=8)


def test_a_random_encoder_has_the_architecture_and_none_of_the_weights(source, tmp_path):
    trained, tokenizer = load_encoder(source, head="none")
    (first, its_tokenizer), (second, _), (again, _) = (random_encoder(source, seed=seed) for seed in (1, 2, 1))
    assert type(first) is type(trained) and not first.training
    assert its_tokenizer.get_vocab() == tokenizer.get_vocab()
    weights = [model.state_dict() for model in (trained, first, second, again)]
    shapes = [{key: value.shape for key, value in each.items()} for each in weights]
    assert shapes[1] == shapes[0]
    matrices = [each["embeddings.word_embeddings.weight"] for each in weights]
    assert all(torch.equal(value, weights[3][key]) for key, value in weights[1].items())
    assert not torch.equal(matrices[1], matrices[2]) and not torch.equal(matrices[1], matrices[0])


def test_a_model_is_read_or_drawn_by_its_training(tmp_path):
    source = save("bert", tmp_path / "source")
    texts = ["one two", "two"]

    def vectors(training):
        return first_token_vectors(*load_model(source, training, head="none"), texts, max_length=8)[0]

    own = first_token_vectors(*load_encoder(source, head="none"), texts, max_length=8)[0]
    assert torch.equal(vectors("pretrained"), own) and torch.equal(vectors("bios/scrubbing/seed3"), own)
    drawn = first_token_vectors(*random_encoder(source, seed=3), texts, max_length=8)[0]
    assert torch.equal(vectors("random/seed3"), drawn) and not torch.equal(drawn, own)
    with pytest.raises(BiasflowError, match="masked_lm"):
        load_model(source, "random/seed3", head="masked_lm")


def test_a_missing_head_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(BiasflowError, match=HEAD):
        load_head(save("bert", tmp_path / "source"))
