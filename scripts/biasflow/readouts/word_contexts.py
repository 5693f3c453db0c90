"""Words in their contexts: a random sample of each word's occurrences in a corpus, and their vectors (CEAT).

The contexts belong to a corpus and a vocabulary, not to an encoder: they are found once, saved as a table, and used for
every encoder with that vocabulary."""

import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import read_parquet
from biasflow.encoders.batches import (
    Result,
    at_occurrences,
    encode,
    over_batches,
    require_offsets,
)
from biasflow.encoders.device import half
from biasflow.encoders.taps import last_state

COLUMNS = ["word", "text", "start", "end"]
WORD, RUN = re.compile(r"\w+"), re.compile(r"\S+")
BLOCK = 1000  # texts that are tokenised at once
LINES = 1_000_000  # texts between two lines in the log


@dataclass(frozen=True)
class WordContexts:
    """Occurrences of words in texts that an encoder takes whole.

    table: a row per occurrence: word (as listed), text (around it), start, end (its characters in the text), words in
    the order of the list. counts: a row per word: word, found (occurrences in what was read), used (rows in `table`).
    dropped: words without an occurrence, or that the vocabulary lacks. parts, texts: how many of them were read."""

    table: pd.DataFrame
    counts: pd.DataFrame
    dropped: tuple[str, ...]
    parts: int
    texts: int


def find_word_contexts(
    tokenizer: PreTrainedTokenizerBase,
    parts: Iterable[Iterable[str]],
    words: Sequence[str],
    *,
    per_word: int = 10_000,
    seed: int = 0,
    max_length: int = 128,
) -> WordContexts:
    """Up to `per_word` occurrences of each word, a uniform sample of all its occurrences in what is read of a corpus.

    A corpus has parts (files), and these have texts. They are read once, one text at a time. When a part has been read
    to its end and every word that the vocabulary has occurred `per_word` times, the rest is not asked for: a sample is
    one of whole parts, whatever stands first in them. Memory is that of the sample: `per_word` times the words, each
    with up to 2 max_length + 1 space-separated words of text.

    Each word has a reservoir of its own (algorithm R, Vitter 1985; the released code keeps the n-th occurrence with
    probability per_word / (n + 1) instead of per_word / n), seeded by `seed` and the word: its sample does not depend
    on which others are asked for, unless more of the corpus is read for these.

    An occurrence is a run of letters, digits and underscores that equals the word: "he" in "he's" and "(He)", not in
    "the". Case is that of the tokenizer. If it lower-cases, any case matches, so that "bill" counts for the name Bill:
    the encoder could not tell them apart either. If it does not, a word occurs as listed or with its first letter
    capitalised, as at the start of a sentence; names and NASA only as listed.

    The text kept is as much around the word, cut between space-separated words, as makes at most `max_length` tokens,
    special ones included. The word keeps the space before it, with which byte-level vocabularies begin a word.

    words: each once, of letters, digits and underscores. BiasflowError: no text, a tokenizer without character offsets,
    and where none of the words occurs."""
    require_offsets(tokenizer)
    ignore_case = lower_cases(tokenizer)
    forms = _forms(tokenizer, words, ignore_case)
    reservoirs = {word: _Reservoir(per_word, np.random.default_rng([seed, *word.encode()])) for word in words}
    read, texts = _sample(parts, forms, reservoirs, max_length, ignore_case)  # a word has at least one token
    if not texts:
        raise BiasflowError("word contexts: the corpus holds no text.")

    counts = pd.DataFrame({"word": list(words)})
    counts["found"] = [reservoir.seen for reservoir in reservoirs.values()]
    dropped = tuple(counts["word"][counts["found"] == 0])
    if len(dropped) == len(words):
        raise BiasflowError(
            f"word contexts: no occurrence in {texts} texts of {', '.join(words)}; give more text, or other words."
        )
    kept = [(word, *context) for word, reservoir in reservoirs.items() for context in reservoir.kept]
    table = pd.DataFrame(_shortened(tokenizer, kept, max_length), columns=COLUMNS)
    counts["used"] = counts["word"].map(table["word"].value_counts()).fillna(0).astype(int)
    return WordContexts(table, counts, dropped, read, texts)


