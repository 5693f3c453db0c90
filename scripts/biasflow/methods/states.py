"""The vectors that erasers are fitted to: of gendered words in context, of sentence pairs, or of a task's texts.

All are read in the same way: `at(places, edits)` gives [n, hidden] ([n, heads, head_dim] in attention) for each place,
on the CPU in float32, in one pass of the model with the edits active; `labels` says which rows are whose."""

import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.files import reserve
from biasflow.base.genders import OF_WORDS
from biasflow.encoders import taps
from biasflow.encoders.batches import at_occurrences, encode, longest_input, over_batches, padded
from biasflow.encoders.device import as_trained
from biasflow.encoders.edit import Edits, edited, watched
from biasflow.encoders.places import POOLED, SENTENCE, has_tokens
from biasflow.encoders.sentence_encoder import vectors_of
from biasflow.methods.occurrences import Occurrences, evenly, find_occurrences
from biasflow.text.sentence_pairs import check_pairs

IN_MEMORY = 2**29  # bytes of states; more than that goes into files

States = dict[str, torch.Tensor]  # place -> [n, ...], float32, on the CPU
Which = Mapping[bool, object]  # whether a place has tokens -> which states of a batch, as an index
TaskTexts = tuple[torch.Tensor | np.ndarray, ...]  # X [n, hidden], z [n], and y [n] where an eraser needs labels
Rows = Mapping[bool, np.ndarray]  # whether a place has tokens -> their row numbers
Read = Callable[[Mapping[str, torch.Tensor], Which], States]


class VectorSource(ABC):
    """A source of vectors to fit erasers to. tables, facts: about the vectors, to be written and logged; classes: the
    task's class of every row [n], or None for vectors that are of no task."""

    tables: Mapping[str, pd.DataFrame] = MappingProxyType({})
    facts: Mapping[str, object] = MappingProxyType({})
    classes: torch.Tensor | np.ndarray | None = None

    @abstractmethod
    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        """Return place -> the vectors there, with `edits` active in the model."""

    @abstractmethod
    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        """Return the arguments `z` and `pairs` of an eraser's `fit` for the vectors X of one place."""


@dataclass(frozen=True)
class PassStates(VectorSource):
    """States read from a model in one pass over batches of texts. Edits are those of `edit.edited`.

    Large states go into files (see `allocate`), so that no more than one batch is in memory."""

    model: nn.Module
    tokenizer: PreTrainedTokenizerBase
    batch_size: int

    @abstractmethod
    def _batches(self, read: Read) -> Iterator[tuple[Rows, States]]:
        """Yield row numbers, for places with tokens (True) and without, and the states that `read` returns for them.

        `read` takes a padded batch, and which of its states belong to the rows."""

    @abstractmethod
    def _sizes(self) -> Mapping[bool, int]:
        """The number of rows of places with tokens (True) and without."""

    @torch.inference_mode()
    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        """Return place -> float32 [n, hidden], or [n, heads, head_dim] in attention; one pass with `edits` active."""
        sizes = self._sizes()
        run = self.model if POOLED in places else partial(taps.last_state, self.model)  # skips an expensive head
        result: States = {}
        current: Which = {}

        def chosen(place: str, h: torch.Tensor) -> torch.Tensor:
            return h[current[has_tokens(place)]].float().cpu()  # only these leave the device

        with edited(self.model, edits), watched(self.model, places, chosen) as seen, as_trained(self.model):

            def read(batch: Mapping[str, torch.Tensor], wanted: Which) -> States:
                nonlocal current
                current = wanted
                run(**batch)
                return dict(seen)

            for rows, states in self._batches(read):
                result = result or allocate({p: (sizes[has_tokens(p)], *states[p].shape[1:]) for p in places})
                for place, h in states.items():
                    result[place][rows[has_tokens(place)]] = h
        return result


