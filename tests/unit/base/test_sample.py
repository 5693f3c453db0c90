"""Samples for the key `limit`: nested, stable, of whole items, and with the shares of groups."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.sample import limit_of, marked, sampled


@st.composite
def tables(draw) -> pd.DataFrame:
    """Items of one to three rows, in groups of very different sizes."""
    groups = draw(st.lists(st.sampled_from("aaaaaaab"), min_size=1, max_size=60))
    rows = draw(st.lists(st.integers(1, 3), min_size=len(groups), max_size=len(groups)))
    item = np.repeat(np.arange(len(groups)), rows)
    return pd.DataFrame({"item": item, "group": np.repeat(groups, rows), "row": range(len(item))})


@given(tables(), st.integers(1, 40), st.integers(0, 40), st.booleans())
def test_a_smaller_sample_is_part_of_a_larger_one_in_the_tables_order(table, limit, more, alike):
    small, large = (
        sampled(table, n, unit=["item"], strata=["group"], alike=alike)["row"].tolist() for n in (limit, limit + more)
    )
    assert small == sorted(small) and set(small) <= set(large)
    assert small == sampled(table, limit, unit=["item"], strata=["group"], alike=alike)["row"].tolist()


@given(tables(), st.integers(1, 60))
def test_items_are_whole_and_as_many_as_the_limit(table, limit):
    found = sampled(table, limit, unit=["item"])
    assert found["item"].nunique() == min(limit, table["item"].nunique())
    assert len(found) == table["item"].isin(found["item"]).sum()


@pytest.mark.parametrize("limit", [10, 50, 100, 700])
def test_groups_keep_their_shares(limit):
    table = pd.DataFrame({"group": np.repeat(["a", "b", "c"], [700, 200, 100])})
    found = sampled(table, limit, strata=["group"])["group"].value_counts()
    assert (found.reindex(["a", "b", "c"]) - limit * np.array([0.7, 0.2, 0.1])).abs().max() <= 1


def test_groups_are_alike_as_long_as_they_have_items():
    table = pd.DataFrame({"group": np.repeat(["a", "b", "c"], [700, 200, 4])})
    found = sampled(table, 100, strata=["group"], alike=True)["group"].value_counts()
    assert found["c"] == 4 and {found["a"], found["b"]} == {48}


def test_a_limited_dataset_has_its_limit_in_its_name():
    assert marked("gest", ()) == "gest" and limit_of("gest") == ""
    assert marked("gest", (500, 500)) == "gest-limit500" and limit_of("gest-limit500") == "500"
    assert marked("C6", (2000, 500)) == "C6-limit2000-500" and limit_of("C6-limit2000-500") == "2000-500"
