"""The professions in sentences like WinoBias's, from whose vectors a probe predicts stereotypes."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.genders import FEMALE
from biasflow.base.tabular import read_parquet, write_parquet
from biasflow.corpora.winobias import Sentence, two_professions

COLUMNS = ["document", "first", "last", "profession", "feminine"]


def profession_rows(sentences: Sequence[Sentence]) -> pd.DataFrame:
    """The masculine and the feminine profession of every pro-stereotypical sentence: document (its number, from 0),
    first, last (words), profession, feminine (1 where the stereotype is F, 0 where it is M).

    That of the gold cluster stands where the cluster names it, the other one where it is named first. (The released
    code of Orgad et al. (2022) takes the first place of both. In WinoBias's 1,584 pro-stereotypical sentences these
    are the same.) BiasflowError as `two_professions`."""
    rows = []
    for number, sentence in enumerate(sentences):
        by_stereotype = two_professions(sentence)
        by_stereotype[sentence.gender] = sentence.profession, sentence.named
        rows += [
            (number, *place, name, int(stereotype == FEMALE)) for stereotype, (name, place) in by_stereotype.items()
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


def write_rows(rows: pd.DataFrame, vectors: Path) -> None:
    """Write `profession_rows` beside the file of their vectors."""
    write_parquet(rows, _beside(vectors))


def read_rows(vectors: Path) -> pd.DataFrame:
    """The rows of a file of vectors; BiasflowError for a table that is not whole."""
    return read_parquet(_beside(vectors))


def _beside(vectors: Path) -> Path:
    return vectors.with_suffix(".rows.parquet")
