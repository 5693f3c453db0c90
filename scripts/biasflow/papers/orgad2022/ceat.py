"""CEAT of every model of Orgad, Goldfarb-Tarrant & Belinkov (2022): all tests, orders of roles and variances."""

from collections.abc import Mapping
from itertools import product

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.ceat_sets import words_of
from scripts.biasflow.corpora.seat import AssociationTest
from scripts.biasflow.metrics.association import holm
from scripts.biasflow.metrics.combined_effect import ORDERS, VARIANCES
from scripts.biasflow.papers.dawkins2024.downstream import NOT_ASKED, RUN, not_run_status
from scripts.biasflow.papers.orgad2022.comparisons import LEVEL, compare, seeds_named
from scripts.biasflow.papers.orgad2022.rows import (
    BASELINES,
    CEAT,
    CEAT_VARIANT,
    STRATEGIES,
    ceat_readings,
    ceat_tests,
    diverged,
    encoders,
    printed_rows,
    with_baselines,
)
from scripts.biasflow.results.tables import merge_published

READING = ["test", "order", "variance"]
KEY = ["encoder", *READING, "model"]
MODELS = (*BASELINES, *STRATEGIES)
PRINTED_ENCODER = "roberta-base"
_COUNTS, _DROPPED = ["word", "used"], ["encoder", "test", "words_dropped", "least_contexts"]
_VARIANTS = {f"{order}-{variance}": (order, variance) for order, variance in product(ORDERS, VARIANCES)}
_SIDES = [name for side in ("two", "one") for name in (f"significant_{side}_sided", f"p_{side}_sided_median")]
_CHANGE = ["change", "pairs", "p_change"]
_MEASURED = ["effect_size", "effect_size_sd", "n", *_SIDES, "tau_squared", "draws", *_CHANGE]

CAPTION = (
    "CEAT of every model and test, in both orders of roles and with both variances. Tests: C6 (male and female names, "
    "career and family), C7 (math and arts, male and female terms), C8 (science and arts, male and female terms), "
    "planted (occupations of women and of men, feminine and masculine words). Order weat takes the first pair as "
    "targets and the second as attributes, as WEAT and the released code of CEAT do; swapped the other way round, as "
    "the paper describes its test. Variance spread is that of the associations in a draw (as released), sampling that "
    "of a standardised mean difference. An effect above 0 is the stereotype. Effect sizes are means over the n seeds "
    "that have one, with the standard deviation (n - 1; none for a single seed); the p of CEAT are medians over these "
    "seeds, and significant counts the seeds with p < 0.05. One-sided p is as released, two-sided as in the article on "
    "CEAT; the draws use the same words again and again, so that nearly any effect but 0 is significant. tau squared "
    "is the variance between draws beyond their own, draws the least number of a seed. Change is from none over the "
    "pairs of the same seed, with its two-sided paired permutation test; Holm's correction takes the models in one "
    "reading of a test as one family. Published values are those of the paper's table 1, which says neither the order "
    "nor the variance and prints no standard deviation: they stand beside C6 as released (weat, spread). Its random "
    "encoder is the mean of the 3 of 10 seeds with p < 0.05, ours of all. Words dropped occur nowhere in the text; "
    "least contexts is the smallest number of contexts of a word that is used. Diverged seeds are left out and listed."
)


