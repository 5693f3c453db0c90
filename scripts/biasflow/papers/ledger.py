"""The ledger: every number that a paper prints, ours beside it, and whether they agree.

Nothing is listed here. The numbers are those of the paper's data files; where each stands beside ours is what the
paper's own tables say: they are made once more with every printed number replaced by its place in the list, so that the
places in their published columns tell which of our numbers belongs to which of theirs. What can be compared at all is
decided by the encoder and the data that the configuration names, before any number of ours is looked at."""

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from biasflow.base.shipped import shipped
from biasflow.papers.frames import NOT_ASKED, RUN, Run
from biasflow.papers.paper import PaperText, load
from biasflow.papers.published import printed_numbers
from biasflow.results.rounding import Range, around, rounded
from biasflow.results.tables import PUBLISHED

CAPTIONS = shipped("papers/ledger.yaml")
REPRODUCED, OFF, NOT_COMPARABLE, NOT_RUN = "reproduced", "off", "not comparable", "not run"
STATUSES = (REPRODUCED, OFF, NOT_COMPARABLE, NOT_RUN)
AGREES, DISAGREES = "agrees", "disagrees"  # how what others say of a number begins
IN_NO_TABLE = "no table of ours has it"
_ABOUT = ["paper", "table", "encoder", "row", "measure", "variant", "unit", "printed", "printed_sd"]
_OURS = ["ours", "ours_sd", "ours_n", "ours_encoder", "difference", "difference_in_printed_sd"]
COLUMNS = [*_ABOUT, *_OURS, "status", "off_by", "reason", "audit"]
_WHO = "ours_encoder"
_TRACED = ["place", "ours", "ours_sd", "ours_n", _WHO, "absent"]


@dataclass(frozen=True)
class Beside:
    """A table that has the numbers of a data file beside ours. values: the columns that have a published one; sd, n,
    status: the columns of our standard deviation, of how many values ours is made, and of why ours is absent, where
    there are such; "{}" in them stands for the name of the value."""

    file: str
    table: Callable[[Run], pd.DataFrame]
    values: Sequence[str]
    sd: str = ""
    n: str = ""
    status: str = "status"


def ledger(runs: Mapping[str, Run]) -> pd.DataFrame:
    """Return the ledgers of all papers of a run that print numbers, in one table: COLUMNS.

    runs: paper -> the run as its tables see it."""
    ledgers = [of_paper(load(name), run) for name, run in runs.items()]
    return pd.concat(ledgers, ignore_index=True) if ledgers else pd.DataFrame(columns=COLUMNS)


def of_paper(text: PaperText, run: Run) -> pd.DataFrame:
    """Return a row for each printed number of a paper: COLUMNS.

    The module papers/<name>/ledger.py names the tables (`BESIDE`), says which numbers are of other data than the run's
    (`other_data`: run, numbers -> a reason each, "" where they are the same), and what other printed numbers say of
    each (`audited`: run, numbers -> a text each)."""
    module = importlib.import_module(f"{__package__}.{text.name}.ledger")
    numbers = printed_numbers(text)
    incomparable = _other_encoder(text, run, numbers["encoder"])
    incomparable = incomparable.where(incomparable != "", module.other_data(run, numbers))
    ours = _ours(module.BESIDE, run, text, numbers, set(numbers.loc[incomparable == "", "file"]))
    rows = pd.concat([numbers, ours], axis=1).assign(paper=text.name)
    judged = [
        judge(row.printed, row.printed_sd, row.ours, incomparable=why, absent=row.absent)
        for row, why in zip(rows.itertuples(), incomparable, strict=True)
    ]
    audits = [
        _joined(*verdicts) for verdicts in zip(module.audited(run, numbers), _printed_again(numbers), strict=True)
    ]
    return rows.join(pd.DataFrame(judged, index=rows.index)).assign(audit=audits)[COLUMNS].astype({"ours_n": "Float64"})


