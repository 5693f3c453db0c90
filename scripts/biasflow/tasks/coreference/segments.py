"""Documents as an encoder reads them: words are split into pieces, pieces into segments that are encoded separately.

Every word is tokenised alone, so that pieces and words are always aligned. A segment holds whole sentences while they
fit, and is cut between words where one sentence is too long (within a word where even that is)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import Clusters, Document, plain_word, without_singletons

SPECIAL = 2  # tokens that a segment has beside its pieces: one before, one after
GENRES = ("bc", "bn", "mz", "nw", "pt", "tc", "wb")  # of OntoNotes: the first letters of a document's key
UNKNOWN_GENRE = len(GENRES)
CUT = ("ids", "words", "sentences", "speakers")  # fields of which a window has a slice
NO_MENTIONS = torch.empty(0, 2, dtype=torch.long)


@dataclass(frozen=True)
class Pieces:
    """A document, or a window of its segments, in n pieces (whole numbers on the processor).

    ids       their numbers in the vocabulary, [n]
    words, sentences, speakers  the number of each piece's word, sentence and speaker in the document, [n]
    segments  the number of each piece's segment, from 0 without a gap, [n]
    genre     a number in GENRES, or UNKNOWN_GENRE
    mentions  first and last piece of the gold mentions, [m, 2]; clusters: the number of each one's cluster, [m]
    start     where the first piece is when the pieces of all documents stand in one row"""

    ids: torch.Tensor
    words: torch.Tensor
    sentences: torch.Tensor
    speakers: torch.Tensor
    segments: torch.Tensor
    genre: int
    mentions: torch.Tensor
    clusters: torch.Tensor
    start: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_segments(self) -> int:
        """The number of segments."""
        return int(self.segments[-1]) + 1 if len(self) else 0

    def window(self, first: int, count: int) -> Self:
        """Return `count` segments from number `first` on, with the gold mentions that lie in them."""
        begin, end = np.searchsorted(self.segments.numpy(), [first, first + count]).tolist()
        inside = (self.mentions[:, 0] >= begin) & (self.mentions[:, 1] < end)
        cut = {name: getattr(self, name)[begin:end] for name in CUT}
        return replace(
            self,
            **cut,
            segments=self.segments[begin:end] - first,
            mentions=self.mentions[inside] - begin,
            clusters=self.clusters[inside],
            start=self.start + begin,
        )

    def random_window(self, most: int, rng: np.random.Generator) -> Self:
        """Return the whole document, or `most` of its segments at a place drawn from `rng`."""
        if self.n_segments <= most:
            return self
        return self.window(int(rng.integers(self.n_segments - most + 1)), most)

    def word_clusters(self, clusters: Sequence[Sequence[tuple[int, int]]]) -> Clusters:
        """Turn clusters of piece spans into clusters of word spans; a span that comes twice is kept where it comes
        first, and a cluster that is left with one is left out."""
        words, seen, result = self.words.tolist(), set(), []
        for cluster in clusters:
            spans = dict.fromkeys((words[first], words[last]) for first, last in cluster)
            new = [span for span in spans if span not in seen]
            seen.update(new)
            if len(new) > 1:
                result.append(tuple(sorted(new)))
        return tuple(sorted(result))


def with_words(documents: Sequence[Pieces]) -> list[Pieces]:
    """Return the documents with at least one piece, which can be trained on; BiasflowError if there is none."""
    result = [document for document in documents if len(document)]
    if not result:
        raise BiasflowError("coreference: no document contains a word; give documents with text.")
    return result


def in_one_row(documents: Sequence[Pieces]) -> Pieces:
    """Neighbours in one row (`Pieces.start`) as if they were one document, to be encoded together: their segments after
    one another, no gold mentions. Words, sentences and speakers keep the numbers that they have in their documents, and
    the genre is that of the first one."""
    before = np.cumsum([0, *(document.n_segments for document in documents[:-1])]).tolist()
    numbers = {name: torch.cat([getattr(pieces, name) for pieces in documents]) for name in CUT}
    segments = torch.cat([pieces.segments + number for pieces, number in zip(documents, before, strict=True)])
    return replace(documents[0], **numbers, segments=segments, mentions=NO_MENTIONS, clusters=NO_MENTIONS[:, 0])


@dataclass(frozen=True)
class Segmenter:
    """Turns documents into `Pieces`.

    length             most tokens of a segment, the two special ones included
    word_prefix_space  whether a word is tokenised with the space before it, as in running text; of consequence for
                       byte-level vocabularies alone, which have other pieces for a word without one"""

    tokenizer: PreTrainedTokenizerBase
    length: int
    word_prefix_space: bool = True

    def __post_init__(self) -> None:
        if self.length <= SPECIAL:
            raise BiasflowError(
                f"segments of {self.length} tokens leave no room for words ({SPECIAL} are special); raise the length."
            )

    def __call__(self, documents: Sequence[Document]) -> list[Pieces]:
        """Return the pieces of every document, without clusters of one mention."""
        vocabulary = self._words({word for document in documents for word in document.words})
        result: list[Pieces] = []
        for document in documents:
            start = result[-1].start + len(result[-1]) if result else 0
            result.append(self._pieces(document, [vocabulary[word] for word in document.words], start))
        return result

    def _words(self, words: set[str]) -> dict[str, list[int]]:
        """The pieces of each word; one that the tokenizer has no piece for becomes its unknown piece, and its own mask
        is one piece, which has no space before it."""
        ordered = sorted(words)
        if not ordered:
            return {}
        texts = [f"{' ' if self.word_prefix_space else ''}{plain_word(word)}" for word in ordered]
        ids = self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
        unknown = [self.tokenizer.unk_token_id]
        by_word = {word: list(pieces) or unknown for word, pieces in zip(ordered, ids, strict=True)}
        mask = self.tokenizer.mask_token
        return by_word | ({mask: [self.tokenizer.mask_token_id]} if mask in words else {})

    def _pieces(self, document: Document, pieces: Sequence[Sequence[int]], start: int) -> Pieces:
        sizes = np.array([len(word) for word in pieces], dtype=np.int64)
        words = np.repeat(np.arange(len(sizes)), sizes)
        sentences = np.asarray(document.sentences, dtype=np.int64)[words]
        ends = np.cumsum(sizes)
        gold = without_singletons(document.clusters)
        mentions = [(ends[first] - sizes[first], ends[last] - 1) for cluster in gold for first, last in cluster]
        speakers = {speaker: number for number, speaker in enumerate(dict.fromkeys(document.speakers))}
        genre = document.key.partition("/")[0]
        return Pieces(
            ids=torch.tensor([id for word in pieces for id in word], dtype=torch.long),
            words=torch.from_numpy(words),
            sentences=torch.from_numpy(sentences),
            speakers=torch.tensor([speakers[name] for name in document.speakers], dtype=torch.long)[words],
            segments=torch.from_numpy(segment_numbers(sentences, words, self.length - SPECIAL)),
            genre=GENRES.index(genre) if genre in GENRES else UNKNOWN_GENRE,
            mentions=torch.tensor(np.array(mentions, dtype=np.int64).reshape(-1, 2)),
            clusters=torch.tensor([number for number, cluster in enumerate(gold) for _ in cluster], dtype=torch.long),
            start=start,
        )


def segment_numbers(sentences: np.ndarray, words: np.ndarray, most: int) -> np.ndarray:
    """Return the segment of every piece, [n], given the sentence and the word of each; a segment has at most `most`
    pieces.

    It ends with the last sentence that fits; else with the last word that fits; else where it is full."""
    n = len(words)
    ends_sentence, ends_word = (np.append(np.diff(unit) != 0, True) for unit in (sentences, words))
    numbers, begin = np.empty(n, dtype=np.int64), 0
    number = 0
    while begin < n:
        full = min(begin + most, n)
        fits = (np.flatnonzero(ends[begin:full]) for ends in (ends_sentence, ends_word))
        end = next((begin + int(ends_within[-1]) + 1 for ends_within in fits if len(ends_within)), full)
        numbers[begin:end] = number
        begin, number = end, number + 1
    return numbers


@dataclass(frozen=True)
class SpecialTokens:
    """The numbers of the tokens before and after a segment, and of padding."""

    before: int
    after: int
    padding: int

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase) -> Self:
        """Read them from a tokenizer; BiasflowError if it lacks one."""
        ids = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
        if None in ids:
            raise BiasflowError(
                f"{tokenizer.name_or_path}: the tokenizer has no cls_token, sep_token or pad_token, between which "
                "segments of documents are read; use another encoder for coreference"
            )
        return cls(*ids)

    def batch(self, pieces: Pieces) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """All segments of a document of at least one piece as a padded batch: ids, attention mask, and which of the
        tokens are the document's pieces, each [segments, longest]."""
        sizes = torch.bincount(pieces.segments)[:, None]
        columns = torch.arange(int(sizes.max()) + SPECIAL)
        mask, inside = columns < sizes + SPECIAL, (columns > 0) & (columns <= sizes)
        ids = torch.full(mask.shape, self.padding)
        ids[:, 0] = self.before
        ids[inside] = pieces.ids
        ids[columns == sizes + 1] = self.after
        return ids, mask.long(), inside
