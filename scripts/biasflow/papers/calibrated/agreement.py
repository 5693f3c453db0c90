"""Do two measures move together when the dose of bias changes? Asked within seeds, whose encoders share their text."""

from itertools import combinations

import pandas as pd
from scipy import stats

from biasflow.papers.calibrated.values import ALL, HELD_OUT
from biasflow.papers.judge import by_seed
from biasflow.registry import INSIDE
from biasflow.results.statistics import false_discovery_rates, mean_of_units


def agreement(values: pd.DataFrame) -> pd.DataFrame:
    """A row for every two measures of bias: measure_a, measure_b, spearman (the mean over seeds of the rank correlation
    of their values over the doses), its 95 % interval over seeds (Student's: low, high), p of no correlation, and q,
    that p adjusted over all pairs. values: of `values.measured`.

    Interval, p and q are NaN for fewer than six seeds, which are too few for a claim. A seed in which a measure is the
    same at all doses, or is not defined, says nothing. Rows of seen or held-out occupations are left out, but those of
    seen occupations of a measure that has no others."""
    dosed = values[values["bias"].notna() & (values["group"] == INSIDE)]
    of_all = dosed["occupations"] == ALL
    whole = dosed["measure"].isin(dosed.loc[of_all, "measure"].str.split(" (", regex=False).str[0])
    dosed = dosed[of_all | (~whole & (dosed["occupations"] != HELD_OUT))]
    ranks = {measure: _ranks(block) for measure, block in dosed.groupby("measure", sort=False)}
    rows = []
    for a, b in combinations(ranks, 2):
        correlations = (ranks[a] * ranks[b]).dropna().mean(axis=1)
        if len(correlations):
            rows.append((a, b, *mean_of_units(correlations)))
    pairs = pd.DataFrame(rows, columns=["measure_a", "measure_b", "spearman", "low", "high", "p"])
    ends = pairs[["low", "high"]].clip(-1, 1)  # Student's interval knows no bounds
    return pairs.assign(**ends, q=false_discovery_rates(pairs["p"]))


def _ranks(block: pd.DataFrame) -> pd.DataFrame:
    """The ranks of a measure's values within each seed, with mean 0 and variance 1 [seeds, doses]."""
    table = by_seed(block)
    table = table[table.nunique(axis=1) > 1]
    return table.rank(axis=1).apply(stats.zscore, axis=1, result_type="broadcast") if len(table) else table
