"""Functions for other programs, for any transformers encoder: fit an eraser, list places, erase at them."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from torch import nn

from biasflow.base.by_name import module_named
from biasflow.base.errors import BiasflowError, nearest
from biasflow.encoders import fold as encoders_fold
from biasflow.encoders import taps
from biasflow.encoders.edit import EditReport, edited
from biasflow.encoders.places import CLS, POOLED
from biasflow.erasers.eraser import Eraser, Vectors
from biasflow.registry import ERASERS, module_of

PARTS = ("", CLS, ".attention.query", ".attention.key", ".attention.value")


def fit(eraser: str, X: Vectors, z: Vectors, *, pairs: Vectors | None = None, **options) -> Eraser:
    """Fit the eraser of this name to vectors and their genders, and return an affine map that takes gender out of them.

    eraser: a key of registry.ERASERS ("leace", "densray", "mean_projection" ...), also with hyphens; X: vectors [n, d],
    or [n, heads, d] for parts of attention: tensors of any type, numpy arrays, frames or lists; z: genders [n], 0
    masculine, 1 feminine; pairs: row numbers [n_pairs, 2] (masculine, feminine), for erasers that are fitted to pairs;
    options: those of the eraser's own `fit`. Use the result as `eraser.apply(vectors)`, which returns a tensor, or
    through `edit`. BiasflowError: an unknown name, and what the eraser refuses."""
    if not isinstance(eraser, str):
        raise BiasflowError(f"fit: eraser is of type {type(eraser).__name__}; give its name, such as 'leace'")
    name = eraser.replace("-", "_")
    if name not in ERASERS:
        raise BiasflowError(f"fit: there is no eraser {eraser!r}; {nearest(name, ERASERS)}")
    return module_named(module_of(ERASERS[name])).fit(X, z, pairs=pairs, **options)


def edit(model: nn.Module, erasers: Mapping[str, Eraser]) -> AbstractContextManager[list[EditReport]]:
    """Return a context manager in which `model` runs with erasers: a mapping from places (see `places`) to erasers.

    Inside it every forward pass is edited; after it the model is as before. It yields a report for each place: how
    often the eraser ran and how far it moved the states. BiasflowError: a place that the model lacks, what is no model
    or no eraser; in a pass, an eraser of another width than its place; on leaving, one that changed nothing."""
    _check_model("edit", model)
    if not isinstance(erasers, Mapping):
        kind = type(erasers).__name__
        raise BiasflowError(f"edit: erasers is of type {kind}; give a mapping, such as {{'layer[-1]': eraser}}")
    _check_erasers("edit", erasers)
    return edited(model, erasers.items())


def fold(model: nn.Module, place: str, eraser: Eraser) -> list[str]:
    """Write an eraser into the weights of a model with a head, which then computes what it does inside of `edit`
    without any hook, also once it is saved and loaded by transformers alone. Returns the names of the changed layers.

    place: layer[-1], layer[-1].cls or pooled. The states of the encoder below the head stay as they are. BiasflowError,
    with the model unchanged, where that cannot be exact (`encoders.fold.fold` says when), and as `edit`."""
    _check_model("fold", model)
    _check_erasers("fold", {place: eraser})
    return encoders_fold.fold(model, [(place, eraser)])


def places(model: nn.Module) -> list[str]:
    """The names of all places of `model` at which `edit` can erase, in the order in which states flow through them.

    layer[i] is the output of layer i for all tokens, layer[i].cls that of the first token alone, layer[i].attention.
    query, key and value are the projections of its attention, split into heads, and pooled is the sentence vector that
    a classification head reads. None of an architecture that is not known."""
    _check_model("places", model)
    return list(_places(model))


def _check_erasers(function: str, erasers: Mapping) -> None:
    for place, eraser in erasers.items():
        if not isinstance(place, str) or not isinstance(eraser, Eraser):
            raise BiasflowError(
                f"{function}: erasers has {type(eraser).__name__} at {place!r}; give the name of a place, as "
                "biasflow.places lists them, and what biasflow.fit returns"
            )


def _check_model(function: str, model: object) -> None:
    if not isinstance(model, nn.Module) or not hasattr(model, "config"):
        kind = type(model).__name__
        raise BiasflowError(f"{function}: model is of type {kind}; give a model of transformers (AutoModel)")


def _places(model: nn.Module) -> Iterator[str]:
    for layer in range(taps.depth(model)):
        yield from (place for part in (*PARTS[2:], *PARTS[:2]) if taps.has(model, place := f"layer[{layer}]{part}"))
    if taps.has(model, POOLED):
        yield POOLED
