"""StereoSet-like triples from the planted world, with exact gender-swapped copies."""

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.planted.corpus import fillers, held_out, person_weights, scenery_fillers
from biasflow.planted.frames import ITEM_SLOTS, OTHER, Theme, sentence, slots
from biasflow.planted.sentences import items_of_either
from biasflow.planted.world import Person, World, load_world

COLUMNS = ["triple", "label", "gender", "context", "next_sentence", "swapped_context", "swapped_next_sentence"]


def triples(*, seed: int, n: int, seen: bool = False) -> pd.DataFrame:
    """n triples, 3 rows each (stereotype, anti-stereotype, unrelated), in the format of the stimuli table.

    The context names a woman or a man, turn by turn. Stereotype and anti-stereotype are the same continuation with an
    item that the world gives mostly to the context's gender, and one that it gives mostly to the other; unrelated is a
    sentence of scenery, where nothing has a gender. The swapped columns say the same of a person of the other gender.
    The combinations of opening, continuation and person are those that `corpus.held_out` keeps out of every
    pre-training corpus; with `seen` they are all the others, which an encoder may have been trained on. The triples do
    not depend on the bias: all encoders are judged by the same ones."""
    world = load_world()
    rng = np.random.default_rng(seed)
    themes = _themes(world)
    scenery = [theme for theme in world.themes if theme.is_scenery]
    if not themes or not scenery:
        raise BiasflowError("planted: the frames leave no triples: they need a theme with items and one of scenery.")
    drawn = [_combinations(world, theme, -(-n // len(themes)), seen, rng) for theme in themes]
    rows = []
    for k in range(n):
        turn, number = divmod(k, len(themes))
        theme = themes[number]
        opening, continuation, person = drawn[number][turn]
        frames = theme.opening[opening], theme.continuations[continuation]
        gender = "FM"[(turn + number) % 2]
        items = _pair_of_items(world, theme, gender, rng)
        unrelated = scenery[rng.integers(len(scenery))]
        off_topic = sentence(rng.choice(unrelated.continuations), scenery_fillers(unrelated, rng))
        rows += _rows(f"planted-{k:04d}", gender, frames, world.persons[person], items, off_topic)
    return pd.DataFrame(rows, columns=COLUMNS)


def _combinations(world: World, theme: Theme, n: int, seen: bool, rng: np.random.Generator) -> np.ndarray:
    """n different combinations [n, (opening, continuation, person)] of the theme, held out or not, persons by their
    weight."""
    shape = len(theme.opening), len(theme.neutral), len(world.persons)
    combinations = np.indices(shape).reshape(3, -1)
    combinations = combinations[:, held_out(*combinations) != seen]
    if combinations.shape[1] < n:
        raise BiasflowError(
            f"planted: theme '{theme.name}' has no {n} combinations for triples; ask for fewer triples."
        )
    weights = person_weights(world)[combinations[2]]
    chosen = rng.choice(combinations.shape[1], size=n, replace=False, p=weights / weights.sum())
    return combinations[:, chosen].T


def _pair_of_items(world: World, theme: Theme, gender: str, rng: np.random.Generator) -> tuple[str, str]:
    """An item of the gender and one of the other gender, both clearly so in the world."""
    items = items_of_either(world, theme)
    return str(rng.choice(items[gender])), str(rng.choice(items[OTHER[gender]]))


def _rows(
    triple: str, gender: str, frames: tuple[str, str], person: Person, items: tuple[str, str], off_topic: str
) -> list[dict[str, str]]:
    """The three rows of a triple; `items` are the stereotype's and the anti-stereotype's."""
    opening, continuation = frames
    rows = []
    for label, item in zip(("stereotype", "anti-stereotype", "unrelated"), (*items, None), strict=True):
        row = {"triple": triple, "label": label, "gender": gender}
        for prefix, word_gender in (("", gender), ("swapped_", OTHER[gender])):
            words = fillers(word_gender, person, item or "")
            row[f"{prefix}context"] = sentence(opening, words)
            row[f"{prefix}next_sentence"] = off_topic if item is None else sentence(continuation, words)
        rows.append(row)
    return rows


def ideal_preference(bias: float, world: World | None = None) -> float:
    """Return how strongly a perfect next-sentence head for a corpus with this bias prefers stereotypes, in nats; 0 at
    bias 0: the mean over `triples` of log-odds(next | stereotype) - log-odds(next | anti-stereotype).

    Of a continuation that is drawn for a person of gender g, item i has the odds P(i | g) / P(i) = P(g | i) / 0.5 more
    than one that is drawn for anybody; all else is the same in both sentences."""
    world = world or load_world()
    differences = []
    for theme in _themes(world):
        women, men = items_of_either(world, theme).values()
        for stereo, anti, share in ((women, men, lambda p: p), (men, women, lambda p: 1 - p)):
            logs = [np.mean([np.log(share(world.share(item, bias))) for item in items]) for items in (stereo, anti)]
            differences.append(logs[0] - logs[1])
    return float(np.mean(differences))


def _themes(world: World) -> list[Theme]:
    """The themes of the triples: their items stand in the continuation alone."""
    return [theme for theme in world.themes if theme.items and not slots(theme.opening[0]) & ITEM_SLOTS]
