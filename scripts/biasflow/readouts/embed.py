"""Vectors of sentences, and of words in sentences, from the last layer of an encoder."""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.batches import encode, length_sorted, longest_input
from scripts.biasflow.encoders.edit import Edits, edited
from scripts.biasflow.readouts.masked_words import MASK

Pooling = Literal["cls", "mean", "first-piece", "target"]
POOLINGS = ("cls", "mean", "first-piece", "target")


@torch.inference_mode()
def embed(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    *,
    pooling: Pooling = "cls",
    targets: Sequence[str] | None = None,
    batch_size: int = 64,
    device: torch.device | str = "cpu",
    edits: Edits = (),
) -> np.ndarray:
    """One vector per sentence, from the last encoder layer with `edits` (place, eraser) active: float32 [n, d].

    pooling, that is, which token states are averaged:
    "cls"          the first special token's ([CLS], <s>), the sentence vector of May et al. (2019)
    "mean"         those of all tokens, special ones included (Meade et al. 2022)
    "first-piece"  that of the first piece of the sentence tokenised without special tokens (the code of May et al.)
    "target"       those of the pieces of targets[i], the word of sentence i: its first occurrence as a whole word, in
                   upper or lower case (Liang et al. 2020)
    [MASK] in a sentence stands for the tokenizer's own mask token. `device` is where the model lies.

    BiasflowError: no or an empty sentence; a target that is not in its sentence or not in the vocabulary (naming both);
    targets that are missing or not asked for; a sentence longer than the encoder takes; an edit that did nothing."""
    _check(sentences, pooling, targets)
    encoded, places = _tokenised(model, tokenizer, sentences, pooling, targets)
    found = np.empty((len(sentences), model.config.hidden_size), dtype=np.float32)
    with edited(model, edits):
        for rows, batch in length_sorted(encoded, tokenizer, batch_size=batch_size, device=device):
            # base_model: the heads on top are not needed, and a masked-LM head costs as much as some layers.
            states = model.base_model(**batch).last_hidden_state.float()
            weights = torch.zeros(states.shape[:2])
            for i, row in enumerate(rows):
                weights[i, list(places[row])] = 1 / len(places[row])
            found[rows] = torch.einsum("nt,ntd->nd", weights.to(states), states).cpu().numpy()
    return found


def embed_sets(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sets: Mapping[Hashable, Sequence[str]],
    *,
    targets: Mapping[Hashable, Sequence[str]] | None = None,
    **options,
) -> dict[Hashable, np.ndarray]:
    """`embed` for several sets of sentences, each distinct sentence (and target) once: key -> float32 [n, d].

    The sets of association tests overlap: those of SEAT 6-8 and 6b-8b hold less than half as many distinct sentences as
    sentences. targets: the target words by the same keys, for pooling="target". options: those of `embed`.
    BiasflowError as `embed`, and for a set without as many targets as sentences."""
    pairs = {key: _with_targets(key, sentences, targets) for key, sentences in sets.items()}
    distinct = {
        pair: row for row, pair in enumerate(dict.fromkeys(pair for members in pairs.values() for pair in members))
    }
    vectors = embed(
        model,
        tokenizer,
        [sentence for sentence, _ in distinct],
        targets=None if targets is None else [target for _, target in distinct],
        **options,
    )
    return {key: vectors[[distinct[pair] for pair in members]] for key, members in pairs.items()}


def _tokenised(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    pooling: Pooling,
    targets: Sequence[str] | None,
) -> tuple[BatchEncoding, list[Sequence[int]]]:
    """The sentences as tokens, and for each the positions of the tokens that are averaged."""
    masked = [sentence.replace(MASK, tokenizer.mask_token) for sentence in sentences]
    encoded = encode(
        tokenizer, masked, add_special_tokens=pooling != "first-piece", return_offsets_mapping=pooling == "target"
    )
    most = longest_input(model, tokenizer)
    for sentence, ids in zip(sentences, encoded["input_ids"], strict=True):
        if not ids:
            raise BiasflowError(f"{sentence!r}: the tokenizer finds nothing in it; change the sentence.")
        if len(ids) > most:
            raise BiasflowError(f"{sentence!r}: {len(ids)} tokens; the encoder takes {most}: shorten it.")
    if pooling == "target":
        rows = zip(masked, targets, encoded.pop("offset_mapping"), encoded["input_ids"], strict=True)
        return encoded, [_pieces(tokenizer, *row) for row in rows]
    return encoded, [range(len(ids)) if pooling == "mean" else [0] for ids in encoded["input_ids"]]


def _with_targets(
    key: Hashable, sentences: Sequence[str], targets: Mapping[Hashable, Sequence[str]] | None
) -> list[tuple[str, str]]:
    if targets is None:
        return [(sentence, "") for sentence in sentences]
    if key not in targets or len(targets[key]) != len(sentences):
        raise BiasflowError(f"set {key}: {len(sentences)} sentence(s), but not as many targets; give one for each.")
    return list(zip(sentences, targets[key], strict=True))


def _check(sentences: Sequence[str], pooling: str, targets: Sequence[str] | None) -> None:
    if pooling not in POOLINGS:
        raise BiasflowError(f"pooling is {pooling!r}; it can be {', '.join(POOLINGS)}.")
    if not len(sentences):
        raise BiasflowError("no sentence to embed; give at least one.")
    for row, sentence in enumerate(sentences):
        if not sentence.strip():
            raise BiasflowError(f"sentence {row} (from 0) is empty; there is nothing to embed.")
    if (targets is not None) != (pooling == "target"):
        raise BiasflowError(f"pooling {pooling!r}: target words belong to pooling 'target', and only to it.")
    if targets is not None and len(targets) != len(sentences):
        raise BiasflowError(f"{len(sentences)} sentence(s), but {len(targets)} target(s); give one for each sentence.")


def _pieces(
    tokenizer: PreTrainedTokenizerBase,
    sentence: str,
    target: str,
    offsets: Sequence[tuple[int, int]],
    ids: Sequence[int],
) -> list[int]:
    """Which tokens of the sentence are pieces of the target word; offsets: each token's characters in the sentence."""
    # Letters and digits beside it would make it a part of another word; \b does not know words that end in a mark.
    pattern = rf"(?<!\w){re.escape(target)}(?!\w)"
    unmasked = sentence.replace(tokenizer.mask_token, "\0" * len(tokenizer.mask_token))  # "mask" is a word, too
    match = re.search(pattern, unmasked, flags=re.IGNORECASE) if target else None
    if match is None:
        raise BiasflowError(f"{sentence!r}: the word {target!r} is not in it; change the sentence or the word.")
    places = [i for i, (start, end) in enumerate(offsets) if start < match.end() and end > match.start()]
    if not places or tokenizer.unk_token_id in [ids[i] for i in places]:
        raise BiasflowError(f"{sentence!r}: the encoder's vocabulary lacks the word {target!r}; choose another word.")
    return places
