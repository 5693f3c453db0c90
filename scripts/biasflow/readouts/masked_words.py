"""What a masked-LM head expects at [MASK]: log-probabilities of words in sentences, under every method."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.genders import OF_WORDS
from biasflow.base.sample import sampled
from biasflow.base.tabular import write_parquet
from biasflow.encoders.batches import require_offsets
from biasflow.readouts.cloze import Cloze, check_known, encode_whole, items_of, log_probabilities_of, masked
from biasflow.readouts.files import under_methods
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.stimuli.densray_sets import read_occupation_set
from biasflow.text.occupation_templates import MASK

BEGINNING = re.compile(r"(?:^|[.!?]\s)\W*$")  # of what stands before the first word of a sentence


def read(
    source: Source,
    output: Path,
    *,
    template: str | None = None,
    pronouns: Sequence[str] | None = None,
    items: str | None = None,
    of: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> dict[str, object]:
    """log p of words in the place of a mask: of pronouns beside occupations, or of the words of a test (`items`).

    Occupations: the masculine and the feminine pronoun in the sentence of every occupation. The set is
    `source.dataset`: one of densray_sets.OCCUPATIONS, or a set of one's own with `template` and `pronouns`; its file,
    if it has one, is the data "occupations". Columns: method, setting, item (occupation), sentence (with [MASK]), word,
    gender, pieces (how many tokens the word is there), log_p (nats), the feminine rows after the masculine ones.

    A test: `items` names the module whose items(**files, **of) lists its words, as `piece_log_probabilities` takes
    them. Columns: method, setting, those of the list, piece (of the word, from 0), log_p (nats); a row a piece.

    limit: at most so many occupations, or items of the test."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    if items is None:
        table, log_p = _of_occupations(reader, source, template, pronouns, limit)
    else:
        table, log_p = piece_log_probabilities(reader, items_of(source, items, of, limit))
    write_parquet(under_methods(reader.axis, table, log_p=log_p), output)
    return reader.facts()


def _of_occupations(
    reader: Reader, source: Source, template: str | None, pronouns: Sequence[str] | None, limit: int | None
) -> tuple[pd.DataFrame, np.ndarray]:
    (path,) = source.data.get("occupations", (None,))
    stimuli = read_occupation_set(source.dataset, path, template=template, pronouns=pronouns)
    occupations = sampled(pd.DataFrame({"item": stimuli.occupations, "sentence": stimuli.sentences}), limit)
    sentences = occupations["sentence"].tolist()
    try:
        tokens = tokens_of_words(reader, sentences, stimuli.pronouns, pieces=stimuli.pieces)
    except AbsentError as error:
        key = "" if template is None else f"metrics.occtmp.own.{source.dataset}.pronouns: "
        raise AbsentError(f"{key}{error}") from error
    log_p = word_log_probabilities(reader, tokens).reshape(len(reader.axis), len(sentences), -1)
    sizes = np.reshape([len(word.at) for word in tokens], (len(sentences), -1))
    items = [
        occupations.assign(word=word, gender=gender, pieces=pieces)
        for word, gender, pieces in zip(stimuli.pronouns, OF_WORDS, sizes.T, strict=True)
    ]
    return pd.concat(items, ignore_index=True), log_p.transpose(0, 2, 1).reshape(len(log_p), -1)


class WordInSentence(NamedTuple):
    """A sentence as token ids, and the positions of the tokens of one of its words."""

    ids: Sequence[int]
    at: Sequence[int]


