"""The files of WEAT (words) and SEAT (sentences) as May et al. (2019) released them: four named sets each.

In the files the targets are `targ1` and `targ2` (X and Y), the attributes `attr1` and `attr2` (A and B):

    6  X, Y = male and female names    A, B = career, family             (6b: terms instead of names)
    7  X, Y = math, arts               A, B = male and female terms      (7b: names instead of terms)
    8  X, Y = science, arts            A, B = male and female terms      (8b: names instead of terms)

Paper A's WEAT has them the other way round in all three (see `densray_test`); its SEAT takes the files as they are."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.files import named_once, read_json
from biasflow.corpora.records import is_filled

ROLES = {"X": "targ1", "Y": "targ2", "A": "attr1", "B": "attr2"}
WORD_TESTS = ("weat6", "weat6b", "weat7", "weat7b", "weat8", "weat8b")
SENTENCE_TESTS = tuple(f"sent-{name}" for name in WORD_TESTS)
DENSRAY_TESTS = {"C6": "weat6", "C7": "weat7", "C8": "weat8"}
LEAST = 2  # words or sentences of a set
SLOT = "{word}"  # in a template of a user's
# Contexts of paper A's WEAT, for the words of X and Y and for those of A and B.
PAPERS_TEMPLATES = TARGET_TEMPLATE, ATTRIBUTE_TEMPLATE = "{word} is [MASK].", "[MASK] is {word}."
# The words of May et al.'s templates; what else a sentence has is the word that it is about.
_FRAME = frozenset(
    "a an are here is it person's name people person that the there these they thing things this those".split()
)


@dataclass(frozen=True)
class ExampleSet:
    """One set of a test: what it is called, its words or sentences in the file's order, and for each
    sentence the number (from 0) of the word that it is about; () if each example is a word of its own."""

    category: str
    examples: tuple[str, ...]
    about: tuple[int, ...] = ()


@dataclass(frozen=True)
class AssociationTest:
    """The four sets of an association test: targets X and Y, attributes A and B."""

    name: str
    X: ExampleSet
    Y: ExampleSet
    A: ExampleSet
    B: ExampleSet

    def change(self, function: Callable[[str], str], roles: Iterable[str] = ROLES) -> "AssociationTest":
        """The same test with `function` applied to every example of the sets in `roles`."""
        sets = {role: getattr(self, role) for role in roles}
        return replace(
            self, **{role: replace(s, examples=tuple(map(function, s.examples))) for role, s in sets.items()}
        )

    def only(self, kept: Collection[str]) -> "AssociationTest":
        """The same test with those of its examples that are in `kept`.

        AbsentError where a set has fewer than LEAST of them: then the test cannot be computed."""
        sets = {}
        for role in ROLES:
            whole = getattr(self, role)
            rows = [row for row, example in enumerate(whole.examples) if example in kept]
            if len(rows) < LEAST:
                raise AbsentError(f"set {role} of {self.name} keeps fewer than {LEAST} of its words or sentences")
            about = tuple(whole.about[row] for row in rows) if whole.about else ()
            sets[role] = replace(whole, examples=tuple(whole.examples[row] for row in rows), about=about)
        return replace(self, **sets)


def read_association_test(path: str | Path, name: str | None = None) -> AssociationTest:
    """Read one test; it is called `name`, or as the file without its ending (a download may be named otherwise).

    The file is one JSON object (over many lines, in spite of the ending .jsonl) with the keys of ROLES, each
    {"category": text, "examples": [text, ...]}. Words and sentences stay as they are. BiasflowError names the file and
    the key: no JSON, a key that is missing or there twice, a set without examples, an example that is no text."""
    path = Path(path)
    keys = read_json(path, object_pairs_hook=named_once)
    if not isinstance(keys, dict):
        raise BiasflowError(f"{path}: not a JSON object with the keys {', '.join(ROLES.values())}; check the file.")
    sets = {role: _example_set(f"{path}: key {key}", keys.get(key)) for role, key in ROLES.items()}
    return AssociationTest(name or path.stem, **sets)


def densray_test(test: AssociationTest) -> AssociationTest:
    """Paper A's WEAT test C6, C7 or C8 from that of the file weat6, weat7 or weat8: lower-cased, roles exchanged.

    C6: X, Y = career, family; A, B = male and female names. C7 and C8: X, Y = male and female terms; A, B = math, arts
    and science, arts (the authors' code)."""
    return replace(test, X=test.A, Y=test.B, A=test.X, B=test.Y).change(str.lower)


def in_templates(test: AssociationTest, templates: Sequence[str] | None = None) -> AssociationTest:
    """The test with every word in every template (`in_sentences`), or in paper A's context: "w is [MASK]." for targets,
    "[MASK] is w." for attributes."""
    if templates:
        return in_sentences(test, templates)
    targets = test.change(lambda word: TARGET_TEMPLATE.format(word=word), roles="XY")
    return targets.change(lambda word: ATTRIBUTE_TEMPLATE.format(word=word), roles="AB")


def in_sentences(test: AssociationTest, templates: Sequence[str]) -> AssociationTest:
    """The test with a sentence, which begins with a capital, for every word and template; a template has {word}."""
    sets = {}
    for role, words in ((role, getattr(test, role)) for role in ROLES):
        filled = [template.replace(SLOT, word) for word in words.examples for template in templates]
        about = tuple(number for number in range(len(words.examples)) for _ in templates)
        sets[role] = replace(words, examples=tuple(text[0].upper() + text[1:] for text in filled), about=about)
    return replace(test, **sets)


def said(templates: Sequence[str] | None) -> str:
    """Return the templates in quotes, or those of paper A with the sets whose words they are for."""
    if templates is None:
        return f'"{TARGET_TEMPLATE}" (X, Y) and "{ATTRIBUTE_TEMPLATE}" (A, B)'
    return ", ".join(f'"{template}"' for template in templates)


def is_english(templates: Sequence[str] | None) -> bool:
    """Whether templates hold no other words than those of May et al. (2019) and of paper A do."""
    return set(words_in(templates)) <= _FRAME


def words_in(templates: Sequence[str] | None) -> list[str]:
    """Return the words of templates, in lower case, each once; what stands in braces or brackets is none."""
    text = " ".join(templates or PAPERS_TEMPLATES).lower()
    return list(dict.fromkeys(re.findall(r"[^\W\d_]+", re.sub(r"\{.*?\}|\[.*?\]", " ", text))))


def examples_of(test: AssociationTest) -> dict[str, tuple[str, ...]]:
    """The examples of the four sets by role."""
    return {role: getattr(test, role).examples for role in ROLES}


def words_about(examples: Iterable[str]) -> tuple[int, ...]:
    """For each example, a word or a sentence in a template of May et al. (2019), the number (from 0) of the word that
    it is about: ("This is Amy.", "Amy is here.", "This is a dance.", "These are dances.") -> (0, 0, 1, 1).

    In their files the sentences in the plural follow those in the singular, and count as the same word."""
    numbers: dict[tuple[str, ...], int] = {}
    about: list[int] = []
    for example in examples:
        tokens = example.lower().rstrip(".").split()
        word = tuple(token for token in tokens if token not in _FRAME) or tuple(tokens)
        plural = "are" in tokens and about
        about.append(about[-1] if plural else numbers.setdefault(word, len(numbers)))
    return tuple(about)


def _example_set(where: str, value: object) -> ExampleSet:
    if not isinstance(value, dict) or not {"category", "examples"} <= value.keys():
        raise BiasflowError(f"{where}: must be an object with the keys category and examples.")
    category, examples = value["category"], value["examples"]
    if not is_filled(category):
        raise BiasflowError(f"{where}: category {category!r} is no name; write one.")
    if not isinstance(examples, list) or not examples:
        raise BiasflowError(f"{where}: examples must be a list of at least one word or sentence.")
    for number, example in enumerate(examples, start=1):
        if not is_filled(example):
            raise BiasflowError(f"{where}: example {number}, {example!r}, is no word or sentence; mend it.")
    return ExampleSet(category, tuple(examples), words_about(examples))
