"""Is *her* possessive (his) or objective (him), does *his* stand before a noun (her) or alone (hers)?

Told from the words around it, by lists (cues.csv; gender_lexicon.Lexicon says what each holds) and no tagger. Two facts
carry most of it. A possessive stands before a noun phrase: the end of the clause, or a word that cannot start one after
a possessive (a preposition, an article, an auxiliary), leaves only the other reading. All else is possessive far more
often than not. The remaining rules are for objects that are followed by something more: told her *twice*, gave her
*flowers*, made her *happy*, saw her *crying*, let her *sleep*, called her *back*.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Cues = Mapping[str, frozenset[str]]

# An opening quote, bracket, currency or address sign does not end the clause: her "friend", paid her $20.
OPENING = re.compile(r"\s+[\"“‘«([{*$£€#@'`]+")
NUMBERS = {*map(str, range(1000)), *"two three four five six seven eight nine ten fifteen twenty thirty forty".split()}
JOINTS = ("and", "or", "but")
ADJECTIVE_ENDS = ("able", "ible", "ful", "ish", "less", "ous")
CLAUSE_END = ""  # stands for the word that is not there
APOSTROPHES = ("'", "’", "‘", "`", "´")
CONTRACTED = ("ll", "d", "ve", "re", "m")  # he'll, I'm
CLIPPED = ("cause", "cos", "til", "till", "tis", "twas", "em", "bout", "round")  # 'cause: no quote opens before it
OBJECT_STARTS = frozenset("a an the her his my your our their its him it them me us".split())


@dataclass(frozen=True)
class Surroundings:
    """The words around a pronoun in lower case, CLAUSE_END where punctuation or the end of the text comes first."""

    before: str
    opening: bool  # a quote, bracket, currency or address sign opens between the pronoun and `next`
    next: str  # he, where he'll stands there; 'cause with its apostrophe
    contracted: str  # what is contracted with `next`: ll
    capital: bool  # `next` starts with a capital
    hyphen: bool  # `next` is the first part of a hyphenated word
    after: str
    title: bool  # `next` begins a title, such as "My Life", behind a pronoun in lower case


def _surroundings(parts: Sequence[str], at: int) -> Surroundings:
    before = parts[at - 2].lower() if at > 1 and parts[at - 1].isspace() else CLAUSE_END
    opening = bool(OPENING.fullmatch(parts[at + 1]))
    if at + 2 >= len(parts) or not (opening or parts[at + 1].isspace()):
        return Surroundings(before, False, CLAUSE_END, "", False, False, CLAUSE_END, False)
    word, gap, end = parts[at + 2], parts[at + 3], at + 4
    ending = parts[end].lower() if gap in APOSTROPHES and end < len(parts) else ""
    contracted = ending if ending in (*CONTRACTED, "s", "t") else ""
    if ending not in ("", "s"):  # she's, but also: her friend's car
        word = word if ending in CONTRACTED else f"{word}'{parts[end]}"  # ma'am, don't
        gap, end = parts[end + 1], end + 2
    if opening and parts[at + 1].strip() in APOSTROPHES and word.lower() in CLIPPED:
        word, opening = f"'{word}", False
    goes_on = gap.isspace() or gap.strip() == ","  # her sexy, big eyes: a comma does not end the noun phrase for sure
    after = parts[end] if goes_on and end < len(parts) else CLAUSE_END
    if after.lower() == "than" and "".join(parts[end + 2 : end + 3]).lower() in NUMBERS:  # her more than 20 years
        after = parts[end + 2]
    capital = word[0].isupper()
    title = capital and parts[at].islower() and word != "I" and after[:1].isupper() and after != "I"
    is_title, is_hyphened = title and not contracted, gap == "-"
    return Surroundings(before, opening, word.lower(), contracted, capital, is_hyphened, after.lower(), is_title)


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
    if second is not None:  # her or his book: the second pronoun decides for both
        is_possessive = parts[second].lower() == "his" and swap_his(parts, second, cues) == "her"
        return "his" if is_possessive else "him"
    return "him" if _is_object(_surroundings(parts, at), cues) else "his"


def swap_his(parts: Sequence[str], at: int, cues: Cues) -> str:
    """What *his* at `parts[at]` becomes: her or hers; `parts` as in swap_her."""
    second = _other_of_two(parts, at, ("or", "and"))
    if second is not None:
        return "her" if parts[second].lower() == "her" and swap_her(parts, second, cues) == "his" else "hers"
    around = _surroundings(parts, at)
    if around.hyphen or around.opening or around.title:
        return "her"
    return "hers" if around.next == CLAUSE_END or _cannot_follow(around.next, cues) else "her"


def _cannot_follow(word: str, cues: Cues) -> bool:
    """Is `word` a function word that cannot start the noun phrase of a possessive?"""
    return word in cues["not_possessed"] or word.endswith("n't") or word[:1] in APOSTROPHES


def _is_object(around: Surroundings, cues: Cues) -> bool:
    word, before = around.next, around.before
    if word == CLAUSE_END:
        return True
    if around.hyphen:  # her up-to-date list, her then-boyfriend
        return False
    if around.opening:  # called her "love", told her "no", paid her $20, with her "I'm here"; but: her "friend"
        return before in cues["calls"] | cues["gives"] or (bool(around.contracted) and _cannot_follow(word, cues))
    if around.title and word in cues["not_possessed"]:  # in her My Life; but: gave her The Hobbit
        return before in cues["calls"] | cues["gives"]
    if _cannot_follow(word, cues) or word in cues["adverb"]:
        return True
    if word == "all":  # with her all day, but: gave her all
        return around.after != CLAUSE_END
    if word == "very":  # loved her very much, made her very happy; but: her very first day
        return around.after in cues["adverb"] | cues["predicate"] or _is_adverb(around.after, cues)
    if before == CLAUSE_END:  # Her crying ...: there is nothing whose object it could be
        return False
    if word.isdigit():
        return before in cues["gives"]
    clause_ends = around.after == CLAUSE_END or _cannot_follow(around.after, cues) or around.after in cues["adverb"]
    if word == "back" or (word == "home" and clause_ends):  # took her home; but: kept her home clean
        return before in cues["moves"]
    if clause_ends and word in cues["degree"]:  # like her more, or more and more; but: her more expensive car
        return True
    if clause_ends and word in ("best", "worst"):  # like her best; but: did her best
        return before in cues["likes"]
    takes_complement = before in cues["lets"] | cues["sees"]
    if takes_complement and _is_complement(around, clause_ends, cues):
        return True
    if clause_ends and _is_adverb(word, cues):  # held her gently
        return True
    if clause_ends and word in cues["predicate"]:  # told her late, but: her happy and healthy family
        return takes_complement or around.after not in JOINTS
    return _is_second_object(around, clause_ends, cues)


def _is_adverb(word: str, cues: Cues) -> bool:
    return word.endswith("ly") and word not in cues["not_adverb"]


def _is_complement(around: Surroundings, clause_ends: bool, cues: Cues) -> bool:
    """Does what follows say what the object is or does: made her famous, saw her crying, let her sleep?"""
    word, lets = around.next, around.before in cues["lets"]
    if _is_adverb(word, cues):  # makes her uniquely qualified
        return True
    # No noun stands right before an article or a pronoun: help her load the truck.
    if lets and (word in cues["bare_verb"] or around.after in OBJECT_STARTS):
        return True
    if not clause_ends:
        return False
    if word.endswith(ADJECTIVE_ENDS) and len(word) > 5:  # kept her comfortable, but: kept her table
        return True
    return around.before in cues["sees"] and word.endswith(("ing", "ed"))


def _is_second_object(around: Surroundings, clause_ends: bool, cues: Cues) -> bool:
    """Is `next` what is given: gave her hope, told her lies? gave her flowers, but: gave her dog a bone"""
    word, before = around.next, around.before
    if before in cues["calls"] and around.capital:
        return True
    if before in cues["gives"] and around.capital and around.contracted in CONTRACTED:  # told her Mary'd come
        return word not in cues["kinship"]
    if cues["possessed"] & {word, around.after}:  # gave her son a book, gave her two sons ...
        return False
    if word in cues["gift"] and before in cues["gives"]:
        return True
    # but: gave her opening speech, gave her book to, gave her description of
    return before in cues["gives_freely"] and clause_ends and around.after not in OBJECT_STARTS | {"some", "to", "of"}
