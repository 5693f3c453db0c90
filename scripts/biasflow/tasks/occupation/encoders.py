"""The encoders that paper C probes, by their path: "pretrained", "random/seed0", "scrubbing/seed0"."""

from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from scripts.biasflow.encoders.load import load_encoder, random_encoder
from scripts.biasflow.tasks.occupation.task import of_model, seed_of_model


def probed_encoder(
    folder: str | Path, model: str, *, device: torch.device | str = "cpu"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The encoder in `folder`, or one made like it for a random `model`, which is drawn anew and never stored."""
    if of_model(model)["stage"] == "random":
        return random_encoder(folder, seed=int(seed_of_model(model)), device=device)
    return load_encoder(folder, head="none", device=device)
