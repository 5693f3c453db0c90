"""The gender-occupation pairs of natural language inference, in which no occupation implies a gender: the words that
are scored, and the sentences, which are made when they are used. Apart from the training, which knows no stimuli."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.corpora.nli import LABELS
from biasflow.planted.nli import occupation_pair_words
from biasflow.text.occupation_pairs import all_templates, load_pairs, read_word_lists, save_pairs, select
from biasflow.training.examples import Examples


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


def examples(data: Mapping[str, tuple[Path, ...]]) -> Examples:
    """The pairs of the role `pairs` (a file of `save_pairs`): without gold labels, and of the shape [occupations,
    templates, 2, words]."""
    pairs = load_pairs(data["pairs"][0])
    return Examples(pairs.sentences, pairs.shape, LABELS)
