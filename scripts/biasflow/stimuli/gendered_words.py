"""The masculine and feminine words whose occurrences in text an eraser is fitted to (paper A)."""

from collections.abc import Sequence
from pathlib import Path

from biasflow.base.genders import FEMALE, MALE
from biasflow.corpora.analogies import read_family_pairs
from biasflow.planted.frames import PRONOUNS
from biasflow.planted.world import World, load_world

PLANTED, FAMILY = "planted", "family"


def read_gendered_words(source: str, paths: Sequence[str | Path]) -> tuple[list[str], list[str]]:
    """Masculine and feminine words, each once: of the embedded world, or of the file that holds the family pairs."""
    pairs = planted_pairs(load_world()) if source == PLANTED else read_family_pairs(paths[0])
    masculine, feminine = (list(dict.fromkeys(words)) for words in zip(*pairs, strict=True))
    return masculine, feminine


def planted_pairs(world: World) -> list[tuple[str, str]]:
    """(masculine, feminine): the pronouns he and she, his and her, and the world's nouns for persons.

    "her" stands for "his" as it does in the family section, and "him" is left out: it has no word of its own."""
    nouns = [(person.masculine, person.feminine) for person in world.persons if person.kind in ("noun", "kin")]
    words = dict.fromkeys((man.split()[-1], woman.split()[-1]) for man, woman in nouns)
    pronouns = [(PRONOUNS[MALE][kind], PRONOUNS[FEMALE][kind]) for kind in ("subject", "possessive")]
    return [*pronouns, *((man, woman) for man, woman in words if man != woman)]
