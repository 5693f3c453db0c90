"""Claims of the text: correlations, the improvement over Base, how many models there are of a kind, one cutoff for
viable models, records level by level, and what section 5 says of groups."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from biasflow.papers.dawkins2024.rows import (
    ATTENTION,
    BASE,
    LAYER_11,
    LAYER_12,
    LEVELS,
    MEASURES,
    OWN_LEVELS,
    model_name,
)
from biasflow.papers.dawkins2024.statements import SIGNIFICANT, STATEMENTS, UNWEIGHTED_PLANE, Finding, findings, shown_p
from biasflow.results.rounding import DECIMALS, EQUAL, Range, rounded
from biasflow.results.viability import READINGS
from tests.unit.papers.dawkins2024.audit.checks import Check, check, check_count, check_number, not_computable, note
from tests.unit.papers.dawkins2024.audit.printed import VIABLE_READINGS, Printed, best, value_at
from tests.unit.papers.dawkins2024.audit.ranges import negative, rank_correlation
from tests.unit.papers.dawkins2024.audit.tables import accuracy_times_parity

# The statements of the table `statements` that the paper makes: where, and its readings. It names a measure, or speaks
# of intrinsic bias in general, which has two readings, or of viable models, which has two readings as well.
_STATED = {
    "sent-distance": ("sec. 5, SENT", [""]),
    "sent-strength": ("sec. 5, SENT", [""]),
    "sent-fairness": ("sec. 5, SENT", [""]),
    "steeper-at-layer-11": ("sec. 5, layer-11", [""]),
    "attention-improves-strength": ("sec. 5, layer-11+attention", [""]),
    "accuracy-cost": ("sec. 5", [""]),
    "weighting-keeps-accuracy": ("sec. 5, weighting", [""]),
    "layer-12-extends-sent-0": ("sec. 5, several dimensions", MEASURES),
    "layer-12-extends-sent-1": ("sec. 5, several dimensions", MEASURES),
    "layer-11-plane-worst": ("sec. 5, several dimensions", MEASURES),
    "steeper-at-layer-11-fairness": ("sec. 5, layer-11", READINGS),
    "attention-loses-viable": ("sec. 5, layer-11+attention", READINGS),
    "ingredients": ("sec. 5", READINGS),
    f"viable-weighted-{LAYER_11}": ("sec. 5, weighting", READINGS),
    f"viable-weighted-{ATTENTION}": ("sec. 5, weighting", READINGS),
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
# Slips of notation: claim, where, what is printed, what is meant, how that is known.
_NOTES = [
    (
        "subscripts-of-the-last-layer",
        "tables 5 and 7, captions",
        "(n_11, c_11, n_10, c_10, n_p)",
        "(n_11, c_11, n_12, c_12, n_p)",
        "sec. 4 b and sec. 5 write n_12 and c_12, and no intervention is at layer 10",
    ),
    (
        "index-of-the-weight",
        "sec. 4, eq. 5",
        "h - v_i^n_i sum_i <h, g_i> g_i",
        "h - sum_i v_i^n_i <h, g_i> g_i",
        "outside of the sum i has no value; sec. 4 b and c weight each direction",
    ),
]


def correlations(printed: Printed) -> Iterator[Check]:
    """Spearman's rho of Strength and fairness score and its p, and whether intrinsic bias is not correlated at all."""
    table7 = printed.table7
    yield check_count(printed, "correlated-models", len(table7))
    for (reading, fairness), measure in product(_fairness_readings(table7).items(), MEASURES):
        if measure == "strength":
            rho, p = rank_correlation(table7[measure], fairness)
            for name, found in (("spearman-rho", rho), ("spearman-p", p)):
                where, value, decimals = (printed.claim(name)[key] for key in ("where", "value", "decimals"))
                said = rounded(value, decimals)
                detail = "agrees in size, not in sign" if said.meets(negative(found)) and not said.meets(found) else ""
                yield check_number(name, where, value, found, decimals=decimals, reading=reading, detail=detail)
        yield _not_correlated("not-correlated", "sec. 5, sec. 6", table7[measure], fairness, f"{measure}, {reading}")


def correlations_of_some(printed: Printed) -> Iterator[Check]:
    """Whether intrinsic bias is not correlated either among the models that are viable, or within one level.

    The paper counts all models of all levels together, and concludes on debiasing in general."""
    table7 = printed.table7
    for (reading, fairness), measure in product(_fairness_readings(table7).items(), MEASURES):
        for viable_reading in READINGS:
            viable, readings = printed.viable(viable_reading), f"{measure}, {viable_reading}, {reading}"
            columns = table7[measure][viable], fairness[viable]
            yield _not_correlated("not-correlated-among-viable-models", "sec. 5, sec. 6", *columns, readings)
    for level, measure in product((LAYER_12, LAYER_11, ATTENTION), MEASURES):
        own = table7.loc[level]
        columns = own[measure], own["fairness"]
        yield _not_correlated("not-correlated-within-the-level", f"sec. 5, {level}", *columns, measure)


def _not_correlated(claim: str, where: str, measure: pd.Series, fairness: pd.Series, reading: str) -> Check:
    rho, p = rank_correlation(measure, fairness)
    shown = f"rho {rho.value:.4f}, p {shown_p(p.value)}"
    detail = f"n = {len(measure)}; correlated if p < {SIGNIFICANT}"
    agrees = p.value >= SIGNIFICANT
    return check(claim, where, "not correlated", shown, agrees=agrees, reading=reading, detail=detail)


