"""Claims of section 5 in words: one cutoff for viable models, records level by level, and what is said of groups."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from scripts.biasflow.papers.dawkins2024.audit.checks import Check, check, check_count, not_computable
from scripts.biasflow.papers.dawkins2024.audit.printed import VIABLE_READINGS, Printed, best, value_at
from scripts.biasflow.papers.dawkins2024.rows import ATTENTION, LAYER_11, LAYER_12, LEVELS, MEASURES, OWN_LEVELS
from scripts.biasflow.papers.dawkins2024.statements import STATEMENTS, Finding, findings
from scripts.biasflow.results.rounding import DECIMALS, EQUAL
from scripts.biasflow.results.viability import READINGS

# The statements of `projective_statements` that the paper makes, and where. It speaks of intrinsic bias in general,
# which has two readings, or names the measure, or speaks of viable models, which has two readings as well.
_STATED_IN_GENERAL = {
    "layer-12-extends-sent-0": "sec. 5, several dimensions",
    "layer-12-extends-sent-1": "sec. 5, several dimensions",
    "layer-11-plane-worst": "sec. 5, several dimensions",
}
_STATED_OF_A_SCORE = {
    "sent-distance": "sec. 5, SENT",
    "sent-strength": "sec. 5, SENT",
    "sent-fairness": "sec. 5, SENT",
    "steeper-at-layer-11": "sec. 5, layer-11",
    "attention-improves-strength": "sec. 5, layer-11+attention",
    "accuracy-cost": "sec. 5",
    "weighting-keeps-accuracy": "sec. 5, weighting",
}
_STATED_OF_VIABLE_MODELS = {
    "steeper-at-layer-11-fairness": "sec. 5, layer-11",
    "attention-loses-viable": "sec. 5, layer-11+attention",
    "ingredients": "sec. 5",
    f"viable-weighted-{LAYER_11}": "sec. 5, weighting",
    f"viable-weighted-{ATTENTION}": "sec. 5, weighting",
}
_COUNTED_OF_VIABLE_MODELS = ("layer-12-weighted-viable", "layer-12-unweighted-unviable")  # 4 each, says the text
# What no printed number can confirm or refute: claim, where, what is said, what is missing.
_WITHOUT_DATA = [
    ("share-of-pairs", "sec. 2", "the share of triple pairs leaves the ranks as they are", "only 10 % is printed"),
    (
        "sent-debias-equivalent",
        "sec. 4 a",
        "SENT with n_p = 0 is the baseline in concept",
        "no projections are printed",
    ),
]


def one_cutoff(printed: Printed) -> Iterator[Check]:
    """Is there a smallest viable accuracy for which a statement is true, and one for which all are?

    A statement allows the cutoffs c with `above` < c <= `up to`: models that must be viable bound c from above, models
    that must not be (or would otherwise have been table 5's best) from below. A statement that bounds one side only is
    always possible; it counts in the row for all."""
    accuracy, fairness = printed.table7["snli_accuracy"], printed.table7["fairness"]
    weighted, unweighted = (printed.own_models_with(n_p)["snli_accuracy"] for n_p in "10")
    allowed = {"sec. 5, layer-12": (unweighted[LAYER_12].max(), weighted[LAYER_12].min())}
    for level in (LAYER_11, ATTENTION):
        allowed[f"sec. 5, {level}"] = (unweighted[level].max(), np.inf)
    for level in OWN_LEVELS:
        chosen = (level, printed.table5.loc[level, "fairness_settings"])
        better = fairness[level] > printed.row_named_in_table5(*chosen)["fairness"]
        allowed[f"table 5, {level}"] = (accuracy[level][better].max() if better.any() else -np.inf, accuracy[chosen])
    above, up_to = zip(*allowed.values(), strict=True)
    allowed["all of these"] = (max(above), min(up_to))
    for where, (low, high) in allowed.items():
        possible = low < high - EQUAL
        bounds = [f"{word} {c:.{DECIMALS}f}" for word, c in (("above", low), ("up to", high)) if np.isfinite(c)]
        yield check(
            "some-cutoff",
            where,
            "one smallest viable accuracy",
            ", ".join(bounds) + ("" if possible else ": none"),
            agrees=possible,
            reading="any threshold",
            detail=f"Base {printed.base_accuracy:.{DECIMALS}f}",
        )


def records(printed: Printed) -> Iterator[Check]:
    """Does each level set a record: does its best beat the best of all levels before it, Base and baseline included?

    Said to be so at layers 12 and 11 for all three scores, and for attention in all but fairness."""
    readings = [(measure, "") for measure in MEASURES] + [("fairness", reading) for reading in VIABLE_READINGS]
    for (score, reading), level in product(readings, (LAYER_12, LAYER_11, ATTENTION)):
        largest = score == "fairness"
        values = printed.table7[score]
        if largest:
            values = values[printed.viable(reading)]
        best_of = {name: best(values, name, largest=largest) for name in LEVELS[: LEVELS.index(level) + 1]}
        own, settings = best_of.pop(level)
        reached = [value for value, _ in best_of.values() if not np.isnan(value)]
        before = max(reached) if largest else min(reached)
        record = own > before + EQUAL if largest else own < before - EQUAL
        said = not (level == ATTENTION and largest)
        names = {True: "new best", False: "no new best"}
        shown = value_at(own, settings) if settings else "no viable model"
        yield check(
            f"record-{score}",
            f"sec. 5, {level}",
            names[said],
            f"{names[record]}: {shown}; before {before:.{DECIMALS}f}",
            agrees=record == said,
            reading=reading,
        )


def statements(printed: Printed) -> Iterator[Check]:
    """The statements of `projective_statements`, counted in the printed table 7 under each reading of viable."""
    table7 = printed.table7.reset_index()
    found = {reading: findings(table7, threshold=printed.threshold, reading=reading) for reading in READINGS}
    of_all_models = found[READINGS[0]]  # statements that do not depend on viability
    texts = {statement.id: statement.text for statement in STATEMENTS}
    for identifier, claim, where, reading in _stated():
        finding = found.get(reading, of_all_models)[identifier]
        recomputed, detail = f"{finding.k} of {finding.n}", _detail(printed, finding, reading)
        yield check(claim, where, texts[identifier], recomputed, agrees=finding.holds, reading=reading, detail=detail)
    for name, reading in product(_COUNTED_OF_VIABLE_MODELS, READINGS):
        finding = found[reading][name]
        yield check_count(printed, name, finding.k, reading=reading, detail=_detail(printed, finding, reading))
    weighted = of_all_models["weighting-keeps-accuracy"]
    yield check_count(printed, "weighting-improved", weighted.k, detail=_detail(printed, weighted, ""))


def _stated() -> Iterator[tuple[str, str, str, str]]:
    """Id among the STATEMENTS, claim, where and reading ("", a measure or a reading of viable) of what is stated."""
    for name, where in _STATED_OF_A_SCORE.items():
        yield name, name, where, ""
    for (name, where), measure in product(_STATED_IN_GENERAL.items(), MEASURES):
        yield f"{name}-{measure}", name, where, measure
    for (name, where), reading in product(_STATED_OF_VIABLE_MODELS.items(), READINGS):
        yield name, name, where, reading


def _detail(printed: Printed, finding: Finding, reading: str) -> str:
    exceptions = f"not so: {finding.exceptions}" if finding.exceptions else ""
    return "; ".join(filter(None, [exceptions, finding.detail, printed.viable_from(reading)]))


def statements_without_data(printed: Printed) -> Iterator[Check]:
    """Statements that no printed number can confirm or refute."""
    for claim in _WITHOUT_DATA:
        yield not_computable(*claim)
