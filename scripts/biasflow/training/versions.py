"""Texts that stand in two versions, one about a woman and one about a man: as tokens of an encoder, and which of the
two a masked-LM finds likelier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.genders import FEMALE, MALE
from biasflow.encoders.batches import encode, padded, require_offsets
from biasflow.encoders.examples import special_tokens
from biasflow.encoders.masked_lm import log_p_of, outputs_at
from biasflow.planted.units import WORD

BATCH = 32  # units that are read together


@dataclass(frozen=True)
class Version:
    """One version of a unit: the token ids of its words, and the number of the word that each token is a piece of."""

    ids: np.ndarray
    word: np.ndarray

    def words(self) -> dict[int, tuple[int, ...]]:
        """The token ids of each word, by its number."""
        starts = np.flatnonzero(np.diff(self.word, prepend=-1))
        pieces = (tuple(ids.tolist()) for ids in np.split(self.ids, starts[1:]))
        return dict(zip(self.word[starts].tolist(), pieces, strict=True))


Versions = Mapping[str, Version]  # of a unit, by gender


def tokenised(tokenizer: PreTrainedTokenizerBase, units: pd.DataFrame, max_length: int) -> list[Versions]:
    """Both versions of each unit, cut after the last word with which both have at most max_length tokens, special ones
    included."""
    require_offsets(tokenizer)
    both = {gender: [_version(tokenizer, text) for text in units[gender]] for gender in (FEMALE, MALE)}
    cut = []
    for pair in zip(both[FEMALE], both[MALE], strict=True):
        words = min(_words_that_fit(version, max_length - 2) for version in pair)
        short = (Version(version.ids[version.word < words], version.word[version.word < words]) for version in pair)
        cut.append(dict(zip((FEMALE, MALE), short, strict=True)))
    return cut


def gendered_words(versions: Versions) -> list[int]:
    """The numbers of the words in which the versions of a unit differ."""
    one, other = (versions[gender].words() for gender in (FEMALE, MALE))
    return [number for number in one if one[number] != other.get(number)]


def _version(tokenizer: PreTrainedTokenizerBase, text: str) -> Version:
    encoded = encode(tokenizer, [text], add_special_tokens=False, return_offsets_mapping=True)
    starts = [word.start() for word in WORD.finditer(text)]
    # a token's span may begin with the blank before its word
    last = [max(start, end - 1) for start, end in encoded["offset_mapping"][0]]
    return Version(np.array(encoded["input_ids"][0]), np.searchsorted(starts, last, side="right") - 1)


def _words_that_fit(version: Version, most: int) -> int:
    """How many whole words have at most `most` tokens."""
    return int(version.word[most] if len(version.word) > most else version.word[-1] + 1)


class Blanks(NamedTuple):
    """The token ids of a unit with its gendered words masked, and of those that are one token in both versions the
    places and the ids in the version with the stereotypical gender and in the other one."""

    ids: list[int]
    places: list[int]
    typical: list[int]
    other: list[int]


def blanked(versions: Versions, stereotype: str, tokenizer: PreTrainedTokenizerBase) -> Blanks:
    """The unit for `typical_gender_preferences`. stereotype: the gender that is typical."""
    typical, other = (
        versions[gender].words() for gender in ((FEMALE, MALE) if stereotype == FEMALE else (MALE, FEMALE))
    )
    before, after = special_tokens(tokenizer)
    blanks = Blanks([before], [], [], [])
    for number, ids in typical.items():
        others = other.get(number, ())
        if ids == others:
            blanks.ids.extend(ids)
            continue
        if len(ids) == len(others) == 1:
            blanks.places.append(len(blanks.ids))
            blanks.typical.extend(ids)
            blanks.other.extend(others)
        blanks.ids.extend([tokenizer.mask_token_id] * len(ids))
    blanks.ids.append(after)
    return blanks


@torch.no_grad()
def typical_gender_preferences(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, units: Sequence[Blanks]
) -> np.ndarray:
    """How much likelier a model finds the typical gender in each unit, in nats per gendered word: the mean of log
    p(word with the typical gender) - log p(word with the other), with all gendered words masked [units]. NaN for a unit
    without a gendered word that is one token in both versions."""
    model.eval()
    means = np.full(len(units), np.nan)
    scored = [number for number, unit in enumerate(units) if unit.places]
    for start in range(0, len(scored), BATCH):
        numbers = scored[start : start + BATCH]
        some = [units[number] for number in numbers]
        sizes = [len(unit.places) for unit in some]
        batch = padded({"input_ids": [unit.ids for unit in some]}, range(len(some)), model, tokenizer)
        chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        chosen[np.repeat(np.arange(len(some)), sizes), np.concatenate([unit.places for unit in some])] = True
        _, logits = outputs_at(model, batch, chosen)
        rows = torch.arange(len(logits), device=model.device)
        typical, other = (
            log_p_of(logits, rows, torch.tensor(np.concatenate(ids), device=model.device))
            for ids in ([unit.typical for unit in some], [unit.other for unit in some])
        )
        differences = (typical - other).cpu().numpy()
        means[numbers] = [part.mean() for part in np.split(differences, np.cumsum(sizes)[:-1])]
    return means
