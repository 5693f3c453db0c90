"""Seeded samples of items for the configuration's key `limit`: a smaller sample is part of every larger one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # a configuration is planned without it
    import pandas as pd

SEED = 0  # of all samples: another limit takes more or fewer of the same items
SUFFIX = "-limit"


def marked(name: str, limits: Sequence[int]) -> str:
    """Return the name of a dataset with its limits, which differs from that of the full one: `gest` limited to 500 is
    `gest-limit500`."""
    return f"{name}{SUFFIX}{'-'.join(map(str, dict.fromkeys(limits)))}" if limits else name


def limit_of(name: str) -> str:
    """Return the limits in a dataset's name, "" without any: "500" of `gest-limit500`."""
    return name.rpartition(SUFFIX)[2] if SUFFIX in name else ""


def unmarked(name: str) -> str:
    """Return the name of a dataset without its limits: "gest" of `gest-limit500`."""
    return name.partition(SUFFIX)[0]


def sampled(
    table: pd.DataFrame,
    limit: int | None,
    *,
    unit: Sequence[str] = (),
    strata: Sequence[str] = (),
    alike: bool = False,
) -> pd.DataFrame:
    """Return at most `limit` items of a table, in its order; all if limit is None or the table is smaller.

    unit: the columns that tell items apart, whose rows stay together (none: every row is an item); strata: the columns
    of groups that keep their shares of the items; with `alike` every group has as many items as any other, as long as
    it has some. Equal tables give equal samples, and those of a smaller limit are part of those of a larger one."""
    items = table.groupby(list(unit), sort=False).ngroup().to_numpy() if unit else np.arange(len(table))
    first = table.iloc[np.unique(items, return_index=True)[1]]
    if limit is None or len(first) <= limit:
        return table
    groups = first.groupby(list(strata), sort=False).ngroup().to_numpy() if strata else np.zeros(len(first), int)
    chosen = _order(groups, alike)[:limit]
    return table[np.isin(items, chosen)].reset_index(drop=True)


def names_of(table: pd.DataFrame, unit: Sequence[str]) -> list[str]:
    """The name of each row's item: what stands in the columns `unit`."""
    return ["/".join(map(str, values)) for values in table[list(unit)].itertuples(index=False)]


def _order(groups: np.ndarray, alike: bool) -> np.ndarray:
    """All items, numbered from 0, in the order in which they are taken; groups [items]: the number of each one's group.

    Items are shuffled. The r-th of a group of n comes at (r + 1/2) / n, so that all groups are used up at the same
    pace, or, with `alike`, at r."""
    import pandas as pd

    shuffled = np.random.default_rng(SEED).permutation(len(groups))
    shuffled_groups = pd.Series(groups[shuffled])
    rank = shuffled_groups.groupby(shuffled_groups).cumcount().to_numpy()
    size = shuffled_groups.map(shuffled_groups.value_counts()).to_numpy()
    return shuffled[np.argsort(rank if alike else (rank + 0.5) / size, kind="stable")]
