"""What a masked-LM head expects at [MASK]: log-probabilities of words in sentences, under every method."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.corpora.densray_sets import read_occupation_set
from biasflow.encoders.batches import encode, require_offsets
from biasflow.readouts.cloze import Cloze, check_known, encode_whole, items_of, log_probabilities_of, masked
from biasflow.readouts.files import under_methods
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.text.occupation_templates import MASK

GENDERS = ("masculine", "feminine")


def read(
    source: Source,
    output: Path,
    *,
    template: str | None = None,
    pronouns: Sequence[str] | None = None,
    items: str | None = None,
    of: Mapping[str, str] | None = None,
) -> dict[str, object]:
    """log p of words in the place of a mask: of pronouns beside occupations, or of the words of a test (`items`).

    Occupations: the masculine and the feminine pronoun in the sentence of every occupation. The set is
    `source.dataset`: one of densray_sets.OCCUPATIONS, or a set of one's own with `template` and `pronouns`; its file,
    if it has one, is the data "occupations". Columns: method, setting, item (occupation), sentence (with [MASK]), word,
    gender, log_p (nats), the feminine rows after the masculine ones.

    A test: `items` names the module whose items(**files, **of) lists its words, as `piece_log_probabilities` takes
    them. Columns: method, setting, those of the list, piece (of the word, from 0), log_p (nats); a row a piece."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    if items is None:
        table, log_p = _of_occupations(reader, source, template, pronouns)
    else:
        table, log_p = piece_log_probabilities(reader, items_of(source, items, of))
    write_parquet(under_methods(reader.axis, table, log_p=log_p), output)
    return reader.facts()


def _of_occupations(
    reader: Reader, source: Source, template: str | None, pronouns: Sequence[str] | None
) -> tuple[pd.DataFrame, np.ndarray]:
    (path,) = source.data.get("occupations", (None,))
    one = read_occupation_set(source.dataset, path, template=template, pronouns=pronouns)
    log_p = log_probabilities(reader, one.sentences, one.pronouns, pieces=one.pieces)
    items = [
        pd.DataFrame({"item": one.occupations, "sentence": one.sentences, "word": word, "gender": gender})
        for word, gender in zip(one.pronouns, GENDERS, strict=True)
    ]
    return pd.concat(items, ignore_index=True), log_p.transpose(0, 2, 1).reshape(len(log_p), -1)


def piece_log_probabilities(reader: Reader, words: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """log p of every piece of words in whole sentences, in nats: the words, a row a piece and with a column `piece`
    (from 0), and [methods, pieces].

    words: columns text (the sentence with the word in it), start, end (characters of the word in it); also_start,
    also_end, where there is another span that is masked, too, a mask a piece (-1: none); and filling, how the pieces of
    the word are asked for. "together": all masked at once; "left-to-right": one after the other, the later ones masked;
    "one-mask": one after the other, and nothing in the place of the later ones. Pieces are those of the whole sentence.

    AbsentError: a word with a piece that is unknown to the encoder. BiasflowError: a sentence longer than it takes."""
    tokenizer = reader.tokenizer
    require_offsets(tokenizer)
    encoded = encode_whole(reader, list(words["text"]), return_offsets_mapping=True)
    clozes, pieces = [], []
    for word, ids, offsets in zip(words.itertuples(), encoded["input_ids"], encoded["offset_mapping"], strict=True):
        at, also = (places_in(offsets, word.start, word.end), places_in(offsets, word.also_start, word.also_end))
        check_known(tokenizer, word.text[word.start : word.end], [ids[place] for place in at])
        clozes += FILLINGS[word.filling](masked(ids, also, tokenizer.mask_token_id).ids, at, tokenizer)
        pieces.append(len(at))
    rows = words.iloc[np.repeat(np.arange(len(words)), pieces)].reset_index(drop=True)
    rows = rows.assign(piece=[number for count in pieces for number in range(count)])
    return rows, log_probabilities_of(reader, clozes, "masked words")


def places_in(offsets: Sequence[tuple[int, int]], start: int, end: int) -> list[int]:
    """The tokens that lie in these characters; special ones lie nowhere."""
    return [place for place, (first, last) in enumerate(offsets) if first < end and last > start and last > first]


def log_probabilities(
    reader: Reader, sentences: Sequence[str], words: Sequence[str], *, pieces: bool = False
) -> np.ndarray:
    """log p(word | sentence) at the one [MASK] of each sentence, in nats: [methods, sentences, words].

    [MASK] stands for the tokenizer's own mask token. With `pieces` a word may split into k pieces (or be a phrase): the
    mask is replaced by k masks, which are filled from left to right, and

        log p(word) = sum_j log p(piece_j | piece_1 ... piece_j-1, masks for piece_j and the later ones),

    a true probability of the word among all of k pieces, in k passes. k differs between words, and each k has
    probabilities of its own: compare only words of as many pieces, or say so.

    BiasflowError: a word that is not one piece of the vocabulary (with `pieces`: that is empty or holds a piece unknown
    to it), or a sentence without exactly one [MASK]."""
    tokenizer = reader.tokenizer
    ids = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    for word, its in zip(words, ids, strict=True):
        check_known(tokenizer, word, its)
        if len(its) > 1 and not pieces:
            raise AbsentError(f"{word!r} is not a single piece of the encoder's vocabulary; choose another word.")
    encoded = _encoded(tokenizer, sentences)
    places = [sentence.index(tokenizer.mask_token_id) for sentence in encoded]
    clozes = [
        step
        for sentence, at in zip(encoded, places, strict=True)
        for its in ids
        for step in from_the_left([*sentence[:at], *its, *sentence[at + 1 :]], range(at, at + len(its)), tokenizer)
    ]
    found = log_probabilities_of(reader, clozes, "masked words")
    starts = np.cumsum([0, *(len(its) for its in ids * len(encoded))])[:-1]
    return np.add.reduceat(found, starts, axis=1).reshape(len(reader.axis), len(sentences), len(words))


def from_the_left(ids: Sequence[int], at: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[Cloze]:
    """The tokens at the neighbouring positions `at`, one after the other, each with the later ones masked."""
    whole = masked(ids, at, tokenizer.mask_token_id)
    first = at[0]
    return [
        Cloze((*ids[:place], *whole.ids[place:]), (place,), (token,))
        for place, token in zip(range(first, first + len(at)), whole.tokens, strict=True)
    ]


def together(ids: Sequence[int], at: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[Cloze]:
    """The tokens at the positions `at`, all masked at once."""
    return [masked(ids, at, tokenizer.mask_token_id)]


def one_mask(ids: Sequence[int], at: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[Cloze]:
    """The tokens at the neighbouring positions `at`, one after the other, each without the later ones."""
    end = at[-1] + 1
    return [
        Cloze((*ids[:place], tokenizer.mask_token_id, *ids[end:]), (place,), (ids[place],))
        for place in range(at[0], end)
    ]


FILLINGS = {"together": together, "left-to-right": from_the_left, "one-mask": one_mask}


def _encoded(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> list[list[int]]:
    for sentence in sentences:
        if sentence.count(MASK) != 1:
            raise BiasflowError(f"{sentence!r}: exactly one {MASK} is needed.")
    return encode(tokenizer, [sentence.replace(MASK, tokenizer.mask_token) for sentence in sentences])["input_ids"]