def piece_log_probabilities(reader: Reader, words: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """log p of every piece of words in whole sentences, in nats: the words, a row a piece and with a column `piece`
    (from 0), and [methods, pieces].

    words: columns text (the sentence with the word in it), start, end (characters of the word in it); also_start,
    also_end, where there is another span that is masked, too, a mask a piece (-1: none); and filling, how the pieces of
    the word are asked for. "together": all masked at once; "left-to-right": one after the other, the later ones masked;
    "one-mask": one after the other, and nothing in the place of the later ones. Pieces are those of the whole sentence.

    Errors as `in_sentences`."""
    tokens = in_sentences(reader, words)
    clozes = [
        cloze
        for filling, (ids, at) in zip(words["filling"], tokens, strict=True)
        for cloze in FILLINGS[filling](ids, at, reader.tokenizer)
    ]
    sizes = [len(word.at) for word in tokens]
    rows = words.iloc[np.repeat(np.arange(len(words)), sizes)].reset_index(drop=True)
    rows = rows.assign(piece=[number for size in sizes for number in range(size)])
    return rows, log_probabilities_of(reader, clozes, "masked words")


def in_sentences(reader: Reader, words: pd.DataFrame) -> list[WordInSentence]:
    """Every word as the tokens that stand for it in its whole sentence; the span `also` is masked.

    words: as `piece_log_probabilities` takes them. AbsentError: a word with a piece that is unknown to the encoder, or
    one of whose tokens holds more than the word. BiasflowError: a sentence longer than the encoder takes."""
    tokenizer = reader.tokenizer
    require_offsets(tokenizer)
    encoded = encode_whole(reader, list(words["text"]), return_offsets_mapping=True)
    tokenised = []
    for word, ids, offsets in zip(words.itertuples(), encoded["input_ids"], encoded["offset_mapping"], strict=True):
        at, also = (places_in(offsets, word.start, word.end), places_in(offsets, word.also_start, word.also_end))
        itself = word.text[word.start : word.end]
        check_known(tokenizer, itself, [ids[place] for place in at])
        covered = word.text[min(offsets[place][0] for place in at) : max(offsets[place][1] for place in at)]
        if covered.strip() != itself.strip():
            raise AbsentError(f"{word.text!r}: a token of {itself!r} holds more, {covered!r}; choose another sentence.")
        tokenised.append(WordInSentence(masked(ids, also, tokenizer.mask_token_id).ids, at))
    return tokenised


def places_in(offsets: Sequence[tuple[int, int]], start: int, end: int) -> list[int]:
    """The tokens that lie in these characters; special ones lie nowhere."""
    return [place for place, (first, last) in enumerate(offsets) if first < end and last > start and last > first]


def log_probabilities(
    reader: Reader, sentences: Sequence[str], words: Sequence[str], *, pieces: bool = False
) -> np.ndarray:
    """log p(word | sentence) at the one [MASK] of each sentence, in nats: [methods, sentences, words].

    The word is the tokens that stand for it in the whole sentence (`tokens_of_words`). Of k tokens

        log p(word) = sum_j log p(token_j | token_1 ... token_j-1, masks for token_j and the later ones),

    a true probability of the word among all of k tokens, in k passes. k differs between words, and each k has
    probabilities of its own: compare only words of as many tokens, or say so. Errors as `tokens_of_words`."""
    tokens = tokens_of_words(reader, sentences, words, pieces=pieces)
    return word_log_probabilities(reader, tokens).reshape(len(reader.axis), len(sentences), len(words))


def tokens_of_words(
    reader: Reader, sentences: Sequence[str], words: Sequence[str], *, pieces: bool = False
) -> list[WordInSentence]:
    """Every word in the place of [MASK] in every sentence, as the tokens that stand for it there: the words of the
    first sentence, then those of the second.

    A cased vocabulary has "He" where a sentence begins and "he" elsewhere, and one that marks spaces has another "he"
    after a space; so the tokens are those of the whole sentence with the word in it, Capitalised where that begins.

    AbsentError: a word that is unknown to the encoder or, without `pieces`, that is not one token in a sentence (how
    many are told, and the first is named); two words that are the same tokens. BiasflowError: a sentence without
    exactly one [MASK], or longer than the encoder takes."""
    tokens = in_sentences(reader, pd.DataFrame([put_in(word, text) for text in sentences for word in words]))
    for number, word in enumerate(words):
        several = [text for text, its in zip(sentences, tokens[number :: len(words)], strict=True) if len(its.at) > 1]
        if several and not pieces:
            raise AbsentError(
                f"{word!r} is not a single token of the encoder's vocabulary in {len(several)} of {len(sentences)} "
                f"sentences, such as {several[0]!r}; choose another word."
            )
    for row, text in enumerate(sentences):
        seen: dict[tuple[int, ...], str] = {}
        for word, (ids, at) in zip(words, tokens[row * len(words) :], strict=False):
            other = seen.setdefault(tuple(ids[place] for place in at), word)
            if other != word:
                raise AbsentError(
                    f"{other!r} and {word!r} are the same tokens in {text!r}; choose two words that differ."
                )
    return tokens


def put_in(word: str, sentence: str) -> dict[str, object]:
    """The sentence with the word in the place of its one [MASK], a row of what `piece_log_probabilities` takes."""
    before, *after = sentence.split(MASK)
    if len(after) != 1:
        raise BiasflowError(f"{sentence!r}: exactly one {MASK} is needed.")
    if BEGINNING.search(before):
        word = word[:1].upper() + word[1:]
    end = len(before) + len(word)
    row = {"text": f"{before}{word}{after[0]}", "start": len(before), "end": end}
    return row | {"also_start": -1, "also_end": -1}


def word_log_probabilities(reader: Reader, tokens: Sequence[WordInSentence]) -> np.ndarray:
    """log p of every word, the sum over its tokens filled from left to right, in nats: [methods, words]."""
    clozes = [cloze for ids, at in tokens for cloze in from_the_left(ids, at, reader.tokenizer)]
    starts = np.cumsum([0, *(len(word.at) for word in tokens)])[:-1]
    return np.add.reduceat(log_probabilities_of(reader, clozes, "masked words"), starts, axis=1)


def from_the_left(ids: Sequence[int], at: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[Cloze]:
    """The tokens at the neighbouring positions `at`, one after the other, each with the later ones masked."""
    all_masked = masked(ids, at, tokenizer.mask_token_id)
    first = at[0]
    return [
        Cloze((*ids[:place], *all_masked.ids[place:]), (place,), (token,))
        for place, token in zip(range(first, first + len(at)), all_masked.tokens, strict=True)
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
