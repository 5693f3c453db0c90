"""A device that is not the processor, in the place of a GPU: it computes on the processor, and refuses what a GPU does.

A tensor that was brought there says so (`tensor.device`), takes no other device's tensors beside it, and is no numpy
array. As for a GPU, numbers alone and indices may be anywhere."""

import contextlib
import sys
from collections.abc import Iterator

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

from biasflow.encoders import device as precision

DEVICE = torch.device("meta")  # torch knows the name, and needs no driver for it
CPU = torch.device("cpu")
aten = torch.ops.aten
FROM_ANYWHERE = {aten._to_copy.default, aten.copy_.default}
INDEXED = {aten.index.Tensor, aten.index_put_.default, aten._index_put_impl_.default, aten.index_put.default}


class MixedDevicesError(AssertionError):
    """What a GPU would have refused."""


class There(torch.Tensor):
    """A tensor on DEVICE; `here`: its numbers."""

    @staticmethod
    def __new__(cls, here: torch.Tensor) -> "There":
        return torch.Tensor._make_wrapper_subclass(
            cls,
            here.size(),
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            device=DEVICE,
            requires_grad=here.requires_grad,
        )

    def __init__(self, here: torch.Tensor):
        self.here = here

    def __repr__(self) -> str:
        return f"There({self.here})"

    def tolist(self) -> list:
        return self.here.tolist()  # which torch has for its own tensors alone

    def __getitem__(self, index: object) -> torch.Tensor:
        listed = tree_map(lambda each: _made(each) if isinstance(each, list) else each, index, is_leaf=_is_list)
        return super().__getitem__(listed)

    def new_tensor(self, data: object, *, dtype: torch.dtype | None = None) -> torch.Tensor:
        return _tensor(data, dtype=dtype or self.dtype, device=DEVICE)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _run(function, args, kwargs or {})


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _run(function, args, kwargs or {})


def _is_list(each: object) -> bool:
    return isinstance(each, list)


_made = torch.tensor


def _tensor(data: object, *, device: torch.device | None = None, **options) -> torch.Tensor:
    """torch.tensor, which makes one of DEVICE without asking anybody."""
    return _made(data, **options) if device is None else _made(data, **options).to(device)


def _entered(context: torch.no_grad) -> torch.no_grad:
    context.__enter__()
    return context


@contextlib.contextmanager
def gpu() -> Iterator[torch.device]:
    """The GPU of this machine; while the context is open, nothing is computed in half precision on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precision, "GPU", "no device")
        yield torch.device("cuda", torch.cuda.current_device())


@contextlib.contextmanager
def other_device() -> Iterator[torch.device]:
    """While the context is open, there is DEVICE. What it does not know: inference mode, which is no gradient here, and
    autocast."""
    without: list[torch.no_grad] = []
    with pytest.MonkeyPatch.context() as patch, _Mode():
        patch.setattr(torch, "tensor", _tensor)
        patch.setattr(torch.inference_mode, "__enter__", lambda self: without.append(_entered(torch.no_grad())))
        patch.setattr(torch.inference_mode, "__exit__", lambda self, *error: without.pop().__exit__(*error))
        optimizers = sys.modules["torch.optim.optimizer"]  # torch hides the module
        patch.setattr(optimizers, "_get_fused_kernels_supported_devices", lambda: [CPU.type, DEVICE.type])
        patch.setattr(torch, "autocast", lambda *args, **kwargs: contextlib.nullcontext())
        yield DEVICE


def _run(function, args, kwargs):
    tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
    if any(each.device == DEVICE and not isinstance(each, There) for each in tensors):
        raise NotImplementedError(f"{function}: torch made a tensor that the stand-in has not seen")
    there = any(isinstance(each, There) for each in tensors)
    if there and function not in FROM_ANYWHERE:
        data = [args[0], *args[2:]] if function in INDEXED else (args, kwargs)
        alone = [each for each in tree_flatten(data)[0] if isinstance(each, torch.Tensor)]
        if any(each.dim() and not isinstance(each, There) for each in alone):
            raise MixedDevicesError(f"{function}: {[(tuple(each.shape), str(each.device)) for each in alone]}")
    asked = kwargs.get("device")
    if asked is not None:
        there, kwargs = torch.device(asked).type == DEVICE.type, kwargs | {"device": CPU}
    here = tree_map(lambda each: each.here if isinstance(each, There) else each, (args, kwargs))
    found = function(*here[0], **here[1])
    if not there:
        return found
    wrapped = tree_map(lambda each: There(each) if isinstance(each, torch.Tensor) else each, found)
    if function in FROM_ANYWHERE and not isinstance(args[0], There):
        return wrapped
    return return_and_correct_aliasing(function, args, kwargs, wrapped) if function._schema.is_mutable else wrapped
