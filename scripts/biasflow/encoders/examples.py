"""Next-sentence pairs, blocks of running text and masked tokens, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.encoders.batches import grouped_by_length

IGNORED = -100  # label of a position that the masked-LM loss leaves out
IS_NEXT, IS_RANDOM = 0, 1  # transformers' labels of the next-sentence head
SPECIAL_TOKENS_PER_PAIR = 3


@dataclass(frozen=True)
class Sentences:
    """A tokenised corpus without nested lists: token ids end to end, where sentences start, where documents start.

    ids [tokens]; starts [sentences + 1], offsets into ids; documents [documents + 1], offsets into starts."""

    ids: np.ndarray
    starts: np.ndarray
    documents: np.ndarray

    @classmethod
    def from_ids(cls, sentences: Sequence[Sequence[int]], documents: Sequence[int]) -> "Sentences":
        """From the token ids of all sentences and the number of sentences of each document."""
        ids = np.fromiter(chain.from_iterable(sentences), dtype=np.int32)
        lengths = np.array([len(sentence) for sentence in sentences])
        return cls(ids, np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([[0], np.cumsum(documents)]))

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, documents: Sequence[Sequence[str]]) -> "Sentences":
        """The tokens of documents, which are lists of sentences."""
        flat = [sentence for document in documents for sentence in document]
        ids = tokenizer(flat, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
        return cls.from_ids(ids, [len(document) for document in documents])


@dataclass(frozen=True)
class Pairs:
    """Next-sentence examples as spans of Sentences.ids: a, b [pairs, 2] (start, end), label [pairs] (0 = is next)."""

    a: np.ndarray
    b: np.ndarray
    label: np.ndarray

    def __len__(self) -> int:
        return len(self.label)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each pair with [CLS] and two [SEP]."""
        return np.diff(self.a).ravel() + np.diff(self.b).ravel() + SPECIAL_TOKENS_PER_PAIR


def draw_pairs(sentences: Sentences, *, n: int, max_length: int, rng: np.random.Generator) -> Pairs:
    """n next-sentence pairs, half of them true (Devlin et al. 2019, section 3.1), in as many passes as that takes.

    Each segment is a run of whole sentences of a document, up to a budget drawn from 1 to half of max_length (at least
    one sentence, cut at half), so that single sentences and long passages both occur; a document of two sentences
    gives its first and its second. A false pair gets the second segment of another document's pair: either segment
    looks the same in true and in false pairs, and only their relation tells."""
    passes = []
    while sum(len(label) for *_, label in passes) < n:
        passes.append(_one_pass(sentences, max_length, rng))
    a, b, label = (np.concatenate(parts)[:n] for parts in zip(*passes, strict=True))
    return Pairs(a, b, label)


def by_length(pairs: Pairs, *, batch_size: int, rng: np.random.Generator) -> Pairs:
    """Return the same pairs in the order of `grouped_by_length`."""
    order = grouped_by_length(pairs.lengths, batch_size=batch_size, rng=rng)
    return Pairs(pairs.a[order], pairs.b[order], pairs.label[order])


