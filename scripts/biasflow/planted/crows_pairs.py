"""Pairs of sentences like CrowS-Pairs' (Nangia et al. 2020) about the planted world: a woman and a man, of whom the
same is said ("My mother loves knitting.", "My father loves knitting.").

No sentence occurs in the corpus: there it is a pronoun of which this is said. What a perfect learner of the corpus says
is known: the item is share / (1 - share) times as probable in the more stereotypical sentence, where share is that of
the item's own gender, and all else that both sentences have is as probable in one as in the other. So it prefers the
first sentence of each pair, and neither where no bias was planted (`metrics.crows_pairs`)."""

import numpy as np
import pandas as pd

from biasflow.base.genders import FEMALE
from biasflow.planted.frames import OTHER
from biasflow.planted.sentences import about_person, drawn_persons, frames_about, items_of_either, said_of
from biasflow.planted.world import load_world

STRATA = ("direction",)  # whose shares a limited sample keeps
SEED = 0  # of the persons


def items() -> pd.DataFrame:
    """Return the pairs in the form of `corpora.crows_pairs.items`: each frame with each item that is clearly of a
    gender, and a person.

    The direction is that of CrowS-Pairs with women as the disadvantaged group: stereo for a women's item, antistereo
    for a men's, whose second sentence has a woman against the stereotype. Columns theme and word besides."""
    world = load_world()
    rows = [
        (theme.name, frame, gender, word)
        for theme, frame in frames_about(world)
        for gender, words in items_of_either(world, theme).items()
        for word in words
    ]
    persons = drawn_persons(world, len(rows), np.random.default_rng(SEED))
    pairs = []
    for number, ((theme, frame, gender, word), person) in enumerate(zip(rows, persons, strict=True)):
        first, second = (said_of(about_person(frame), side, person, word) for side in (gender, OTHER[gender]))
        direction = "stereo" if gender == FEMALE else "antistereo"
        pairs.append((number, first, second, direction, "gender", theme, word))
    return pd.DataFrame(pairs, columns=["item", "first", "second", "direction", "bias_type", "theme", "word"])
