"""The cells that were asked for and have no score, with the reason: from the plan, or from the job that found out."""

from pathlib import Path

import pandas as pd

from biasflow.base.tabular import read_text_csv

CELL = ["encoder", "task", "strategy", "seed", "method", "metric", "dataset"]
HOLES = [*CELL, "reason"]
NOT_RUN = "not run"


def read_plan(plan: str | Path, reasons: str | Path) -> pd.DataFrame:
    """plan.csv with the reasons that jobs found (HOLES): a cell that one names is "not run", because of it."""
    table = read_text_csv(plan)
    later = read_text_csv(reasons).set_index(CELL)["reason"]
    cells = pd.MultiIndex.from_frame(table[CELL])
    known = cells.isin(later.index)
    table.loc[known, "status"] = NOT_RUN
    table.loc[known, "reason"] = later.reindex(cells[known]).to_numpy()
    return table
