"""How far our gender swap agrees with that of the authors' files, as tables: made of the stimuli alone."""

import pandas as pd

from biasflow.base.tabular import read_text_csv
from biasflow.corpora.stereoset import AUTHORS_STIMULI
from biasflow.papers.dawkins2024.rows import AUTHORS
from biasflow.papers.frames import Run
from biasflow.papers.make import NOTE
from biasflow.text.gender_lexicon import DEFAULT_FOLDER
from biasflow.text.swap_agreement import DISAGREEMENT_COLUMNS, compare


def swap_agreement(run: Run) -> pd.DataFrame:
    """How often the two swaps are equal, by file of the authors and unit (see `compare`); without a file empty."""
    return _compared(run)[1]


def swap_disagreements(run: Run) -> pd.DataFrame:
    """Return every sentence on which the swaps differ, and the stale entries in the list of sentences set aside."""
    return _compared(run)[0]


def _compared(run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`compare` for each file of the authors that was read. What is set aside are sentences of the development file."""
    listed = read_text_csv(DEFAULT_FOLDER / "set_aside.csv")
    paths = {name: path for name, path in run.files.get("stimuli", {}).items() if name in AUTHORS_STIMULI}
    if paths:
        compared = {
            name: compare(read_text_csv(path), listed if name == AUTHORS else listed[:0])
            for name, path in paths.items()
        }
        disagreements, summaries = (
            pd.concat(dict(zip(compared, tables, strict=True)), names=["stimuli"]).reset_index("stimuli")
            for tables in zip(*compared.values(), strict=True)
        )
        return disagreements, summaries
    empty = pd.DataFrame(columns=["stimuli", *DISAGREEMENT_COLUMNS]), pd.DataFrame(columns=["stimuli", "unit"])
    for table in empty:
        table.attrs[NOTE] = f"Empty: neither {' nor '.join(AUTHORS_STIMULI)} is in this run."
    return empty
