"""Small random models of every family, and random subspaces for them."""

import os
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
import torch
from transformers import (
    BertConfig,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from biasflow.base.files import write_json
from biasflow.erasers.eraser import Eraser
from biasflow.methods.grid import ATTENTION, BEFORE, LAST, POOLED, SENTENCE_DEBIAS, Subspaces

HIDDEN, HEADS, VOCABULARY = 32, 4, 100
SIZES = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": 3,
    "num_attention_heads": HEADS,
    "intermediate_size": 64,
    "vocab_size": VOCABULARY,
    "initializer_range": 0.3,
}
DISTILBERT = {"dim": HIDDEN, "n_layers": 3, "n_heads": HEADS, "hidden_dim": 64, "vocab_size": VOCABULARY}

MODELS = {
    "bert-next-sentence": lambda: BertForNextSentencePrediction(BertConfig(**SIZES)),
    "bert-pretraining": lambda: BertForPreTraining(BertConfig(**SIZES)),
    "bert-classification": lambda: BertForSequenceClassification(BertConfig(**SIZES, num_labels=3)),
    "roberta": lambda: RobertaForSequenceClassification(RobertaConfig(**SIZES, num_labels=3)),
    "distilbert": lambda: DistilBertForSequenceClassification(
        DistilBertConfig(**DISTILBERT, initializer_range=0.3, num_labels=3)
    ),
}


@pytest.fixture(autouse=True)
def package_of_this_checkout(monkeypatch):
    """Processes that a test starts import the package from here, as the test itself does."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2] / "scripts"))


@pytest.fixture(params=MODELS)
def model(request):
    torch.manual_seed(0)
    return MODELS[request.param]().eval()


@pytest.fixture
def bert():
    torch.manual_seed(0)
    return MODELS["bert-next-sentence"]().eval()


def save_random(folder: Path, make: Callable[[], PreTrainedModel], tokenizer: PreTrainedTokenizerBase) -> Path:
    """A folder with an encoder whose weights are drawn by seed 0, and its tokenizer."""
    torch.manual_seed(0)
    make().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def with_modules(folder: Path, *kinds: str, **pooling: object) -> Path:
    """The folder of an encoder as sentence-transformers saves it: with modules of these kinds behind it, the first of
    which pools as its configuration says."""
    modules = [("", "Transformer"), *((f"{number}_{kind}", kind) for number, kind in enumerate(kinds, start=1))]
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(modules)
    ]
    write_json(folder / "modules.json", listed)
    for path, _ in modules[1:]:
        (folder / path).mkdir()
    write_json(folder / "1_Pooling/config.json", pooling)
    return folder


def random_eraser(components: int, dimension: int, heads: tuple[int, ...] = ()) -> Eraser:
    basis = torch.linalg.qr(torch.randn(*heads, dimension, components))[0].transpose(-1, -2).contiguous()
    return Eraser.projection(basis, explained_variance=torch.rand(*heads, components))


def random_subspaces(hidden: int = HIDDEN, heads: int = HEADS) -> Subspaces:
    erasers = {(name, "plain"): random_eraser(2, hidden) for name in (POOLED, LAST, BEFORE)}
    erasers[SENTENCE_DEBIAS, "plain"] = random_eraser(1, hidden)
    erasers |= {(part, "plain"): random_eraser(1, hidden // heads, (heads,)) for part in ATTENTION}
    return Subspaces(erasers)


def random_batch(model, *, rows: int = 5, tokens: int = 9) -> dict[str, torch.Tensor]:
    """Token ids with padding of different lengths."""
    ids = torch.randint(5, VOCABULARY, (rows, tokens))
    mask = torch.ones_like(ids)
    for row in range(rows):
        mask[row, tokens - row :] = 0
    ids[mask == 0] = model.config.pad_token_id
    return {"input_ids": ids, "attention_mask": mask}


def logits_of(output) -> torch.Tensor:
    return output.seq_relationship_logits if "seq_relationship_logits" in output else output.logits
