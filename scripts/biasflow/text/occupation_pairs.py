"""The gender-occupation test set of natural language inference (Dev et al. 2020; paper B, "Downstream: NLI").

Premise and hypothesis share a template and differ in their subject: an occupation against a gendered word. Neither
sentence says anything about the other, so the right answer is `neutral` for every pair."""

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from biasflow.base.errors import BiasflowError
from biasflow.base.files import filled_lines, write_json
from biasflow.text.articles import article, article_by_sound

VERBS = ("commerce", "interaction", "driving", "eating")
OBJECTS = ("clothes", "farm-animals", "food", "furniture", "household", "vehicles")
PEOPLE = ("person-hyponyms", "rulers")
# The names of the word lists; in biasflow/data/corpora.yaml they are called dev2020-<name>.
LISTS = ("occupations", *(f"{kind}-verbs" for kind in VERBS), *OBJECTS, *PEOPLE)
PLURALS = frozenset({"headphones"})  # the only object of the released lists that takes no article


@dataclass(frozen=True)
class WordLists:
    """The words from which sentences are made, all lists in the order of their files.

    verbs: kind (VERBS) -> verb phrases in the past tense; objects: kind (OBJECTS) -> nouns; people: sorted nouns, the
    objects of the interaction verbs."""

    occupations: tuple[str, ...]
    verbs: Mapping[str, tuple[str, ...]]
    objects: Mapping[str, tuple[str, ...]]
    people: tuple[str, ...]


