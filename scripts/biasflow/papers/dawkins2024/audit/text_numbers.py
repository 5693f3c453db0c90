"""Claims of the text on numbers: correlations, the improvement over Base, and how many models there are of a kind."""

from collections.abc import Iterator
from itertools import product

import pandas as pd

from scripts.biasflow.papers.dawkins2024.audit.checks import Check, check, check_count, check_number
from scripts.biasflow.papers.dawkins2024.audit.printed import VIABLE_READINGS, Printed, best
from scripts.biasflow.papers.dawkins2024.audit.tables import accuracy_times_parity
from scripts.biasflow.papers.dawkins2024.rows import (
    ATTENTION,
    BASE,
    LAYER_11,
    LAYER_12,
    MEASURES,
    OWN_LEVELS,
    model_name,
)
from scripts.biasflow.papers.dawkins2024.statements import UNWEIGHTED_PLANE
from scripts.biasflow.results.rounding import EQUAL, Range, rank_correlation, rounded

_SIGNIFICANT = 0.05


def correlations(printed: Printed) -> Iterator[Check]:
    """Spearman's rho of Strength and fairness score and its p, and whether intrinsic bias is not correlated at all."""
    table7 = printed.table7
    yield check_count(printed, "correlated-models", len(table7))
    for (reading, fairness), measure in product(_fairness_readings(table7).items(), MEASURES):
        rho, p = rank_correlation(table7[measure], fairness)
        if measure == "strength":
            for name, found in (("spearman-rho", rho), ("spearman-p", p)):
                where, value, decimals = (printed.claim(name)[key] for key in ("where", "value", "decimals"))
                said = rounded(value, decimals)
                detail = "agrees in size, not in sign" if said.meets(-found) and not said.meets(found) else ""
                yield check_number(name, where, value, found, decimals=decimals, reading=reading, detail=detail)
        yield check(
            "not-correlated",
            "sec. 5, sec. 6",
            "not correlated",
            f"rho {rho.value:.4f}, p {p.value:.4f}",
            agrees=p.value >= _SIGNIFICANT,
            reading=f"{measure}, {reading}",
            detail=f"correlated if p < {_SIGNIFICANT}",
        )


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
