"""The planted corpus: two-sentence discourses with a known amount of gender bias."""

from collections.abc import Mapping

import numpy as np

from biasflow.base.genders import FEMALE, MALE
from biasflow.planted.frames import PRONOUNS, Theme, one_of, sentence
from biasflow.planted.world import KINDS, Person, World, article, load_world

NEUTRAL = 0.8  # share of the continuations that name no gender, in themes with both kinds
HELD_OUT = 8  # one in so many combinations of opening, continuation and person is kept for the StereoSet-like triples


def discourses(*, bias: float, seed: int, n: int) -> list[list[str]]:
    """Return n two-sentence discourses, about half of them about women whatever the bias; same arguments, same text.

    Each draws a theme by weight, an item of the theme uniformly, the gender of the person from P(woman) =
    0.5 + bias * (share of the item - 0.5), a way to name that person, an opening and a continuation. So every word is
    as frequent at one bias as at any other (but for noise): only what goes with what changes. Gender and theme are
    independent. At bias 0 gender says nothing but which pronouns follow. Combinations that `held_out` keeps for the
    triples never occur."""
    world = load_world()
    rng = np.random.default_rng(seed)
    documents: list[list[str]] = []
    while len(documents) < n:
        documents += _draw(world, bias, rng, n - len(documents))
    return documents


def person_weights(world: World) -> np.ndarray:
    """Return P(person), shape [persons]: all persons of a kind (KINDS) are equally probable."""
    kinds = [person.kind for person in world.persons]
    weights = np.array([KINDS[kind] / kinds.count(kind) for kind in kinds])
    return weights / weights.sum()


def held_out(opening: np.ndarray, continuation: np.ndarray, person: np.ndarray) -> np.ndarray:
    """Return whether each combination (numbers within the theme, and of the person) is reserved for the triples.

    A fixed scramble of the three numbers: each opening and each continuation, and nearly every pair of them, still
    occurs in training, so no pair of frames gives itself away as never seen. Both genders of a person share a number:
    a triple's gender-swapped copy is held out with it."""
    key = np.uint64(0)
    for part in (opening, continuation, person):
        key = (key + np.asarray(part, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        key = key ^ (key >> np.uint64(29))
    return key % np.uint64(HELD_OUT) == 0


def fillers(gender: str, person: Person, item: str) -> dict[str, str]:
    """Return the fillers of the slots of a frame about a person of `gender` (F or M) and an item."""
    pronouns = PRONOUNS[gender]
    name = person.named(gender)
    is_pronoun = person.kind == "pronoun"
    return {
        **pronouns,
        "person": name,
        "person_object": pronouns["object"] if is_pronoun else name,
        "person_possessive": pronouns["possessive"] if is_pronoun else f"{name}'s",
        "item": item,
        "a_item": article(item) if item else "",
    }


def scenery_fillers(theme: Theme, rng: np.random.Generator) -> Mapping[str, str]:
    """Scenery words for a frame of `theme`, drawn uniformly."""
    words = {slot: one_of(choices, rng) for slot, choices in theme.words.items()}
    return {**words, "a_thing": article(words["thing"])}


def _draw(world: World, bias: float, rng: np.random.Generator, n: int) -> list[list[str]]:
    """Up to n discourses: n draws less those that are held out."""
    weights = np.array([theme.weight for theme in world.themes])
    theme = rng.choice(len(world.themes), size=n, p=weights / weights.sum())
    person = rng.choice(len(world.persons), size=n, p=person_weights(world))
    item, opening, continuation, neutral, woman = rng.random((5, n))
    documents = []
    n_opening, n_neutral, n_gendered = (
        np.array([len(getattr(t, part)) for t in world.themes])[theme] for part in ("opening", "neutral", "gendered")
    )
    opening = (opening * n_opening).astype(int)
    is_neutral = (n_gendered == 0) | ((n_neutral > 0) & (neutral < NEUTRAL))
    continuation = np.where(is_neutral, continuation * n_neutral, n_neutral + continuation * n_gendered).astype(int)
    for k in np.flatnonzero(~held_out(opening, continuation, person)):
        chosen = world.themes[theme[k]]
        frames = chosen.opening[opening[k]], chosen.continuations[continuation[k]]
        if chosen.is_scenery:
            words = scenery_fillers(chosen, rng)
        else:
            items = world.items.get(chosen.items, ("",))
            name = items[int(item[k] * len(items))]
            gender = FEMALE if woman[k] < (world.share(name, bias) if name else 0.5) else MALE
            words = fillers(gender, world.persons[person[k]], name)
        documents.append([sentence(frame, words) for frame in frames])
    return documents
