"""What a method costs: by which share of the untouched model's value a cost is worse, and whether quality is kept."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from biasflow.overview.judgements import COST, NO_CLAIM, NOT_VIABLE, UNCLEAR, UNMEASURED, VIABLE, kept
from biasflow.results.statistics import t_interval

_WORST_FIRST = [NOT_VIABLE, NO_CLAIM, UNCLEAR, VIABLE]


def costs(cells: pd.DataFrame) -> pd.DataFrame:
    """The costs that can be compared with the untouched model, by row: name (of the row), cost (its label, with its
    dataset if it was measured on several), worse (the share of the untouched value by which it is worse; below 0:
    better), low, high (95 % interval of this share; NaN without one, or if the untouched score allows no claim),
    doubted (whether that score or the method's allows none) and quality. cells: of a map."""
    rows = cells[(cells["group"] == COST) & cells["untouched"].notna() & (cells["untouched"] != 0)]
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


def price(compared: pd.DataFrame) -> str:
    """The cost of one method that decides about its quality, with the 95 % interval: "perplexity 4.0 % worse
    [1.0, 7.1]"; a share below 0 is better. Of several that say the same it is the one that is worse by most, as far as
    the interval says. compared: `costs` of the method."""
    if compared.empty:
        return "not measured"
    decisive = compared[compared["quality"] == quality(compared, compared["name"]).iloc[0]]
    if decisive["quality"].iloc[0] == NO_CLAIM:
        return f"{decisive['cost'].iloc[0]}: {NO_CLAIM}"
    if decisive["quality"].iloc[0] == VIABLE and decisive["worse"].max() < 0.0005:
        return "no cost is worse"
    end = "low" if decisive["quality"].iloc[0] == NOT_VIABLE else "high"
    worst = decisive.loc[decisive[end].fillna(decisive["worse"]).idxmax()]
    said = f"{worst['cost']} {_percent(worst['worse'])} % worse"
    interval = f" [{_percent(worst['low'])}, {_percent(worst['high'])}]"
    return said + (", without an interval" if np.isnan(worst["low"]) else interval)


def _judged(compared: pd.DataFrame) -> list[str]:
    """`judgements.kept` of each row; NO_CLAIM for a doubted one, unless it is shown that the method made it worse."""
    said = [kept(low, high) for low, high in compared[["low", "high"]].itertuples(index=False, name=None)]
    return [
        NO_CLAIM if doubted and says != NOT_VIABLE else says
        for says, doubted in zip(said, compared["doubted"], strict=True)
    ]


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}"