def lower_cases(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer takes upper-case letters for lower-case ones."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    return normalizer is not None and normalizer.normalize_str("A") == "a"


def read_word_contexts(path: str | Path) -> pd.DataFrame:
    """The `table` of WordContexts from a Parquet file; BiasflowError names a file that holds no such table."""
    table = read_parquet(path)
    if list(table.columns) != COLUMNS:
        raise BiasflowError(f"{path}: columns {', '.join(table.columns)}; contexts have {', '.join(COLUMNS)}.")
    wrong = ~((table["start"] >= 0) & (table["start"] < table["end"]) & (table["end"] <= table["text"].str.len()))
    if wrong.any():
        raise BiasflowError(f"{path}: row {wrong.argmax()} (from 0): the word lies outside its text; make it again.")
    return table


def by_word(contexts: pd.DataFrame, vectors: np.ndarray) -> dict[str, np.ndarray]:
    """word -> its rows of vectors [n, d], which are those of `contexts`."""
    words, names = pd.factorize(contexts["word"])
    return {name: vectors[words == number] for number, name in enumerate(names)}


def word_batches(
    read: Callable[[Callable[[], torch.Tensor]], Result],
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    contexts: pd.DataFrame,
    *,
    batch_size: int = 64,
) -> Iterator[tuple[np.ndarray, Result]]:
    """The occurrences in batches: (numbers of rows of `contexts`, what `read` returns). It is given a function that
    runs the model on their texts and returns their states in the last layer, float32 [rows, d] on its device.

    contexts: the `table` of WordContexts, found with a tokenizer like this one. The state is that of the word's last
    token, as released. A text that holds several of the words is encoded once; texts are batched by length, with
    special tokens; the encoder runs without a head, on a GPU in half precision. BiasflowError: a word that the
    tokenizer does not find in its text."""
    require_offsets(tokenizer)
    text_of, texts = pd.factorize(contexts["text"])
    encoded, tokens = _last_tokens(tokenizer, list(texts), contexts, text_of)

    def of_words(rows: np.ndarray, sentences: np.ndarray, batch: BatchEncoding) -> Result:
        return read(partial(_states_at, model, batch, sentences, tokens[rows]))

    options = {"batch_size": batch_size, "description": "words in context"}
    for _, occurrences in over_batches(at_occurrences(of_words, text_of), encoded, model, tokenizer, **options):
        yield occurrences


def _states_at(model: nn.Module, batch: BatchEncoding, sentences: np.ndarray, tokens: np.ndarray) -> torch.Tensor:
    with half(model.device):
        return last_state(model, **batch)[sentences, tokens].float()


Context = tuple[str, int, int]  # text, start, end


@dataclass
class _Reservoir:
    """Algorithm R: after n offers each of them is kept with probability min(1, size / n)."""

    size: int
    rng: np.random.Generator
    seen: int = 0
    kept: list[Context] = field(default_factory=list)

    def offer(self, text: str, runs: Callable[[], Sequence[tuple[int, int]]], word: re.Match, window: int) -> None:
        """Keep an occurrence of the word with its context (`_windowed`), or pass it over."""
        self.seen += 1
        place = len(self.kept) if self.seen <= self.size else int(self.rng.random() * self.seen)
        if place < self.size:
            self.kept[place : place + 1] = [_windowed(text, runs(), *word.span(), window)]


def _forms(tokenizer: PreTrainedTokenizerBase, words: Iterable[str], ignore_case: bool) -> dict[str, list[str]]:
    """What stands in a text (lower-cased if `ignore_case`) -> the listed words that it is an occurrence of.

    Spellings that the vocabulary lacks are left out."""
    forms: dict[str, list[str]] = {}
    for word in words:
        for spelling in {word.lower()} if ignore_case else {word, word[0].upper() + word[1:]}:
            if tokenizer.unk_token_id not in tokenizer(spelling, add_special_tokens=False)["input_ids"]:
                forms.setdefault(spelling, []).append(word)
    return forms


def _sample(
    parts: Iterable[Iterable[str]],
    forms: dict[str, list[str]],
    reservoirs: dict[str, _Reservoir],
    window: int,
    ignore_case: bool,
) -> tuple[int, int]:
    """Offer the occurrences to the reservoirs of their words; stop after a part with which all that can be are full.
    How many parts, and how many texts, were read."""
    logger, texts, number = logging.getLogger("biasflow"), 0, 0
    fillable = {word for some in forms.values() for word in some}
    for number, part in enumerate(parts, start=1):
        for text in part:
            runs = cache(partial(_runs, text))
            for match in WORD.finditer(text):
                for word in forms.get(match.group().lower() if ignore_case else match.group(), ()):
                    reservoirs[word].offer(text, runs, match, window)
            texts += 1
            if texts % LINES == 0:
                logger.info("word contexts: %d texts read", texts)
        lacking = [word for word in fillable if reservoirs[word].seen < reservoirs[word].size]
        logger.info("word contexts: part %d read; %d words occurred too seldom so far", number, len(lacking))
        if not lacking:
            break
    return number, texts


def _runs(text: str) -> list[tuple[int, int]]:
    """Where each space-separated word of a text begins and ends."""
    return [run.span() for run in RUN.finditer(text)]


def _windowed(text: str, runs: Sequence[tuple[int, int]], start: int, end: int, window: int) -> Context:
    """The text of the runs (space-separated words) at most `window` before and after that of the word."""
    middle = _run_at(runs, start)
    first = runs[max(0, middle - window)][0]
    last = runs[min(len(runs) - 1, middle + window)][1]
    return _cut(text, first, last, start, end)


def _run_at(runs: Sequence[tuple[int, int]], place: int) -> int:
    """The number of the run that holds the character."""
    return bisect_right(runs, place, key=itemgetter(0)) - 1


def _cut(text: str, first: int, last: int, start: int, end: int) -> Context:
    """text[first:last] with one blank before it if there is one in the text."""
    first -= first > 0 and text[first - 1].isspace()
    return text[first:last], start - first, end - first


def _shortened(
    tokenizer: PreTrainedTokenizerBase, contexts: Sequence[tuple[str, str, int, int]], max_length: int
) -> Iterator[tuple[str, str, int, int]]:
    """The contexts with texts of at most max_length tokens; BiasflowError for a word that is longer than that alone."""
    for block in range(0, len(contexts), BLOCK):
        some = contexts[block : block + BLOCK]
        encoded = encode(tokenizer, [text for _, text, _, _ in some], return_offsets_mapping=True)
        for (word, *context), offsets in zip(some, encoded["offset_mapping"], strict=True):
            fits = len(offsets) <= max_length
            yield (word, *(context if fits else _fitted(tokenizer, context, offsets, word, max_length)))


def _fitted(
    tokenizer: PreTrainedTokenizerBase,
    context: Context,
    offsets: Sequence[tuple[int, int]],
    word: str,
    max_length: int,
) -> Context:
    """The widest window of runs around the word, the same on both sides as far as the text goes, of max_length tokens.

    How wide is reckoned from the tokens of each run in the whole text (offsets: their characters), and then tried: at
    the edges of a window a run may have other tokens than within the text."""
    text, start, end = context
    runs = _runs(text)
    ends = [last - 1 for first, last in offsets if first < last]  # special tokens have no characters
    run_of = np.searchsorted([first for first, _ in runs], ends, "right") - 1
    run_of = np.maximum(run_of, 0)  # blanks before the first run may be tokens of their own
    tokens_before = np.concatenate([[0], np.cumsum(np.bincount(run_of, minlength=len(runs)))])
    middle, windows = _run_at(runs, start), np.arange(len(runs))
    first, last = np.maximum(middle - windows, 0), np.minimum(middle + windows, len(runs) - 1)
    lengths = tokens_before[last + 1] - tokens_before[first] + tokenizer.num_special_tokens_to_add()
    excess = 0
    while True:
        window = max(0, int(np.searchsorted(lengths, max_length - excess, "right")) - 1)
        fitted = _windowed(text, runs, start, end, window)
        too_many = _tokens(tokenizer, fitted[0]) - max_length
        if too_many <= 0:
            return fitted
        if window == 0:
            break
        excess += too_many
    alone = _cut(text, start, end, start, end)  # what is joined to the word, as in a web address, goes as well
    if _tokens(tokenizer, alone[0]) > max_length:
        raise BiasflowError(f"word contexts: {word!r} alone has more than max_length {max_length} tokens; raise it.")
    return alone


def _tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> int:
    return len(tokenizer(text)["input_ids"])


def _last_tokens(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], contexts: pd.DataFrame, text_of: np.ndarray
) -> tuple[BatchEncoding, np.ndarray]:
    """The tokens of the texts, and the number of every occurrence's last one: [n]."""
    encoded, last_tokens = encode(tokenizer, texts), np.empty(len(contexts), dtype=int)
    places = zip(text_of, contexts["word"], contexts["start"], contexts["end"], strict=True)
    for row, (number, word, start, end) in enumerate(places):
        first, last = encoded.char_to_token(number, start), encoded.char_to_token(number, end - 1)
        if None in (first, last) or tokenizer.unk_token_id in encoded["input_ids"][number][first : last + 1]:
            raise BiasflowError(
                f"word contexts: the tokenizer does not know {word!r} in {texts[number]!r}; find the contexts again "
                "with this tokenizer."
            )
        last_tokens[row] = last
    return encoded, last_tokens
