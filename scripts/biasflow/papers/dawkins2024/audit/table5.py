"""Claims of table 5: the best scores of each level, and their settings, are those of table 7."""

from collections.abc import Iterator
from itertools import product

from scripts.biasflow.papers.dawkins2024.audit.checks import Check, check
from scripts.biasflow.papers.dawkins2024.audit.printed import (
    OWN_LEVELS,
    TABLE5_SCORES,
    Printed,
    best,
    model_name,
    value_at,
)
from scripts.biasflow.papers.dawkins2024.audit.viable_models import VIABLE_READINGS, viable_from, viable_models
from scripts.biasflow.papers.dawkins2024.rows import LEVELS, MEASURES
from scripts.biasflow.results.rounding import DECIMALS, EQUAL


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
        value, settings = best(printed.table7["fairness"][viable_models(printed, reading)], level, largest=True)
        recomputed, agrees = "no viable model", False
        if settings:
            accuracies = printed.table7["snli_accuracy"][level][settings]
            snli = " and ".join(f"{accuracy:.{DECIMALS}f}" for accuracy in accuracies)
            recomputed = f"{value_at(value, settings)}, SNLI {snli}"
            same = abs(row["fairness"] - value) <= EQUAL and row["fairness_settings"] in settings
            agrees = same and abs(row["snli_accuracy"] - accuracies[row["fairness_settings"]]) <= EQUAL
        detail = viable_from(printed, reading)
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
