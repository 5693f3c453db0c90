"""What a masked-LM head expects at [MASK]: log-probabilities of words in sentences, under every method."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.genders import OF_WORDS
from biasflow.base.sample import sampled
from biasflow.encoders.batches import require_offsets
from biasflow.readouts.cloze import (
    Cloze,
    Made,
    check_known,
    items_of,
    made_of,
    masked,
    one_by_one,
    read_at,
    sums_at,
)
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.stimuli.densray_sets import MASK, read_occupation_set

BEGINNING = re.compile(r"(?:^|[.!?]\s)\W*$")  # of what stands before the first word of a sentence


def read(
    source: Source,
    output: Path,
    *,
    templates: Sequence[str] | None = None,
    pronouns: Sequence[str] | None = None,
    items: str | None = None,
    of: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> dict[str, object]:
    """log p of words in the place of a mask: of pronouns beside occupations, or of the words of a test (`items`).

    Occupations: the masculine and the feminine pronoun in the sentences of every occupation. The set is
    `source.dataset`: one of densray_sets.OCCUPATIONS, or a set of one's own with `templates` and `pronouns`; its file,
    if it has one, is the data "occupations". Columns: method, setting, item (occupation), sentence (with [MASK]), word,
    gender, pieces (how many tokens the word is there), log_p (nats), the feminine rows after the masculine ones.

    A test: `items` names the module whose items(**files, **of) lists its words, as `piece_log_probabilities` takes
    them. Columns: method, setting, those of the list, piece (of the word, from 0), log_p (nats); a row a piece.

    limit: at most so many occupations, or items of the test. Those that `in_sentence` refuses are left out."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    if items is None:
        table, log_p = _of_occupations(reader, source, templates, pronouns, limit)
    else:
        table, log_p = piece_log_probabilities(reader, items_of(reader, source, items, of, limit))
    return reader.write(output, table, log_p=log_p) | ({"templates": list(templates)} if templates else {})


def _of_occupations(
    reader: Reader,
    source: Source,
    templates: Sequence[str] | None,
    pronouns: Sequence[str] | None,
    limit: int | None,
) -> tuple[pd.DataFrame, np.ndarray]:
    (path,) = source.data.get("occupations", (None,))
    stimuli = read_occupation_set(source.dataset, path, templates=templates, pronouns=pronouns)
    table = pd.DataFrame({"item": stimuli.occupations, "sentence": stimuli.sentences})
    occupations = sampled(table, limit, unit=["item"])
    reader.left_out.of = occupations["item"].nunique()
    try:
        occupations, tokens = tokens_of_words(
            reader, occupations.set_index("item", drop=False), stimuli.pronouns, pieces=stimuli.pieces
        )
    except AbsentError as error:
        key = "" if templates is None else f"metrics.occtmp.own.{source.dataset}.pronouns: "
        raise AbsentError(f"{key}{error}") from error
    log_p = word_log_probabilities(reader, tokens)
    items = [
        occupations.assign(word=word, gender=gender, pieces=[len(words[number].at) for words in tokens])
        for number, (word, gender) in enumerate(zip(stimuli.pronouns, OF_WORDS, strict=True))
    ]
    return pd.concat(items, ignore_index=True), log_p.transpose(0, 2, 1).reshape(len(log_p), -1)


class WordOfText(NamedTuple):
    """A word of a text, by its characters, and those of another span that is masked (-1: none)."""

    text: str
    start: int
    end: int
    also_start: int = -1
    also_end: int = -1


class WordInSentence(NamedTuple):
    """A sentence as token ids, and the positions of the tokens of one of its words."""

    ids: Sequence[int]
    at: Sequence[int]


