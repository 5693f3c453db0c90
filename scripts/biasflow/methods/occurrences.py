"""Find words of two groups, such as genders, in running text: equally many of both, from the same sentences."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import OF_WORDS
from biasflow.encoders.batches import encode, require_offsets

BLOCK = 1000  # sentences that are tokenised at once


@dataclass(frozen=True)
class Occurrences:
    """The places in sentences where gendered words occur, equally many of both genders.

    table: a row per occurrence, in the order of the text: sentence (number), position (of its token, special tokens
    counted), token (its id), word, gender (its group). counts: a row per word: word, gender, found (in the sentences
    that were read), used (in `table`). left_out: words that are not one piece of the vocabulary. sentences_read: how
    many sentences, from the first, were needed. max_length: where longer sentences were cut, in tokens. groups: the
    names of the two groups."""

    table: pd.DataFrame
    counts: pd.DataFrame
    left_out: tuple[str, ...]
    sentences_read: int
    max_length: int
    groups: tuple[str, str] = OF_WORDS


def find_occurrences(
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    masculine: Sequence[str],
    feminine: Sequence[str],
    *,
    n: int,
    max_length: int,
    groups: tuple[str, str] = OF_WORDS,
) -> Occurrences:
    """Find n occurrences of gendered words, n/2 of each gender, both in the same leading sentences (Liang et al. 2020).

    The sentences are read in order, and no further than until the rarer gender has n/2 occurrences: its last one ends
    the range. There the commoner gender's m occurrences are thinned to those numbered floor(i m / (n/2)), evenly spread
    over the range, without chance. (The released code reads on for each gender by itself, so that the genders come from
    different text.)

    An occurrence is a whole word that is one piece of the vocabulary, as listed or capitalised; what lies beyond the
    first max_length tokens of a sentence is not seen. Words that are no single piece, or unknown, are left out and
    listed. `groups` names the two, where they are not genders. BiasflowError: an odd n, a word of both
    groups, a list without a usable word, a tokenizer that does not know where words begin, or too few occurrences (with
    how many there are)."""
    if n < 2 or n % 2:
        raise BiasflowError(f"occurrences: n is {n}; it must be even and above 0.")
    require_offsets(tokenizer)
    words, left_out = _single_pieces(tokenizer, dict(zip(groups, (masculine, feminine), strict=True)))

    rows, occurred, counted = [], Counter(), Counter()
    sentences_read, half = 0, n // 2
    for row in _candidates(tokenizer, sentences, words, max_length):
        rows.append(row)
        sentence, *_, word, gender = row
        occurred[word] += 1
        counted[gender] += 1
        if min(counted[gender] for gender in groups) == half:
            sentences_read = sentence + 1
            break
    else:
        have = ", ".join(f"{counted[gender]} {gender}" for gender in groups)
        raise BiasflowError(
            f"occurrences: {half} of each gender asked for, {have} in {len(sentences)} sentences; give more text."
        )

    table = pd.DataFrame(rows, columns=["sentence", "position", "token", "word", "gender"])
    kept = [group.iloc[evenly(len(group), half)] for _, group in table.groupby("gender")]
    table = pd.concat(kept).sort_index().reset_index(drop=True)
    gender_of = dict(words.values())
    counts = pd.DataFrame({"word": list(gender_of), "gender": list(gender_of.values())})
    counts["found"] = counts["word"].map(occurred).astype(int)
    counts["used"] = counts["word"].map(table["word"].value_counts()).fillna(0).astype(int)
    return Occurrences(table, counts, left_out, sentences_read, max_length, groups)


def _single_pieces(
    tokenizer: PreTrainedTokenizerBase, lists: Mapping[str, Sequence[str]]
) -> tuple[dict[int, tuple[str, str]], tuple[str, ...]]:
    """Token id -> (word, gender) of the usable words, and the words that are left out.

    A cased or byte-level vocabulary has up to four pieces for a word: capitalised or not, after a space or not."""
    both = set.intersection(*map(set, lists.values()))
    if both:
        raise BiasflowError(f"words to fit to: {min(both)!r} is on both lists; name it once.")
    words, left_out = {}, []
    for gender, names in lists.items():
        usable = 0
        for word in names:
            forms = dict.fromkeys((word, word.capitalize(), f" {word}", f" {word.capitalize()}"))
            pieces = tokenizer(list(forms), add_special_tokens=False)["input_ids"]
            single = {ids[0] for ids in pieces if len(ids) == 1} - {tokenizer.unk_token_id}
            words.update(dict.fromkeys(sorted(single), (word, gender)))
            usable += bool(single)
            if not single:
                left_out.append(word)
        if not usable:
            raise BiasflowError(
                f"words to fit to: none of the {len(names)} {gender} words ({', '.join(names)}) is a single piece of "
                "the vocabulary; give others."
            )
    return words, tuple(left_out)


def _candidates(
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    words: Mapping[int, tuple[str, str]],
    max_length: int,
) -> Iterator[tuple[int, int, int, str, str]]:
    """All occurrences in the order of the text: sentence, position, token, word, gender."""
    for start in range(0, len(sentences), BLOCK):
        encoded = encode(tokenizer, sentences[start : start + BLOCK], truncation=True, max_length=max_length)
        for number, ids in enumerate(encoded["input_ids"]):
            positions = [position for position, token in enumerate(ids) if token in words]
            if positions:
                word_of = encoded.word_ids(number)
                pieces = Counter(word_of)  # a piece of a longer word is no occurrence: king in king ##fisher
                for position in positions:
                    if pieces[word_of[position]] == 1:
                        yield start + number, position, ids[position], *words[ids[position]]


def evenly(available: int, most: int) -> np.ndarray:
    """The numbers floor(i available / count), i = 0 .. count - 1, with count = min(most, available)."""
    count = min(most, available)
    return np.arange(count) * available // count