def judge(
    printed: str, printed_sd: str, ours: float, *, incomparable: str = "", absent: str = NOT_ASKED
) -> dict[str, object]:
    """Compare our value with a printed number: status (of STATUSES), difference (ours minus printed),
    difference_in_printed_sd, off_by and reason.

    It is reproduced where |ours - printed| is at most its printed deviation, or half a unit of its last decimal where
    that is more or no deviation is printed. `incomparable`: why the two cannot be compared; `absent`: why there is no
    ours (NaN): these decide in this order, and then nothing is compared."""
    nothing = {"difference": np.nan, "difference_in_printed_sd": np.nan, "off_by": ""}
    if incomparable:
        return nothing | {"status": NOT_COMPARABLE, "reason": incomparable}
    if np.isnan(ours):
        return nothing | {"status": NOT_RUN, "reason": absent}
    value, sd = float(printed), float(printed_sd or 0)
    rounding = rounded(value, decimals_of(printed))
    difference, by_sd = ours - value, sd > rounding.high - value
    reach = around(value, sd) if by_sd else rounding
    apart = {"difference": difference, "difference_in_printed_sd": difference / sd if sd > 0 else np.nan, "off_by": ""}
    if reach.meets(around(ours)):
        return apart | {"status": REPRODUCED, "reason": f"within its printed {'deviation' if by_sd else 'rounding'}"}
    units = abs(difference) * 10 ** decimals_of(printed)
    many = f"{abs(difference) / sd:.1f} printed deviations" if sd > 0 else f"{units:.1f} units of the last decimal"
    return apart | {"status": OFF, "off_by": many, "reason": ""}


