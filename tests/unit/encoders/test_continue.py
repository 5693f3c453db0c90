"""Encoders trained further: how, and what is refused."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertForSequenceClassification, Trainer

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders import continue_
from scripts.biasflow.encoders.continue_ import continue_encoder
from scripts.biasflow.encoders.load import load_encoder
from tests.unit.conftest import SIZES
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.tasks.test_finetune import WORDS, save_source

SENTENCES = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 8)) for i in range(60)]


@pytest.fixture
def source(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    return save_source(tmp_path / "source")


def run(source, name="mlm", **options):
    parent = source.parent
    facts = continue_encoder(source, parent / name, parent / "text.txt", **{"max_length": 12} | options)
    return facts, load_file(parent / name / "model.safetensors")


def test_one_pass_over_the_blocks_of_the_text_changes_every_layer(source, monkeypatch):
    seen = []
    make = Trainer.__init__
    monkeypatch.setattr(
        continue_.Trainer, "__init__", lambda self, **options: (seen.append(options["args"]), make(self, **options))[1]
    )
    facts, weights = run(source)
    assert facts == {"blocks": 42, "steps": 11}  # 420 pieces, 10 of them in a block; 4 blocks in a batch
    (arguments,) = seen
    assert (arguments.learning_rate, arguments.num_train_epochs, arguments.seed) == (5e-5, 1, 0)
    before = load_encoder(source, head="masked_lm")[0].state_dict()
    assert all(not torch.equal(weights[name], before[name]) for name in weights if "layer" in name)
    model, tokenizer = load_encoder(source.parent / "mlm", head="masked_lm")
    assert tokenizer.get_vocab() == word_tokenizer(WORDS).get_vocab() and not model.training
    assert {path.name for path in source.parent.iterdir()} == {"source", "text.txt", "mlm"}


def test_the_same_seed_gives_the_same_encoder(source):
    (_, first), (_, again), (_, other) = (run(source, str(n), seed=seed) for n, seed in enumerate((0, 0, 1)))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_a_length_beyond_the_encoders_is_that_of_the_encoder(source):
    assert run(source, max_length=None)[0] == run(source, max_length=10_000)[0] == {"blocks": 6, "steps": 2}


def test_what_is_refused_leaves_nothing(source):
    with pytest.raises(BiasflowError, match=r"'tripled'.*masked_lm"):
        run(source, recipe="tripled")
    (source.parent / "text.txt").write_text("red blue\n")
    with pytest.raises(BiasflowError, match="2 pieces"):
        run(source)
    BertForSequenceClassification(BertConfig(**SIZES)).save_pretrained(source)
    with pytest.raises(BiasflowError, match="masked_lm head"):
        run(source)
    assert not (source.parent / "mlm").exists()
