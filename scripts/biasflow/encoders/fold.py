"""An eraser written into the weights of the layer that reads its place, so that other programs need no hook.

An eraser is an affine map of states, and so is a linear layer: both together are one linear layer. That is exact for
the encoder's last state and the sentence vector, where a head reads them; a state inside of the encoder also goes
around its layers (the residual stream) and through normalisations, which no weight can follow."""

import contextlib
import copy
from collections.abc import Iterator

import torch
from torch import nn

from biasflow.base.errors import BiasflowError
from biasflow.encoders import taps
from biasflow.encoders.edit import Edits, edited
from biasflow.encoders.places import POOLED, resolve
from biasflow.erasers.eraser import Eraser

EXACT = 1e-4  # the largest difference of outputs, as a share of the largest one, that float32 makes
BIAS_KEY = "classifier_bias"  # of ModernBERT's configuration: whether the first layer of its heads has a bias


@torch.no_grad()
def fold(model: nn.Module, edits: Edits) -> list[str]:
    """Write erasers into a model's weights, in place: afterwards it computes what it does inside of `edited`. Returns
    the names of the layers that changed.

    With h' = h - (h - c) M, M = R diag(w) L, a layer y = W h + b that reads h' is y = W (I - M') h + b + W M' c. The
    model is the one with its head (of masked words, of classes); states and vectors of the encoder below stay as they
    were. BiasflowError, and weights as before, for an eraser of inner layers, or where the head is no linear layer of
    its own (its weights are those of the word embeddings, it has no bias to take the centre, or reads something else):
    the outputs for made-up texts are compared, and must be the same up to float32's precision."""
    edits, name = list(edits), taps.name_of(model)
    if model.dtype not in (torch.float32, torch.float64):
        raise BiasflowError(f"{name}: weights of {model.dtype} are too coarse for an eraser; call model.float() first")
    last = {POOLED, *resolve("last", taps.depth(model)), *resolve("last.cls", taps.depth(model))}
    for place, _ in edits:
        if not {*taps.resolve(model, place)} <= last:
            raise BiasflowError(
                f"{name}: an eraser at {place} cannot be written into weights, as the states inside of an encoder also "
                "go around its layers; take a method of the last layer, or edit the model as it runs (biasflow.edit)"
            )
    model.eval()
    batch = _made_up(model)
    with edited(model, edits):
        wanted = _outputs(model, batch)
    has_bias = getattr(model.config, BIAS_KEY, None)
    before: dict[str, tuple[torch.Tensor, torch.Tensor | None]] = {}

    def restore() -> None:
        for path, (weight, bias) in before.items():
            layer = model.get_submodule(path)
            layer.weight.copy_(weight)
            layer.bias = None if bias is None else nn.Parameter(bias)
        if has_bias is not None:
            setattr(model.config, BIAS_KEY, has_bias)

    try:
        for place, eraser in edits:
            for path in _readers(model, taps.resolve(model, place)[0], batch):
                layer = model.get_submodule(path)
                _check_own(model, path, layer, eraser)
                before.setdefault(path, (layer.weight.clone(), None if layer.bias is None else layer.bias.clone()))
                _fold_into(model, layer, eraser)
    except BiasflowError:
        restore()
        raise
    if not before or (_outputs(model, batch) - wanted).abs().max() > EXACT * wanted.abs().max():
        restore()
        raise BiasflowError(f"{name}: {_why_inexact(model, edits)}, or edit the model as it runs (biasflow.edit)")
    return list(before)


def _why_inexact(model: nn.Module, edits: Edits) -> str:
    """Why weights cannot hold erasers exactly: they would in float64, or what reads the place is not linear."""
    where = " and ".join(place for place, _ in edits)
    if model.dtype == torch.float32:
        with contextlib.suppress(BiasflowError):
            fold(copy.deepcopy(model).double(), edits)
            return (
                f"the eraser at {where} is ill-conditioned, and weights in float32 are too coarse for it (in float64 "
                "they would do); fit it to more texts, or with shrinkage"
            )
    return f"what reads {where} is not one linear layer, so no weights can hold an eraser there; take another place"