@dataclass(frozen=True)
class OccupationPairs:
    """The pairs of occupations x templates x genders (0 = masculine, 1 = feminine) x gendered words.

    A pair's number is its position in C order of `shape`. masculine and feminine are aligned: masculine[i] and
    feminine[i] differ in gender only. form: "the", as the paper prints its example ("The doctor prepared a pie.",
    articles by sound), or "a", as the released generator writes ("A doctor prepared a pie .", articles by spelling).
    BiasflowError if there are no pairs, if a word or template occurs twice, or if the words come in no pairs."""

    occupations: tuple[str, ...]
    templates: tuple[tuple[str, str], ...]
    masculine: tuple[str, ...]
    feminine: tuple[str, ...]
    form: str

    def __post_init__(self):
        check_words(self.masculine, self.feminine)
        _check_distinct("occupation", self.occupations)
        _check_distinct("template", self.templates)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(occupations, templates, 2, words): how to reshape an array of one value per pair."""
        return len(self.occupations), len(self.templates), 2, len(self.masculine)

    def __len__(self) -> int:
        return int(np.prod(self.shape))

    def sentences(self, start: int, stop: int) -> tuple[list[str], list[str]]:
        """Premises and hypotheses of the pairs number `start` to `stop` - 1; only these are made."""
        occupation, template, gender, word = np.unravel_index(np.arange(start, stop), self.shape)
        gendered = gender * len(self.masculine) + word
        premises, hypotheses = self._subjects
        endings = [self._predicates[number] for number in template]
        return (
            [f"{premises[number]} {ending}" for number, ending in zip(occupation, endings, strict=True)],
            [f"{hypotheses[number]} {ending}" for number, ending in zip(gendered, endings, strict=True)],
        )

    @functools.cached_property
    def _subjects(self) -> tuple[list[str], list[str]]:
        """The subjects of the premises, by occupation, and of the hypotheses, the masculine words first."""
        both = self.occupations, (*self.masculine, *self.feminine)
        occupations, gendered = ([_subject(word, self.form) for word in words] for words in both)
        return occupations, gendered

    @functools.cached_property
    def _predicates(self) -> list[str]:
        return [_predicate(verb, noun, self.form) for verb, noun in self.templates]


def check_words(masculine: Sequence[str], feminine: Sequence[str]) -> None:
    """Raise BiasflowError unless the words come in pairs, at least one, and each stands once."""
    if len(masculine) != len(feminine):
        raise BiasflowError(
            f"occupation pairs: {len(masculine)} masculine and {len(feminine)} feminine words "
            f"({', '.join(masculine)}; {', '.join(feminine)}); give them in pairs."
        )
    _check_distinct("gendered word", (*masculine, *feminine))


def _check_distinct(name: str, values: Sequence) -> None:
    if not values:
        raise BiasflowError(f"occupation pairs: no {name}; give at least one.")
    if (twice := _first_repeated(values)) is not None:
        raise BiasflowError(f"occupation pairs: {name} {twice!r} occurs twice; name it once.")


def read_word_lists(paths: Mapping[str, str | Path]) -> WordLists:
    """Read the word lists: one word or phrase a line, blank lines skipped. paths: name (LISTS) -> file.

    BiasflowError names the file that is empty, cannot be read or has a word twice."""
    words = {name: _read_list(Path(path)) for name, path in paths.items()}
    return WordLists(
        occupations=words["occupations"],
        verbs={kind: words[f"{kind}-verbs"] for kind in VERBS},
        objects={kind: words[kind] for kind in OBJECTS},
        people=tuple(sorted({word for kind in PEOPLE for word in words[kind]})),
    )


def all_templates(lists: WordLists) -> tuple[tuple[str, str], ...]:
    """All templates (verb, object) in the order of the released generator, each once.

    Every commerce verb with every object, every interaction verb with every person, driving verbs with vehicles, eating
    verbs with food: 950 + 890 + 18 + 110 = 1,968 with the released lists. Where the generator takes the objects from a
    set, in an order that changes from run to run, here they are in the order of OBJECTS and of the files."""
    objects = tuple(dict.fromkeys(noun for kind in OBJECTS for noun in lists.objects[kind]))
    blocks = {
        "commerce": objects,
        "interaction": lists.people,
        "driving": lists.objects["vehicles"],
        "eating": lists.objects["food"],
    }
    return tuple(
        dict.fromkeys((verb, noun) for kind, nouns in blocks.items() for verb in lists.verbs[kind] for noun in nouns)
    )


def select(
    occupations: Sequence[str],
    known: Sequence[tuple[str, str]],
    *,
    templates: int | None,
    masculine: Sequence[str],
    feminine: Sequence[str],
    form: str,
) -> OccupationPairs:
    """Combine all occupations with some of the `known` templates (see `all_templates`).

    templates: how many of the M templates; N of them are the numbers floor(i M / N), i = 0 .. N - 1, so they are spread
    evenly over verbs and objects and the choice needs no chance (None: all). The paper's 10,824 pairs are 164
    occupations x 66; it does not say which 66: 33 templates x {man, woman} is our reading. BiasflowError: more
    templates than there are, and what OccupationPairs refuses."""
    if templates is not None:
        if not 1 <= templates <= len(known):
            raise BiasflowError(
                f"occupation pairs: templates: {templates} asked for; give a number from 1 to {len(known)}."
            )
        known = [known[number * len(known) // templates] for number in range(templates)]
    return OccupationPairs(tuple(occupations), tuple(known), tuple(masculine), tuple(feminine), form)


def save_pairs(pairs: OccupationPairs, path: str | Path) -> None:
    """Write the words of `pairs` as JSON; load_pairs gives them back."""
    write_json(path, asdict(pairs))


def load_pairs(path: str | Path) -> OccupationPairs:
    """Read the pairs that save_pairs wrote; BiasflowError names a file of another kind."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        words = {key: tuple(stored[key]) for key in ("occupations", "masculine", "feminine")}
        templates = tuple((verb, noun) for verb, noun in stored["templates"])
        return OccupationPairs(**words, templates=templates, form=stored["form"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BiasflowError(
            f"{path}: not a file of gender-occupation pairs ({error}); delete it and run again"
        ) from error


def _read_list(path: Path) -> tuple[str, ...]:
    words = tuple(filled_lines(path).values())
    if not words:
        raise BiasflowError(f"{path}: the list is empty; it needs a word a line.")
    if (twice := _first_repeated(words)) is not None:
        raise BiasflowError(f"{path}: {twice!r} occurs twice; remove one of the two.")
    return words


def _first_repeated(values: Sequence):
    """The first value that stands in `values` a second time; None where all differ."""
    seen = set()
    return next((value for value in values if value in seen or seen.add(value)), None)


def _subject(word: str, form: str) -> str:
    return f"The {word}" if form == "the" else article(word).replace("a", "A", 1)


def _predicate(verb: str, noun: str, form: str) -> str:
    if form == "the":
        return f"{verb} {noun if noun in PLURALS else article_by_sound(noun)}."
    return f"{verb} {article(noun)} ."