def _one_pass(sentences: Sentences, max_length: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    half = (max_length - SPECIAL_TOKENS_PER_PAIR) // 2
    segments, document = _segments(sentences, half, rng)
    order = rng.permutation(len(document))
    segments, document = segments[order], document[order]
    label = rng.permutation(np.arange(len(document)) % 2)  # half of them, not half on average
    a, b = segments[:, 0], segments[:, 1].copy()
    false = np.flatnonzero(label == IS_RANDOM)
    other = _from_other_documents(document, false, rng)
    b[false] = segments[other, 1]
    return a, b, label


def _segments(sentences: Sentences, half: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Spans [pairs, (a, b), (start, end)] of neighbouring segments in one pass over the corpus, and their documents."""
    spans, document = [], []
    starts = sentences.starts
    for number, (first, end) in enumerate(zip(sentences.documents[:-1], sentences.documents[1:], strict=True)):
        position = first
        while end - position >= 2:
            budget_a, budget_b = rng.integers(1, half + 1, size=2)
            middle = max(position + 1, min(_last_within(starts, position, budget_a), end - 1))
            stop = max(middle + 1, min(_last_within(starts, middle, budget_b), end))
            segments = (position, middle), (middle, stop)
            spans.append([(starts[at], min(starts[to], starts[at] + half)) for at, to in segments])
            document.append(number)
            position = stop
    return np.array(spans), np.array(document)


def _last_within(starts: np.ndarray, position: int, budget: int) -> int:
    """The number of the sentence before which `budget` tokens, counted from sentence `position`, are used up."""
    return int(np.searchsorted(starts, starts[position] + budget, side="right")) - 1


def _from_other_documents(document: np.ndarray, of: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each example in `of` one of another document, drawn uniformly (again where the document is the same)."""
    other = rng.integers(len(document), size=len(of))
    while (same := document[other] == document[of]).any():
        other[same] = rng.integers(len(document), size=same.sum())
    return other


def pack(
    sentences: Sentences, pairs: Pairs, chosen: np.ndarray, tokenizer: PreTrainedTokenizerBase
) -> dict[str, np.ndarray]:
    """Arrays [batch, longest] of the pairs: input_ids `[CLS] a [SEP] b [SEP]`, token_type_ids, attention_mask; and
    next_sentence_label [batch]."""
    cls, sep, pad = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    a, b = pairs.a[chosen], pairs.b[chosen]
    length_a, length_b = (a[:, 1] - a[:, 0])[:, None], (b[:, 1] - b[:, 0])[:, None]
    column = np.arange(int((length_a + length_b).max()) + SPECIAL_TOKENS_PER_PAIR)[None, :]
    in_a = (column >= 1) & (column <= length_a)
    in_b = (column >= length_a + 2) & (column <= length_a + length_b + 1)
    source = np.where(in_a, a[:, :1] + column - 1, b[:, :1] + column - length_a - 2)
    ids = np.where(in_a | in_b, sentences.ids[np.clip(source, 0, len(sentences.ids) - 1)], pad)
    ids[:, 0] = cls
    ids = np.where((column == length_a + 1) | (column == length_a + length_b + 2), sep, ids)
    attention = column <= length_a + length_b + 2
    return {
        "input_ids": ids.astype(np.int64),
        "token_type_ids": ((column >= length_a + 2) & attention).astype(np.int64),
        "attention_mask": attention.astype(np.int64),
        "next_sentence_label": pairs.label[chosen],
    }


def mask_tokens(
    input_ids: np.ndarray, tokenizer: PreTrainedTokenizerBase, *, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Masked input ids and labels, both like input_ids (Devlin et al. 2019, section 3.1).

    Each token that is not special is chosen with probability `share`; a chosen one becomes [MASK] (80 %), a random
    token (10 %) or stays (10 %), and is its own label; all other labels are IGNORED."""
    special = tokenizer.all_special_ids
    draw = rng.random(input_ids.shape)
    chosen = (draw < share) & ~np.isin(input_ids, special)
    labels = np.where(chosen, input_ids, IGNORED)
    masked = np.where(chosen & (draw < 0.8 * share), tokenizer.mask_token_id, input_ids)
    replaced = chosen & (draw >= 0.8 * share) & (draw < 0.9 * share)
    masked[replaced] = rng.choice(np.setdiff1d(np.arange(len(tokenizer)), special), size=replaced.sum())
    return masked, labels


def masked_batch(
    arrays: dict[str, np.ndarray], tokenizer: PreTrainedTokenizerBase, *, share: float, rng: np.random.Generator
) -> dict[str, torch.Tensor]:
    """A batch of tensors with `mask_tokens` of its input_ids, and their labels."""
    ids, labels = mask_tokens(arrays["input_ids"], tokenizer, share=share, rng=rng)
    return {key: torch.from_numpy(value) for key, value in {**arrays, "input_ids": ids, "labels": labels}.items()}


def blocks_of(tokenizer: PreTrainedTokenizerBase, text: str, *, max_length: int) -> np.ndarray:
    """The text as one stream of pieces, cut into blocks with special tokens around each: ids [blocks, max_length].

    A block holds max_length - 2 pieces ([CLS] and [SEP]): 510 for BERT. Sentences and articles run on; what fills no
    block is dropped, as in the released script of Liang et al. (2020). BiasflowError: a max_length without room for a
    piece, or a text shorter than a block."""
    before, after = special_tokens(tokenizer)
    size = max_length - 2
    if size < 1:
        raise BiasflowError(f"max_length: {max_length} leaves no room between the special tokens; give at least 3.")
    ids = np.array(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], dtype=np.int64)
    n_blocks = len(ids) // size
    if not n_blocks:
        raise BiasflowError(
            f"the text has {len(ids)} tokens, fewer than one block of {size}; give more text or lower max_length."
        )
    blocks = ids[: n_blocks * size].reshape(n_blocks, size)
    return np.pad(blocks, ((0, 0), (1, 1)), constant_values=((0, 0), (before, after)))


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int]:
    """The tokens that the tokenizer puts before and after a text: [CLS] and [SEP] of BERT, <s> and </s> of RoBERTa."""
    around = tokenizer("")["input_ids"]
    if len(around) != 2:
        raise BiasflowError(f"the tokenizer puts {len(around)} special tokens around a text; use one that puts 2.")
    return around[0], around[1]
