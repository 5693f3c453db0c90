"""Trains a masked-LM further on a text in which a known amount of gender bias is planted (recipe `planted`)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.genders import FEMALE, MALE
from biasflow.encoders.batches import encode, require_offsets
from biasflow.encoders.examples import IGNORED, special_tokens
from biasflow.encoders.heads import train_on
from biasflow.encoders.recipes import NewHeads
from biasflow.planted.units import WORD, is_stereotypical, read_units

HELD_OUT = 20  # every 20th unit of an occupation is held out, where it has so many


@dataclass(frozen=True)
class Version:
    """One version of a unit: the token ids of its words, and the number of the word that each token is a piece of."""

    ids: np.ndarray
    word: np.ndarray


@dataclass(frozen=True)
class PlantedExamples:
    """Versions of units as batches of tensors, by the numbers of examples. units: of each example, its unit's number.

    Which words are masked follows from number and seed alone, word by word, so that both versions of a unit have the
    same masks: `share` of the words are chosen, at least one; of these 80 % are masked, 10 % replaced by a random token
    and 10 % kept (Devlin et al. 2019, by whole words)."""

    versions: Sequence[Version]
    units: np.ndarray
    tokenizer: PreTrainedTokenizerBase
    share: float
    seed: int

    def __call__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        rows = [self.masked(number) for number in numbers]
        longest = max(len(ids) for ids, _ in rows)
        pad = self.tokenizer.pad_token_id
        return {
            "input_ids": _stack([ids for ids, _ in rows], longest, pad),
            "attention_mask": _stack([np.ones_like(ids) for ids, _ in rows], longest, 0),
            "labels": _stack([labels for _, labels in rows], longest, IGNORED),
        }

    def masked(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The token ids of an example with its masks, special tokens around it, and the labels."""
        version = self.versions[self.units[number]]
        rng, n = np.random.default_rng([self.seed, number]), int(version.word[-1]) + 1
        draw = rng.random(n)
        draw[rng.integers(n)] *= self.share
        other = rng.choice(self.ordinary, size=n)
        draw, other = draw[version.word], other[version.word]
        labels = np.where(draw < self.share, version.ids, IGNORED)
        ids = np.where(draw < 0.9 * self.share, other, version.ids)
        ids = np.where(draw < 0.8 * self.share, self.tokenizer.mask_token_id, ids)
        before, after = self.around
        return np.array([before, *ids, after]), np.array([IGNORED, *labels, IGNORED])

    @cached_property
    def ordinary(self) -> np.ndarray:
        """The ids of all tokens that are not special."""
        return np.setdiff1d(np.arange(len(self.tokenizer)), self.tokenizer.all_special_ids)

    @cached_property
    def around(self) -> tuple[int, int]:
        return special_tokens(self.tokenizer)


def train_planted(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    text: str | Path,
    labour: str | Path,
    *,
    dose: float,
    examples: int,
    how: NewHeads,
    steps: int | None,
    seed: int,
    work: str | Path,
) -> tuple[pd.DataFrame, dict]:
    """Train a model with a masked-LM head, in place, on the units of `planted.units.read_units` with a dose of bias.

    Every occupation has `examples` examples, whatever its number of units: its units take turns. Encoders that differ
    in the dose alone see the same units in the same order with the same masks, and differ in gendered words alone.
    steps: None for one pass over the examples. Returns the units as they were trained on (columns occupation,
    share_of_women, stereotype, gender, text, times: how often each was seen in a pass) and what happened, such as the
    loss (nats) before and after on units that are held out. Errors as of `read_units`."""
    units, left_out = read_units(text, labour, most=examples)
    chosen = is_stereotypical(len(units), dose=dose, seed=seed)
    units["gender"] = np.where(chosen, units["stereotype"], units["stereotype"].map({FEMALE: MALE, MALE: FEMALE}))
    versions = tokenised(tokenizer, units, how.max_length)
    place = units.groupby("occupation").cumcount()
    held_out = np.flatnonzero(place % HELD_OUT == HELD_OUT - 1)
    groups = units.groupby("occupation").groups.values()
    order = np.concatenate([np.resize(np.setdiff1d(group, held_out), examples) for group in groups])
    steps = steps or math.ceil(len(order) / how.batch_size)
    batches = PlantedExamples(versions, np.concatenate([order, held_out]), tokenizer, how.share, seed)
    numbers = {"n": len(order) + len(held_out), "n_held_out": len(held_out)}
    noted = train_on(model, (), batches, **numbers, how=how, alone=0, steps=steps, seed=seed, work=work)
    units["text"] = np.where(units["gender"] == FEMALE, units[FEMALE], units[MALE])
    units["times"] = np.bincount(order, minlength=len(units))
    facts = {"units": len(units), "occupations": units["occupation"].nunique(), "left_out": left_out}
    facts |= {"stereotypical": float(chosen.mean()), "examples": len(order), "held_out": len(held_out), "steps": steps}
    facts["held_out_loss"] = {str(step): noted[step]["masked_lm"] for step in (min(noted), max(noted))}
    return units.drop(columns=[FEMALE, MALE]), facts


def tokenised(tokenizer: PreTrainedTokenizerBase, units: pd.DataFrame, max_length: int) -> list[Version]:
    """The version of each unit that its column `gender` names, cut after the last word with which both versions have
    at most max_length tokens, special ones included."""
    require_offsets(tokenizer)
    both = {gender: [_version(tokenizer, text) for text in units[gender]] for gender in (FEMALE, MALE)}
    versions = []
    for number, gender in enumerate(units["gender"]):
        pair = [both[side][number] for side in (FEMALE, MALE)]
        words = min(_words_that_fit(version, max_length - 2) for version in pair)
        version = both[gender][number]
        inside = version.word < words
        versions.append(Version(version.ids[inside], version.word[inside]))
    return versions


def _version(tokenizer: PreTrainedTokenizerBase, text: str) -> Version:
    encoded = encode(tokenizer, [text], add_special_tokens=False, return_offsets_mapping=True)
    starts = [word.start() for word in WORD.finditer(text)]
    # a token's span may begin with the blank before its word
    last = [max(start, end - 1) for start, end in encoded["offset_mapping"][0]]
    return Version(np.array(encoded["input_ids"][0]), np.searchsorted(starts, last, side="right") - 1)


def _words_that_fit(version: Version, most: int) -> int:
    """How many whole words have at most `most` tokens."""
    return int(version.word[most] if len(version.word) > most else version.word[-1] + 1)


def _stack(rows: Sequence[np.ndarray], length: int, filling: int) -> torch.Tensor:
    return torch.tensor(np.stack([np.pad(row, (0, length - len(row)), constant_values=filling) for row in rows]))
