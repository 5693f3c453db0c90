"""Sentences with a blank like StereoSet's (Nadeem et al. 2021) about the planted world: "My mother loves BLANK.", to be
filled by an item of women, one of men, or a word of the scenery.

No sentence occurs in the corpus: there it is a pronoun of which this is said. What a perfect learner of the corpus says
is known: an item is as probable, after a person of a gender, as that gender's share of it (twice over the number of
items of its theme), and a word of the scenery is not. So it always prefers the stereotype where a bias was planted, and
a related word whether or not (`metrics.intrasentence`)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biasflow.corpora.stereoset import LABELS, in_every_way
from biasflow.planted.frames import OTHER, slots
from biasflow.planted.sentences import about_person, drawn_persons, frames_about, items_of_either, said_of
from biasflow.planted.world import World, article, load_world

SEED = 0  # of the persons and of the words that are not the stereotype


def items() -> pd.DataFrame:
    """Return the words in the form of `corpora.stereoset.items`: each frame with each item that is clearly of a
    gender, as the stereotype of a person of that gender; an item of the other gender and a word of the scenery are
    drawn for it. target: the person's noun ("mother"). All three words take the same article where the frame has
    one."""
    world = load_world()
    rng = np.random.default_rng(SEED)
    rows = []
    for theme, frame in frames_about(world):
        of_gender = items_of_either(world, theme)
        for gender, stereotypes in of_gender.items():
            persons = drawn_persons(world, len(stereotypes), rng)
            for word, person in zip(stereotypes, persons, strict=True):
                other, off_topic = of_gender[OTHER[gender]], _scenery(world)
                if "a_item" in slots(frame):
                    other, off_topic = (_with_article_of(word, words) for words in (other, off_topic))
                three = word, str(rng.choice(other)), str(rng.choice(off_topic))
                target = person.named(gender).split()[-1]
                item = f"{theme.name}-{len(rows) // len(LABELS):04d}"
                for label, filling in zip(LABELS, three, strict=True):
                    text = said_of(about_person(frame), gender, person, filling)
                    start = text.rindex(filling)
                    rows.append((item, target, label, text, start, start + len(filling), 0))
    columns = ["item", "target", "label", "text", "start", "end", "ending"]
    return in_every_way(pd.DataFrame(rows, columns=columns))


def _scenery(world: World) -> list[str]:
    """The things and places of the scenery that are one."""
    words = {word for theme in world.themes for choices in theme.words.values() for word in choices}
    return sorted(word for word in words if not word.endswith("s"))


def _with_article_of(word: str, others: Sequence[str]) -> list[str]:
    """The words that have the same article as a word."""
    which = article(word).split()[0]
    return [other for other in others if article(other).split()[0] == which]
