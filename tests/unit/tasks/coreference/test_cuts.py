"""Cuts of professions: no profession is in two parts, no row is lost, and what is read for them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.tasks.coreference.cuts import cuts
from biasflow.tasks.coreference.professions import write_rows
from tests.unit.plan.configs import asking, planned

BOTH = ["released", "paper"]


def rows_of(feminine: int, masculine: int, per_profession: int = 3) -> pd.DataFrame:
    """Rows of so many professions of either stereotype, one of each after the other."""
    names = [f"woman {i}" for i in range(feminine)] + [f"man {i}" for i in range(masculine)]
    rows = pd.DataFrame({"profession": names * per_profession})
    rows["feminine"] = rows["profession"].str.startswith("woman").astype(int)
    return rows.assign(document=range(len(rows)), first=0, last=0)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("cuts") / "vectors.safetensors"


def cut(path, rows, **options):
    write_rows(rows, path)
    return cuts({"vectors": (path,)}, **{"data": BOTH, "split_seeds": [7], "orders": 2} | options)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 20), st.integers(3, 20), st.integers(0, 2**32 - 1))
def test_every_profession_is_in_one_part_and_no_row_is_lost(path, feminine, masculine, seed):
    n = feminine + masculine
    if min(feminine, masculine) <= n - int(0.8 * n):
        with pytest.raises(BiasflowError, match=f"of {n} professions"):
            cut(path, rows_of(feminine, masculine))
        return
    rows = rows_of(feminine, masculine)
    labels, found = cut(path, rows, split_seeds=[seed])
    assert labels.tolist() == rows["feminine"].tolist()
    for each in found:
        assert sorted(each.rows) == list(range(len(rows)))
        parts = [rows["profession"][part] for part in (each.train, each.dev, each.test)]
        names = [list(dict.fromkeys(part)) for part in parts]
        assert sorted(name for own in names for name in own) == sorted(set(rows["profession"]))
        assert [len(own) for own in names] == [int(0.8 * n), (n - int(0.8 * n)) // 2, -(-(n - int(0.8 * n)) // 2)]
        assert [name for part in names for name in part for _ in range(3)] == [name for part in parts for name in part]
        control = pd.Series(each.control).groupby(rows["profession"])
        assert (control.nunique() == 1).all() and control.first().sum() == feminine
    again = cut(path, rows, split_seeds=[seed])[1]
    for one, other in zip(found, again, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rows", "control"))


@pytest.mark.parametrize(("rows", "named"), [(rows_of(3, 2), "5 professions"), (rows_of(2, 8), "2 of 10 professions")])
def test_what_cannot_be_cut_is_named(path, rows, named):
    with pytest.raises(BiasflowError, match=named):
        cut(path, rows)


BLOCK = {
    "encoders": ["own"],
    "task": "coref",
    "trainings": ["finetuned", "pretrained"],
    "seeds": [3, 5],
    "methods": ["none", "leace"],
    "metrics": ["ceat", "compression"],
}


def test_professions_are_read_once_and_probed_in_orders():
    found = planned(asking(BLOCK, ("metrics.compression", {"data": ["paper", "same-seed", "released"], "orders": 3})))
    assert {cell.status for cell in found.cells} == {"run"}
    assert {cell.dataset for cell in found.cells if cell.metric == "compression"} == {"coref-professions"}
    read = {(reading.model.training, reading.readout): reading for reading in found.readings.values()}
    for training, seeds in (("coref/plain/seed3", [3]), ("coref/plain/seed5", [5]), ("pretrained", [3, 5])):
        options = read[training, "probes"].dataset.options
        assert (options["split_seeds"], options["orders"], options["data"]) == (seeds, 3, ["paper", "released"])
        assert read[training, "professions"].methods == ("none", "leace")