def affine(eraser: Eraser) -> tuple[torch.Tensor, torch.Tensor]:
    """The eraser as h' = h A + a for rows h, in float64: A = I - M [d, d], a = c M [d]."""
    precise = eraser.to(torch.float64)
    taken = precise.right @ torch.diag_embed(precise.weights) @ precise.left
    center = taken.new_zeros(len(taken)) if precise.center is None else precise.center
    return torch.eye(len(taken), dtype=taken.dtype) - taken, center @ taken


def _fold_into(model: nn.Module, layer: nn.Linear, eraser: Eraser) -> None:
    A, a = (part.to(layer.weight.device) for part in affine(eraser))
    W = layer.weight.double()
    if layer.bias is None and a.any():
        layer.bias = nn.Parameter(layer.weight.new_zeros(len(W)))
        setattr(model.config, BIAS_KEY, True)
    if layer.bias is not None:
        layer.bias.copy_(layer.bias.double() + W @ a)
    layer.weight.copy_(W @ A.T)


def _check_own(model: nn.Module, path: str, layer: nn.Linear, eraser: Eraser) -> None:
    """BiasflowError for a layer whose weights are also those of another, and one that lacks a bias that it needs."""
    shared = [other for other, one in model.named_modules() if getattr(one, "weight", None) is layer.weight]
    if len(shared) > 1:
        raise BiasflowError(
            f"{taps.name_of(model)}: {path} reads the last state itself, and has the weights of {shared[0]}: to change "
            "them would change the encoder; edit the model as it runs (biasflow.edit)"
        )
    may_have_one = hasattr(model.config, BIAS_KEY)
    if layer.bias is None and not may_have_one and affine(eraser)[1].any():
        raise BiasflowError(
            f"{taps.name_of(model)}: {path} has no bias, which the centre of this eraser needs; take an eraser without "
            "one (densray, mean_projection), or edit the model as it runs (biasflow.edit)"
        )


def _readers(model: nn.Module, place: str, batch: dict[str, torch.Tensor]) -> list[str]:
    """The linear layers that are given the place's tensor, or a part of it; where it is averaged first, the first one
    behind it."""
    if place == POOLED:
        return [path for path, module in model.named_modules() if module is taps.classification_layer(model)]
    state: list[torch.Tensor] = []  # kept, so that nothing else takes its memory
    behind: list[str] = []
    given: list[str] = []

    def note(path: str, value: torch.Tensor) -> None:
        if state:
            behind.append(path)
            if value.untyped_storage().data_ptr() == state[0].untyped_storage().data_ptr():
                given.append(path)

    hooks = [
        module.register_forward_pre_hook(lambda _, args, path=path: note(path, args[0]) if args else None)
        for path, module in model.named_modules()
        if isinstance(module, nn.Linear)
    ]
    hooks.append(taps.tap(model, place).hook(state.append))
    try:
        model(**batch)
    finally:
        for hook in hooks:
            hook.remove()
    return given or behind[:1]


def _made_up(model: nn.Module) -> dict[str, torch.Tensor]:
    """Texts of random tokens, some with padding behind them."""
    generator = torch.Generator().manual_seed(0)
    padding = model.config.pad_token_id or 0
    ids = torch.randint(padding + 1, model.config.vocab_size, (8, 12), generator=generator)
    keep = torch.ones_like(ids)
    keep[::2, 8:] = 0
    device = next(model.parameters()).device
    return {"input_ids": ids.where(keep.bool(), padding).to(device), "attention_mask": keep.to(device)}


def _outputs(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The logits of all heads, of tokens that are no padding."""
    return torch.cat([part.flatten().float() for part in _logits(model(**batch), batch["attention_mask"].bool())])


def _logits(output, keep: torch.Tensor) -> Iterator[torch.Tensor]:
    for name, value in output.items():
        if "logits" in name and value is not None:
            yield value[keep] if value.dim() == 3 and value.shape[:2] == keep.shape else value
