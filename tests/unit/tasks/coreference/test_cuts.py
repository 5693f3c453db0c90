"""Cuts of professions: no profession is in two parts, and what compresses is what unseen professions share."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.codelength import score
from biasflow.readouts import probes
from biasflow.readouts.source import Source
from biasflow.tasks.coreference.cuts import cuts
from biasflow.tasks.coreference.professions import write_rows
from tests.unit.synthetic_bios import save_states

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


def test_40_professions_are_cut_as_32_4_and_4(path):
    rows = rows_of(20, 20)
    _, found = cut(path, rows, split_seeds=[0, 5], orders=20)
    assert [(each.data, each.split_seed, *each.seeds) for each in found] == [
        *(("released", "-", seed) for seed in (0, 5)),
        *(("paper", "-", seed) for seed in range(20)),
    ]
    assert {(each.data, each.shuffled, each.mixed) for each in found} == {
        ("released", False, False),
        ("paper", False, True),
    }
    for each in found:
        sizes = [rows["profession"][part].nunique() for part in (each.train, each.dev, each.test)]
        assert sizes == [32, 4, 4]
    assert len({tuple(each.train) for each in found}) == 20  # the orders 0 and 5 are those of both readings


@pytest.mark.parametrize(
    ("rows", "options", "named"),
    [
        (rows_of(3, 2), {}, "5 professions"),
        (rows_of(2, 8), {}, "2 of 10 professions"),
        (rows_of(5, 5), {"data": ["same-seed"]}, "same-seed"),
    ],
)
def test_what_cannot_be_cut_is_named(path, rows, options, named):
    with pytest.raises(BiasflowError, match=named):
        cut(path, rows, **options)


def compressions(path, *, gender: float, orders: int) -> pd.Series:
    """Of 40 professions, each with 10 rows, a random vector and a stereotype in a dimension of its own, by variant."""
    rows, rng = rows_of(20, 20, per_profession=10), np.random.default_rng(0)
    professions, _ = pd.factorize(rows["profession"])
    X = rng.normal(size=(40, 8))[professions] + rng.normal(scale=0.3, size=(len(rows), 8))
    X[:, 0] = gender * (2 * rows["feminine"] - 1) + rng.normal(scale=0.3, size=len(rows))
    write_rows(rows, path)
    save_states(path, X)
    asked = Source(path.parent, ("none",), "coref-professions", {"vectors": (path,)})
    probes.read(
        asked,
        path.with_suffix(".parquet"),
        cuts="biasflow.tasks.coreference.cuts",
        data=BOTH,
        split_seeds=[3],
        orders=orders,
        fractions=[5.0, 20.0, 50.0, 100.0],
        epochs=30,
    )
    scores = score(path.with_suffix(".parquet"))
    assert scores.groupby(["metric", "variant"]).size().loc["compression"].to_dict() == {
        f"{data}-{units}-{keep}": n
        for data, n in (("released", 1), ("paper", orders))
        for units in ("bits", "mixed")
        for keep in ("best", "last")
    }
    return scores.groupby(["metric", "variant"])["value"].mean()


def test_a_stereotype_that_unseen_professions_share_compresses_and_one_of_each_profession_alone_does_not(path):
    told, random = (compressions(path, gender=gender, orders=4) for gender in (3.0, 0.0))
    for variant in ("paper-bits-best", "released-bits-best"):
        assert told["compression", variant] > 1.4
        for chance in (random["compression", variant], told["control_compression", variant]):
            assert chance == pytest.approx(1, abs=0.15)
    assert told["probe_accuracy", "paper-best"] > 0.95
