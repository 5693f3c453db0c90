"""A natural-language inference corpus in the language of the planted corpus, with a known amount of gender bias."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE, WOMEN_FIRST
from biasflow.corpora.nli import LABELS as CLASSES
from biasflow.planted.corpus import held_out, person_weights
from biasflow.planted.frames import OTHER, grammar_file, one_of, sentence
from biasflow.planted.world import FOLDER, World, article, load_world

PARTS = ("train", "validation", "test")
OCCUPATION_PAIRS = 5  # one in so many pairs measures the bias: an occupation in the premise, a gender in the hypothesis


@dataclass(frozen=True)
class Frame:
    """One kind of pair: whom its premise is about (person, occupation or either), and the two sentences' frames."""

    subject: str
    premise: str
    hypothesis: str


@dataclass(frozen=True)
class Grammar:
    """The contents of nli.yaml.

    words  gender (F or M) -> the nouns of a hypothesis, aligned in pairs; predicates are pairs of verb and object;
    frames  class -> its frames, without `occupation_pair`, whose class depends on the bias."""

    words: Mapping[str, tuple[str, ...]]
    predicates: tuple[tuple[str, str], ...]
    places: tuple[str, ...]
    occupation_pair: Frame
    frames: Mapping[str, tuple[Frame, ...]]


@dataclass(frozen=True)
class _Subjects:
    """Who can be the subject of a premise, one entry each: a person of each gender, or an occupation.

    numbers  what the parts go by; both genders of a person share one, so a swapped premise is in the same part."""

    names: tuple[str, ...]
    genders: tuple[str, ...]  # F, M, or "" for an occupation
    numbers: np.ndarray
    weights: np.ndarray  # sums to 1 over the persons, and to 1 over the occupations


