"""What the tests in the planted language are made of: frames, items and persons of the planted world, put together in
ways that its corpus never has."""

from collections.abc import Iterator, Sequence

import numpy as np

from biasflow.base.genders import FEMALE, MALE
from biasflow.planted.corpus import fillers, person_weights
from biasflow.planted.frames import ITEM_SLOTS, Theme, sentence, slots
from biasflow.planted.world import NAMED_BY, Person, World

ASSOCIATED = 0.25  # a share of women up to this makes an item a man's, from 1 - this a woman's
IN_PLACE_OF = {"subject": "person", "object": "person_object", "possessive": "person_possessive"}


def items_of_either(world: World, theme: Theme) -> dict[str, list[str]]:
    """Return, by gender, the items of a theme that are clearly women's, and those that are clearly men's."""
    shares = {item: world.shares[item] for item in world.items[theme.items]}
    women = [item for item, share in shares.items() if share >= 1 - ASSOCIATED]
    return {FEMALE: women, MALE: [item for item, share in shares.items() if share <= ASSOCIATED]}


def frames_about(world: World) -> Iterator[tuple[Theme, str]]:
    """Yield each theme with items with each of its frames that has an item and a pronoun: "{subject} loves {item}"."""
    for theme in world.themes:
        for frame in theme.gendered if theme.items else ():
            if slots(frame) & ITEM_SLOTS:
                yield theme, frame


def about_person(frame: str) -> str:
    """Return a frame of `frames_about` with a person in the place of its pronoun: "{person} loves {item}"."""
    (pronoun,) = slots(frame) & set(IN_PLACE_OF)
    return frame.replace(f"{{{pronoun}}}", f"{{{IN_PLACE_OF[pronoun]}}}")


def said_of(frame: str, gender: str, person: Person, item: str) -> str:
    """Return the sentence of a frame of `about_person`: "My mother loves knitting.\""""
    return sentence(frame, fillers(gender, person, item))


def drawn_persons(world: World, n: int, rng: np.random.Generator) -> Sequence[Person]:
    """Return n persons of the kinds NAMED_BY, by their weights in the corpus."""
    named = [number for number, person in enumerate(world.persons) if person.kind in NAMED_BY]
    weights = person_weights(world)[named]
    return [world.persons[number] for number in rng.choice(named, size=n, p=weights / weights.sum())]
