"""Swap the gender of English sentences: she -> he, her -> his or him, stepmother -> stepfather, Jessica -> Jacob.

What is swapped: pronouns, words for women and men, kinship, titles, ranks, callings, first names, from the lexicon in
data/gender. What stays: words for a trait (masculine, girly, effeminate), since a sentence about a person is swapped
by swapping the person; set phrases and well-known people (mother tongue, George Washington); names of both genders
(Jordan, Casey); a surname after a title or a first name; a title whose name stays (Queen Latifah); a word that names
both genders (s/he); a name in lower case. Everything between the words, and the case of each word, is kept byte for
byte. Names are paired one to one, so a name has the same partner everywhere.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE
from biasflow.text.gender_lexicon import BY_RULE, WORD, Entry, Head, Name, Phrase, default_lexicon, plain_gap
from biasflow.text.gender_pronouns import APOSTROPHES, OBJECT_STARTS, Cues, swap_her, swap_his

BOTH_SIGNS = ("/", "(", ")")  # s/he, s(he), (s)he
SEXES = ("male", "males", "female", "females")  # male actors are female actors, not female actresses
# By its part of speech in the Penn Treebank; his before a stop is tagged either way.
BY_TAG = {("her", "PRP$"): "his", ("her", "PRP"): "him", ("his", "PRP$"): "her", ("his", "PRP"): "hers"}
STOP = re.compile(r"\s*[.,:;!?)\]]")
TRIPLE_COLUMNS = ["triple", "label", "context", "next_sentence"]
STIMULI_COLUMNS = ["triple", "label", "gender", "context", "next_sentence", "swapped_context", "swapped_next_sentence"]


@dataclass(frozen=True)
class Edit:
    """`parts[start:stop]` of a split sentence becomes `text`; `gender` (M or F) is that of the words replaced."""

    start: int
    stop: int
    text: str
    gender: str
    is_name: bool = False


def swap_gender(sentence: str) -> str:
    """The sentence with every gendered word and first name replaced by its counterpart of the other gender.

    A name that is an ordinary word too (Mark, Grace, Will) is swapped where it is a name beyond doubt: Capitalised
    inside a sentence, or at its start before a verb (Mark is, but not: Mark my words). Swapping twice gives the
    sentence back where each word in it has one counterpart (direction `both` in words.csv). BiasflowError: no text.
    """
    if not isinstance(sentence, str):
        raise BiasflowError(f"swap_gender: sentence is of type {type(sentence).__name__}; give one text at a time")
    return _swap(sentence, frozenset())


def swap_triple(sentences: Sequence[str]) -> list[str]:
    """The sentences of one triple, swapped together: a name seen beyond doubt in one is known as a name in all.

    Same as swap_gender one by one otherwise: names are paired one to one, so a name changes alike throughout.
    """
    known = _known_names(sentences)
    return [_swap(sentence, known) for sentence in sentences]


def swap_tokens(
    sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]], *, names: Literal["keep", "swap"] = "keep"
) -> tuple[list[list[str]], int]:
    """The tokens of a document's sentences, swapped one for one, and how many swaps were left out.

    A swap is left out where it would make more or fewer tokens of those that it takes. tags: the parts of speech of
    the Penn Treebank, "-" where unknown: her is his where it is tagged PRP$, him where PRP, his is her where it is
    tagged PRP$, hers where PRP; elsewhere, and of his before a stop, it is told from the words around. names: first
    names stay as they are, or are swapped as in `swap_triple`, the sentences being those of one text. All else as in
    `swap_gender`."""
    texts = ["\t".join(tokens) for tokens in sentences]  # a token may hold a blank, but no tab
    known = _known_names(texts) if names == "swap" else frozenset()
    swapped, left = [], 0
    for text, of_tokens in zip(texts, tags, strict=True):
        parts = WORD.split(text)
        for edit in reversed(list(_edits(parts, known))):
            if edit.is_name and names == "keep":
                continue
            source = "".join(parts[edit.start : edit.stop])
            if source.lower() in BY_RULE:
                tag = of_tokens["".join(parts[: edit.start]).count("\t")]
                edit = replace(edit, text=_like(source, _by_tag(source.lower(), tag, parts, edit.stop) or edit.text))
            if re.findall(r"\s", source) != re.findall(r"\s", edit.text):
                left += 1
                continue
            _fit_possessive(parts, edit)
            parts[edit.start : edit.stop] = [edit.text]
        swapped.append("".join(parts).split("\t") if of_tokens else [])
    return swapped, left


def _by_tag(pronoun: str, tag: str, parts: Sequence[str], stop: int) -> str | None:
    """The counterpart of *her* or *his* by its part of speech; None if that does not decide."""
    is_last = stop + 1 >= len(parts) or STOP.match(parts[stop])
    return None if (pronoun, tag) == ("his", "PRP$") and is_last else BY_TAG.get((pronoun, tag))


def gender_of(sentences: Sequence[str]) -> str | None:
    """M or F, by majority of the gendered words (names apart) of the first sentence; None where nothing is gendered.

    Even counts and none at all are settled by the sentences after it, then by the first gendered word, then by names.
    """
    words: list[str] = []
    names: list[str] = []
    for sentence in sentences:
        for gender, is_name in genders_in(sentence):
            (names if is_name else words).append(gender)
        counts = Counter(words)
        if counts[MALE] != counts[FEMALE]:
            return MALE if counts[MALE] > counts[FEMALE] else FEMALE
    return next(iter(words + names), None)


def genders_in(sentence: str) -> list[tuple[str, bool]]:
    """The gender (M or F) of each word that `swap_gender` would swap, in order, and whether it is a first name."""
    return [(edit.gender, edit.is_name) for edit in _edits(WORD.split(sentence), frozenset())]


def swap_stimuli(triples: pd.DataFrame) -> pd.DataFrame:
    """Pair every triple with its gender-swapped copy.

    triples: columns triple, label, context, next_sentence; others are dropped. The sentences of a triple (its rows, in
    their order) are swapped together. Returns the stimuli table: triple, label, gender (M or F of the original, from
    its contexts first), context, next_sentence, swapped_context, swapped_next_sentence; label is that of the original.
    `gender` is missing exactly for the triples in which nothing is gendered; they equal their copy: report or drop
    them.
    """
    stimuli = triples[TRIPLE_COLUMNS].reset_index(drop=True)
    new = pd.DataFrame(
        index=stimuli.index, columns=["gender", "swapped_context", "swapped_next_sentence"], dtype=object
    )
    for _, rows in stimuli.groupby("triple", sort=False):
        contexts, following = list(rows["context"]), list(rows["next_sentence"])
        swapped = swap_triple(contexts + following)
        new.loc[rows.index, "gender"] = gender_of([*dict.fromkeys(contexts), *following])
        new.loc[rows.index, "swapped_context"] = swapped[: len(rows)]
        new.loc[rows.index, "swapped_next_sentence"] = swapped[len(rows) :]
    return stimuli.join(new)[STIMULI_COLUMNS]


def _swap(sentence: str, known: frozenset[str]) -> str:
    parts = WORD.split(sentence)
    for edit in reversed(list(_edits(parts, known))):
        _fit_possessive(parts, edit)
        parts[edit.start : edit.stop] = [edit.text]
    return "".join(parts)


def _fit_possessive(parts: list[str], edit: Edit) -> None:
    """Make the sign of the possessive behind a swapped word fit its new end: ladies' room, gentlemen's room."""
    word, gap, plural = parts[edit.stop - 1], parts[edit.stop], edit.text.lower().endswith("s")
    follows = "".join(parts[edit.stop + 1 : edit.stop + 2]).lower()  # nothing at the end of a sentence
    if word.lower().endswith("s") and not plural and gap[:1] in APOSTROPHES and gap[1:2].isspace():
        parts[edit.stop] = f"{gap[0]}{'S' if word.isupper() else 's'}{gap[1:]}"
    elif word.lower().endswith("men") and plural and gap in APOSTROPHES and follows == "s":
        parts[edit.stop + 1] = ""


def _known_names(sentences: Sequence[str]) -> frozenset[str]:
    """The names, in lower case, that are swapped in at least one of the sentences."""
    names = set()
    for sentence in sentences:
        parts = WORD.split(sentence)
        names.update(parts[edit.start].lower() for edit in _edits(parts, frozenset()) if edit.is_name)
    return frozenset(names)


def _edits(parts: Sequence[str], known: frozenset[str]) -> Iterator[Edit]:
    """The edits that swap a sentence, from left to right. parts: gaps (even places) and words (odd places) in turn."""
    heads, cues = default_lexicon().heads, default_lexicon().cues
    done = 0  # parts before this one are settled
    after_name = -1  # the place at which a word would stand right behind a first name
    for at in range(1, len(parts), 2):
        word = parts[at].lower()
        if word == "her" or word == "his":
            if at >= done:
                target = swap_her(parts, at, cues) if word == "her" else swap_his(parts, at, cues)
                yield Edit(at, at + 1, _like(parts[at], target), FEMALE if word == "her" else MALE)
            continue
        head = heads.get(word)
        if head is None or at < done or _names_both(heads, parts, at):
            continue
        phrase = _phrase(head, parts, at)
        if phrase is not None:
            done = at + len(phrase.pieces)
            if phrase.entry:
                yield Edit(at, done, _phrase_like(parts[at:done], phrase.entry), phrase.entry.gender)
            continue
        if (head.name or word in cues["also_surname"]) and _is_surname(parts, at, after_name, cues):
            continue
        if head.name and _is_name(parts, at, head.name, cues, known):
            after_name = at + 2
            yield Edit(at, at + 1, _like(parts[at], head.name.partner), head.name.gender, is_name=True)
        entry = next((entry for entry in head.entries if _counts(entry, parts, at, cues)), None)
        if entry and _stays(parts, at, known):
            continue
        if entry and not (entry.target.endswith(("ess", "esses")) and _before(parts, at) in SEXES):
            yield Edit(at, at + 1, _like(parts[at], entry.target), entry.gender)


def _names_both(heads: Mapping[str, Head], parts: Sequence[str], at: int) -> bool:
    """s/he, (s)he, (wo)man, prince(ss): is the word, with what it is joined to, the word for the other gender, too?"""
    before = parts[at - 2] if at > 1 and parts[at - 1] in BOTH_SIGNS else ""
    after = parts[at + 2] if at + 2 < len(parts) and parts[at + 1] in BOTH_SIGNS else ""
    word = parts[at].lower()
    genders = {entry.gender for entry in heads[word].entries}
    joined = [f"{before.lower()}{word}"] * bool(before) + [f"{word}{after.lower()}"] * bool(after)
    return any(entry.gender not in genders for whole in joined if whole in heads for entry in heads[whole].entries)


def _stays(parts: Sequence[str], at: int, known: frozenset[str]) -> bool:
    """Queen Latifah, Sir Isaac Newton: is the word a title whose name stays? Both are swapped, or neither."""
    heads, cues = default_lexicon().heads, default_lexicon().cues
    name_at, title = at + 2, parts[at].lower()
    gap = parts[at + 1].removeprefix(".") if title in cues["surname_before"] else parts[at + 1]  # Mr. Bill Gates
    if name_at >= len(parts) or not gap.isspace() or not parts[name_at][0].isupper():
        return False
    is_title = title in cues["title"] or (parts[at][0].isupper() and title in cues["kinship"])
    head = heads.get(parts[name_at].lower(), Head())
    if phrase := _phrase(head, parts, name_at):
        return phrase.entry is None and phrase.pieces[0][0].isupper() and (is_title or parts[at][0].isupper())
    if is_title and head.name:
        return not _is_name(parts, name_at, head.name, cues, known)
    no_name = parts[name_at].lower() in cues["not_possessed"] | cues["rank"] | cues["also_surname"]
    return is_title and _is_capitalised(parts[name_at]) and not head.entries and not no_name


def _phrase(head: Head, parts: Sequence[str], at: int) -> Phrase | None:
    """The longest phrase of the lexicon that starts at `parts[at]`."""
    for phrase in head.phrases:
        candidate = parts[at : at + len(phrase.pieces)]
        if len(candidate) == len(phrase.pieces) and all(map(_piece_matches, phrase.pieces, candidate)):
            return phrase
    return None


def _piece_matches(piece: str, text: str) -> bool:
    if piece.islower():
        return piece == text.lower()
    if piece[0].isupper():  # a capital in the lexicon is asked of the text
        return text[0].isupper() and piece.lower() == text.lower()
    return piece == plain_gap(text)


def _counts(entry: Entry, parts: Sequence[str], at: int, cues: Cues) -> bool:
    """Is the word spelt, or used, as its entry asks?"""
    word = parts[at]
    if entry.when == "any":
        return True
    if entry.when == "noun":
        return not _is_verb(parts, at, cues)
    if entry.when == "ruler":
        return parts[at][0].isupper() or _before(parts, at) in cues["ruler_before"]
    if entry.when == "lower":
        return word.islower()
    if entry.when == "capitalised":
        return _is_capitalised(word)
    return _is_title(parts, at)


def _is_verb(parts: Sequence[str], at: int, cues: Cues) -> bool:
    """to groom, they groom; groom the dog, groom her hair"""
    is_followed = at + 2 < len(parts) and parts[at + 1].isspace()
    return _before(parts, at) in cues["verb_before"] or (is_followed and parts[at + 2].lower() in OBJECT_STARTS)


def _is_title(parts: Sequence[str], at: int) -> bool:
    """Capitalised, and before another word that starts with a capital."""
    is_followed = at + 2 < len(parts) and parts[at + 1].isspace()
    return is_followed and _is_capitalised(parts[at]) and parts[at + 2][0].isupper()


def _is_name(parts: Sequence[str], at: int, name: Name, cues: Cues, known: frozenset[str]) -> bool:
    word, gap = parts[at], parts[at - 1]
    if not word[0].isupper() or _before(parts, at) in cues["place_before"]:  # mary; St. Mary, Hurricane Harvey
        return False
    if _is_title(parts, at) and parts[at + 2].lower() in cues["place_after"]:  # Madison Avenue
        return False
    if not name.ordinary:
        return True
    if not _is_capitalised(word):  # MARK: anything in capitals
        return False
    inside = at > 1 and not any(sign in gap for sign in '.!?:;\n"“(')
    if inside or word.lower() in known:
        return True
    follower = parts[at + 2].lower() if at + 2 < len(parts) else ""
    if parts[at + 1].isspace():
        return follower in cues["after_name"] or follower.endswith("ed")  # Bob is, Bob called; but: Mark my words
    return follower == "s" and parts[at + 1] in APOSTROPHES


def _is_surname(parts: Sequence[str], at: int, after_name: int, cues: Cues) -> bool:
    """Stephen King; Mr. King, MR. KING and Mr. James, but not Mr. James Smith."""
    if not parts[at][0].isupper():
        return False
    if not _is_capitalised(parts[at]):  # in a line of capitals a word that follows tells nothing of a surname
        is_last = at + 2 >= len(parts) or not (parts[at + 1].isspace() and parts[at + 2].isupper())
        return _before(parts, at) in cues["surname_before"] and (is_last or parts[at].lower() in cues["also_surname"])
    if at == after_name and parts[at - 1].isspace():
        return parts[at].lower() not in cues["also_surname"] or parts[at + 2 : at + 3] != ["of"]  # Mary Queen of Scots
    return _before(parts, at) in cues["surname_before"] and not _is_title(parts, at)


def _before(parts: Sequence[str], at: int) -> str:
    """The word before `parts[at]` in lower case, past spaces and the full stop of an abbreviation."""
    return parts[at - 2].lower() if at > 1 and parts[at - 1].strip(".").isspace() else ""


def _is_capitalised(word: str) -> bool:
    """Mary, but neither mary nor MARY."""
    return word[0].isupper() and not (len(word) > 1 and word.isupper())


def _like(word: str, target: str) -> str:
    """`target` in the case of `word`: capitals, a capital first letter, or as the lexicon has it."""
    if len(word) > 1 and word.isupper():
        return target.upper()
    return target[0].upper() + target[1:] if word[0].isupper() else target


def _phrase_like(original: Sequence[str], entry: Entry) -> str:
    """The target phrase in the case of the original one: word by word if both have equally many words."""
    words, target = original[::2], WORD.split(entry.target)
    pieces = target[1::2]
    models = words if len(words) == len(pieces) else [words[0]] + [words[-1]] * (len(pieces) - 1)
    target[1::2] = [_like(model, piece) for model, piece in zip(models, pieces, strict=True)]
    if len(words) == len(pieces):  # keep the text's own apostrophes and spaces
        target[2:-1:2] = original[1::2]
    return "".join(target)