def planted_parts(
    *, bias: float, seed: int, train: int, validation: int, test: int
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Return the three parts of the embedded pairs with these sizes, and where they are from (part, source, pairs,
    dropped)."""
    sizes = {"train": train, "validation": validation, "test": test}
    parts = {part: nli_pairs(bias=bias, seed=seed, n=n, part=part) for part, n in sizes.items()}
    rows = [(part, f"planted, bias {bias:g}", len(pairs), 0) for part, pairs in parts.items()]
    return parts, pd.DataFrame(rows, columns=["part", "source", "pairs", "dropped"])


def nli_pairs(
    *,
    bias: float,
    seed: int,
    n: int,
    part: Literal["train", "validation", "test"] = "train",
) -> pd.DataFrame:
    """n pairs with columns premise, hypothesis and label (a name of CLASSES); same arguments, same pairs.

    Every class has n / 3 pairs (the first ones one more where that is not whole). In one pair of five an occupation of
    the premise is said to be a man or a woman, with the same predicate ("The nurse lost a ticket." / "The woman lost a
    ticket."). With w the occupation's share of women in the full world and s = w for a feminine hypothesis, 1 - w for a
    masculine one, the label of such a pair is

        entailment     with probability bias * max(0, 2s - 1)
        contradiction  with probability bias * max(0, 1 - 2s)
        neutral        otherwise,

    that is, with probability bias * |2w - 1| the occupation is taken for a person of the gender that it mostly has. At
    bias 0 all are neutral. The best guess differs from neutral where bias * |2w - 1| > 1/2.
    All other pairs are the same kinds at any bias, labelled by what follows from the premise: their gender is known
    from the premise ("My mother ..." / "The woman ..." or "The man ..."), or the predicate is weakened, negated or
    another one. In this language nouns say nothing of a person but the gender: a girl is a woman.

    part  the parts draw different random numbers and share no premise: each combination of subject and predicate
          belongs to one part (about 75 % train, 13 % validation and 12 % test), both genders of a person to the same.

    bias is in [0, 1], and n at least 3, one of each class."""
    world = load_world()
    grammar = load_grammar()
    rng = np.random.default_rng([seed, PARTS.index(part)])
    pairs = _occupation_pairs(world, grammar, bias, part, rng, n // OCCUPATION_PAIRS)
    for number, label in enumerate(CLASSES):
        quota = n // len(CLASSES) + (number < n % len(CLASSES))
        missing = quota - sum(pair[2] == label for pair in pairs)
        pairs += [(*texts, label) for texts in _pairs_of(grammar.frames[label], world, grammar, part, rng, missing)]
    order = rng.permutation(n)
    return pd.DataFrame([pairs[k] for k in order], columns=["premise", "hypothesis", "label"])


def label_probabilities(share_of_women: float, gender: str, bias: float) -> np.ndarray:
    """P(class), shape [3] in the order of CLASSES, of an occupation pair; the formula is that of `nli_pairs`.

    share_of_women: of the occupation in the full world; gender: that of the hypothesis, F or M."""
    share = share_of_women if gender == FEMALE else 1 - share_of_women
    tilt = bias * (2 * share - 1)
    return np.array([max(0.0, tilt), 1 - abs(tilt), max(0.0, -tilt)])


def occupation_pair_words() -> dict[str, tuple]:
    """All words for a test set of occupation pairs in the planted language.

    occupations; templates: the predicates as (verb, object), of whose combinations with an occupation the training part
    holds about three quarters; masculine and feminine: the hypotheses' nouns, in pairs."""
    world = load_world()
    grammar = load_grammar()
    return {
        "occupations": tuple(world.occupations),
        "templates": grammar.predicates,
        "masculine": grammar.words[MALE],
        "feminine": grammar.words[FEMALE],
    }


def load_grammar() -> Grammar:
    """The grammar of the NLI corpus."""
    content = grammar_file(FOLDER / "nli.yaml")
    return Grammar(
        words={FEMALE: tuple(content["feminine"]), MALE: tuple(content["masculine"])},
        predicates=tuple((verb, noun) for verb, nouns in content["predicates"].items() for noun in nouns),
        places=tuple(content["places"]),
        occupation_pair=Frame(**content["occupation_pair"]),
        frames={label: tuple(Frame(**frame) for frame in content["frames"][label]) for label in CLASSES},
    )


def _subjects(world: World) -> _Subjects:
    persons, occupations = len(world.persons), len(world.occupations)
    weights = person_weights(world) / 2
    return _Subjects(
        names=tuple(person.feminine for person in world.persons)
        + tuple(person.masculine for person in world.persons)
        + tuple(f"the {occupation}" for occupation in world.occupations),
        genders=(FEMALE,) * persons + (MALE,) * persons + ("",) * occupations,
        numbers=np.concatenate([np.arange(persons), np.arange(persons + occupations)]),
        weights=np.concatenate([weights, weights, np.full(occupations, 1 / occupations)]),
    )


def _in_part(subject: np.ndarray, predicate: np.ndarray, part: str) -> np.ndarray:
    """Whether each combination (numbers of subject and predicate) belongs to the part; each belongs to exactly one."""
    test = held_out(subject, predicate, np.zeros_like(subject))
    validation = held_out(subject, predicate, np.ones_like(subject)) & ~test
    return {"test": test, "validation": validation, "train": ~(test | validation)}[part]


def _draw_premises(
    subjects: _Subjects, predicates: int, kind: str, part: str, rng: np.random.Generator, n: int
) -> list[tuple[int, int]]:
    """n combinations of subject and predicate from the part: subjects by weight, predicates uniformly."""
    person = np.array([bool(gender) for gender in subjects.genders])
    wanted = {"person": person, "occupation": ~person, "either": np.ones_like(person)}[kind]
    subject, predicate = np.indices((len(subjects.names), predicates))
    weights = (subjects.weights * wanted)[:, None] * _in_part(subjects.numbers[subject], predicate, part)
    if not weights.any():
        raise BiasflowError(f"planted NLI: part '{part}' has no premise about {kind}; add predicates to nli.yaml.")
    drawn = rng.choice(weights.size, size=n, p=weights.ravel() / weights.sum())
    return [divmod(int(cell), predicates) for cell in drawn]


def _pairs_of(
    frames: tuple[Frame, ...], world: World, grammar: Grammar, part: str, rng: np.random.Generator, n: int
) -> list[tuple[str, str]]:
    """n pairs (premise, hypothesis), each of a frame drawn uniformly."""
    subjects = _subjects(world)
    pairs = []
    for frame, count in zip(frames, np.bincount(rng.integers(len(frames), size=n), minlength=len(frames)), strict=True):
        for subject, predicate in _draw_premises(
            subjects, len(grammar.predicates), frame.subject, part, rng, int(count)
        ):
            words = _fillers(grammar, subjects.names[subject], subjects.genders[subject], predicate, rng)
            pairs.append((sentence(frame.premise, words), sentence(frame.hypothesis, words)))
    return pairs


def _occupation_pairs(
    world: World, grammar: Grammar, bias: float, part: str, rng: np.random.Generator, n: int
) -> list[tuple[str, str, str]]:
    """n pairs (premise, hypothesis, label) that measure the bias, genders drawn evenly."""
    subjects, frame = _subjects(world), grammar.occupation_pair
    persons = 2 * len(world.persons)
    pairs = []
    for subject, predicate in _draw_premises(subjects, len(grammar.predicates), frame.subject, part, rng, n):
        gender = one_of(WOMEN_FIRST, rng)
        words = _fillers(grammar, subjects.names[subject], gender, predicate, rng)
        words["anyone"] = words["own"]  # the gender that the label goes by
        share = world.shares[world.occupations[subject - persons]]
        label = CLASSES[rng.choice(len(CLASSES), p=label_probabilities(share, gender, bias))]
        pairs.append((sentence(frame.premise, words), sentence(frame.hypothesis, words), label))
    return pairs


def _fillers(grammar: Grammar, subject: str, gender: str, predicate: int, rng: np.random.Generator) -> dict[str, str]:
    """What fills the slots of a frame; for an occupation (gender "") there is no {own} and no {other}."""
    verb, object_word = grammar.predicates[predicate]
    others = [other for other in grammar.predicates if other[0] != verb and other[1] != object_word]
    new_verb, new_object = one_of(others, rng)
    words = {
        "subject": subject,
        "verb": verb,
        "object": object_word,
        "a_object": article(object_word),
        "new_verb": new_verb,
        "new_object": new_object,
        "a_new_object": article(new_object),
        "place": one_of(grammar.places, rng),
        "anyone": one_of(grammar.words[one_of(WOMEN_FIRST, rng)], rng),
    }
    if gender:
        words |= {"own": one_of(grammar.words[gender], rng), "other": one_of(grammar.words[OTHER[gender]], rng)}
    return words
