"""Claims of the tables: the examples of 1, 3 and 4, the best of each level (5), the weighting (6), each row of 7."""

from collections.abc import Iterator
from itertools import product

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.metrics.stereoset import ANTI, STEREOTYPE, UNRELATED, triple_distances, triple_strengths
from biasflow.papers.dawkins2024.downstream import weighting_pairs
from biasflow.papers.dawkins2024.rows import LEVELS, MEASURES, OWN_LEVELS, model_name
from biasflow.results.rounding import DECIMALS, EQUAL, Range, around, rounded
from tests.unit.papers.dawkins2024.audit.checks import Check, check, check_number, not_computable
from tests.unit.papers.dawkins2024.audit.printed import (
    HALF_UNIT,
    TABLE5_SCORES,
    VIABLE_READINGS,
    Printed,
    best,
    value_at,
)
from tests.unit.papers.dawkins2024.audit.ranges import mean_of, product_of, spread_of

# table -> labels of its p(NS), and whether the swapped triple is printed beside the original one
_PROBABILITIES = {
    "1": ((STEREOTYPE, ANTI), (False,)),
    "3": ((STEREOTYPE, ANTI), (False, True)),
    "4": ((UNRELATED,), (False, True)),
}
# Those of SNLI's test set that have a gold label (Bowman et al. 2015): the paper names the set, not its size.
SNLI_TEST_PAIRS = 9824
_SCORES = {"3": ("s", triple_strengths, 3), "4": ("d", triple_distances, DECIMALS)}  # eq. 2 and 3; printed decimals


def example_scores(printed: Printed) -> Iterator[Check]:
    """Table 1's order of stereotype and anti-stereotype, s of table 3 (eq. 2) and d of table 4 (eq. 3)."""
    for (table, example), rows in printed.examples.groupby(["table", "example"]):
        where = f"table {table}" + (f" ({example})" if example else "")
        p = _probabilities(table, rows, where)
        if table == "1":
            stereotype, anti = p
            shown = "p(stereotype) > p(anti-stereotype)", f"{stereotype} and {anti}"
            yield check("example-order", where, *shown, agrees=stereotype > anti)
            continue
        name, score, decimals = _SCORES[table]
        value = float(score(*([one] for one in p))[0])
        reach = len(p) * HALF_UNIT  # each p moves the sum by at most half a unit
        yield check_number(f"example-{name}", where, rows[name].iloc[0], around(value, reach), decimals=decimals)


def _probabilities(table: str, rows: pd.DataFrame, where: str) -> list[float]:
    """p(NS) of each label in the original triple, then in the swapped one, as the scores take them."""
    p = rows.set_index(["label", "swapped"])["p"]
    labels, swapped = _PROBABILITIES[table]
    for key in product(labels, swapped):
        if key not in p:
            raise BiasflowError(f"audit: {where} has no p of label {key[0]}, swapped {key[1]}; add the row")
    return [p[label, of_swapped] for of_swapped in swapped for label in labels]


def best_intrinsic(printed: Printed) -> Iterator[Check]:
    """The best Strength and Distance of each level, value and settings."""
    for level, measure in product(OWN_LEVELS, MEASURES):
        row = printed.table5.loc[level]
        value, settings = best(printed.table7[measure], level, largest=False)
        agrees = abs(row[measure] - value) <= EQUAL and row[f"{measure}_settings"] in settings
        shown = value_at(row[measure], [row[f"{measure}_settings"]]), value_at(value, settings)
        yield check(f"best-{measure}", f"table 5, {level}", *shown, agrees=agrees)


