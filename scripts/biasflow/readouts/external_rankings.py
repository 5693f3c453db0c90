"""Ranked lists that somebody gives, made the readout that metrics/given_rankings.py scores. Imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.tabular import write_parquet
from biasflow.corpora.rankings import read_rankings
from biasflow.readouts.files import under_methods


def read(paths: Sequence[Path], data: Mapping[str, Sequence[Path]], output: Path) -> dict[str, object]:
    """Write the documents of lists (`read_rankings`), with method "none" and setting "-"; return how many there are."""
    table = read_rankings(paths, **{role: of_role[0] for role, of_role in data.items()})
    write_parquet(under_methods([("none", "-")], table), output)
    return {"queries": table["query"].nunique(), "documents": len(table)}
