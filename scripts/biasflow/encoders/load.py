"""Encoders from local folders: always offline, always float32, never a head that was not trained."""

import math
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForNextSentencePrediction,
    AutoModelForPreTraining,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from scripts.biasflow.errors import BiasflowError

Head = Literal["pretraining", "next_sentence", "masked_lm", "none"]
CLASSES = {
    "pretraining": AutoModelForPreTraining,
    "next_sentence": AutoModelForNextSentencePrediction,
    "masked_lm": AutoModelForMaskedLM,
    "none": AutoModel,
}


def resolve_device(name: str) -> torch.device:
    """The device called "auto" (the GPU where there is one), "cpu" or "cuda"; BiasflowError for a GPU that is absent."""
    if name not in ("auto", "cpu", "cuda"):
        raise BiasflowError(f"device '{name}' is unknown; choose auto, cpu or cuda.")
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise BiasflowError("device 'cuda' was asked for, but torch finds no GPU here; choose cpu or auto.")
    return torch.device("cuda" if available and name != "cpu" else "cpu")
