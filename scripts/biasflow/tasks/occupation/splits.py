"""Check that all splits can be balanced as their strategies need it, before anything is trained."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.tabular import read_parquet, write_csv
from biasflow.tasks.occupation.data import check_balanceable, split_counts


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    seeds: Sequence[int],
    strategies: Sequence[str],
    advice: str,
) -> dict[str, object]:
    """Write the counts of women and men in every part of every split; BiasflowError as `check_balanceable`."""
    biographies = read_parquet(sources["biographies"][0])
    check_balanceable(biographies, seeds=seeds, strategies=strategies, advice=advice)
    write_csv(split_counts(biographies, seeds), outputs["splits"])
    return {}
