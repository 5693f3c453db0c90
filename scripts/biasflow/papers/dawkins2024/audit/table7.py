"""Claims of table 7 on each of its rows: fairness is a product, its factors are shares of a known number."""

from collections.abc import Iterator

import pandas as pd

from scripts.biasflow.papers.dawkins2024.audit.checks import Check, check, check_number, not_computable
from scripts.biasflow.papers.dawkins2024.audit.printed import HALF_UNIT, Printed, model_name
from scripts.biasflow.results.rounding import DECIMALS, EQUAL, Range, product_of, rounded


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
    """Parity is a share of the occupations, accuracy one of the sentence pairs."""
    yield from _multiples(printed, "parity", "occupations")
    yield from _multiples(printed, "accuracy", "occupation-sentence-pairs")


def _multiples(printed: Printed, column: str, total: str) -> Iterator[Check]:
    """Shares of n things are multiples of 1/n. If 1/n is no wider than a unit of the last decimal every number
    qualifies, and the digits cannot tell."""
    n = printed.claims.count(total)
    claim, said = f"{column}-is-a-share-of-{total}", f"k/{n}"
    if 1 / n <= 2 * HALF_UNIT + EQUAL:
        why = f"1/{n} = {1 / n:.2e} is less than the last decimal: every printed value is near a multiple"
        yield not_computable(claim, f"table 7, {column}", said, why)
        return
    for model, value in printed.table7[column].items():
        k = round(value * n)
        agrees = rounded(value).meets(Range(k / n, k / n, k / n))
        nearest = f"{k}/{n} = {k / n:.{DECIMALS + 1}f}"
        yield check(claim, f"table 7, {model_name(*model)}", f"{value:.{DECIMALS}f}", nearest, agrees=agrees)
