"""Where encoders and probes compute, and whether twice the same."""

import os

import torch

from scripts.biasflow.base.errors import BiasflowError, check_choice


def resolve_device(name: str) -> torch.device:
    """The device "auto" (the GPU where there is one), "cpu" or "cuda"; BiasflowError for a GPU that is absent."""
    check_choice("device", name, ("auto", "cpu", "cuda"))
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise BiasflowError("device 'cuda' was asked for, but torch finds no GPU here; choose cpu or auto.")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def resolve_deterministic(choice: bool | str, device: torch.device) -> bool:
    """Whether the same training on the same device is to end with the same weights; "auto": on the processor alone.

    There torch is deterministic as it is. On a GPU this sets, for the whole process, whether torch takes its
    deterministic algorithms, which are slower; where an operation has none, torch raises. To be called before anything
    is computed on the GPU."""
    check_choice("deterministic", choice, ("auto", True, False))
    deterministic = device.type == "cpu" if choice == "auto" else bool(choice)
    if device.type == "cuda":
        if deterministic:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # one of the two with which cuBLAS is deterministic
        torch.use_deterministic_algorithms(deterministic)
        torch.backends.cudnn.deterministic = deterministic
        torch.backends.cudnn.benchmark = False
    return deterministic
