"""Erasers fitted to the hidden states of gendered words, all places at once or one after the other."""

from collections.abc import Mapping, Sequence

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders import taps
from scripts.biasflow.encoders.edit import edited
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.erasers.registry import BY_GENDER
from scripts.biasflow.methods.contexts.extraction import hidden_states
from scripts.biasflow.methods.contexts.occurrences import Occurrences
from scripts.biasflow.methods.contexts.places import check_places, order_of_flow
from scripts.biasflow.methods.contexts.states import ContextStates


def fit_layers(
    states: ContextStates,
    eraser: str,
    options: Mapping[str, object] | None = None,
    places: Sequence[str] | None = None,
) -> dict[str, Eraser]:
    """Fit the eraser of that name (registry.BY_GENDER) at `places`, or at every place of `states`: place -> Eraser.

    `options` are those of its fit. With the states of the plain model this is how the paper fits: a place does not know
    of erasers below it. BiasflowError: no such eraser, or what its fit refuses, with the place."""
    _check_eraser(eraser)
    return {place: _fit(states, place, eraser, options) for place in places or states.places}


def fit_layers_sequential(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    occurrences: Occurrences,
    *,
    places: Sequence[str],
    eraser: str,
    options: Mapping[str, object] | None = None,
    batch_size: int,
    device: torch.device | str = "cpu",
) -> dict[str, Eraser]:
    """As `fit_layers`, but each place is fitted on the model with the erasers of the places before it applied.

    The places are taken in the order in which the encoder reaches them. That is one pass over the sentences per place,
    with the states of one place, n x hidden x 4 bytes, in memory. BiasflowError: as `hidden_states` and `fit_layers`;
    an eraser that changes nothing."""
    _check_eraser(eraser)
    check_places(model, places)
    fitted: dict[str, Eraser] = {}
    depth = len(taps.layers(model))
    for place in sorted(places, key=lambda place: order_of_flow(place, depth)):
        with edited(model, fitted.items()):
            states = hidden_states(
                model, tokenizer, sentences, occurrences, places=[place], batch_size=batch_size, device=device
            )
        fitted[place] = _fit(states, place, eraser, options)
    return fitted


def _check_eraser(eraser: str) -> None:
    if eraser not in BY_GENDER:
        raise BiasflowError(f"eraser {eraser!r} is not known for gendered words; choose {', '.join(BY_GENDER)}.")


def _fit(states: ContextStates, place: str, eraser: str, options: Mapping[str, object] | None) -> Eraser:
    try:
        return BY_GENDER[eraser](*states.by_gender(place), **(options or {}))
    except BiasflowError as error:
        raise BiasflowError(f"{place}: {error}") from error
