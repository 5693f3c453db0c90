"""What a method costs: by which share of the untouched model's value a cost is worse, and whether quality is kept."""

from collections.abc import Iterable, Sequence

import pandas as pd

from biasflow.overview.judgements import COST, NO_CLAIM, NOT_VIABLE, UNCLEAR, UNMEASURED, VIABLE, kept
from biasflow.results.statistics import t_interval

_WORST_FIRST = [NOT_VIABLE, NO_CLAIM, UNCLEAR, VIABLE]


def costs(cells: pd.DataFrame) -> pd.DataFrame:
    """The costs that can be compared with the untouched model, and are not read from a weak head, by row: name (of the
    row), cost (its label, with its dataset if it was measured on several), worse (the share of the untouched value by
    which it is worse; below 0: better), low, high (95 % interval of this share; NaN without one, or if the untouched
    score allows no claim), doubted (whether that score or the method's allows none) and quality. cells: of a map."""
    rows = cells[(cells["group"] == COST) & ~cells["weak"] & cells["untouched"].notna() & (cells["untouched"] != 0)]
    several = rows.groupby("measure")["dataset"].transform("nunique") > 1
    unit = rows["untouched"].abs().mask(rows["untouched_caution"] != "")
    change = (rows["value"] - rows["untouched"]) / rows["untouched"].abs()
    result = pd.DataFrame(
        {
            "name": rows["name"],
            "cost": rows["header"].where(several, rows["label"]),
            "worse": change.where(rows["better"] == "low", -change),
            "low": rows["change_low"] / unit,
            "high": rows["change_high"] / unit,
            "doubted": (rows[["untouched_caution", "caution"]] != "").any(axis=1),
        }
    )
    return result.assign(quality=_judged(result))


def over_encoders(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The `costs` of encoders that differ only in their seed, as one: the mean share, and its t interval over the
    encoders (none with fewer than three). Those of a single encoder stay as they are."""
    if len(tables) == 1:
        return tables[0]
    rows = [
        (name, cost, of["worse"].mean(), *t_interval(of["worse"].to_numpy()), of["doubted"].any())
        for (name, cost), of in pd.concat(tables).groupby(["name", "cost"], sort=False)
    ]
    result = pd.DataFrame(rows, columns=["name", "cost", "worse", "low", "high", "doubted"])
    return result.assign(quality=_judged(result))


def quality(compared: pd.DataFrame, names: Iterable[str]) -> pd.Series:
    """Whether each of the rows keeps quality, by name: what its worst cost says, UNMEASURED without any. compared:
    `costs`."""
    worst = compared["quality"].map(_WORST_FIRST.index).groupby(compared["name"]).min()
    return pd.Series({name: _WORST_FIRST[worst[name]] if name in worst else UNMEASURED for name in names}, dtype=object)


def worst(compared: pd.DataFrame) -> pd.Series | None:
    """The cost of one method that decides on its quality: of those that say the worst of it the one that is worse by
    most; None without any. compared: `costs` of the method."""
    if compared.empty:
        return None
    order = compared["quality"].map(_WORST_FIRST.index)
    return compared.loc[compared["worse"].where(order == order.min()).idxmax()]


def _judged(compared: pd.DataFrame) -> list[str]:
    """`judgements.kept` of each row; NO_CLAIM for a doubted one, unless it is shown that the method made it worse."""
    said = [kept(low, high) for low, high in compared[["low", "high"]].itertuples(index=False, name=None)]
    return [
        NO_CLAIM if doubted and says != NOT_VIABLE else says
        for says, doubted in zip(said, compared["doubted"], strict=True)
    ]
