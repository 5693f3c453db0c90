"""CEAT of every model: all tests, orders of roles and variances."""

from collections.abc import Iterable, Mapping
from itertools import product

import pandas as pd

from biasflow.corpora.seat import ROLES, AssociationTest
from biasflow.metrics.combined_effect import ORDERS, VARIANCES
from biasflow.papers.frames import NOT_ASKED, Run, status, with_reasons
from biasflow.papers.orgad2022 import halves, selection
from biasflow.papers.orgad2022.selection import BASELINES, PROBED_ON, Selection
from biasflow.papers.orgad2022.stages import LEVEL, compare
from biasflow.results.statistics import holm
from biasflow.results.tables import arranged
from biasflow.stimuli.ceat_sets import ceat_tests, known_tests, words_of

_READING = ["test", "order", "variance"]
_KEY = ["encoder", *_READING, "model"]
_VARIANTS = {f"{order}-{variance}": (order, variance) for order, variance in product(ORDERS, VARIANCES)}
_WORDS = ["word", "sets", "text"]
_COUNTS = ["wanted", "found", "used"]
_COUNTED = [*_WORDS, *_COUNTS]
_NUMBERS = ["effect_size", "effect_size_sd", "n", "p_two_sided_median", "significant_two_sided", "p_one_sided_median"]
_NUMBERS += ["significant_one_sided", "tau_squared", "draws", "change", "pairs", "p_change"]
_SIDES = [name for side in ("two", "one") for name in (f"significant_{side}_sided", f"p_{side}_sided_median")]


def ceat(run: Run, half: str) -> pd.DataFrame:
    """Return CEAT with a row per encoder, test, order of roles, variance (of the draws) and model: random, pretrained,
    fine-tuned.

    The caption in paper.yaml says what the columns are."""
    chosen = selection.select(run, halves.HALVES[half])
    encoders = selection.encoders_of(chosen)
    ours = _measured(chosen)
    table = selection.beside(ours, _printed(chosen), _KEY, encoders)
    counts = _counts(chosen)
    tests = ceat_tests(chosen.ceat_tests, run.files["ceat_words"][halves.CEAT]) if counts else {}
    table = table.merge(dropped_words(counts, tests), on=["encoder", "test"], how="left", validate="many_to_one")
    tested = set(ours["encoder"])
    table = table.assign(
        words_dropped=table["words_dropped"].astype(object).fillna(""),
        diverged=[chosen.diverged_seeds(*key) for key in zip(table["encoder"], table["model"], strict=True)],
    )
    table = arranged(
        with_reasons(table, lambda row: chosen.lacking(row.encoder, row.model, halves.CEAT, tested)),
        encoder=encoders,
        test=sorted(set(table["test"]) - {""}),
        order=ORDERS,
        variance=VARIANCES,
        model=[*BASELINES, *chosen.models, *PROBED_ON],
    )
    columns = [*_KEY, "effect_size", "effect_size_published", "effect_size_difference", "effect_size_sd", "n", *_SIDES]
    columns += ["tau_squared", "draws", "change", "pairs", "p_change", "p_change_holm"]
    columns += ["words_dropped", "least_contexts", "diverged", "status"]
    counts = ["n", *_SIDES[::2], "draws", "pairs", "least_contexts"]
    return table[columns].astype(dict.fromkeys(counts, "Int64"))


def contexts(run: Run) -> pd.DataFrame:
    """Return for each encoder and word of its tests how often it occurs in the text, and how many contexts are used.

    The caption in paper.yaml says what the columns are. An encoder whose contexts were not counted has one row that
    says why."""
    chosen = selection.select(run, halves.OCCUPATION)  # the contexts of an encoder are those of both halves
    counts = _counts(chosen)
    tests = known_tests(run.files["ceat_words"][halves.CEAT]).values() if counts else []
    blocks = [_counted(encoder, table, tests) for encoder, table in counts.items()]
    table = pd.concat(blocks or [pd.DataFrame(columns=["encoder", *_COUNTED])], ignore_index=True)
    table = selection.with_all(table, chosen.encoders).astype(dict.fromkeys(_COUNTS, "Int64"))
    reasons = [status(chosen.reason(encoder, halves.CEAT) or NOT_ASKED) for encoder in table["encoder"]]
    table["status"] = pd.Series(reasons).where(table["word"].isna(), status(""))
    table["short"] = table["used"] < table["wanted"]
    table[_WORDS] = table[_WORDS].fillna("")
    return arranged(table, encoder=chosen.encoders)[["encoder", *_COUNTED, "short", "status"]]


