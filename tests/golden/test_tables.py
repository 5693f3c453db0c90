"""No table changes because code moves: each, made of the stored scores with the new keys, is the stored bytes."""

from itertools import zip_longest
from pathlib import Path

import pytest

from biasflow.results.tables import write_table
from tests.golden import dawkins2024, liang2020, orgad2022

STORED = Path(__file__).parent / "tables"
TABLES = dawkins2024.TABLES | liang2020.TABLES | orgad2022.TABLES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the stored inputs are written to as the files of a run."""
    return tmp_path_factory.mktemp("golden")


def first_difference(made: Path, stored: Path) -> tuple[int, bytes | None, bytes | None] | None:
    """Number and both versions of the first line that is not the same bytes. A diff of whole tables takes minutes."""
    lines = (path.read_bytes().splitlines(keepends=True) for path in (made, stored))
    pairs = enumerate(zip_longest(*lines), start=1)
    return next(((number, *pair) for number, pair in pairs if pair[0] != pair[1]), None)


@pytest.mark.parametrize("name", TABLES)
def test_table_is_the_stored_one(name, folder, tmp_path):
    made = tmp_path / f"{name}.csv"
    write_table(TABLES[name](folder), made, made.with_suffix(".tex"), made.with_suffix(".html"), caption="")
    assert first_difference(made, STORED / made.name) is None


def test_every_stored_table_is_made():
    assert {path.stem for path in STORED.glob("*.csv")} == set(TABLES)