@dataclass(frozen=True)
class WordStates(PassStates):
    """The states of one model at n occurrences of gendered words in `sentences`, at places with tokens.

    Row i belongs to row i of occurrences.table, which was made with these `sentences` and this `tokenizer`.
    BiasflowError: a place without tokens."""

    sentences: Sequence[str]
    occurrences: Occurrences

    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        for place in places:
            if not has_tokens(place):
                raise BiasflowError(
                    f"{place} has no state for every token, so none of words; take layer[0] or the like"
                )
        return super().at(places, edits)

    def _sizes(self) -> dict[bool, int]:
        return {True: len(self.occurrences.table)}

    def _batches(self, read: Read) -> Iterator[tuple[Rows, States]]:
        text_of, _ = pd.factorize(self.occurrences.table["sentence"])
        positions = self.occurrences.table["position"].to_numpy()

        def of_words(rows: np.ndarray, texts: np.ndarray, batch: BatchEncoding) -> States:
            return read(batch, {True: (texts, positions[rows])})

        forward, options = at_occurrences(of_words, text_of), {"batch_size": self.batch_size}
        options["description"] = "states in context"
        for _, (rows, states) in over_batches(forward, self._encoded(), self.model, self.tokenizer, **options):
            yield {True: rows}, states

    def _encoded(self) -> BatchEncoding:
        """The sentences that hold occurrences, in the order of the text."""
        numbers = self.occurrences.table["sentence"].unique().tolist()
        options = {"truncation": True, "max_length": self.occurrences.max_length}
        return encode(self.tokenizer, [self.sentences[number] for number in numbers], **options)

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        second = (self.occurrences.table["gender"] == self.occurrences.groups[1]).to_numpy(copy=True)
        return {"z": torch.from_numpy(second), "pairs": None}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        renamed = {} if self.occurrences.groups == OF_WORDS else {"gender": "group"}
        tables = {"occurrences": self.occurrences.table, "counts": self.occurrences.counts}
        return {name: table.rename(columns=renamed) for name, table in tables.items()}

    @property
    def texts(self) -> list[str]:
        """The sentence of each occurrence."""
        return [self.sentences[number] for number in self.occurrences.table["sentence"]]

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
    batch_size: int,
    max_length: int,
    **options,
) -> WordStates:
    """Return the states at occurrences of `words` (masculine, feminine) in `sentences`, which are cut at max_length or
    at what the model takes, whichever is less; options: of `find_occurrences`."""
    if words is None:
        raise BiasflowError("there are no words to fit to; give words and sentences")
    limit = min(max_length, longest_input(model, tokenizer))
    occurrences = find_occurrences(tokenizer, sentences, *words, max_length=limit, **options)
    return WordStates(model, tokenizer, batch_size, sentences, occurrences)


def token_states(of_words: WordStates) -> WordStates:
    """Return the states of all tokens of the texts in which words occur, evenly thinned to as many as there are
    occurrences. They say how far an eraser moves a text, not the words it was fitted to."""
    numbers = of_words.occurrences.table["sentence"].unique()
    lengths = [len(ids) for ids in of_words._encoded()["input_ids"]]
    tokens = pd.DataFrame(
        {"sentence": np.repeat(numbers, lengths), "position": np.concatenate([*map(np.arange, lengths)])}
    )
    tokens = tokens.iloc[evenly(len(tokens), len(of_words.occurrences.table))].reset_index(drop=True)
    return replace(of_words, occurrences=replace(of_words.occurrences, table=tokens))


def with_tokens(of_words: WordStates, tokens: WordStates, places: Sequence[str]) -> tuple[States, States]:
    """Return the states at `places` of occurrences and of `token_states` of their texts, in one pass over these."""
    tables = [source.occurrences.table for source in (of_words, tokens)]
    occurrences = replace(of_words.occurrences, table=pd.concat(tables, ignore_index=True))
    states, n = replace(of_words, occurrences=occurrences).at(places), len(tables[0])
    return {place: h[:n] for place, h in states.items()}, {place: h[n:] for place, h in states.items()}


