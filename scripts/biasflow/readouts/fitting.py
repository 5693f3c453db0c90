"""The models that methods are fitted to, and the vectors of a task: what a job of fitting reads."""

from collections.abc import Mapping
from pathlib import Path

from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.encoders.load import load_encoder, random_encoder

SEED_OF_RANDOM = "random/seed"


def open_models(
    folders: Mapping[str, Path], heads: Mapping[str, str], *, training: str, device: str
) -> tuple[dict[str, nn.Module], PreTrainedTokenizerBase]:
    """`model` and, if it has a folder, `origin`, the model before training, each with its head, and their tokenizer.

    A model of the training "random/seed<n>" is drawn anew, like the one in its folder."""
    if training.startswith(SEED_OF_RANDOM):
        seed = int(training.removeprefix(SEED_OF_RANDOM))
        model, tokenizer = random_encoder(folders["model"], seed=seed, device=device)
    else:
        model, tokenizer = load_encoder(folders["model"], head=heads["model"], device=device)
    models = {"model": model}
    if "origin" in folders:
        models["origin"], _ = load_encoder(folders["origin"], head=heads["pretrained"], device=device)
    return models, tokenizer
