"""How far our gender swap agrees with that of the authors' file, as tables: made of the stimuli alone."""

import pandas as pd

from scripts.biasflow.base.tabular import read_text_csv
from scripts.biasflow.papers.dawkins2024.rows import AUTHORS
from scripts.biasflow.papers.frames import Run
from scripts.biasflow.papers.make import NOTE
from scripts.biasflow.text.gender_lexicon import DEFAULT_FOLDER
from scripts.biasflow.text.swap_agreement import DISAGREEMENT_COLUMNS, compare


def swap_agreement(run: Run) -> pd.DataFrame:
    """How often the two swaps are equal, by unit (see `compare`); without the authors' stimuli an empty table."""
    return _compared(run)[1]


def swap_disagreements(run: Run) -> pd.DataFrame:
    """Every sentence on which they differ, and the stale entries of the list of those set aside."""
    return _compared(run)[0]


def _compared(run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    path = run.files.get("stimuli", {}).get(AUTHORS)
    if path is not None:
        return compare(read_text_csv(path), read_text_csv(DEFAULT_FOLDER / "set_aside.csv"))
    empty = pd.DataFrame(columns=DISAGREEMENT_COLUMNS), pd.DataFrame(columns=["unit"])
    for table in empty:
        table.attrs[NOTE] = f"Empty: the stimuli {AUTHORS} are not in this run."
    return empty
