"""CrowS-Pairs (Nangia et al. 2020): pairs of sentences about a disadvantaged and an advantaged group, of nine kinds."""

from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import read_columns, without, without_empty, without_unknown

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


def items(pairs: str | Path, *, bias_type: str = ALL, own: bool = False) -> pd.DataFrame:
    """The pairs of one type, or of "all": item (number of the pair in the file, from 0), first (the sentence that
    stereotypes more), second (less), direction (stereo, or antistereo: the pair goes against a stereotype), bias_type.

    own: of a user's table, with any types; without the column stereo_antistereo all pairs are stereo, and without
    bias_type they have none. A pair with an empty sentence, two equal ones, or an unknown direction or type is left out
    (records.without). BiasflowError: a column that is missing, no pair of the type, or a file most of whose pairs are
    such."""
    table = _of_user(pairs) if own else _of_type(pairs, bias_type)
    table = without_empty(pairs, table, "sent_more", "sent_less")
    return _named(without(pairs, table, "sent_less", table["sent_less"] == table["sent_more"], "is sent_more, too"))


def scored(pairs: str | Path, *, bias_type: str = ALL, own: bool = False) -> pd.DataFrame:
    """The pairs that a user's scores are joined to: those of `items`, and those whose sentences are empty or equal."""
    return _named(_of_user(pairs) if own else _of_type(pairs, bias_type))


def _of_user(path: str | Path) -> pd.DataFrame:
    table = read_columns(path, ["sent_more", "sent_less"], ["stereo_antistereo", "bias_type"])
    if "stereo_antistereo" not in table:
        table = table.assign(stereo_antistereo=DIRECTIONS[0])
    return without_unknown(path, table.assign(item=range(len(table))), {"stereo_antistereo": DIRECTIONS})


def _of_type(path: str | Path, bias_type: str) -> pd.DataFrame:
    table = read_columns(path, list(COLUMNS))
    table = table.assign(item=range(len(table)))
    table = table[(table["bias_type"] == bias_type) | (bias_type == ALL)]
    if table.empty:
        raise BiasflowError(f"{path}: column bias_type: no pair of type {bias_type!r}; check the file.")
    return without_unknown(path, table, {"stereo_antistereo": DIRECTIONS, "bias_type": BIAS_TYPES})


def _named(table: pd.DataFrame) -> pd.DataFrame:
    columns = {name: new for name, new in COLUMNS.items() if name in table}
    table = table[["item", *columns]].rename(columns=columns).fillna("")
    return table.astype(dict.fromkeys(columns.values(), "str")).reset_index(drop=True)