def piece_log_probabilities(reader: Reader, words: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """log p of every piece of words in whole sentences, in nats: the words, a row a piece and with a column `piece`
    (from 0), and [methods, pieces].

    words: the columns of `WordOfText` (the other span gets a mask a piece, and so does the span of further_start and
    further_end if there are such columns), and filling, how the pieces of the word are asked for. "together": all
    masked at once; "left-to-right": one after the other, the later ones masked; "one-mask": one after the other, and
    nothing in the place of the later ones; "one-by-one": each with all others in sight; "crossed": all masked at once,
    and every piece asked for in the place of every piece (of k pieces, every (k+1)-th row is one in its own place).
    Pieces are those of the whole sentence.

    Words that `in_sentence` refuses are left out with their items (`made_of`; the index is the name of the item)."""
    words, tokens = _made_of_words(reader, words, ["text"], partial(in_sentence, reader.tokenizer))
    clozes = [
        FILLINGS[filling](ids, at, reader.tokenizer.mask_token_id)
        for filling, (ids, at) in zip(words["filling"], tokens, strict=True)
    ]
    sizes = [sum(len(cloze.at) for cloze in of_word) for of_word in clozes]
    rows = words.iloc[np.repeat(np.arange(len(words)), sizes)].reset_index(drop=True)
    rows = rows.assign(piece=[number for size in sizes for number in range(size)])
    return rows, read_at(reader, [*chain.from_iterable(clozes)], "masked words")


def in_sentence(tokenizer: PreTrainedTokenizerBase, word: WordOfText, encoding: Mapping[str, list]) -> WordInSentence:
    """A word as the tokens that stand for it in its whole sentence; the spans `also` and `further`, if any, are masked.

    AbsentError: a word with a piece that is unknown to the encoder, or one of whose tokens holds more than the word."""
    ids, offsets = encoding["input_ids"], encoding["offset_mapping"]
    at, also = (places_in(offsets, word.start, word.end), places_in(offsets, word.also_start, word.also_end))
    further = places_in(offsets, getattr(word, "further_start", -1), getattr(word, "further_end", -1))
    itself = word.text[word.start : word.end]
    check_known(tokenizer, itself, [ids[place] for place in at])
    covered = word.text[min(offsets[place][0] for place in at) : max(offsets[place][1] for place in at)]
    if covered.strip() != itself.strip():
        raise AbsentError("a token that holds more than the word", f"{covered!r} for {itself!r} in {word.text!r}")
    return WordInSentence(masked(ids, [*also, *further], tokenizer.mask_token_id).ids, at)


def places_in(offsets: Sequence[tuple[int, int]], start: int, end: int) -> list[int]:
    """The tokens that lie in these characters; special ones lie nowhere."""
    return [place for place, (first, last) in enumerate(offsets) if first < end and last > start and last > first]


def tokens_of_words(
    reader: Reader, sentences: pd.DataFrame, words: Sequence[str], *, pieces: bool = False
) -> tuple[pd.DataFrame, list[list[WordInSentence]]]:
    """Every word in the place of [MASK] in every sentence (column sentence), as the tokens that stand for it there: the
    sentences that are not left out, and the words of each.

    A cased vocabulary has "He" where a sentence begins and "he" elsewhere, and one that marks spaces has another "he"
    after a space; so the tokens are those of the whole sentence with the word in it, Capitalised where that begins.

    Left out (`made_of`): a sentence in which a word is unknown to the encoder or, without `pieces`, not one token, and
    one in which two words are the same tokens. BiasflowError: a sentence without exactly one [MASK]."""

    def of_sentence(row: tuple, *encodings: Mapping[str, list]) -> list[WordInSentence]:
        """The tokens of every word in one sentence; encodings: of the sentence with each of the words in it."""
        seen: dict[tuple[int, ...], str] = {}
        found = []
        for word, encoding in zip(words, encodings, strict=True):
            ids, at = in_sentence(reader.tokenizer, put_in(word, row.sentence), encoding)
            if len(at) > 1 and not pieces:
                raise AbsentError(
                    "a word that is no single token", f"{word!r} in {row.sentence!r}; choose another word"
                )
            if (other := seen.setdefault(tuple(ids[place] for place in at), word)) != word:
                raise AbsentError("two words that are the same tokens", f"{other!r} and {word!r} in {row.sentence!r}")
            found.append(WordInSentence(ids, at))
        return found

    texts = {f"with {word}": [put_in(word, text).text for text in sentences["sentence"]] for word in words}
    kept, tokens = _made_of_words(reader, sentences.assign(**texts), [*texts], of_sentence)
    return kept.drop(columns=[*texts]), tokens


def _made_of_words(
    reader: Reader, items: pd.DataFrame, texts: Sequence[str], make: Callable[..., Made]
) -> tuple[pd.DataFrame, list[Made]]:
    require_offsets(reader.tokenizer)
    return made_of(reader, items, texts, make, return_offsets_mapping=True)


def put_in(word: str, sentence: str) -> WordOfText:
    """The sentence with the word in the place of its one [MASK]."""
    before, *after = sentence.split(MASK)
    if len(after) != 1:
        raise BiasflowError(f"{sentence!r}: exactly one {MASK} is needed.")
    if BEGINNING.search(before):
        word = word[:1].upper() + word[1:]
    return WordOfText(f"{before}{word}{after[0]}", len(before), len(before) + len(word))


def word_log_probabilities(reader: Reader, tokens: Sequence[Sequence[WordInSentence]]) -> np.ndarray:
    """log p of words in sentences, in nats: [methods, sentences, words]. Of the k tokens of a word

        log p(word) = sum_j log p(token_j | token_1 ... token_j-1, masks for token_j and the later ones),

    a true probability of the word among all of k tokens, in k passes. k differs between words, and each k has
    probabilities of its own: compare only words of as many tokens, or say so."""
    words = [from_the_left(*word, reader.tokenizer.mask_token_id) for words in tokens for word in words]
    sums, _ = sums_at(reader, words, "masked words")
    return sums.reshape(len(reader.axis), len(tokens), -1)


def from_the_left(ids: Sequence[int], at: Sequence[int], mask: int) -> list[Cloze]:
    """The tokens at the neighbouring positions `at`, one after the other, each with the later ones masked."""
    return [Cloze(masked(ids, at[number:], mask).ids, (place,), (ids[place],)) for number, place in enumerate(at)]


def together(ids: Sequence[int], at: Sequence[int], mask: int) -> list[Cloze]:
    """The tokens at the positions `at`, all masked at once."""
    return [masked(ids, at, mask)]


def one_mask(ids: Sequence[int], at: Sequence[int], mask: int) -> list[Cloze]:
    """The tokens at the neighbouring positions `at`, one after the other, each without the later ones."""
    return [Cloze((*ids[:place], mask, *ids[at[-1] + 1 :]), (place,), (ids[place],)) for place in at]


def crossed(ids: Sequence[int], at: Sequence[int], mask: int) -> list[Cloze]:
    """The tokens at the positions `at`, all masked at once, every one asked for in the place of every one."""
    tokens = tuple(ids[place] for place in at)
    return [Cloze(masked(ids, at, mask).ids, (place,) * len(at), tokens) for place in at]


FILLINGS = {
    "together": together,
    "left-to-right": from_the_left,
    "one-mask": one_mask,
    "one-by-one": one_by_one,
    "crossed": crossed,
}