def ceat_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    dropped: pd.DataFrame | None = None,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One row per encoder, test, order of roles, variance (of the draws) and model: random, pretrained, STRATEGIES.

    Columns: effect_size (mean over the `n` seeds that have one), the printed one and the difference, effect_size_sd (n
    - 1); per side of the test how many seeds have p < 0.05 (`significant_...`) and the median p; tau_squared (mean),
    draws (least); change from none over `pairs` of seeds with its permutation test `p_change` and Holm's correction
    over the models of one reading; words_dropped and least_contexts of `dropped_words`, given as `dropped`; `diverged`
    seeds, which are left out; `status`. Printed values stand beside their test in the reading CEAT_VARIANT.
    `not_run`: encoder -> reason; `measures_not_run`: "ceat" -> reason.
    Raises BiasflowError naming encoder and strategy for a hole in the scores."""
    names = encoders(scores, not_run)
    table = _measured(scores)
    printed = _printed(published)
    # An encoder that nothing is printed of has a row all the same, to say why it has no scores.
    absent = [key for key in printed[KEY].itertuples(index=False, name=None) if key[0] in names]
    absent += [(name, "", "", "", "") for name in names if name not in {key[0] for key in absent}]
    ours = set(table[KEY].itertuples(index=False, name=None))
    scored = set(table["encoder"])
    absent = [key for key in absent if key not in ours and (key[0] not in scored or key[-1])]
    reasons = {name: (measures_not_run or {}).get("ceat", NOT_ASKED) for name in names if name not in scored}
    absent = pd.DataFrame(absent, columns=KEY, dtype=object)
    absent["status"] = [not_run_status(name, reasons | dict(not_run or {})) for name in absent["encoder"]]
    table = pd.concat([table.assign(status=RUN), absent]) if len(absent) else table.assign(status=RUN)
    table = merge_published(table, printed, on=KEY, values=["effect_size"])

    words = pd.DataFrame(columns=_DROPPED) if dropped is None else dropped
    table = table.merge(words, on=["encoder", "test"], how="left", validate="many_to_one")
    table["words_dropped"] = table["words_dropped"].astype(object).fillna("")
    lost = diverged(scores)
    table["diverged"] = [seeds_named(lost.get(key, [])) for key in zip(table["encoder"], table["model"], strict=True)]

    values = (names, sorted(set(table["test"])), ORDERS, VARIANCES, MODELS)
    places = {column: [*known, ""].index for column, known in zip(KEY, values, strict=True)}
    table = table.sort_values(KEY, key=lambda column: column.map(places[column.name]), ignore_index=True)
    columns = [*KEY, "effect_size", "effect_size_published", "effect_size_difference", *_MEASURED[1:]]
    columns += ["p_change_holm", "words_dropped", "least_contexts", "diverged", "status"]
    counts = ["n", *_SIDES[::2], "draws", "pairs", "least_contexts"]
    return table[columns].astype(dict.fromkeys(counts, "Int64"))


def dropped_words(counts: Mapping[str, pd.DataFrame], tests: Mapping[str, AssociationTest]) -> pd.DataFrame:
    """A row per encoder and test: `words_dropped`, those without a context, and `least_contexts` of the other words.

    `counts`: encoder -> word, used (contexts of it), as `WordContexts.counts`. BiasflowError names the encoder for a
    column or a word that is missing."""
    rows = []
    for encoder, table in counts.items():
        if missing := [name for name in _COUNTS if name not in table]:
            raise BiasflowError(f"encoder {encoder}: the counts of contexts have no column {', '.join(missing)}")
        used = dict(zip(table["word"], table["used"], strict=True))
        for name, test in tests.items():
            words = words_of([test])
            if unknown := [word for word in words if word not in used]:
                raise BiasflowError(
                    f"encoder {encoder}: no count of contexts for {', '.join(unknown)} of CEAT {name}; look for them "
                    "first"
                )
            lacking = [word for word in words if not used[word]]
            least = min((used[word] for word in words if used[word]), default=0)
            rows.append((encoder, name, ", ".join(lacking), least))
    return pd.DataFrame(rows, columns=_DROPPED)


def _measured(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of all models with scores: KEY, _MEASURED and p_change_holm, numbers as floats."""
    blocks = []
    for test in ceat_tests(scores):
        runs = with_baselines(lambda stage, test=test: ceat_readings(scores, test, [*_VARIANTS], stage))
        blocks.append(_summaries(runs).assign(test=test))
    table = pd.concat(blocks, ignore_index=True) if blocks else pd.DataFrame(columns=[*KEY, *_MEASURED])
    table = table[[*KEY, *_MEASURED]].astype(dict.fromkeys(_MEASURED, float))
    table["p_change_holm"] = table.groupby(["encoder", *READING])["p_change"].transform(holm).astype(float)
    return table


def _summaries(runs: pd.DataFrame) -> pd.DataFrame:
    """One test by encoder, order, variance and model. `runs`: as `ceat_readings`, diverged seeds NaN."""
    keys = ["encoder", "variant", "strategy"]
    changes = compare(runs[runs["metric"] == "effect_size"]).rename(columns={"mean": "effect_size", "p": "p_change"})
    wide = runs.pivot(index=[*keys, "seed"], columns="metric", values="value").dropna(subset="effect_size")
    others = wide.groupby(keys).agg(
        p_two_sided_median=("p_two_sided", "median"),
        significant_two_sided=("p_two_sided", _significant),
        p_one_sided_median=("p_one_sided", "median"),
        significant_one_sided=("p_one_sided", _significant),
        tau_squared=("tau_squared", "mean"),
        draws=("draws", "min"),
    )
    table = changes.merge(others.reset_index(), on=keys, how="left", validate="one_to_one")
    table[["order", "variance"]] = [_VARIANTS[variant] for variant in table["variant"]]
    return table.drop(columns="variant").rename(columns={"strategy": "model", "sd": "effect_size_sd"})


def _significant(p: pd.Series) -> int:
    return int((p < LEVEL).sum())


def _printed(published: pd.DataFrame) -> pd.DataFrame:
    """The printed effect sizes: KEY and effect_size, in the reading of CEAT_VARIANT."""
    rows = printed_rows(published, ["1"])
    rows = rows[rows["metric"] == "effect_size"]
    order, variance = _VARIANTS[CEAT_VARIANT]
    models = rows["strategy"].where(rows["strategy"] != "", rows["stage"])
    tests = rows["task"].str.removeprefix(CEAT)
    rows = rows.assign(test=tests, order=order, variance=variance, model=models, effect_size=rows["value"])
    return rows[[*KEY, "effect_size"]]
