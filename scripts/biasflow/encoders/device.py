"""The device on which encoders and probes compute, and whether a repeated training gives the same weights."""

import os
import platform

import torch

from biasflow.base.errors import BiasflowError, check_choice
from biasflow.base.gpus import VISIBLE, take_gpu


def resolve_device(name: str, *, gpus: int = 0) -> torch.device:
    """The device "auto" (the GPU where there is one), "cpu" or "cuda"; BiasflowError for a GPU that is absent.

    gpus: how many a job was given. It takes one that no other job has (`gpus.take_gpu`) and sees no other from then on;
    BiasflowError for a job that would compute without it, and for several GPUs that nothing tells apart."""
    check_choice("device", name, ("auto", "cpu", "cuda"))
    if gpus and name != "cpu":
        take_gpu()
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise BiasflowError(
            f"device 'cuda' was asked for, but torch {torch.__version__} finds no GPU on {platform.node()}; "
            "say device: cpu, or have the job get one"
        )
    device = torch.device("cuda" if available and name != "cpu" else "cpu")
    if gpus and device.type == "cpu":
        raise BiasflowError(
            f"the job was given a GPU (resource gpu={gpus}), but computes on the processor (device '{name}'); "
            "say device: cuda, or ask for no GPU"
        )
    if gpus and torch.cuda.device_count() > 1:
        raise BiasflowError(
            f"the job sees {torch.cuda.device_count()} GPUs, and there is no nvidia-smi to take one by; name one in "
            f"{VISIBLE}"
        )
    return device


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
