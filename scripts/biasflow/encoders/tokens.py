"""Texts as a tokenizer encodes them, tokenised once: in memory, or in a file that many jobs read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.records import digest_of, digest_of_each
from biasflow.base.tensors import open_tensors, save_tensors

TOGETHER = 1000  # texts that are tokenised at once
BOUNDS, CUT = "bounds", "cut"  # arrays of the file beside the columns


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
    """The tokens of texts, or of pairs (two lists of texts); of what is longer, the tokenizer keeps max_length."""
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


def _some(texts: Sequence[Sequence[str]], rows: Iterable[int]) -> list[list[str]]:
    return [[text[row] for row in rows] for text in texts]


def save_tokens(
    path: str | Path, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, max_length: int
) -> Tokens:
    """Write the tokens of texts (see `tokenise`) as a file that says of which texts and which tokenizer they are."""
    tokens = tokenise(tokenizer, texts, max_length=max_length)
    arrays = {**tokens.columns, BOUNDS: tokens.bounds, CUT: tokens.cut}
    save_tensors(arrays, path, metadata=_origin(tokenizer, texts, max_length))
    return tokens


def load_tokens(
    path: str | Path, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, max_length: int
) -> Tokens:
    """What `tokenise` would return, from a file of `save_tokens`; its arrays stay on the disk until they are used.

    BiasflowError for a damaged file, and for one of another tokenizer, other texts or another length."""
    with open_tensors(path, "file of tokens", framework="pt") as file:
        metadata = file.metadata() or {}
        arrays = {name: file.get_tensor(name).numpy() for name in sorted(file.keys())}
    for name, value in _origin(tokenizer, texts, max_length).items():
        if metadata.get(name) != value:
            raise BiasflowError(f"{path}: the tokens are those of another {name}; delete the file and run again.")
    return Tokens(arrays, arrays.pop(BOUNDS), arrays.pop(CUT))


def _origin(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], max_length: int) -> dict[str, str]:
    """All that decides the tokens of texts, by digests."""
    return {
        "tokenizer": digest_of(_state(tokenizer)),
        "text": digest_of_each(texts),
        "max_length": str(max_length),
    }


def _state(tokenizer: PreTrainedTokenizerBase) -> dict[str, object]:
    """What a tokenizer makes of a text, without the options of its latest call, which a fast one keeps."""
    fast = tokenizer.is_fast
    state = json.loads(tokenizer.backend_tokenizer.to_str()) if fast else {"vocabulary": tokenizer.get_vocab()}
    attributes = {name: getattr(tokenizer, name) for name in ("model_input_names", "truncation_side")}
    return {**state, **attributes, "truncation": None, "padding": None}
