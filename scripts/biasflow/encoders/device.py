"""Where encoders and probes compute."""

import torch

from scripts.biasflow.base.errors import BiasflowError, check_choice


def resolve_device(name: str) -> torch.device:
    """The device "auto" (the GPU where there is one), "cpu" or "cuda"; BiasflowError for a GPU that is absent."""
    check_choice("device", name, ("auto", "cpu", "cuda"))
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise BiasflowError("device 'cuda' was asked for, but torch finds no GPU here; choose cpu or auto.")
    return torch.device("cuda" if available and name != "cpu" else "cpu")
