"""Is *her* possessive (his) or objective (him), does *his* stand before a noun (her) or alone (hers)?

Told from the words around it, by lists (cues.csv; gender_lexicon.CUES says what each holds) and no tagger. Two facts
carry most of it. A possessive stands before a noun phrase: the end of the clause, or a word that cannot start one after
a possessive (a preposition, an article, an auxiliary), leaves only the other reading. All else is possessive far more
often than not. The remaining rules are for objects that are followed by something more: told her *twice*, gave her
*flowers*, made her *happy*, saw her *crying*, let her *sleep*, called her *back*.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Cues = Mapping[str, frozenset[str]]

# An opening quote, bracket or currency sign does not end the clause: her "friend", paid her $20.
OPENING = re.compile(r"\s+[\"“‘«([{*$£€#'`]+")
CLAUSE_END = ""  # stands for the word that is not there


@dataclass(frozen=True)
class Surroundings:
    """The words around a pronoun in lower case, CLAUSE_END where punctuation or the end of the text comes first."""

    before: str
    opening: bool  # a quote, bracket or currency sign opens between the pronoun and `next`
    next: str
    capital: bool  # `next` starts with a capital
    hyphen: bool  # `next` is the first part of a hyphenated word
    after: str


def _surroundings(parts: Sequence[str], at: int) -> Surroundings:
    before = parts[at - 2].lower() if at > 1 and parts[at - 1].isspace() else CLAUSE_END
    opening = bool(OPENING.fullmatch(parts[at + 1]))
    if at + 2 >= len(parts) or not (opening or parts[at + 1].isspace()):
        return Surroundings(before, False, CLAUSE_END, False, False, CLAUSE_END)
    word, gap = parts[at + 2], parts[at + 3]
    goes_on = gap.isspace() or gap.strip() == ","  # her sexy, big eyes: a comma does not end the noun phrase for sure
    after = parts[at + 4].lower() if goes_on and at + 4 < len(parts) else CLAUSE_END
    return Surroundings(before, opening, word.lower(), word[0].isupper(), gap == "-", after)


def _other_of_two(parts: Sequence[str], at: int, joints: tuple[str, ...]) -> int | None:
    """Where the second pronoun of *his or her*, *his/her* stands (a part number), if `parts[at]` is the first."""
    gap = parts[at + 1]
    if gap.strip() == "/":
        second = at + 2
    elif gap.isspace() and at + 4 < len(parts) and parts[at + 2].lower() in joints and parts[at + 3].isspace():
        second = at + 4
    else:
        return None
    is_pronoun = second < len(parts) and parts[second].lower() in ("his", "her", "him", "hers")
    return second if is_pronoun and parts[second].lower() != parts[at].lower() else None


def swap_her(parts: Sequence[str], at: int, cues: Cues) -> str:
    """What *her* at `parts[at]` becomes: his or him. parts: gaps (even places) and words (odd places) in turn."""
    second = _other_of_two(parts, at, ("or",))
    if second is not None:  # her or his book: what holds of the second holds of the first
        is_possessive = parts[second].lower() == "his" and swap_his(parts, second, cues) == "her"
        return "his" if is_possessive else "him"
    return "him" if _is_object(_surroundings(parts, at), cues) else "his"


def swap_his(parts: Sequence[str], at: int, cues: Cues) -> str:
    """What *his* at `parts[at]` becomes: her or hers; `parts` as in swap_her."""
    second = _other_of_two(parts, at, ("or", "and"))
    if second is not None:
        return "her" if parts[second].lower() == "her" and swap_her(parts, second, cues) == "his" else "hers"
    around = _surroundings(parts, at)
    if around.hyphen or around.opening:
        return "her"
    stands_alone = around.next == CLAUSE_END or around.next in cues["not_possessed"] - cues["noun_too"]
    return "hers" if stands_alone else "her"


def _is_object(around: Surroundings, cues: Cues) -> bool:
    word, before = around.next, around.before
    if word == CLAUSE_END:
        return True
    if around.hyphen:  # her up-to-date list, her then-boyfriend
        return False
    if around.opening:  # called her "love", told her "no", paid her $20; but: her "friend"
        return before in cues["calls"] | cues["gives"]
    after_preposition = before in cues["preposition"]
    if word in cues["not_possessed"]:  # all of her will, against her will: a noun after all
        return not (word in cues["noun_too"] and after_preposition)
    if word in cues["rarely_possessed"]:
        return True
    if before == CLAUSE_END:  # Her crying ...: there is nothing whose object it could be
        return False
    if word.isdigit():
        return before in cues["gives"]
    clause_ends = around.after == CLAUSE_END or around.after in cues["not_possessed"] | cues["rarely_possessed"]
    if word == "back" or (word == "home" and clause_ends):  # took her home; but: kept her home clean
        return before in cues["moves"]
    if clause_ends and _is_complement(word, before, after_preposition, cues):
        return True
    return _takes_two_objects(around, cues)


def _is_complement(word: str, before: str, after_preposition: bool, cues: Cues) -> bool:
    """Does `word`, no noun behind it, say something of the object: made her happy, held her gently, saw her crying?"""
    if word in cues["predicate"]:
        return not after_preposition
    if word.endswith("ly") and word not in cues["not_adverb"]:
        return True
    if word.endswith("ing"):
        return before in cues["sees"]
    return word.endswith("ed") and before in cues["participle_after"]


def _takes_two_objects(around: Surroundings, cues: Cues) -> bool:
    """Is `next` what the verb before the pronoun asks for beside its object: let her sleep, gave her hope?"""
    word, before = around.next, around.before
    if word in cues["bare_verb"] and (
        before in cues["lets"] or (before in cues["makes"] and word not in cues["made_thing"])
    ):
        return True
    if before in cues["calls"] and around.capital:
        return True
    if cues["possessed"] & {word, around.after}:  # gave her son a book, gave her two sons ...
        return False
    if word in cues["gift"] and before in cues["gives"]:
        return True
    # gave her flowers, but: gave her dog a bone, gave her book to, gave her description of
    return before in cues["gives_freely"] and around.after not in ("a", "an", "the", "some", "to", "of")
