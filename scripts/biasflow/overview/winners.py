"""Which method reduces bias most, and whether that may be said: only what a rerun with other seeds would show, too.

Of every method the share of the untouched distance from neutral that it removes, measure by measure on one model; of a
model the median over measures counts, since a small change is many times the distance of an untouched model that is
nearly neutral. Models are seeds: of a fine-tuning, or encoders that differ in the seed of their pre-training alone."""

from collections.abc import Collection, Sequence

import pandas as pd

from biasflow.overview.maps import UNTOUCHED
from biasflow.results.comparison import has_width
from biasflow.results.statistics import t_interval

LEAST_SEEDS = 3
LEVEL = 0.05
MODEL = ["encoder", "seed"]


def removed(observed: pd.DataFrame, names: Collection[str]) -> tuple[pd.DataFrame, int]:
    """The share of the untouched distance that rows of these names remove on each model, [models, names], the median
    over measures; and over how many measures.

    observed: `agreement.observations` of one task and of encoders that differ in their seed alone, or of one. What has
    fewer measures than others is left out, and so is a model on which not all of the rest was measured."""
    table = observed.pivot_table(index=[*MODEL, "measure"], columns="name", values="distance")
    if UNTOUCHED not in table:
        return pd.DataFrame(), 0
    table = table[table[UNTOUCHED] > 0]
    share = 1 - table.reindex(columns=list(names)).dropna(axis=1, how="all").div(table[UNTOUCHED], axis=0)
    measures = share.notna().groupby("measure").any().sum()
    share = share.loc[:, measures == measures.max()].dropna()
    often = share.groupby(MODEL).size()
    if often.empty or not len(share.columns):
        return pd.DataFrame(), 0
    medians = share.groupby(MODEL).median()
    return medians[often.reindex(medians.index) == often.max()], int(often.max())


def verdict(shares: pd.DataFrame, measures: int, seeds: str = "seeds") -> tuple[str, str | None]:
    """What may be said of the candidates, in sentences, and the name of the one that reduces bias most, if one does.

    shares, measures: `removed` of the methods that keep quality. One is said to reduce bias if the interval of what it
    removes excludes 0, and to do more than every other one if those of all differences to these do: t intervals over
    models at 1 - LEVEL / (number of comparisons), so that they hold for the candidate with the largest mean, too
    (Bonferroni). seeds: what models are called."""
    if len(shares) < LEAST_SEEDS:
        return (
            f"No method is named best: that takes at least {LEAST_SEEDS} {seeds}, and this run has {len(shares)}.",
            None,
        )
    means = shares.mean().sort_values(ascending=False, kind="stable")
    best, others = means.index[0], list(means.index[1:])
    low, high = t_interval(shares[best].to_numpy(), confidence=1 - LEVEL / len(means))
    chosen = f"; adjusted for the choice among the {len(means)} compared methods that keep quality" if others else ""
    of = f"the median over {measures} measures" if measures > 1 else "one measure"
    beyond = " (Student's t, which may go beyond 100 %)" if high > 1 else ""
    adds = means.iloc[0] <= 0
    ends = (-high, -low) if adds else (low, high)
    evidence = (
        f"mean over {len(shares)} {seeds} of {of}; 95 % interval {' to '.join(map(percent, ends))}{beyond}{chosen}"
    )
    none = f"No method that keeps quality is shown to reduce bias. The best of them, {best},"
    if adds:
        return f"{none} adds {percent(-means.iloc[0])} to the distance from neutral ({evidence}).", None
    removes = f"removes {percent(means.iloc[0])} of the distance from neutral"
    if not has_width(low, high):  # as where nothing is left on any model
        return f"{none} {removes}, the same on all of them, so that its interval has no width ({evidence}).", None
    if not low > 0:
        return f"{none} {removes}, but that may be chance ({evidence}).", None
    return f"{best} reduces bias: it {removes} ({evidence}).{_against(shares, best, others)}", best


def percent(share: float) -> str:
    """Return a share as text: 0.45 -> "45 %"; never "-0 %"."""
    return f"{round(100 * share, 0) + 0.0:.0f} %"


def _against(shares: pd.DataFrame, best: str, others: Sequence[str]) -> str:
    """Whether it is the best of several, as a sentence."""
    ends = {
        name: t_interval((shares[best] - shares[name]).to_numpy(), confidence=1 - LEVEL / len(others))
        for name in others
    }
    equal = [name for name, (low, high) in ends.items() if not (low > 0 and has_width(low, high))]
    if not equal:
        return " Every other method removes less." if others else ""
    more = f" and {len(equal) - 3} more" if len(equal) > 3 else ""
    return f" It is not told apart from {', '.join(equal[:3])}{more}."
