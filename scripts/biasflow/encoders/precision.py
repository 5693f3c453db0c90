"""In which precision models compute. On a processor: float32. On a GPU: all training and the many vectors of texts and
words in HALF, by autocast; whatever else is read from a model in what it was fine-tuned in, and from one that was not
in float32. Weights, losses and erasers: always float32."""

import contextlib
from collections.abc import Iterator

import torch
from torch import nn

GPU = "cuda"  # the type of device on which HALF is used
HALF = torch.bfloat16  # what the Trainer's `bf16` computes in
TRAINED_IN = "trained_in"  # the precision of a training, where that is not float32; in config.json, of a fine-tuning


def on_gpu(device: torch.device) -> bool:
    return device.type == GPU


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
