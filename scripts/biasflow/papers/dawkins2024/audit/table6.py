"""Claims of table 6: what information weighting in the last layer (n_p) does to SNLI accuracy, from table 7's pairs."""

from collections.abc import Iterator

import pandas as pd

from scripts.biasflow.papers.dawkins2024.audit.checks import Check, check, check_number
from scripts.biasflow.papers.dawkins2024.audit.printed import HALF_UNIT, OWN_LEVELS, Printed
from scripts.biasflow.papers.dawkins2024.downstream import weighting_pairs
from scripts.biasflow.results.rounding import Range, mean_of, rounded, spread_of


def weighting(printed: Printed) -> Iterator[Check]:
    """The number of pairs that differ in n_p only, their mean accuracies, mean increase and its standard deviation.

    Accuracies are known within half a unit of the last decimal, their differences within a whole one."""
    pairs = weighting_pairs(printed.table7["snli_accuracy"])
    for level in (*OWN_LEVELS, "all"):
        row, where = printed.table6.loc[level], f"table 6, {level}"
        own = pairs if level == "all" else pairs.loc[[level]]
        said = row["model_pairs"]
        yield check("number-of-pairs", where, str(int(said)), str(len(own)), agrees=said == len(own))
        for n_p in "01":
            value = row[f"snli_accuracy_np{n_p}"]
            yield check_number(f"mean-accuracy-n_p-{n_p}", where, value, mean_of(own[f"np{n_p}"], HALF_UNIT))
        gains = own["np1"] - own["np0"]
        yield check_number("mean-increase", where, row["increase"], mean_of(gains, 2 * HALF_UNIT))
        zero, one = (rounded(row[f"snli_accuracy_np{n_p}"]) for n_p in "01")
        between = Range(one.value - zero.value, one.low - zero.high, one.high - zero.low)
        yield check_number("increase-is-difference-of-means", where, row["increase"], between)
        if pd.isna(row["increase_sd"]):
            continue
        for ddof in (0, 1):
            spread = spread_of(gains, 2 * HALF_UNIT, ddof)
            reading = f"divisor n - {ddof}" if ddof else "divisor n"
            yield check_number("spread-of-increase", where, row["increase_sd"], spread, reading=reading)