def decimals_of(printed: str) -> int:
    """Return the number of decimals of a printed number: "0.3840" has 4, "242" none."""
    return len(printed.partition(".")[2])


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per paper: how many numbers it prints, how many have each status, how many contradict other printed
    ones by its audit, and the commonest reasons why numbers are off, as far as they are known, or not compared."""
    summaries = []
    for paper, numbers in rows.groupby("paper", sort=False):
        counts = {status.replace(" ", "_"): (numbers["status"] == status).sum() for status in STATUSES}
        doubted = numbers["audit"].str.startswith(DISAGREES).sum()
        reasons = numbers.loc[(numbers["status"] != REPRODUCED) & (numbers["reason"] != ""), "reason"].value_counts()
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons.head(3).items())
        summaries.append(
            {"paper": paper, "numbers": len(numbers), **counts, "disputed_by_audit": doubted, "reasons": why}
        )
    columns = ["paper", "numbers", *(status.replace(" ", "_") for status in STATUSES), "disputed_by_audit", "reasons"]
    return pd.DataFrame(summaries, columns=columns)


def _ours(
    besides: Sequence[Beside], run: Run, text: PaperText, numbers: pd.DataFrame, wanted: Collection[str]
) -> pd.DataFrame:
    """ours, ours_sd, ours_n, ours_encoder and `absent` (why ours is missing) of each number, made of the tables that
    have the numbers of a `wanted` file."""
    traced = replace(run, published=lambda name: _with_places(run.published(name), name, numbers))
    tables = [_traced(beside, traced) for beside in besides if beside.file in wanted]
    ours = pd.concat([table for table in tables if len(table)] or [pd.DataFrame(columns=_TRACED)], ignore_index=True)
    same = {name: {"", *names} for name, names in _same_encoders(text, run).items()}
    printed = numbers["encoder"].reindex(ours["place"])
    comparable = [name == "" or who in same[name] for name, who in zip(printed, ours[_WHO], strict=True)]
    # Of several methods or encoders that a number stands beside, the first that has a value.
    ours = ours[np.array(comparable, dtype=bool)].sort_values("ours", key=pd.isna, kind="stable")
    ours = ours.drop_duplicates("place").set_index("place").reindex(numbers.index).assign(cell=numbers["cell"])
    known = ours.dropna(subset=_WHO).drop_duplicates("cell").set_index("cell")
    elsewhere = known.reindex(numbers["cell"]).set_axis(numbers.index)
    ours = ours.drop(columns="cell").where(ours[_WHO].notna(), elsewhere)
    never = np.where(numbers["file"].isin([beside.file for beside in besides]), NOT_ASKED, IN_NO_TABLE)
    return ours.assign(absent=ours["absent"].where(ours["absent"].notna(), never), **{_WHO: ours[_WHO].fillna("")})


def _with_places(frame: pd.DataFrame, file: str, numbers: pd.DataFrame) -> pd.DataFrame:
    """A data file with the place of each number instead of it; all else, deviations too, as they are."""
    in_file = numbers[numbers["file"] == file]
    places = {
        column: pd.Series(cells.index, index=cells["line"], dtype=float).reindex(frame.index)
        for column, cells in in_file.groupby("column")
    }
    return frame.assign(**places)


def _traced(beside: Beside, run: Run) -> pd.DataFrame:
    frame = beside.table(run)
    tables = []
    for value in beside.values:
        if value + PUBLISHED not in frame:  # a table of nothing
            continue
        rows = frame[frame[value + PUBLISHED].notna()]
        columns = {
            "place": rows[value + PUBLISHED],
            "ours": rows[value].astype(float),
            "ours_sd": rows[beside.sd.format(value)] if beside.sd else np.nan,
            "ours_n": rows[beside.n.format(value)] if beside.n else np.nan,
            _WHO: rows["encoder"],
            "absent": rows[beside.status].str.removeprefix(f"{NOT_RUN}: ") if beside.status else NOT_ASKED,
        }
        tables.append(pd.DataFrame(columns))
    table = pd.concat(tables) if tables else pd.DataFrame(columns=_TRACED)
    return table.astype({"ours_sd": float, "ours_n": float}).replace({"absent": {RUN: NOT_ASKED}})


def _same_encoders(text: PaperText, run: Run) -> dict[str, list[str]]:
    """Encoder as printed -> the encoders of the run that are it, by the hub's id and the revision."""
    ids, revisions = (run.attributes("encoder", attribute) for attribute in ("id", "revision"))
    return {
        printed: [
            name
            for name, repository in ids.items()
            if _repository(repository) == _repository(about["id"]) and revisions.get(name) == about["revision"]
        ]
        for printed, about in text.encoders.items()
    }


def _other_encoder(text: PaperText, run: Run, printed: pd.Series) -> pd.Series:
    """Why the encoder of each number is none of the run's; "" where it is, and for a number that is of no encoder."""
    same = _same_encoders(text, run)
    reasons = {
        name: "" if same[name] else f"other encoder: printed of {about['id']} at revision {about['revision'][:7]}"
        for name, about in text.encoders.items()
    }
    return printed.map(reasons | {"": ""})


def _repository(identifier: str) -> str:
    """The name of a hub repository without its owner, which old ones lack; the revision, a commit, tells them apart."""
    return identifier.rpartition("/")[2]


def _printed_again(numbers: pd.DataFrame) -> pd.Series:
    """Whether the paper prints the same number elsewhere, and differently: so that no value rounds to both."""
    verdicts = pd.Series("", index=numbers.index)
    for _, printings in numbers.groupby("cell"):
        if len(printings) > 1:
            ranges = printings["printed"].map(_range)
            prints = printings["table"] + " prints " + printings["printed"]
            for place, reach in ranges.items():
                others = ", ".join(prints[other] for other in printings.index if not reach.meets(ranges[other]))
                verdicts[place] = f"{DISAGREES}: {others}" if others else f"{AGREES} with where it is printed again"
    return verdicts


def _range(printed: str) -> Range:
    return rounded(float(printed), decimals_of(printed))


def _joined(*verdicts: str) -> str:
    """Several verdicts in one text, disagreement first."""
    return "; ".join(sorted(filter(None, verdicts), key=lambda text: not text.startswith(DISAGREES)))
