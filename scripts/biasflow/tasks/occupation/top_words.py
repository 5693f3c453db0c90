"""The words that tell gender in scrubbed biographies, and then those that still do (tables 9 and 10)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from scripts.biasflow.base.tabular import read_parquet, write_csv
from scripts.biasflow.tasks.occupation.gender_classifier import ALL, of_profession, top_words


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    seeds: Sequence[int],
    iterations: int,
    words: int,
    least: int,
    profession: str,
) -> dict[str, object]:
    """Write the `words` words per gender and iteration, of those in `least` biographies, of all and of a profession."""
    biographies = read_parquet(sources["biographies"][0])
    options = {"seeds": seeds, "iterations": iterations, "n": words, "min_texts": least}
    parts = {name: of_profession(biographies, name) for name in (ALL, profession)}
    tables = [
        top_words(part["scrubbed"].tolist(), part["gender"].tolist(), **options).assign(part=name)
        for name, part in parts.items()
    ]
    write_csv(pd.concat(tables, ignore_index=True), outputs["top_words"])
    return {}
