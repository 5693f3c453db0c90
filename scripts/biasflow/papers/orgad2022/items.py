"""The small item files of the paper's tasks."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import as_written
from biasflow.papers.frames import Run
from biasflow.papers.orgad2022.halves import OCCUPATION, Half


def item_file(run: Run, role: str, half: Half = OCCUPATION) -> Path:
    """The file of a role for the task of a half; BiasflowError if the run has none."""
    task = run.options[half.task]
    try:
        return run.files[role][task]
    except KeyError:
        raise BiasflowError(f"the run has no file of {role} for task {task}; make it first") from None


def read_item(run: Run, role: str, columns: Sequence[str], half: Half = OCCUPATION, **options) -> pd.DataFrame:
    """Read `item_file` as a table; BiasflowError also if it lacks one of `columns`."""
    file = item_file(run, role, half)
    table = as_written(pd.read_csv(file, **options))
    if missing := [column for column in columns if column not in table]:
        raise BiasflowError(f"{file}: no column {', '.join(missing)}; it needs {', '.join(columns)}")
    return table
