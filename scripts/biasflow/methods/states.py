"""The vectors that erasers are fitted to: of gendered words in context, of sentence pairs, or of a task's texts.

All are read in the same way: `at(places, edits)` gives [n, hidden] ([n, heads, head_dim] in attention) for each place,
on the CPU in float32, in one pass of the model with the edits active; `labels` says which rows are whose."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders import taps
from scripts.biasflow.encoders.batches import encode, length_sorted
from scripts.biasflow.encoders.edit import Edits, edited, watched
from scripts.biasflow.encoders.places import LAST_CLS, POOLED, has_tokens
from scripts.biasflow.methods.arrays import States, allocate
from scripts.biasflow.methods.contexts.extraction import hidden_states
from scripts.biasflow.methods.contexts.occurrences import FEMININE, Occurrences, find_occurrences_for
from scripts.biasflow.text.sentence_pairs import check_pairs


class Source:
    """Where vectors to fit to come from. tables, facts: what is to be written and logged beside what is fitted."""

    tables: Mapping[str, pd.DataFrame] = MappingProxyType({})
    facts: Mapping[str, object] = MappingProxyType({})

    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        """place -> the vectors there, with `edits` active in the model."""
        raise NotImplementedError

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        """The arguments `z` and `pairs` of an eraser's fit for the vectors X of one place."""
        raise NotImplementedError


@dataclass(frozen=True)
class WordStates(Source):
    """The states of one model at the occurrences of gendered words in `sentences`; at places with tokens."""

    model: nn.Module
    tokenizer: PreTrainedTokenizerBase
    sentences: Sequence[str]
    occurrences: Occurrences
    batch_size: int
    device: torch.device | str = "cpu"
    folder: str | Path | None = None

    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        with edited(self.model, edits):
            return hidden_states(
                self.model,
                self.tokenizer,
                self.sentences,
                self.occurrences,
                places=places,
                batch_size=self.batch_size,
                device=self.device,
                folder=self.folder,
            )

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        feminine = (self.occurrences.table["gender"] == FEMININE).to_numpy(copy=True)
        return {"z": torch.from_numpy(feminine), "pairs": None}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        return {"occurrences": self.occurrences.table, "counts": self.occurrences.counts}

    @property
    def facts(self) -> dict[str, object]:
        return {
            "words_left_out": list(self.occurrences.left_out),
            "sentences_read": self.occurrences.sentences_read,
        }


def word_states(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    words: tuple[Sequence[str], Sequence[str]] | None,
    *,
    n: int,
    cap_per_word: int | None,
    max_length: int,
    **reading,
) -> WordStates:
    """The states of n occurrences of `words` (masculine, feminine) in `sentences`; see `find_occurrences`."""
    if words is None:
        raise BiasflowError("there are no gendered words to fit to; give words and sentences")
    options = {"n": n, "cap_per_word": cap_per_word, "max_length": max_length}
    occurrences = find_occurrences_for(model, tokenizer, sentences, *words, **options)
    return WordStates(model, tokenizer, sentences, occurrences, **reading)


@dataclass(frozen=True)
class PairStates(Source):
    """The states of sentence pairs in one model: all masculine members, then all feminine ones in the same order.

    checked: the pairs, as `check_pairs` gives them; those that are kept have members of as many tokens. A place with
    tokens has a row for every token of every pair, the sentence's first and last included."""

    model: nn.Module
    tokenizer: PreTrainedTokenizerBase
    checked: pd.DataFrame
    batch_size: int
    device: torch.device | str = "cpu"
    folder: str | Path | None = None

    def _batches(self) -> Iterator[Mapping[str, torch.Tensor]]:
        # A batch holds the masculine members, then the feminine ones of the same pairs: equal lengths align them.
        pairs = self.checked[self.checked["kept"]]
        members = (
            length_sorted(encoded, self.tokenizer, batch_size=self.batch_size, device=self.device)
            for encoded in (encode(self.tokenizer, pairs[member]) for member in ("masculine", "feminine"))
        )
        for (_, first), (_, second) in zip(*members, strict=True):
            yield {key: torch.cat([first[key], second[key]]) for key in first}

    @torch.inference_mode()
    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        batches = list(self._batches())
        masks = [batch["attention_mask"] for batch in batches]
        sentences, tokens = sum(len(mask) for mask in masks), sum(int(mask.sum()) for mask in masks)  # of both genders
        run = self.model if POOLED in places else self.model.base_model  # a masked-LM head costs as much as layers
        start = dict.fromkeys(places, 0)
        found: States = {}
        keep = None

        def kept(place: str, h: torch.Tensor) -> torch.Tensor:
            return (h[keep] if has_tokens(place) else h).float().cpu()

        with edited(self.model, edits), watched(self.model, places, kept) as seen:
            for batch in batches:
                keep = batch["attention_mask"].bool()
                run(**batch)
                found = found or allocate(
                    {p: (tokens if has_tokens(p) else sentences, *seen[p].shape[1:]) for p in places}, self.folder
                )
                for place, h in seen.items():
                    masculine, feminine = found[place].chunk(2)
                    rows = slice(start[place], start[place] + len(h) // 2)
                    masculine[rows], feminine[rows] = h.chunk(2)
                    start[place] = rows.stop
        return found

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        rows = torch.arange(len(X))
        return {"z": rows >= len(X) // 2, "pairs": rows.reshape(2, -1).T}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        return {"sentence_pairs": self.checked}


def pair_states(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentence_pairs: Mapping[str, pd.DataFrame] | None,
    name: str,
    **reading,
) -> PairStates:
    """The states of the pairs of one set (see `load_sentence_pairs`) that the encoder's tokenizer can use."""
    if sentence_pairs is None:
        raise BiasflowError("there are no sentence pairs to fit to; give sentence_pairs")

    def tokens(sentences: Sequence[str]) -> list[list[int]]:
        return encode(tokenizer, sentences)["input_ids"]

    checked = check_pairs(sentence_pairs[name], tokens, encoder=taps.name_of(model))
    return PairStates(model, tokenizer, checked.assign(set=name), **reading)


@dataclass(frozen=True)
class TaskVectors(Source):
    """The vectors X [n, hidden] of a task's texts at `place` of one model, and their genders z [n]."""

    place: str
    X: torch.Tensor | np.ndarray
    z: torch.Tensor | np.ndarray

    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        if list(places) != [self.place]:
            raise BiasflowError(f"the task's vectors are those at {self.place}; fit to words or pairs elsewhere")
        if tuple(edits):
            raise BiasflowError("the task's vectors are those of the unedited model; they cannot be fitted in sequence")
        return {self.place: torch.as_tensor(self.X)}

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        return {"z": torch.as_tensor(self.z), "pairs": None}


def task_vectors(model: nn.Module, task: tuple | None) -> TaskVectors:
    """The vectors and genders of a task's texts, at the first token of the model's last layer."""
    if task is None:
        raise BiasflowError("there are no vectors of a task to fit to; give task")
    return TaskVectors(*taps.resolve(model, LAST_CLS), *task)
