"""No table changes because code moves: each, made of a drawn run, is the stored bytes.

To replace tables for a change that is meant: `PYTHONPATH=scripts:. python -m tests.golden.test_tables`, and say in the
commit which of them changed and why."""

from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from biasflow.papers.paper import load
from biasflow.papers.rows import function_of
from biasflow.results.tables import write_table
from tests.golden.runs import RUNS

STORED = Path(__file__).parent / "tables"
ROWS = 40  # of a longer table every n-th row is stored, so that about as many remain
ELSEWHERE = {"text"}  # not of scores


def made(paper: str, folder: Path) -> dict[str, bytes]:
    """Table -> its CSV, or as many of its rows as are stored."""
    run, text = RUNS[paper](folder), load(paper)
    tables = {}
    for name, target in text.tables.items():
        if name in ELSEWHERE:
            continue
        table = function_of(text, target)(run)
        path = folder / f"{name}.csv"
        some = table.iloc[:: -(-len(table) // ROWS) or 1]
        write_table(some, path, path.with_suffix(".tex"), path.with_suffix(".html"), caption="")
        tables[f"{paper}_{name}"] = path.read_bytes()
    return tables


@pytest.mark.parametrize("paper", RUNS)
def test_tables_are_the_stored_ones(paper, tmp_path):
    tables = made(paper, tmp_path)
    assert set(tables) == {path.stem for path in STORED.glob(f"{paper}_*.csv")}
    for name, content in tables.items():
        lines = zip_longest(content.splitlines(), (STORED / f"{name}.csv").read_bytes().splitlines())
        differ = [(number, *pair) for number, pair in enumerate(lines, start=1) if pair[0] != pair[1]]
        assert not differ, f"{name}: {len(differ)} lines differ, the first is line, now, stored: {differ[0]}"


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    for each in RUNS:
        with TemporaryDirectory() as temporary:
            for table, lines in made(each, Path(temporary)).items():
                (STORED / f"{table}.csv").write_bytes(lines)
