"""Biographies in the language of the planted corpus, with a known amount of gender bias."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE, WOMEN_FIRST
from biasflow.corpora.bios import COLUMNS, NAME_SEPARATOR
from biasflow.planted.frames import PRONOUNS, grammar_file, one_of, sentence
from biasflow.planted.world import FOLDER, Person, load_world
from biasflow.text.scrub import scrub

HINTS = 2  # per biography


@dataclass(frozen=True)
class Grammar:
    """The contents of bios.yaml.

    frames       part (opening, hint, family) -> its frames
    professions  alphabetical; hints: all hint words; p_hint: P(hint | profession), shape [professions, hints]
    relations    gender (F or M) -> nouns for somebody of the family; family_share: how many biographies have one"""

    frames: Mapping[str, tuple[str, ...]]
    professions: tuple[str, ...]
    hints: tuple[str, ...]
    p_hint: np.ndarray
    relations: Mapping[str, tuple[str, ...]]
    family_share: float


def biographies(*, bias: float, seed: int, n: int) -> pd.DataFrame:
    """n biographies with the columns of `corpora.bios`: text, profession, gender, name, scrubbed; all texts differ.

    Each draws a profession uniformly, the gender from P(woman) = 0.5 + bias * (share of the profession - 0.5), a name
    of that gender, an opening, two hints independently from P(hint | profession) in different frames and, with
    probability `family_share`, a sentence with a noun that tells the gender too. Name, pronouns and nouns depend on the
    gender only and hints on the profession only, so what gender says of the profession is the planted share and
    nothing else. `scrubbed` is the text without names, pronouns and titles; the nouns of the family stay. Same
    arguments, same biographies.

    BiasflowError: more than the grammar can tell apart."""
    world = load_world()
    grammar = load_grammar()
    rng = np.random.default_rng(seed)
    names = [person for person in world.persons if person.kind == "name"]
    titles = [person for person in world.persons if person.kind == "title"]
    by_text: dict[str, tuple] = {}
    for _ in range(10 * n + 100):
        code = rng.integers(len(grammar.professions))
        profession = grammar.professions[code]
        gender = FEMALE if rng.random() < world.share(profession, bias) else MALE
        words = _words(gender, one_of(names, rng), one_of(titles, rng))
        frames = [one_of(grammar.frames["opening"], rng)]
        hints = rng.choice(len(grammar.hints), size=HINTS, p=grammar.p_hint[code])
        frames += [grammar.frames["hint"][k] for k in rng.choice(len(grammar.frames["hint"]), HINTS, replace=False)]
        fillers = [words, *({**words, "hint": grammar.hints[k]} for k in hints)]
        if rng.random() < grammar.family_share:
            frames.append(one_of(grammar.frames["family"], rng))
            fillers.append({**words, "relation": one_of(grammar.relations[gender], rng)})
        text = " ".join(sentence(frame, filler) for frame, filler in zip(frames, fillers, strict=True))
        name = (words["first"], words["surname"])
        by_text.setdefault(text, (profession, gender, NAME_SEPARATOR.join(name), scrub(text, name)))
        if len(by_text) == n:
            return pd.DataFrame([(text, *rest) for text, rest in by_text.items()], columns=list(COLUMNS))
    raise BiasflowError(f"planted biographies: {n} were asked for, and only {len(by_text)} different ones were found.")


def load_grammar() -> Grammar:
    """The grammar of the planted biographies."""
    content = grammar_file(FOLDER / "bios.yaml")
    anyone, anyone_hints = content["anyone"]["weight"], content["anyone"]["hints"]
    lists = [anyone_hints, *content["own"].values(), *(pair["hints"] for pair in content["pairs"])]
    hints = tuple(itertools.chain.from_iterable(lists))
    paired = sorted(itertools.chain.from_iterable(pair["professions"] for pair in content["pairs"]))
    p_hint = np.zeros((len(paired), len(hints)))
    for pair in content["pairs"]:
        rest, weight = 1 - anyone, pair["weight"]
        for name in pair["professions"]:
            parts = (
                (anyone_hints, anyone),
                (pair["hints"], rest * weight),
                (content["own"][name], rest * (1 - weight)),
            )
            for words, share in parts:
                p_hint[paired.index(name), [hints.index(word) for word in words]] = share / len(words)
    frames = {part: tuple(content[part]) for part in ("opening", "hint", "family")}
    relations = {gender: tuple(content["relations"][gender]) for gender in WOMEN_FIRST}
    return Grammar(frames, tuple(paired), hints, p_hint, relations, content["family_share"])


def _words(gender: str, first: Person, titled: Person) -> dict[str, str]:
    """What fills the slots of a frame about a person: a first name of `first`, title and surname of `titled`."""
    name = first.named(gender)
    title, surname = titled.named(gender).split(" ", 1)
    words = {"first": name, "name": f"{name} {surname}", "title": title, "surname": surname}
    return {**PRONOUNS[gender], **words}
