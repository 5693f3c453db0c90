"""The words whose occurrences in text an eraser is fitted to: masculine and feminine ones (paper A), or those of two
other groups."""

from collections.abc import Sequence
from pathlib import Path

from biasflow.base.genders import FEMALE, MALE, OF_WORDS
from biasflow.corpora.word_sets import WordPairs, read_family_pairs, read_word_pairs
from biasflow.planted.frames import PRONOUNS
from biasflow.planted.world import World, load_world

PLANTED, FAMILY, OWN = "planted", "family", "own"


def read_word_groups(source: str, paths: Sequence[str | Path]) -> WordPairs:
    """Two groups of words with their names, each word once: masculine and feminine ones of the embedded world
    ("planted") or of the file that holds the family pairs ("family"), or those of a user's file ("own")."""
    if source == OWN:
        groups, words = read_word_pairs(paths[0])
    else:
        pairs = planted_pairs(load_world()) if source == PLANTED else read_family_pairs(paths[0])
        groups, words = OF_WORDS, zip(*pairs, strict=True)
    first, second = (list(dict.fromkeys(some)) for some in words)
    return WordPairs(groups, (first, second))


def read_gendered_words(source: str, paths: Sequence[str | Path]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of `read_word_groups`: masculine and feminine ones, unless they are a user's."""
    return read_word_groups(source, paths).words


def planted_pairs(world: World) -> list[tuple[str, str]]:
    """(masculine, feminine): the pronouns he and she, his and her, and the world's nouns for persons.

    "her" stands for "his" as it does in the family section, and "him" is left out: it has no word of its own."""
    pronouns = [(PRONOUNS[MALE][kind], PRONOUNS[FEMALE][kind]) for kind in ("subject", "possessive")]
    return pronouns + world.nouns
