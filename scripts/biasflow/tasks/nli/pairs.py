"""The words of the gender-occupation pairs that are scored; their sentences are made when they are used."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.planted.nli import occupation_pair_words
from biasflow.text.occupation_pairs import all_templates, read_word_lists, save_pairs, select


def prepare(sources: Mapping[str, Sequence[Path]], outputs: Mapping[str, Path], **selection) -> dict[str, object]:
    """Write the pairs of the word lists in `sources`, or of the embedded `world`; selection: as in `select`."""
    if "world" in sources:
        words = occupation_pair_words()
        occupations, templates = words["occupations"], words["templates"]
    else:
        lists = read_word_lists({name: path for name, (path,) in sources.items()})
        occupations, templates = lists.occupations, all_templates(lists)
    save_pairs(select(occupations, templates, **selection), outputs["pairs"])
    return {}
