"""Claims of tables 1, 3 and 4: the worked examples, from the p(NS) that they print."""

from collections.abc import Iterator
from itertools import product

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.stereoset import ANTI, STEREOTYPE, UNRELATED, triple_distances, triple_strengths
from scripts.biasflow.papers.dawkins2024.audit.checks import Check, check, check_number
from scripts.biasflow.papers.dawkins2024.audit.printed import HALF_UNIT, Printed
from scripts.biasflow.results.rounding import DECIMALS, Range

# table -> labels of its p(NS), and whether the swapped triple is printed beside the original one
_PROBABILITIES = {
    "1": ((STEREOTYPE, ANTI), (False,)),
    "3": ((STEREOTYPE, ANTI), (False, True)),
    "4": ((UNRELATED,), (False, True)),
}
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
        found = Range(value, value - reach, value + reach)
        yield check_number(f"example-{name}", where, rows[name].iloc[0], found, decimals=decimals)


def _probabilities(table: str, rows: pd.DataFrame, where: str) -> list[float]:
    """p(NS) of each label in the original triple, then in the swapped one, as the scores take them."""
    p = rows.set_index(["label", "swapped"])["p"]
    labels, swapped = _PROBABILITIES[table]
    for key in product(labels, swapped):
        if key not in p:
            raise BiasflowError(f"audit: {where} has no p of label {key[0]}, swapped {key[1]}; add the row")
    return [p[label, of_swapped] for of_swapped in swapped for label in labels]
