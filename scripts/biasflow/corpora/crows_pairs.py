"""CrowS-Pairs (Nangia et al. 2020): pairs of sentences about a disadvantaged and an advantaged group, of nine kinds."""

from pathlib import Path

import pandas as pd

from biasflow.corpora.records import columns_of, read_records, refuse, refuse_unknown

COLUMNS = {"sent_more": "first", "sent_less": "second", "stereo_antistereo": "direction", "bias_type": "bias_type"}
ALL = "all"  # bias types
DIRECTIONS = ("stereo", "antistereo")
BIAS_TYPES = (
    "age",
    "disability",
    "gender",
    "nationality",
    "physical-appearance",
    "race-color",
    "religion",
    "sexual-orientation",
    "socioeconomic",
)


def read_crows_pairs(path: str | Path) -> pd.DataFrame:
    """The pairs in the order of the file: first (the sentence that stereotypes more), second (less), direction (stereo,
    or antistereo: the pair goes against a stereotype), bias_type.

    BiasflowError names file and line: a column that is missing, no pair, an empty sentence, two equal ones, or an
    unknown direction or type."""
    table = read_records(path, COLUMNS)
    columns_of(path, table, list(COLUMNS))
    for column in ("sent_more", "sent_less"):
        refuse(path, table[column], table[column].str.strip() == "", "is no sentence; remove the row")
    refuse(path, table["sent_less"], table["sent_less"] == table["sent_more"], "is sent_more, too; remove the row")
    refuse_unknown(path, table["stereo_antistereo"], DIRECTIONS)
    refuse_unknown(path, table["bias_type"], BIAS_TYPES)
    return table[list(COLUMNS)].rename(columns=COLUMNS).astype("str").reset_index(drop=True)


def items(pairs: str | Path, *, bias_type: str) -> pd.DataFrame:
    """The pairs of one type, or of "all": item (number of the pair in the file, from 0), then the columns of
    `read_crows_pairs`."""
    table = read_crows_pairs(pairs)
    return table[(table["bias_type"] == bias_type) | (bias_type == ALL)].reset_index(names="item")
