"""What the tables come to, in sentences that are counted, not written."""

from collections.abc import Iterator

import pandas as pd

from biasflow.papers.planted.erasing import BACK
from biasflow.papers.planted.factorial import FOLLOWS
from biasflow.papers.planted.judge import LEVEL
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
    found = pd.DataFrame(rows, columns=["table", "finding", "n", "cases"])
    found.insert(2, "k", found["cases"].map(len))
    return found.assign(cases=found["cases"].map("; ".join))


def _of_doses(table: pd.DataFrame) -> Iterator[tuple]:
    for group, own in table.dropna(subset="q").groupby("group", sort=False):
        follow = own[own["q"] <= LEVEL]
        yield (
            "calibration",
            f"{group}: the rank correlation with the planted bias has q <= 0.05",
            len(own),
            follow["measure"],
        )
        if group == COST:
            continue
        for dose, first in own.groupby("smallest_dose"):
            yield (
                "calibration",
                f"{group}: {dose:g} is the smallest bias that differs from none",
                len(own),
                first["measure"],
            )
        never = own.loc[own["smallest_dose"].isna(), "measure"]
        yield "calibration", f"{group}: not even the full bias differs from none", len(own), never


def _of_noise(table: pd.DataFrame) -> Iterator[tuple]:
    own = table[(table["group"] != COST) & table["share_dose"].notna()]
    noisy = own.loc[own["share_dose"] < HALF, "measure"]
    yield "calibration", "less than half of the variance is the planted bias's", len(own), noisy


def _of_effects(table: pd.DataFrame) -> Iterator[tuple]:
    known = table[table["follows"].isin(FOLLOWS.values())] if len(table) else table
    for group, own in known.groupby("group", sort=False) if len(known) else ():
        for follows in FOLLOWS.values():
            what = f"{group}: of pre-training and task it follows {follows}"
            yield "two_by_two", what, len(own), own.loc[own["follows"] == follows, "measure"]


def _of_erasing(table: pd.DataFrame) -> Iterator[tuple]:
    for method, own in table.dropna(subset="closed").groupby("method", sort=False) if len(table) else ():
        for verdict, cases in own.groupby("verdict"):
            yield "erased", f"{method}: {verdict}", len(own), cases["measure"]
        differs = own.loc[(own["verdict"] == BACK) & (own["p"] <= LEVEL), "measure"]
        yield "erased", f"{method}: {BACK} by the interval, but differs from it (p <= 0.05)", len(own), differs


def _read(table: pd.DataFrame) -> Iterator[tuple]:
    """The doses at which a head differs from one without bias."""
    for (quantity, stimuli), own in table.groupby(["quantity", "stimuli"], sort=False):
        doses = own.dropna(subset="p")
        differ = [
            f"{row.bias:g} (learnt {row.learnt:.2f})" if pd.notna(row.learnt) else f"{row.bias:g}"
            for row in doses.itertuples()
            if row.p <= LEVEL
        ]
        yield "reading", f"{quantity}, {stimuli}: doses that differ from none", len(doses), differ
