"""Low-rank adapters: what is trained and what stays; what is saved."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AlbertConfig, AlbertForMaskedLM

from biasflow.encoders.load import load_encoder, new_classifier
from biasflow.strategies import Strategy, lora
from biasflow.tasks.coreference.model import load_coreference
from tests.unit.conftest import SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.tasks.classification import test_task as occupation
from tests.unit.tasks.classification.test_task import folder
from tests.unit.tasks.coreference import test_task as coreference
from tests.unit.training import test_finetune
from tests.unit.training.test_finetune import LABELS, SOURCES, TEXTS, VALIDATION, WORDS

__all__ = ["folder"]  # a fixture
RANK = 2
LORA = Strategy("lora", "strategies.lora", options={"rank": RANK, "alpha": 8.0})
ADAPTATION = {"module": LORA.module, "options": LORA.options}
FAMILIES = SOURCES | {"albert": lambda: AlbertForMaskedLM(AlbertConfig(**SIZES, embedding_size=16))}


def changed(before, after) -> dict[str, torch.Tensor]:
    """The changes of an encoder's weights, by name; those of its pooler left out, which is trained as ever."""
    before, after = ({name: part[name] for name in part if "pooler" not in name} for part in (before, after))
    assert before.keys() == after.keys()
    return {name: after[name] - before[name] for name in before if not torch.equal(after[name], before[name])}


def check(changes: dict[str, torch.Tensor]) -> None:
    """Matrices of the layers have changed, each by a matrix of low rank, and nothing else has."""
    assert changes and all(name.endswith(".weight") and "embeddings." not in name for name in changes)
    for name, change in changes.items():
        size = torch.linalg.svdvals(change)
        assert change.ndim == 2 and size[RANK - 1] > 1e-4 and size[RANK] < 1e-5, name


@pytest.mark.parametrize("name", FAMILIES)
def test_an_encoder_changes_by_updates_of_low_rank_alone_and_is_read_like_any_other(tmp_path, name):
    save_random(tmp_path / "source", FAMILIES[name], word_tokenizer(WORDS))
    facts = test_finetune.run(tmp_path, "model", strategy=LORA)
    model, tokenizer = load_encoder(tmp_path / "model", head="classification")
    before, _ = load_encoder(tmp_path / "source", head="none")
    check(changed(before.base_model.state_dict(), model.base_model.state_dict()))
    batch = tokenizer(*(VALIDATION[text].tolist() for text in TEXTS), padding=True, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**batch).logits
    right = logits.argmax(-1).numpy() == VALIDATION["label"].map(LABELS.index)
    assert right.mean() == pytest.approx(facts["validation_score"])


def test_an_update_is_scaled_by_alpha_over_its_rank():
    update = lora.LowRankUpdate(torch.zeros(3, 5), rank=4, alpha=8.0)
    torch.nn.init.ones_(update.up)
    assert torch.allclose(update(torch.ones(3, 5)), 1 + 2 * update.down.sum(dim=0).expand(3, 5))


def test_before_the_training_the_model_computes_what_it_did(tmp_path):
    model, tokenizer = new_classifier(test_finetune.save_source(tmp_path), LABELS, seed=0)
    batch = tokenizer(["red one two"], return_tensors="pt")
    before, head = model.eval()(**batch).logits, model.classifier.weight
    adapted = lora.adapt(model)
    assert torch.equal(adapted(**batch).logits, before)
    trained = sum(weights.numel() for weights in adapted.base_model.parameters() if weights.requires_grad)
    assert head.requires_grad and trained < 0.5 * sum(weights.numel() for weights in adapted.base_model.parameters())


def test_occupations_and_coreference_have_it_too(folder, tmp_path):
    occupation.run(folder, "lora", adaptation=ADAPTATION)
    check(changed(*(load_file(folder / name / "model.safetensors") for name in ("encoder", "lora"))))
    coreference.run(tmp_path, "tuned", strategy="lora", adaptation=ADAPTATION)
    check(changed(*(load_file(tmp_path / name / "model.safetensors") for name in ("source", "tuned"))))
    load_coreference(tmp_path / "tuned")
