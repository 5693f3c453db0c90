"""Data of tasks under the key `limit`: some of all, the same whenever they are drawn."""

import pandas as pd
import pytest

from biasflow.tasks.glue import data as glue
from biasflow.tasks.nli import data as nli

PLANTED = {"bias": 1.0, "seed": 0, "train": 300, "validation": 100, "test": 60}
KINDS = {
    "nli": (nli, ("train", "validation", "test"), {"data": "planted", "seed": 0}),
    "glue": (glue, ("train", "validation"), {"data": "planted-nli"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_has_at_most_so_many_of_its_examples(kind, tmp_path):
    module, parts, options = KINDS[kind]
    tables = {}
    for limit in (None, 90, 70):
        outputs = {part: tmp_path / f"{limit}-{part}.csv" for part in parts}
        own = outputs | ({"sources": tmp_path / "sources.csv"} if kind == "nli" else {})
        module.prepare({}, own, planted=PLANTED, limit=limit, **options)
        tables[limit] = {part: pd.read_csv(path) for part, path in outputs.items()}
    for part, full in tables[None].items():
        rows = {limit: set(tables[limit][part].itertuples(index=False, name=None)) for limit in (90, 70)}
        assert [len(tables[limit][part]) for limit in (90, 70)] == [min(len(full), 90), min(len(full), 70)]
        assert rows[70] <= rows[90] <= set(full.itertuples(index=False, name=None))
