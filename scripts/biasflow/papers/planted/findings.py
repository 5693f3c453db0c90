"""The findings from the tables, counted and not written by hand."""

from collections.abc import Iterator

import pandas as pd

from biasflow.papers.judge import LEVEL
from biasflow.papers.planted.erasing import BACK
from biasflow.papers.planted.factorial import FOLLOWS
from biasflow.registry import COST

HALF = 0.5  # a share of the variance


def findings(
    calibration: pd.DataFrame, followed: pd.DataFrame, erased: pd.DataFrame, reading: pd.DataFrame
) -> pd.DataFrame:
    """Columns: table, finding, k of n cases, and cases: which they are. From the tables of the same names."""
    rows = [
        *_of_doses(calibration),
        *_of_noise(calibration),
        *_of_effects(followed),
        *_of_erasing(erased),
        *_read(reading),
    ]
    table = pd.DataFrame(rows, columns=["table", "finding", "n", "cases"])
    table.insert(2, "k", table["cases"].map(len))
    return table.assign(cases=table["cases"].map("; ".join))


def _of_doses(table: pd.DataFrame) -> Iterator[tuple]:
    for group, measures in table.dropna(subset="q").groupby("group", sort=False):
        follow = measures[measures["q"] <= LEVEL]
        yield (
            "calibration",
            f"{group}: the rank correlation with the planted bias has q <= 0.05",
            len(measures),
            follow["measure"],
        )
        if group == COST:
            continue
        for dose, first in measures.groupby("smallest_dose"):
            yield (
                "calibration",
                f"{group}: {dose:g} is the smallest bias that differs from none",
                len(measures),
                first["measure"],
            )
        never = measures.loc[measures["smallest_dose"].isna(), "measure"]
        yield "calibration", f"{group}: not even the full bias differs from none", len(measures), never


def _of_noise(table: pd.DataFrame) -> Iterator[tuple]:
    judged = table[(table["group"] != COST) & table["share_dose"].notna()]
    noisy = judged.loc[judged["share_dose"] < HALF, "measure"]
    yield "calibration", "less than half of the variance is the planted bias's", len(judged), noisy


def _of_effects(table: pd.DataFrame) -> Iterator[tuple]:
    known = table[table["follows"].isin(FOLLOWS.values())] if len(table) else table
    for group, measures in known.groupby("group", sort=False) if len(known) else ():
        for follows in FOLLOWS.values():
            finding = f"{group}: of pre-training and task it follows {follows}"
            yield "two_by_two", finding, len(measures), measures.loc[measures["follows"] == follows, "measure"]


def _of_erasing(table: pd.DataFrame) -> Iterator[tuple]:
    for method, measures in table.dropna(subset="closed").groupby("method", sort=False) if len(table) else ():
        for verdict, cases in measures.groupby("verdict"):
            yield "erased", f"{method}: {verdict}", len(measures), cases["measure"]
        differs = measures.loc[(measures["verdict"] == BACK) & (measures["p"] <= LEVEL), "measure"]
        yield "erased", f"{method}: {BACK} by the interval, but differs from it (p <= 0.05)", len(measures), differs


def _read(table: pd.DataFrame) -> Iterator[tuple]:
    """The doses at which a head differs from one without bias."""
    for (quantity, stimuli), rows in table.groupby(["quantity", "stimuli"], sort=False):
        doses = rows.dropna(subset="p")
        differ = [
            f"{row.bias:g} (learnt {row.learnt:.2f})" if pd.notna(row.learnt) else f"{row.bias:g}"
            for row in doses.itertuples()
            if row.p <= LEVEL
        ]
        yield "reading", f"{quantity}, {stimuli}: doses that differ from none", len(doses), differ