def _fairness_readings(table7: pd.DataFrame) -> dict[str, pd.Series]:
    """The fairness scores as printed, and with those that their own factors refute replaced by the product."""
    products = accuracy_times_parity(table7)
    refuted = [not rounded(eta).meets(p) for eta, p in zip(table7["fairness"], products, strict=True)]
    mended = table7["fairness"].mask(refuted, products.map(lambda eta: eta.value).astype(float))
    return {"fairness as printed": table7["fairness"], "fairness mended by accuracy x parity": mended}


def improvement(printed: Printed) -> Iterator[Check]:
    """Parity, accuracy and fairness of Base and of the best layer-11 model, under each reading of best."""
    named = printed.table5.loc[LAYER_11, "fairness_settings"]
    printed.row_named_in_table5(LAYER_11, named)  # an error names settings that table 7 lacks
    best_settings = {"settings of table 5": [named]}
    for reading in VIABLE_READINGS:
        values = printed.table7["fairness"][printed.viable(reading)]
        best_settings[reading] = best(values, LAYER_11, largest=True)[1]
    for column in ("parity", "accuracy", "fairness"):
        yield _of_one_model(printed, column, "base", "", (BASE, ""))
        for reading, settings in best_settings.items():
            if not settings:
                claim = printed.claim(f"{column}-best")
                said = f"{claim['value']:.{claim['decimals']}f}"
                none = "no viable model"
                yield check(f"{column}-best", claim["where"], said, none, agrees=False, reading=reading)
            for s in settings:
                yield _of_one_model(printed, column, "best", reading, (LAYER_11, s))


def _of_one_model(printed: Printed, column: str, which: str, reading: str, model: tuple[str, str]) -> Check:
    """A number that the text prints of one model, in the text's unit, against table 7."""
    claim = printed.claim(f"{column}-{which}")
    scale = 100 if claim["unit"] == "percent" else 1
    exact = rounded(printed.table7.loc[model, column])
    return check_number(
        f"{column}-{which}",
        claim["where"],
        claim["value"],
        Range(*(scale * bound for bound in (exact.value, exact.low, exact.high))),
        decimals=claim["decimals"],
        reading=reading,
        detail=f"{claim['unit']}; {model_name(*model)}",
    )


def counts(printed: Printed) -> Iterator[Check]:
    """How many models there are of each kind, and other whole numbers that follow from each other."""
    table7 = printed.table7
    levels = table7.index.get_level_values("level")
    yield check_count(printed, "debiased-models", int(levels.isin(OWN_LEVELS).sum()))
    yield check_count(printed, "layer-11-models", int((levels == LAYER_11).sum()))
    settings_11 = table7.loc[LAYER_11].index
    planes = settings_11.str.startswith(f"{UNWEIGHTED_PLANE},")
    yield check_count(printed, "layer-11-unweighted-planes", int(planes.sum()))
    for n_p in "01":
        extensions = int((printed.own_models_with(n_p).index.get_level_values("level") == LAYER_12).sum())
        yield check_count(printed, "layer-12-extensions", extensions, reading=f"n_p = {n_p}")
    gains = table7["strength"][LAYER_11] - table7["strength"][ATTENTION]
    yield check_count(printed, "attention-improved", int((gains > EQUAL).sum()))
    yield check_count(printed, "attention-not-improved", int((gains <= EQUAL).sum()))
    yield check_count(
        printed, "stereoset-sentence-pairs", 3 * printed.count("stereoset-triples"), detail="3 per triple"
    )
    subspaces = 3 * printed.count("attention-heads")
    yield check_count(printed, "attention-subspaces", subspaces, detail="query, key, value")
    pairs, occupations = (printed.count(name) for name in ("occupation-sentence-pairs", "occupations"))
    yield check(
        "same-pairs-for-each-occupation",
        printed.claim("occupations")["where"],
        f"{pairs} pairs, {occupations} occupations",
        f"{pairs / occupations:.6g} pairs for each",
        agrees=pairs % (2 * occupations) == 0,
        detail="a whole number for each of two genders",
    )


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
    """The statements of the table `statements`, counted in the printed table 7 under each reading of viable."""
    table7 = printed.table7.reset_index()
    found = {reading: findings(table7, threshold=printed.threshold, reading=reading) for reading in READINGS}
    of_all_models = found[READINGS[0]]  # statements that do not depend on viability
    texts = {statement.id: statement.text for statement in STATEMENTS.known}
    for claim, (where, readings) in _STATED.items():
        for reading in readings:
            name = f"{claim}-{reading}" if reading in MEASURES else claim
            finding = found.get(reading, of_all_models)[name]
            shown, detail = f"{finding.k} of {finding.n}", _detail(printed, finding, reading)
            yield check(claim, where, texts[name], shown, agrees=finding.holds, reading=reading, detail=detail)
    for name, reading in product(_COUNTED_OF_VIABLE_MODELS, READINGS):
        finding = found[reading][name]
        yield check_count(printed, name, finding.k, reading=reading, detail=_detail(printed, finding, reading))
    weighted = of_all_models["weighting-keeps-accuracy"]
    yield check_count(printed, "weighting-improved", weighted.k, detail=_detail(printed, weighted, ""))


def _detail(printed: Printed, finding: Finding, reading: str) -> str:
    exceptions = f"not so: {finding.exceptions}" if finding.exceptions else ""
    return "; ".join(filter(None, [exceptions, finding.detail, printed.viable_from(reading)]))


def statements_without_data(printed: Printed) -> Iterator[Check]:
    """Statements that no printed number can confirm or refute."""
    for claim in _WITHOUT_DATA:
        yield not_computable(*claim)


def notation(printed: Printed) -> Iterator[Check]:
    """Subscripts and indices that do not agree with the text around them."""
    for slip in _NOTES:
        yield note(*slip)
