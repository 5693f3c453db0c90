"""Probabilities of wanted tokens in texts with masks: what every readout of a masked-LM head is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
import torch
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.by_name import module_named
from biasflow.base.errors import AbsentError
from biasflow.base.sample import names_of, sampled
from biasflow.encoders.attention import attention_received
from biasflow.encoders.batches import at_occurrences, encode
from biasflow.encoders.masked_lm import log_p_of, outputs_at
from biasflow.readouts.reader import Reader
from biasflow.readouts.source import Source

Made = TypeVar("Made")


@dataclass(frozen=True)
class Cloze:
    """A text as token ids, special tokens and masks among them, and the `tokens` that are wanted at the positions `at`
    (from 0). A position that is not masked is asked for what stands there."""

    ids: tuple[int, ...]
    at: tuple[int, ...]
    tokens: tuple[int, ...]


def masked(ids: Sequence[int], at: Sequence[int], mask: int) -> Cloze:
    """The tokens at the positions `at`, all of them masked at once."""
    text = list(ids)
    for place in at:
        text[place] = mask
    return Cloze(tuple(text), tuple(at), tuple(ids[place] for place in at))


def unmasked(ids: Sequence[int], at: Sequence[int]) -> Cloze:
    """The tokens at the positions `at` where they stand, none of them masked."""
    return Cloze(tuple(ids), tuple(at), tuple(ids[place] for place in at))


def one_by_one(ids: Sequence[int], at: Sequence[int], mask: int) -> list[Cloze]:
    """The tokens at the positions `at`, one cloze for each, in which it alone is masked."""
    return [masked(ids, [place], mask) for place in at]


def within_words(
    ids: Sequence[int], at: Sequence[int], words: Sequence[int | None], mask: int, *, alone: bool
) -> list[Cloze]:
    """The tokens at the positions `at`, one cloze for each, in which it is masked with the later tokens of its word
    (Kauf & Ivanova 2023), and unless it is `alone` with all tokens at `at` that are of other words.

    words: the number of each token's word. Where all words are one token, these are `one_by_one`, or all masked at
    once."""
    clozes = []
    for place in at:
        later = [other for other in range(place, len(ids)) if words[other] == words[place]]
        others = [] if alone else [other for other in at if words[other] != words[place]]
        clozes.append(Cloze(masked(ids, [*others, *later], mask).ids, (place,), (ids[place],)))
    return clozes


def read_at(
    reader: Reader,
    clozes: Sequence[Cloze],
    description: str,
    forward: Callable[..., torch.Tensor] | None = None,
    per_token: int = 0,
    *,
    whole: bool = False,
) -> np.ndarray:
    """What `forward` (model, batch, rows, positions, tokens) returns of every wanted token, one cloze after the other:
    [methods, wanted tokens]; if it returns `per_token` numbers for each token, [methods, wanted tokens, per_token].

    forward: by default `log_p_at`, log p(token | text) in nats; whole: see `methods.passes.passes`. A text that several
    clozes share goes through the model once, and a position that several tokens are wanted at is scored once."""
    forward = forward or log_p_at
    texts: dict[tuple[int, ...], int] = {}
    numbers = [texts.setdefault(cloze.ids, len(texts)) for cloze in clozes]
    text_of = np.repeat(np.array(numbers, dtype=int), [len(cloze.at) for cloze in clozes])
    at, tokens = (
        np.fromiter((value for cloze in clozes for value in getattr(cloze, name)), dtype=np.int64)
        for name in ("at", "tokens")
    )
    encoded = BatchEncoding({"input_ids": [list(ids) for ids in texts]})
    outputs = np.empty((len(reader.axis), len(tokens), per_token)[: 3 if per_token else 2])

    def read(wanted: np.ndarray, rows: np.ndarray, batch: BatchEncoding) -> np.ndarray:
        places = [torch.from_numpy(array).to(reader.model.device) for array in (rows, at[wanted], tokens[wanted])]
        return reader.under_each(forward, reader.model, batch, *places, whole=whole)

    for _, (wanted, values) in reader.batches(at_occurrences(read, text_of, len(texts)), encoded, description):
        outputs[:, wanted] = values
    return outputs


def sums_at(
    reader: Reader, groups: Sequence[Sequence[Cloze]], description: str, **options: object
) -> tuple[np.ndarray, np.ndarray]:
    """The sums of `read_at` over all tokens that each group of clozes wants, [methods, groups], NaN where it wants
    none; and how many tokens these are, [groups]. options: of `read_at`."""
    return summed(read_at(reader, wanted_of(groups), description, **options), groups)


def wanted_of(groups: Sequence[Sequence[Cloze]]) -> list[Cloze]:
    """The clozes of all groups that want a token."""
    return [cloze for group in groups for cloze in group if cloze.at]


def summed(values: np.ndarray, groups: Sequence[Sequence[Cloze]]) -> tuple[np.ndarray, np.ndarray]:
    """`sums_at` of values that `read_at` returned of `wanted_of(groups)`."""
    sizes = np.array([sum(len(cloze.at) for cloze in group) for group in groups])
    starts, some = np.cumsum(sizes) - sizes, sizes > 0
    sums = np.full((len(values), len(groups), *values.shape[2:]), np.nan)
    sums[:, some] = np.add.reduceat(values, starts[some], axis=1)
    return sums, sizes


def log_p_at(
    model: PreTrainedModel, batch: BatchEncoding, rows: torch.Tensor, at: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    """log p of the tokens at these rows and positions of a batch: [tokens]."""
    logits, place = _logits_at(model, batch, rows, at)
    return log_p_of(logits, place, tokens)


def received_at(
    model: PreTrainedModel, batch: BatchEncoding, rows: torch.Tensor, at: torch.Tensor, _: torch.Tensor
) -> torch.Tensor:
    """The attention that these rows and positions of a batch receive, [tokens]; the model computes it `by_hand`."""
    nowhere = torch.zeros_like(batch["input_ids"], dtype=torch.bool)  # no row of the vocabulary is needed
    output, _ = outputs_at(model, batch | {"output_attentions": True}, nowhere)
    return attention_received(output.attentions, batch["attention_mask"])[rows, at]


def distributions_at(
    model: PreTrainedModel, batch: BatchEncoding, rows: torch.Tensor, at: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """log p of the whole vocabulary [positions, vocabulary] at the positions of a batch that are asked for, each once,
    and the number among them of each of these rows and positions."""
    logits, place = _logits_at(model, batch, rows, at)
    return logits.double().log_softmax(-1), place


def _logits_at(
    model: PreTrainedModel, batch: Mapping[str, object], rows: torch.Tensor, at: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The logits at the positions that are asked for, each once, and the number among them of each of these rows and
    positions."""
    chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
    chosen[rows, at] = True
    place = chosen.flatten().cumsum(0).reshape(chosen.shape) - 1  # the number of a position among those that are scored
    return outputs_at(model, batch, chosen)[1], place[rows, at]


