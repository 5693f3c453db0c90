"""The Google analogy test set (Mikolov et al. 2013): the masculine-feminine word pairs of its section `family`."""

from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text

SECTION = "family"


def read_family_pairs(path: str | Path) -> tuple[tuple[str, str], ...]:
    """Read the pairs (masculine, feminine) of the section `family`: each once, in the order in which they first occur.

    A section is a line `: NAME` and the lines up to the next such line; each holds an analogy of four words, a b c d (a
    is to b as c is to d), hence the pairs (a, b) and (c, d). Words are lower-cased. BiasflowError names the file, and
    the line where there is one: not readable, not UTF-8, no such section or an empty one, a line without exactly four
    words, a word that is masculine in one pair and feminine in another."""
    pairs: dict[tuple[str, str], None] = {}
    gender: dict[str, int] = {}
    for number, words in _section(Path(path)):
        if len(words) != 4:
            raise BiasflowError(f"{path}: line {number}: {len(words)} words; an analogy has four.")
        for pair in (tuple(words[:2]), tuple(words[2:])):
            for place, word in enumerate(pair):
                if gender.setdefault(word, place) != place:
                    raise BiasflowError(
                        f"{path}: line {number}: {word!r} is both masculine and feminine; the first word of a pair "
                        "must be the masculine one."
                    )
            pairs[pair] = None
    if not pairs:
        raise BiasflowError(f"{path}: no analogies in a section `: {SECTION}`; is this the Google analogy test set?")
    return tuple(pairs)


def _section(path: Path) -> list[tuple[int, list[str]]]:
    """The lines of the section: number (from 1) and words; blank lines are left out."""
    lines, inside = [], False
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.startswith(":"):
            inside = line[1:].strip() == SECTION
        elif inside and line.strip():
            lines.append((number, line.lower().split()))
    return lines
