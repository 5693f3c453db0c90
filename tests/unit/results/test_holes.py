"""The plan with what jobs found out: a reason reaches its own cell, and no other."""

import pandas as pd
import pytest

from biasflow.base.tabular import write_csv
from biasflow.results.holes import CELL, HOLES, read_plan

CELLS = [
    ("bert", "-", "-", "-", method, metric, dataset)
    for method in ("none", "densray")
    for metric, dataset in (("weat", "C6"), ("weat", "C7"), ("strength", "planted"))
]


@pytest.mark.parametrize("holes", [[], [CELLS[0]], [CELLS[1], CELLS[4]]])
def test_a_reason_reaches_its_own_cell(tmp_path, holes):
    plan = pd.DataFrame(CELLS, columns=CELL).assign(block="inside", status="run", reason="")
    plan.loc[5, ["status", "reason"]] = "not run", "the plan knew"
    write_csv(plan, tmp_path / "plan.csv")
    found = pd.DataFrame(holes, columns=CELL).assign(reason=[f"no word {n}" for n in range(len(holes))])
    write_csv(found[HOLES], tmp_path / "reasons.csv")
    read = read_plan(tmp_path / "plan.csv", tmp_path / "reasons.csv")
    expected = plan["reason"].copy()
    for number, hole in enumerate(holes):
        expected[CELLS.index(hole)] = f"no word {number}"
    assert list(read["reason"]) == list(expected)
    assert list(read["status"]) == ["not run" if reason else "run" for reason in expected]
