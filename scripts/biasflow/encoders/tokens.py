"""Texts as a tokenizer encodes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError

TOGETHER = 1000  # texts that are tokenised at once


@dataclass(frozen=True)
class Tokens:
    """n texts (or pairs of texts) as tokens, special ones included, cut where they are too long.

    columns: what the tokenizer says of every token, by name (input_ids, attention_mask ...), one text after the other;
    bounds [n + 1]: where each text begins, and the last one ends; cut [n]: whether it was too long."""

    columns: Mapping[str, np.ndarray]
    bounds: np.ndarray
    cut: np.ndarray

    def __len__(self) -> int:
        return len(self.cut)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, [n]."""
        return np.diff(self.bounds)

    def of(self, row: int) -> dict[str, list[int]]:
        """The columns of one text, as the tokenizer gives them."""
        place = slice(self.bounds[row], self.bounds[row + 1])
        return {name: column[place].tolist() for name, column in self.columns.items()}

    def of_all(self, rows: Iterable[int]) -> dict[str, list[list[int]]]:
        """The columns of several texts, as the tokenizer gives them."""
        encoded = [self.of(row) for row in rows]
        return {name: [of_text[name] for of_text in encoded] for name in self.columns}


def tokenise(tokenizer: PreTrainedTokenizerBase, *texts: Sequence[str], max_length: int) -> Tokens:
    """The tokens of texts, or of pairs (two lists of texts); of what is longer, the tokenizer keeps max_length.

    BiasflowError for pairs whose texts nothing would separate."""
    if len(texts) > 1:
        _check_pairs(tokenizer)
    parts: list[dict[str, np.ndarray]] = []
    lengths = np.zeros(len(texts[0]), dtype=np.int64)
    for start in range(0, len(lengths), TOGETHER):
        rows = range(start, min(start + TOGETHER, len(lengths)))
        encoded = tokenizer(*_some(texts, rows), truncation=True, max_length=max_length)
        lengths[rows] = [len(ids) for ids in encoded["input_ids"]]
        parts.append({name: np.fromiter(chain(*column), np.int32) for name, column in encoded.items()})
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    full = np.flatnonzero(lengths == max_length)  # only these can have been cut
    cut = np.zeros(len(lengths), dtype=bool)
    for start in range(0, len(full), TOGETHER):
        rows = full[start : start + TOGETHER]
        uncut = tokenizer(*_some(texts, rows), truncation=False, verbose=False)
        cut[rows] = [len(ids) > max_length for ids in uncut["input_ids"]]
    return Tokens(
        {name: column.astype(np.min_scalar_type(column.max())) for name, column in columns.items()},
        np.concatenate([[0], np.cumsum(lengths)]),
        cut,
    )


def _check_pairs(tokenizer: PreTrainedTokenizerBase) -> None:
    """BiasflowError for a tokenizer that puts special tokens around a text, and fewer around two: a post_processor
    says each by itself, and where it is made without a template for pairs it has one of the texts alone."""
    (around,), (of_pair,) = (tokenizer(*texts)["input_ids"] for texts in ([[""]], [[""], [""]]))
    if len(around) == 2 and (len(of_pair) < 3 or [of_pair[0], of_pair[-1]] != around):
        raise BiasflowError(
            f"{tokenizer.name_or_path}: the tokenizer puts special tokens around a text, and not around and between "
            "the two of a pair; mend the template for pairs (the key pair of post_processor in tokenizer.json)"
        )


def _some(texts: Sequence[Sequence[str]], rows: Iterable[int]) -> list[list[str]]:
    return [[text[row] for row in rows] for text in texts]