def _counted(encoder: str, counts: pd.DataFrame, tests: Iterable[AssociationTest]) -> pd.DataFrame:
    """The words of an encoder's tests, with the sets that they are in."""
    sets = {word: [] for word in counts["word"]}
    known = [test for test in tests if sets.keys() >= set(words_of([test]))]
    for test, role in product(known, ROLES):
        for word in getattr(test, role).examples:
            sets[word].append(f"{test.name} {getattr(test, role).category}")
    return counts.assign(encoder=encoder, sets=[", ".join(sets[word]) for word in counts["word"]])


def dropped_words(counts: Mapping[str, pd.DataFrame], tests: Mapping[str, AssociationTest]) -> pd.DataFrame:
    """Return for each encoder and test the `words_dropped` for lack of contexts, and the `least_contexts` of other
    words. counts: encoder -> word, used (contexts of it)."""
    rows = []
    for (encoder, table), (name, test) in product(counts.items(), tests.items()):
        used = table.set_index("word")["used"][words_of([test])]
        least = used[used > 0].min() if used.any() else 0
        rows.append((encoder, name, ", ".join(used.index[used == 0]), least))
    return pd.DataFrame(rows, columns=["encoder", "test", "words_dropped", "least_contexts"])


def _counts(chosen: Selection) -> dict[str, pd.DataFrame]:
    """The counts of the encoders whose contexts were counted."""
    files = {name: file for name, file in chosen.run.files.get("ceat_counts", {}).items() if name in chosen.encoders}
    return {encoder: pd.read_csv(file, keep_default_na=False) for encoder, file in files.items()}


def _measured(chosen: Selection) -> pd.DataFrame:
    """The rows of all models with scores: _KEY and numbers, with p_change_holm."""
    blocks = [_summaries(chosen, test) for test in chosen.ceat_tests]
    table = pd.concat(blocks or [pd.DataFrame(columns=[*_KEY, *_NUMBERS])], ignore_index=True)[[*_KEY, *_NUMBERS]]
    table[_NUMBERS] = table[_NUMBERS].astype(float)
    table["p_change_holm"] = table.groupby(["encoder", *_READING])["p_change"].transform(holm).astype(float)
    return table


def _summaries(chosen: Selection, test: str) -> pd.DataFrame:
    """One test by _KEY: means over seeds, changes, how many seeds are significant."""
    readings = {"metrics": halves.CEAT_METRICS, "variants": _VARIANTS}
    runs = selection.of_all_models(lambda stage: selection.ceat_runs(chosen, test, stage, **readings))
    keys = ["encoder", "variant", "model"]
    wide = runs.pivot(index=[*keys, "seed"], columns="metric", values="value")
    draws = runs[runs["metric"] == halves.CEAT_EFFECT].set_index([*keys, "seed"])["n"]
    wide = wide.assign(draws=draws).dropna(subset=halves.CEAT_EFFECT)
    others = {"tau_squared": ("ceat_tau_squared", "mean"), "draws": ("draws", "min")}
    for side in ("two", "one"):
        p = f"ceat_p_{side}_sided"
        wide[side] = wide[p] < LEVEL
        others |= {f"p_{side}_sided_median": (p, "median"), f"significant_{side}_sided": (side, "sum")}
    others = wide.groupby(keys).agg(**others)
    changes = compare(runs[runs["metric"] == halves.CEAT_EFFECT])
    table = changes.merge(others.reset_index(), on=keys, how="left", validate="one_to_one").assign(test=test)
    table[["order", "variance"]] = [_VARIANTS[variant] for variant in table["variant"]]
    return table.rename(columns={"mean": "effect_size", "sd": "effect_size_sd", "p": "p_change"})


def _printed(chosen: Selection) -> pd.DataFrame:
    """The printed effect sizes by _KEY."""
    values = selection.printed_values(chosen.run, chosen.half, "1")
    values = values[values["metric"] == halves.CEAT_EFFECT].rename(columns={"dataset": "test", "value": "effect_size"})
    values[["order", "variance"]] = [_VARIANTS[variant] for variant in values["variant"]]
    return values[[*_KEY, "effect_size"]]
