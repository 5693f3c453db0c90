"""Places in an encoder that have a state for every token: those where the paper looks for gender, and their order."""

from collections.abc import Sequence

from torch import nn

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders import taps


def every_layer(model: nn.Module) -> list[str]:
    """The places of all layers' outputs, first to last."""
    return [f"layer[{number}]" for number in range(len(taps.layers(model)))]


def gender_places(model: nn.Module) -> list[str]:
    """Where the paper looks for gender: every layer's output, and the heads' values where the model has such places."""
    layers = every_layer(model)
    heads = [f"{layer}.attention.value" for layer in layers]
    return layers + (heads if taps.family(model).value else [])


def check_places(model: nn.Module, places: Sequence[str]) -> None:
    """BiasflowError: no place at all, a place that the model lacks, or one without a state for every token."""
    if not places:
        raise BiasflowError("hidden states: no place is named; name layer[0] or the like.")
    for place in places:
        taps.tap(model, place)  # an error names a place that the model lacks
        if not place.startswith("layer") or place.endswith(".cls"):
            raise BiasflowError(f"{place}: no place with a state for every token; name layer[0] or the like.")


def order_of_flow(place: str, depth: int = 10**6) -> tuple[int, bool, str]:
    """The key that sorts places as an encoder of `depth` layers reaches them: a layer's attention before its output.

    `depth` resolves layers that are counted from the last; without it these come after all others."""
    return int(taps.PLACE.fullmatch(place)["layer"]) % depth, "attention" not in place, place
