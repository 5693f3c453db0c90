"""Natural language inference: the examples that a classifier predicts. Apart from its training, which knows no
stimuli."""

from collections.abc import Mapping
from pathlib import Path

from biasflow.base.tabular import read_text_csv
from biasflow.corpora.nli import LABELS, TEXTS
from biasflow.text.occupation_pairs import load_pairs
from biasflow.training.examples import Examples, of_table


def examples(data: Mapping[str, tuple[Path, ...]]) -> Examples:
    """The labelled pairs of the role `examples` (a file of `write_nli`), or the gender-occupation pairs of the role
    `pairs` (a file of `save_pairs`): these have no gold labels and the shape [occupations, templates, 2, words]."""
    if "pairs" in data:
        (path,) = data["pairs"]
        pairs = load_pairs(path)
        return Examples(pairs.sentences, pairs.shape, LABELS)
    (path,) = data["examples"]
    return of_table(read_text_csv(path), texts=TEXTS, classes=LABELS)