def items_of(
    reader: Reader, source: Source, module: str, of: Mapping[str, str] | None, limit: int | None
) -> pd.DataFrame:
    """The items of a test as its module lists them, items(**files by role, **of), or a sample of so many. The index is
    the name of each row's item.

    What makes an item is its column `item`, or the columns UNIT of the module; the groups that keep their shares are
    those of its columns STRATA. The sample is of the items that the module can use; what the encoder cannot take is
    left out of it (`made_of`), so that all encoders have the same sample. AbsentError: no item."""
    files = {role: source.file(role) for role in source.data}
    its = module_named(module)
    unit = getattr(its, "UNIT", ("item",))
    with reader.left_out.told():
        table = its.items(**files, **(of or {}))
    table = sampled(table, limit, unit=unit, strata=getattr(its, "STRATA", ()))
    names = names_of(table, unit)
    reader.left_out.of = len(set(names)) + len(reader.left_out.reasons)
    return table.set_index(pd.Index(names))


def made_of(
    reader: Reader, items: pd.DataFrame, texts: Sequence[str], make: Callable[..., Made], **options: bool
) -> tuple[pd.DataFrame, list[Made]]:
    """The rows of items (the index: the name of each row's item), and what is made of each: make(row, encodings), from
    what the tokenizer says of its texts (in these columns; options: of the tokenizer), special tokens included, and
    `words_of` them.

    An item of which nothing can be made is left out with all its rows: one with a text that is longer than the encoder
    takes, or that has no token, or for which `make` raises AbsentError. AbsentError where no item is left."""
    encoded = [encode(reader.tokenizer, items[column], verbose=False, **options) for column in texts]
    around = len(reader.tokenizer("")["input_ids"])
    made: list[Made | None] = []
    absent: dict[str, AbsentError] = {}
    for number, row in enumerate(items.itertuples()):
        encodings = [
            {name: values[number] for name, values in of_text.items()} | {"words": words_of(of_text, number)}
            for of_text in encoded
        ]
        try:
            for encoding in encodings:
                _check_length(len(encoding["input_ids"]), around, reader.longest_input)
            made.append(make(row, *encodings))
        except AbsentError as error:
            made.append(None)
            absent.setdefault(row.Index, error)
    kept = ~items.index.isin([*absent])
    if not kept.any():
        name, error = next(iter(absent.items()), ("-", "there is none"))
        about = ": ".join([str(error), *getattr(error, "__notes__", [])])
        raise AbsentError(f"none of {len(absent)} items can be measured, the first, {name}, because: {about}")
    reader.left_out.reasons |= {str(name): str(error) for name, error in absent.items()}
    return items[kept], [one for one, keep in zip(made, kept, strict=True) if keep]


def words_of(encoded: BatchEncoding, number: int) -> list[int | None]:
    """The number of each token's word in a text, None for special ones; every token by itself, where the tokenizer
    does not say."""
    return encoded.word_ids(number) if encoded.is_fast else list(range(len(encoded["input_ids"][number])))


def _check_length(tokens: int, around: int, longest: int) -> None:
    """AbsentError for a text of so many tokens, `around` of them special, that the encoder cannot take."""
    if tokens > longest:
        raise AbsentError("longer than the encoder takes", f"{tokens} tokens, not {longest}")
    if tokens <= around:
        raise AbsentError("a text without tokens")


def check_known(tokenizer: PreTrainedTokenizerBase, word: str, ids: Sequence[int]) -> None:
    """AbsentError for a word without pieces, or with one that is unknown to the encoder."""
    if not len(ids) or not set(ids).isdisjoint(tokenizer.all_special_ids):  # the unknown piece is one of them
        raise AbsentError("a word that the encoder's vocabulary lacks", repr(word))
