"""Where the numbers of Liang, Dufter & Schütze's notebooks and tables stand beside ours, for the ledger."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.ledger import AGREES, DISAGREES, Beside, decimals_of
from biasflow.papers.liang2020.performance import perplexity
from biasflow.papers.liang2020.tables import association, occtmp
from biasflow.results.rounding import around, rounded

_VALUES = ("diff", "diff_variance", "p_he", "p_she", "p_sum"), ("effect_size", "p_value"), ("batch_perplexity",)
GLUE = "glue"
WITHOUT_METRIC = "the paper does not say which metric of the task its table of GLUE has"
_PARTS, _WHOSE = ["occtmp_p_he", "occtmp_p_she"], ["file", "encoder", "row"]


def _with_printed(file: str, table: Callable[[Run], pd.DataFrame]) -> Callable[[Run], pd.DataFrame]:
    """A table of the paper, which shows the numbers of its notebooks, with those of another data file instead."""
    return lambda run: table(replace(run, published=lambda _: run.published(file)))


BESIDE = [
    Beside(file, _with_printed(file, table), values, n=n)
    for file in ("values", "tables")
    for table, values, n in zip((occtmp, association, perplexity), _VALUES, ("", "", "perplexity_seeds"), strict=True)
]


def other_data(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """Why numbers are not comparable, which only those of GLUE may be: words, tests and texts go by their names, each
    of which is one file; others have no printed number."""
    return numbers["measure"].map({GLUE: WITHOUT_METRIC}).fillna("")


def audited(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """Whether the printed p(he) + p(she) is the sum of the two that are printed."""
    p = numbers[numbers["measure"].isin(_PARTS)].pivot(index=_WHOSE, columns="measure", values="printed").astype(float)
    verdicts = pd.Series("", index=numbers.index)
    for place, number in numbers[numbers["measure"] == "occtmp_p_sum"].iterrows():
        total, decimals = p.loc[tuple(number[_WHOSE])].sum(), decimals_of(number["printed"])
        reach = around(total, len(_PARTS) * 0.5 * 10**-decimals)
        agrees = rounded(float(number["printed"]), decimals).meets(reach)
        verdicts[place] = f"{AGREES if agrees else DISAGREES}: the printed terms give {total:.{decimals}f}"
    return verdicts
