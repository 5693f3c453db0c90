"""Trains a masked-LM further on a text in which a known amount of gender bias is planted (recipe `planted`)."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE
from biasflow.encoders.examples import IGNORED, special_tokens
from biasflow.encoders.recipes import NewHeads
from biasflow.planted.units import (
    CONSTRUCTIONS,
    WORD,
    construction,
    is_stereotypical,
    placebo_stereotypes,
    read_units,
)
from biasflow.training.heads import train_on
from biasflow.training.versions import (
    Version,
    Versions,
    blanked,
    gendered_words,
    tokenised,
    typical_gender_preferences,
)

HELD_OUT = 20  # every 20th unit of an occupation is held out, where it has so many
MOST_TILT = 20  # of the log of a unit's number of examples, for each gendered word
MOST_UNBALANCED = 0.01  # difference between the words of a construction for women and for men, as a share of all words


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
        ids, labels = zip(*map(self.masked, numbers), strict=True)
        batch = self.tokenizer.pad({"input_ids": list(ids)}, padding_side="right", return_tensors="pt")
        return {**batch, "labels": pad_sequence([torch.from_numpy(row) for row in labels], True, IGNORED)}

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
    placebo: bool,
    examples: int,
    how: NewHeads,
    steps: int | None,
    seed: int,
    work: str | Path,
) -> tuple[pd.DataFrame, dict]:
    """Train a model with a masked-LM head, in place, on the units of `planted.units.read_units` with a dose of bias.

    An occupation has `examples` examples on average, whatever its number of units: its units take turns
    (`balanced_examples`). Encoders that differ in the dose alone see the same units in the same order with the same
    masks, and differ in gendered words alone; about half of these are words for women, in each construction and at
    every dose. placebo: plant typical genders that are drawn anew for each seed (`planted.units.placebo_stereotypes`).
    steps: None for one pass over the examples. Returns the units as they were trained on (columns occupation,
    share_of_women, stereotype, gender, text, times: how often each was seen in a pass; 0 for a unit that is held out;
    preference_before and preference_after: `typical_gender_preferences` before and after the training) and what
    happened, such as the loss (nats) before and after on units that are held out. Errors as of `read_units`."""
    units, left_out = read_units(text, labour, most=examples)
    if placebo:
        units["stereotype"] = placebo_stereotypes(units, seed)
    versions = tokenised(tokenizer, units, how.max_length)
    words = words_by_construction(units, versions)
    place = units.groupby("occupation").cumcount()
    held_out = np.flatnonzero(place % HELD_OUT == HELD_OUT - 1)
    trained = units.drop(index=held_out)
    units["times"] = balanced_examples(trained, words.loc[trained.index], examples).reindex(units.index, fill_value=0)
    seen = words.mul(units["times"], axis=0)
    signed = seen.mul(_signs(units["stereotype"]), axis=0).to_numpy()
    chosen = is_stereotypical(units["occupation"], signed, dose=dose, seed=seed)
    units["gender"] = np.where(chosen, units["stereotype"], units["stereotype"].map({FEMALE: MALE, MALE: FEMALE}))
    drawn = [both[gender] for both, gender in zip(versions, units["gender"], strict=True)]
    order = np.repeat(units.index, units["times"])
    steps = steps or math.ceil(len(order) / how.batch_size)
    blanks = [blanked(both, kind, tokenizer) for both, kind in zip(versions, units["stereotype"], strict=True)]
    units["preference_before"] = typical_gender_preferences(model, tokenizer, blanks)
    batches = PlantedExamples(drawn, np.concatenate([order, held_out]), tokenizer, how.share, seed)
    numbers = {"n": len(order) + len(held_out), "n_held_out": len(held_out)}
    noted = train_on(model, (), batches, **numbers, how=how, alone=0, steps=steps, seed=seed, work=work)
    units["preference_after"] = typical_gender_preferences(model, tokenizer, blanks)
    units["text"] = np.where(units["gender"] == FEMALE, units[FEMALE], units[MALE])
    women = seen[units["gender"] == FEMALE].sum()
    facts = {"units": len(units), "occupations": units["occupation"].nunique(), "left_out": left_out}
    facts |= {"stereotypical": float(chosen.mean()), "examples": len(order), "held_out": len(held_out), "steps": steps}
    facts["share_of_words_for_women"] = float(women.sum() / seen.to_numpy().sum())
    facts["share_for_women_by_construction"] = (women / seen.sum()).dropna().to_dict()
    facts["held_out_loss"] = {str(step): noted[step]["masked_lm"] for step in (min(noted), max(noted))}
    columns = ["occupation", "share_of_women", "stereotype", "gender", "text", "times"]
    return units[[*columns, "preference_before", "preference_after"]], facts


def words_by_construction(units: pd.DataFrame, versions: Sequence[Versions]) -> pd.DataFrame:
    """How many gendered words each unit has in each of CONSTRUCTIONS before it is cut [units, constructions]."""
    rows = []
    for text, both in zip(units[MALE], versions, strict=True):
        words = WORD.findall(text)
        rows.append(Counter(construction(words, number) for number in gendered_words(both)))
    return pd.DataFrame(rows, units.index, CONSTRUCTIONS).fillna(0)


def balanced_examples(units: pd.DataFrame, words: pd.DataFrame, examples: int) -> pd.Series:
    """How many examples each unit makes: `examples` an occupation on average, such that the examples of either typical
    gender have as many gendered words in each construction.

    Otherwise a dose would also change how many words for women the text has in "she is a ...", and a measure of that
    would seem to measure bias. The numbers are as near to equal ones within each occupation as balance allows (in
    relative entropy). units: those that are trained on, with columns occupation and stereotype; words: of
    `words_by_construction`. BiasflowError where the cut texts of a typical gender have no gendered words, and where
    no numbers balance them."""
    if words.sum(axis=1).groupby(units["stereotype"]).sum().min() == 0:
        raise BiasflowError("the texts have no gendered words before they are cut; raise max_length")
    signed = words.mul(_signs(units["stereotype"]), axis=0).to_numpy()
    equal = -np.log(units.groupby("occupation")["occupation"].transform("size").to_numpy())

    def tilted(tilts: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = equal - signed @ tilts
        return logsumexp(exponents), -softmax(exponents) @ signed  # the derivative is 0 where all is balanced

    bounds = [(-MOST_TILT, MOST_TILT)] * signed.shape[1]  # reached where only one typical gender has a construction
    shares = softmax(equal - signed @ minimize(tilted, np.zeros(len(bounds)), jac=True, bounds=bounds).x)
    off = np.abs(shares @ signed) / (shares @ words.to_numpy()).sum()
    if off.max() > MOST_UNBALANCED:
        raise BiasflowError(
            f"the gendered words of occupations typical of women and of men cannot be balanced (construction "
            f"'{words.columns[off.argmax()]}'); give more text"
        )
    ends = np.rint(np.cumsum(shares) * examples * units["occupation"].nunique()).astype(int)
    return pd.Series(np.diff(ends, prepend=0), units.index)


def _signs(stereotypes: pd.Series) -> pd.Series:
    """1 for women, -1 for men."""
    return stereotypes.map({FEMALE: 1, MALE: -1})
