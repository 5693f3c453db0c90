"""The pairs of a task of natural language inference: from files, or embedded ones with a known bias."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.sample import sampled
from biasflow.base.tabular import write_csv
from biasflow.corpora.nli import collect_parts, write_nli
from biasflow.planted.nli import planted_parts


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    data: str | Mapping[str, object],
    planted: Mapping[str, object],
    seed: int,
    limit: int | None = None,
) -> dict[str, object]:
    """Write the pairs of train, validation and test, and the table of their sources.

    data: "planted", or the names of each part's files (in the order of `sources`) and validation_share; planted: the
    options of `planted_parts`; seed: of what is held out for validation; limit: at most so many pairs of each part."""
    if data == "planted":
        parts, table = planted_parts(**planted)
    else:
        files = {part: dict(zip(data[part], paths, strict=True)) for part, paths in sources.items()}
        parts, table = collect_parts(files, validation_share=data["validation_share"], seed=seed)
    parts = {part: sampled(pairs, limit, strata=["label"]) for part, pairs in parts.items()}
    for part, pairs in parts.items():
        write_nli(pairs, outputs[part])
    write_csv(table, outputs["sources"])
    return {"seed": seed, "pairs": {part: len(pairs) for part, pairs in parts.items()}}
