"""The names of places in an encoder, and their order. Imports no torch: a configuration is checked with them.

layer[i]                              output of encoder layer i, every token
layer[i].cls                          the same, first token only
layer[i].attention.query|key|value    projections of layer i, split into heads
pooled                                the sentence vector that the classification layer reads
sentence                              the vector that sentence-transformers makes of a text, before it is normalised

i counts from 0; negative i counts from the last layer. A method may also say: all (the outputs of all layers), each
(the same, one layer at a time), last, last.cls. `taps` finds these places in a model."""

import re

from biasflow.base.errors import AbsentError, BiasflowError

PLACE = re.compile(r"pooled|sentence|layer\[(?P<layer>-?\d+)\](?P<part>\.cls|\.attention\.(?:query|key|value))?")
ALL, EACH, LAST, LAST_CLS, POOLED, SENTENCE = "all", "each", "last", "last.cls", "pooled", "sentence"
CLS = ".cls"
ATTENTION = ("query", "key", "value")


def layer_of(place: str) -> tuple[int | None, str | None]:
    """The number and the part of a place: (-1, ".cls") of layer[-1].cls, (11, None) of layer[11], None twice of pooled
    and sentence.

    BiasflowError for what is no place in any encoder."""
    match = PLACE.fullmatch(place)
    if not match:
        raise BiasflowError(f"{place!r} is no place in an encoder; write pooled, layer[11], layer[-1].cls or the like")
    return (None, None) if match["layer"] is None else (int(match["layer"]), match["part"])


def resolve(place: str, depth: int) -> tuple[str, ...]:
    """The places that a method's `place` means in an encoder of `depth` layers, with layers counted from 0.

    BiasflowError for a name that is none, and for a layer that such an encoder lacks."""
    if place in (ALL, EACH):
        return tuple(f"layer[{layer}]" for layer in range(depth))
    if place in (LAST, LAST_CLS):
        return (f"layer[{depth - 1}]{place.removeprefix(LAST)}",)
    layer, part = layer_of(place)
    if layer is None:
        return (place,)
    if not -depth <= layer < depth:
        raise AbsentError(f"no place {place} in an encoder with {depth} layers, which are counted from 0")
    return (f"layer[{layer % depth}]{part or ''}",)


def has_tokens(place: str) -> bool:
    """Whether a place has a state for every token, not one for the sentence."""
    return place not in (POOLED, SENTENCE) and layer_of(place)[1] != CLS


def order_of_flow(place: str) -> tuple[float, int, str]:
    """The key that sorts resolved places as an encoder reaches them: a layer's attention, its output, its first token,
    and the sentence vector after all layers."""
    layer, part = layer_of(place)
    return float("inf") if layer is None else layer, {None: 1, CLS: 2}.get(part, 0), place
