"""What a masked-LM head expects at [MASK]: log-probabilities of words and phrases, and he against she by occupation."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
import torch
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.batches import encode, length_sorted
from scripts.biasflow.encoders.edit import Edits, edited
from scripts.biasflow.text.occupation_templates import MASK

TEMPLATE = "The {occupation} said that [MASK] was late."


@torch.inference_mode()
def word_log_probabilities(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    words: Sequence[str],
    *,
    batch_size: int = 64,
    edits: Edits = (),
) -> np.ndarray:
    """log p(word | sentence) at the one [MASK] of each sentence, in nats: [sentences, words].

    [MASK] stands for the tokenizer's own mask token. edits: interventions that are active (encoders.edit.edited).
    BiasflowError: a word that is not one piece of the vocabulary, or a sentence without exactly one [MASK]."""
    pieces = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    for word, ids in zip(words, pieces, strict=True):
        if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
            raise BiasflowError(f"{word!r} is not a single piece of the encoder's vocabulary; choose another word.")
    encoded = _encoded(tokenizer, sentences)
    with edited(model, edits):
        return _at_masks(model, tokenizer, encoded, [ids[0] for ids in pieces], masks=1, batch_size=batch_size)[:, 0]


@torch.inference_mode()
def phrase_log_probabilities(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    phrases: Sequence[str],
    *,
    order: Literal["left_to_right", "at_once"] = "left_to_right",
    batch_size: int = 64,
    edits: Edits = (),
) -> np.ndarray:
    """log p(phrase | sentence), in nats, where a phrase (a pronoun) may split into k pieces: [sentences, phrases].

    The sentence's one [MASK] is replaced by k masks, and the log-probabilities of the pieces are summed:
        "left_to_right":  sum_j log p(piece_j | piece_1 ... piece_j-1, masks for piece_j and the later ones),
                          a true probability of the phrase among all of k pieces, k passes through the model
        "at_once":        sum_j log p(piece_j | k masks), as if the pieces were independent, one pass
    With k = 1 both are `word_log_probabilities`. k differs between phrases, and each k has probabilities of its own:
    compare only phrases of as many pieces, or say so.

    BiasflowError: a phrase that is empty or holds a piece unknown to the vocabulary, another order, or a sentence
    without exactly one [MASK]."""
    if order not in ("left_to_right", "at_once"):
        raise BiasflowError(f"order {order!r} is unknown; choose left_to_right or at_once.")
    pieces = [tokenizer(phrase, add_special_tokens=False)["input_ids"] for phrase in phrases]
    for phrase, ids in zip(phrases, pieces, strict=True):
        if not ids or not set(ids).isdisjoint(tokenizer.all_special_ids):  # the unknown piece is one of them
            raise BiasflowError(f"{phrase!r} is not made of the encoder's vocabulary; choose another phrase.")
    encoded = _encoded(tokenizer, sentences)
    mask = tokenizer.mask_token_id

    def at_masks(before: list[int], targets: list[int]) -> np.ndarray:
        """log p of `targets` at as many masks that follow the pieces `before`: [sentences, masks, targets]."""
        filled = _filled(encoded, mask, [*before, *[mask] * len(targets)])
        return _at_masks(model, tokenizer, filled, targets, masks=len(targets), batch_size=batch_size)

    found = np.empty((len(sentences), len(phrases)))
    with edited(model, edits):
        for column, ids in enumerate(pieces):
            if order == "at_once":
                found[:, column] = np.trace(at_masks([], ids), axis1=1, axis2=2)
            else:
                found[:, column] = sum(at_masks(ids[:done], ids[done:])[:, 0, 0] for done in range(len(ids)))
    return found


def she_he_log_odds(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    occupations: Sequence[str],
    *,
    template: str = TEMPLATE,
    edits: Edits = (),
) -> pd.DataFrame:
    """log p(she) - log p(he) at [MASK] for each occupation: columns occupation, log_odds (in nats)."""
    sentences = [template.format(occupation=occupation) for occupation in occupations]
    she, he = word_log_probabilities(model, tokenizer, sentences, ["she", "he"], edits=edits).T
    return pd.DataFrame({"occupation": list(occupations), "log_odds": she - he})


def logits_at(model: PreTrainedModel, batch: BatchEncoding, chosen: torch.Tensor) -> torch.Tensor:
    """The masked-LM head's logits at the positions where `chosen` [batch, tokens] holds: [positions, vocabulary].

    The output layer, the widest of all, sees these positions only; the others never get a [vocabulary] row.
    BiasflowError for a model without an output layer."""
    head = model.get_output_embeddings()
    if head is None:
        raise BiasflowError(f"{type(model).__name__} has no masked-LM head; load the encoder with head masked_lm.")
    handle = head.register_forward_pre_hook(lambda module, args: (args[0][chosen],))
    try:
        output = model(**batch)
    finally:
        handle.remove()
    return output.prediction_logits if "prediction_logits" in output else output.logits


def _encoded(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> BatchEncoding:
    for sentence in sentences:
        if sentence.count(MASK) != 1:
            raise BiasflowError(f"{sentence!r}: exactly one {MASK} is needed.")
    return encode(tokenizer, [sentence.replace(MASK, tokenizer.mask_token) for sentence in sentences])


def _filled(encoded: BatchEncoding, mask: int, pieces: list[int]) -> BatchEncoding:
    """The same sentences with `pieces` for their one mask; the other arrays (segments, attention) grow with them."""
    grown: dict[str, list[list[int]]] = {key: [] for key in encoded}
    for row, ids in enumerate(encoded["input_ids"]):
        at = ids.index(mask)
        for key, values in grown.items():
            old = encoded[key][row]
            new = pieces if key == "input_ids" else old[at : at + 1] * len(pieces)
            values.append([*old[:at], *new, *old[at + 1 :]])
    return BatchEncoding(grown)


def _at_masks(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    encoded: BatchEncoding,
    targets: Sequence[int],
    *,
    masks: int,
    batch_size: int,
) -> np.ndarray:
    """log p of the pieces `targets` at each mask: [sentences, masks, targets], with `masks` masks in each sentence."""
    found = np.empty((len(encoded["input_ids"]), masks, len(targets)))
    for rows, batch in length_sorted(encoded, tokenizer, batch_size=batch_size, device=model.device):
        logits = logits_at(model, batch, batch["input_ids"] == tokenizer.mask_token_id)
        log_p = logits.double().log_softmax(-1)[:, list(targets)]
        found[rows] = log_p.view(len(rows), masks, len(targets)).cpu().numpy()
    return found
