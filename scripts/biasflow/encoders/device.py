"""The device on which encoders and probes compute, whether a repeated training gives the same weights, and in which
precision: on a processor float32; on a GPU all training and the many vectors of texts and words in HALF, by autocast,
and whatever else is read from a model in what it was fine-tuned in, or in float32 if it was not. Weights, losses and
erasers: always float32."""

import contextlib
import os
import platform
from collections.abc import Iterator

import torch
from torch import nn

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


GPU = "cuda"  # the type of device on which HALF is used
HALF = torch.bfloat16  # what the Trainer's `bf16` computes in
TRAINED_IN = "trained_in"  # the precision of a training, where that is not float32; in config.json, of a fine-tuning


def on_gpu(device: torch.device) -> bool:
    return device.type == GPU


def named(device: torch.device) -> str:
    """A GPU by its name, because another one may give other numbers; the processor as "cpu"."""
    return torch.cuda.get_device_name(device) if on_gpu(device) else device.type


def half(device: torch.device) -> contextlib.AbstractContextManager:
    """While the context is open, matrix products on a GPU are computed in HALF, from weights in float32."""
    return torch.autocast(device.type, dtype=HALF) if on_gpu(device) else contextlib.nullcontext()


def as_trained(model: nn.Module) -> contextlib.AbstractContextManager:
    """While the context is open, the model computes as it did in its fine-tuning: in HALF on a GPU, if it was tuned in
    it, and else in float32."""
    return half(model.device) if hasattr(model.config, TRAINED_IN) else contextlib.nullcontext()


def trained_in(device: torch.device) -> dict[str, str]:
    """What is to be said of a training: that it computed in HALF, if it did."""
    return {TRAINED_IN: str(HALF).removeprefix("torch.")} if on_gpu(device) else {}


def mark_trained(model: nn.Module) -> None:
    """Note in the configuration of a model that was fine-tuned on a GPU that it was tuned in HALF."""
    model.config.update(trained_in(model.device))


def full(numbers: torch.Tensor) -> torch.Tensor:
    """Numbers of HALF, which numpy does not have, as float32; others as they are."""
    return numbers.float() if numbers.dtype == HALF else numbers


@contextlib.contextmanager
def flushed_denormals() -> Iterator[None]:
    """In the context, numbers too small for full precision are 0: gradients of saturated softmaxes are full of them,
    and a processor is many times slower on them. Threads that torch started before are not reached: begin with it."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