def best_fairness(printed: Printed) -> Iterator[Check]:
    """The best fairness score of each level among viable models, under each reading of viable."""
    for level, reading in product(OWN_LEVELS, VIABLE_READINGS):
        row = printed.table5.loc[level]
        said = f"{value_at(row['fairness'], [row['fairness_settings']])}, SNLI {row['snli_accuracy']:.{DECIMALS}f}"
        value, settings = best(printed.table7["fairness"][printed.viable(reading)], level, largest=True)
        recomputed, agrees = "no viable model", False
        if settings:
            accuracies = printed.table7["snli_accuracy"][level][settings]
            snli = " and ".join(f"{accuracy:.{DECIMALS}f}" for accuracy in accuracies)
            recomputed = f"{value_at(value, settings)}, SNLI {snli}"
            same = abs(row["fairness"] - value) <= EQUAL and row["fairness_settings"] in settings
            agrees = same and abs(row["snli_accuracy"] - accuracies[row["fairness_settings"]]) <= EQUAL
        detail = printed.viable_from(reading)
        where = f"table 5, {level}"
        yield check("best-fairness", where, said, recomputed, agrees=agrees, reading=reading, detail=detail)


def same_values_in_table7(printed: Printed) -> Iterator[Check]:
    """Each value of table 5 against table 7's at the settings that table 5 prints beside it."""
    for level, score in product(LEVELS, TABLE5_SCORES):
        row = printed.table5.loc[level]
        settings = row[f"{'fairness' if score == 'snli_accuracy' else score}_settings"]
        value = printed.row_named_in_table5(level, settings)[score]
        same = abs(row[score] - value) <= EQUAL
        elsewhere = printed.table7.index[(printed.table7[score] - row[score]).abs() <= EQUAL]
        names = "; ".join(model_name(*model) for model in elsewhere) or "none"
        yield check(
            f"same-{score.replace('_', '-')}-in-table-7",
            f"table 5, {level}",
            value_at(row[score], [settings]),
            value_at(value, [settings]),
            agrees=same,
            detail="" if same else f"table 7 prints this value at: {names}",
        )


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
        for ddof in range(min(2, len(gains))):
            spread = spread_of(gains, 2 * HALF_UNIT, ddof)
            reading = f"divisor n - {ddof}" if ddof else "divisor n"
            yield check_number("spread-of-increase", where, row["increase_sd"], spread, reading=reading)


def accuracy_times_parity(table7: pd.DataFrame) -> pd.Series:
    """The fairness score by its definition (eq. 4), as a range for each row."""
    factors = zip(table7["accuracy"], table7["parity"], strict=True)
    return pd.Series([product_of(rounded(a), rounded(b)) for a, b in factors], index=table7.index, dtype=object)


def fairness_products(printed: Printed) -> Iterator[Check]:
    """eta = accuracy x parity (eq. 4) in each row."""
    for model, eta in accuracy_times_parity(printed.table7).items():
        value = printed.table7.loc[model, "fairness"]
        yield check_number("fairness-is-accuracy-x-parity", f"table 7, {model_name(*model)}", value, eta)


def shares(printed: Printed) -> Iterator[Check]:
    """Parity is a share of the occupations, accuracy one of the sentence pairs, SNLI accuracy one of its test pairs."""
    for column, things in (("parity", "occupations"), ("accuracy", "occupation-sentence-pairs")):
        yield from _multiples(printed, column, things, printed.count(things))
    yield from _multiples(printed, "snli_accuracy", "test-pairs", SNLI_TEST_PAIRS)


def _multiples(printed: Printed, column: str, things: str, n: int) -> Iterator[Check]:
    """Shares of n things are multiples of 1/n. If 1/n is no wider than a unit of the last decimal every number
    qualifies, and the digits cannot tell."""
    claim = f"{column.replace('_', '-')}-is-a-share-of-{things}"
    if 1 / n <= 2 * HALF_UNIT + EQUAL:
        why = f"1/{n} = {1 / n:.2e} is less than the last decimal: every printed value is near a multiple"
        yield not_computable(claim, f"table 7, {column}", f"k/{n}", why)
        return
    for model, value in printed.table7[column].items():
        k = round(value * n)
        agrees = rounded(value).meets(around(k / n))
        nearest = f"{k}/{n} = {k / n:.{DECIMALS + 1}f}"
        yield check(claim, f"table 7, {model_name(*model)}", f"{value:.{DECIMALS}f}", nearest, agrees=agrees)