@dataclass(frozen=True)
class PairStates(PassStates):
    """The states of sentence pairs in one model: all masculine members, then all feminine ones in the same order.

    checked: the pairs, from `check_pairs`; both members of a kept pair have equally many tokens. A place with
    tokens has a row for every token of every pair, the sentence's first and last included."""

    checked: pd.DataFrame

    @cached_property
    def _encoded(self) -> list[BatchEncoding]:
        """The masculine and the feminine members."""
        pairs = self.checked[self.checked["kept"]]
        return [encode(self.tokenizer, pairs[member]) for member in OF_WORDS]

    def _sizes(self) -> dict[bool, int]:
        ids = [ids for members in self._encoded for ids in members["input_ids"]]
        return {True: sum(map(len, ids)), False: len(ids)}

    def _batches(self, read: Read) -> Iterator[tuple[Rows, States]]:
        # A batch holds the masculine members, then the feminine ones of the same pairs: equal lengths align them.
        sizes, start = self._sizes(), {True: 0, False: 0}
        masculine, feminine = self._encoded

        def of_pairs(pairs: list[int], first: BatchEncoding) -> tuple[dict[bool, int], States]:
            second = padded(feminine, pairs, self.model, self.tokenizer)
            batch = {key: torch.cat([first[key], second[key]]) for key in first}
            keep = batch["attention_mask"].bool()
            masks = {True: keep, False: torch.ones(len(keep), dtype=torch.bool)}
            return {tokens: int(states.sum()) // 2 for tokens, states in masks.items()}, read(batch, masks)

        options = {"batch_size": self.batch_size, "description": "states of sentence pairs"}
        for _, (sums, states) in over_batches(of_pairs, masculine, self.model, self.tokenizer, **options):
            rows = {}
            for tokens, n in sums.items():
                of_first = start[tokens] + np.arange(n)
                rows[tokens] = np.concatenate([of_first, of_first + sizes[tokens] // 2])
                start[tokens] += n
            yield rows, states

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        rows = torch.arange(len(X))
        return {"z": rows >= len(X) // 2, "pairs": rows.reshape(2, -1).T}

    @property
    def texts(self) -> list[str]:
        """The sentences, in the order of the rows of a place without tokens."""
        return [text for members in OF_WORDS for text in self.checked.loc[self.checked["kept"], members]]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        return {"sentence_pairs": self.checked}


def pair_states(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentence_pairs: Mapping[str, pd.DataFrame] | None,
    name: str,
    *,
    batch_size: int,
) -> PairStates:
    """Return the states of the pairs of one set (see `load_sentence_pairs`) that the encoder's tokenizer can use."""
    if sentence_pairs is None:
        raise BiasflowError("there are no sentence pairs to fit to; give sentence_pairs")

    def tokens(sentences: Sequence[str]) -> list[list[int]]:
        return encode(tokenizer, sentences)["input_ids"]

    checked = check_pairs(sentence_pairs[name], tokens, encoder=taps.name_of(model))
    return PairStates(model, tokenizer, batch_size, checked.assign(set=name))


@dataclass(frozen=True)
class SentenceStates(VectorSource):
    """The vectors at the place `sentence` of the sentences in which words occur, a row for each occurrence, or of pairs
    of sentences."""

    source: WordStates | PairStates

    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        """Return `sentence` -> float32 [n, d], with `edits` active in the model."""
        model, (rows, texts) = self.source.model, pd.factorize(np.array(self.source.texts, dtype=object))
        with edited(model, edits):
            vectors = vectors_of(model, self.source.tokenizer, texts.tolist(), batch_size=self.source.batch_size)
        return dict.fromkeys(places, vectors[rows])

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        return self.source.labels(X)

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        return self.source.tables

    @property
    def facts(self) -> Mapping[str, object]:
        return self.source.facts


@dataclass(frozen=True)
class TaskVectors(VectorSource):
    """The vectors X [n, hidden] of a task's texts at `place` of one model, their genders z [n] and classes [n]."""

    place: str
    X: torch.Tensor | np.ndarray
    z: torch.Tensor | np.ndarray
    classes: torch.Tensor | np.ndarray | None = None

    def at(self, places: Sequence[str], edits: Edits = ()) -> States:
        if list(places) != [self.place]:
            raise BiasflowError(f"the task's vectors are those at {self.place}; fit to words or pairs elsewhere")
        if tuple(edits):
            raise BiasflowError("the task's vectors are those of the unedited model; they cannot be fitted in sequence")
        return {self.place: torch.as_tensor(self.X)}

    def labels(self, X: torch.Tensor) -> dict[str, torch.Tensor | None]:
        return {"z": torch.as_tensor(self.z), "pairs": None}


def task_vectors(model: nn.Module, task: Mapping[str, TaskTexts], *, of_sentences: bool = False) -> TaskVectors:
    """Return the vectors, genders and classes of a task's texts, at the place `sentence` or at the other one of `task`
    (place of the model -> what was read there)."""
    place = next((place for place in task if (place == SENTENCE) == of_sentences), None)
    if place is None:
        raise BiasflowError("there are no such vectors of a task to fit to; give task")
    return TaskVectors(*taps.resolve(model, place), *task[place])


def allocate(shapes: Mapping[str, tuple[int, ...]]) -> States:
    """Empty float32 arrays of these shapes: in memory, or in nameless files if they are too large together.

    The files lie in the system's folder for such files (TMPDIR) and are gone with the arrays."""
    large = 4 * sum(math.prod(shape) for shape in shapes.values()) > IN_MEMORY
    return {place: _in_file(shape) if large else torch.empty(shape) for place, shape in shapes.items()}


def _in_file(shape: tuple[int, ...]) -> torch.Tensor:
    size = 4 * math.prod(shape)
    try:
        with tempfile.TemporaryFile() as file:
            reserve(file, size)
            return torch.from_numpy(np.memmap(file, dtype="float32", mode="r+", shape=shape))
    except OSError as error:
        raise BiasflowError(
            f"{tempfile.gettempdir()}: {size / 2**30:.1f} GB of hidden states cannot be kept there: {error}; free some "
            "space on that disk, or set TMPDIR to a folder on another one"
        ) from error
