"""Do the numbers that Dawkins et al. (2024) print agree with each other? Recomputed from the printed tables alone.

Every claim is a function of the tables; nothing in this package says which claims fail. A printed number of k decimals
stands for every value within half a unit of the last decimal. A claim on a number agrees if some unrounded values that
round to the printed inputs give a result that rounds to the printed one, so rounding alone never makes a
disagreement. Claims on order (best, below, viable) compare the printed digits, and so does a number that two tables
print with equally many decimals."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, fields

import pandas as pd

from tests.unit.papers.dawkins2024.audit import tables, text
from tests.unit.papers.dawkins2024.audit.checks import Check
from tests.unit.papers.dawkins2024.audit.printed import Printed

DEPENDS = "depends on the reading"
_CHECKS: list[Callable[[Printed], Iterator[Check]]] = [  # in the order of the rows
    tables.fairness_products,
    tables.shares,
    tables.best_intrinsic,
    tables.best_fairness,
    tables.same_values_in_table7,
    tables.weighting,
    text.correlations,
    text.correlations_of_some,
    text.improvement,
    text.one_cutoff,
    text.records,
    text.statements,
    text.counts,
    tables.example_scores,
    text.statements_without_data,
    text.notation,
]


def recomputed(published: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """The table that biasflow/papers/dawkins2024/audit.csv keeps, made of the printed tables, whose reader `published`
    is: by name, as papers.published reads them.

    Raises BiasflowError for a number of the text that is absent, for settings in table 5 that table 7 does not have,
    and for a table 7 that does not have every combination of settings once."""
    printed = Printed.of(published)
    found = [check for checks in _CHECKS for check in checks(printed)]
    table = pd.DataFrame([asdict(check) for check in found], columns=[field.name for field in fields(Check)])
    verdicts = table.groupby(["claim", "where"])["verdict"]
    overall = table["verdict"].where(verdicts.transform("nunique") == 1, DEPENDS)
    table.insert(table.columns.get_loc("verdict") + 1, "overall", overall)
    return table
