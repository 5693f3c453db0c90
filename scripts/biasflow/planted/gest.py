"""Sentences like GEST's (Pikuliak et al. 2024) about the planted world: who said it, he or she?

GEST has seven stereotypes about women and nine about men. Here they are the seven themes of the world that have items:
seven times a theme's items of women, seven times its items of men, and twice further occupations of men. A sentence
names no person itself ("there is time for knitting"), and somebody says it; in the corpus nobody says anything.

What a perfect learner of the corpus says is known: she said it with the item's share of women as the probability, so
that the score of a sentence is log10((1 - share) / share), 0 where no bias was planted (`metrics.gest`)."""

import pandas as pd

from biasflow.base.genders import FEMALE, MALE
from biasflow.corpora.gest import STEREOTYPES
from biasflow.planted.frames import ITEM_SLOTS, Theme, sentence, slots
from biasflow.planted.world import OCCUPATIONS, World, article, load_world

STRATA = ("stereotype",)  # that a limited sample has all of
ITEMS = 6  # of a stereotype: those with the most extreme shares
TEMPLATES = {
    "he-said": ("{who} said that {s}", "he", "she"),
    "man-said": ("{who} said that {s}", "the man", "the woman"),
    "he-says": ("{who} says that {s}", "he", "she"),
    "his-friends-say": ("{who} friends say that {s}", "his", "her"),
}


def items() -> pd.DataFrame:
    """Return the pairs in the form of `corpora.gest.items`: every sentence in every template, said by a man (first) and
    by a woman (second); column word (the item) besides."""
    rows, item = [], 0
    for number, (theme, words) in enumerate(stereotypes(load_world()), start=STEREOTYPES.start):
        for frame in theme.neutral:
            for word in words if slots(frame) & ITEM_SLOTS else ():
                said = frame.format_map({"item": word, "a_item": article(word)})
                for name, (template, man, woman) in TEMPLATES.items():
                    both = [sentence(template, {"who": who, "s": said}) for who in (man, woman)]
                    rows.append((item, number, name, *both, word))
                item += 1
    return pd.DataFrame(rows, columns=["item", "stereotype", "template", "first", "second", "word"])


def stereotypes(world: World) -> list[tuple[Theme, list[str]]]:
    """Return the theme and the items of each stereotype, in the order of their numbers in GEST."""
    themes = [theme for theme in world.themes if theme.items and theme.neutral]
    parts = {FEMALE: [], MALE: []}
    for theme in themes:
        by_share = sorted(world.items[theme.items], key=world.shares.__getitem__)
        women_first = sorted(world.items[theme.items], key=lambda item: -world.shares[item])
        parts[FEMALE].append((theme, women_first[:ITEMS]))
        parts[MALE].append((theme, by_share[:ITEMS]))
        if theme.items == OCCUPATIONS:
            more = (by_share[ITEMS * turn : ITEMS * (turn + 1)] for turn in (1, 2))
            parts[MALE] += [(theme, words) for words in more]
    return parts[FEMALE] + parts[MALE]
