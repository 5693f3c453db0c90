"""What a classifier elsewhere predicted of texts of people, from a table of the user's."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import WOMEN_FIRST
from biasflow.base.left_out import leave_out
from biasflow.corpora.bios import GENDER_OF, as_label, spelt
from biasflow.corpora.records import read_columns, refuse, without_empty

COLUMNS = ("id", "label", "prediction", "group")
PROBABILITY = "probability"  # a column that is not used


def read_predictions(paths: Sequence[str | Path], groups: Sequence[Sequence[object]] = (WOMEN_FIRST,)) -> pd.DataFrame:
    """Return what was predicted of each person: the columns COLUMNS as text, those of all files one after the other.

    groups: the pairs that are compared. The case of letters and the format of numbers do not matter, and F and M stand
    for female and male, too. Rows without a label, a prediction or a group, and those of a group that is
    in no pair, are left out and counted. BiasflowError names file, line and column: an id that is there twice, a group
    without anyone, and predictions none of which is a label."""
    known = [group_name(group) for pair in groups for group in pair]
    tables = []
    for path in paths:
        table = read_columns(path, COLUMNS)[[*COLUMNS]]
        table = table.map(lambda value: "" if value is None else as_label(value))
        twice = table["id"].duplicated()
        refuse(path, table["id"], twice, "is there a second time; give each person once")
        table = without_empty(path, table, "label", "prediction", "group")
        other = ~table["group"].map(group_name).isin(known)
        reasons = {
            f"{table.index.name} {place}": f"the group is {value}" for place, value in table["group"][other].items()
        }
        leave_out(path, reasons, len(table))
        tables.append(table[~other].assign(group=table["group"].map(group_name)))
    people = pd.concat(tables, ignore_index=True)
    named = " and ".join(map(str, paths))
    if (twice := people["id"].duplicated()).any():
        raise BiasflowError(f"{named}: the id {people['id'][twice].iloc[0]!r} is in two files; give each person once")
    if missing := [group for group in known if not (people["group"] == group).any()]:
        raise BiasflowError(
            f"{named}: column group: no one is of the group {missing[0]}; name the groups that are there"
        )
    if not people["prediction"].isin(people["label"]).any():
        a, b = people["prediction"][0], people["label"][0]
        raise BiasflowError(f"{named}: column prediction: none is a label ({a!r}, {b!r}); spell both columns alike")
    return people


def group_name(value: object) -> str:
    """Return the name of a group that a cell or the configuration calls `value`: "F" of "female"."""
    return GENDER_OF.get(spelt(value), spelt(value))
