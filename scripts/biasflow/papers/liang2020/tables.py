"""The tables of Liang, Dufter & Schütze (2020): bias under DensRay, hard debiasing and the debiasing conceptor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biasflow.papers.frames import NOT_ASKED, RUN, Run
from biasflow.papers.liang2020.blocks import AT_EVALUATION, IN_TRAINING
from biasflow.papers.liang2020.performance import glue_average, glue_scores, perplexities, perplexity_rows
from biasflow.papers.liang2020.rows import (
    CHINESE,
    FINETUNED,
    KEY,
    NOTEBOOKS,
    PLACEMENT,
    PRETRAINED,
    Rows,
    change_from_none,
    check_methods,
    not_run,
    of_metrics,
    of_paper,
    ordered,
    published_rows,
    wide,
    with_not_run,
)
from biasflow.results.scores import NONE
from biasflow.results.statistics import holm
from biasflow.results.tables import merge_published, with_bound

OCCTMP = ["diff", "diff_variance", "signed_diff", "p_he", "p_she", "p_sum", "share_he", "share_pronoun"]
ASSOCIATION = ["effect_size", "p_value", "partitions", "exact"]
WORD_TESTS, SENTENCE_TESTS = ["C6", "C7", "C8"], ["sent-weat6", "sent-weat7", "sent-weat8"]
PROFESSIONS, PLANTED = "professions", "planted"
TEXTS = ["wikitext-2", "wikitext-2-whole-sentences"]  # what is printed is of the first, as released
_MAIN_OCCTMP = ["diff", "diff_variance", "signed_diff", "p_sum", "share_pronoun"]
_MAIN_PERPLEXITY = ["perplexity", "perplexity_sd", "perplexity_seeds", "batch_perplexity"]
_MEASURES = ["occtmp", "weat", "seat", "perplexity", "glue"]  # of the main table
_LEVEL = 0.05
# Where a run has several readings the main table shows the first of these.
_POOLINGS = ["target", "mean", "cls", "first-piece"]
_SENTENCE_POOLINGS = ["cls", "mean", "first-piece", "target"]
_STAGES = [FINETUNED, PRETRAINED]
_STRATEGIES = [IN_TRAINING, AT_EVALUATION]


@dataclass(frozen=True)
class Readings:
    """Which sets and readings the main table shows of a run: sets of names, and one pooling, stage or strategy each."""

    occtmp: str
    words: list[str]
    word_pooling: str
    sentences: list[str]
    sentence_pooling: str
    text: str
    stage: str
    strategy: str


def readings(ours: Rows) -> Readings:
    """The paper's sets if the run has scores for them, otherwise its planted ones; of several poolings, stages and
    strategies the first of _POOLINGS, _SENTENCE_POOLINGS, _STAGES and _STRATEGIES that it has."""
    occtmp, weat, seat = (of_metrics(ours.inside, name) for name in ("occtmp", "weat", "seat"))
    perplexity, glue = perplexity_rows(ours.inside), glue_scores(ours)
    words, sentences = _tests(set(weat["set"]), set(seat["set"]))
    text = _sets(set(perplexity["set"]), TEXTS)[0]
    return Readings(
        occtmp=_sets(set(occtmp["set"]), [PROFESSIONS])[0],
        words=words,
        word_pooling=_first(_POOLINGS, weat.loc[weat["set"].isin(words), "variant"]),
        sentences=sentences,
        sentence_pooling=_first(_SENTENCE_POOLINGS, seat.loc[seat["set"].isin(sentences), "variant"]),
        text=text,
        stage=_first(_STAGES, perplexity.loc[perplexity["set"] == text, "stage"]),
        strategy=_first(_STRATEGIES, glue.loc[glue["method"] != NONE, "strategy"]),
    )


def main(run: Run) -> pd.DataFrame:
    """One row per encoder and method, with every measure and its published value.

    A method that an encoder was not run with has a row with the reason, and so has a placement of which something is
    published, and which no method has. Before the columns of each measure stand the set, pooling, stage or strategy
    that they show (see `readings`). `status` says whether a row was run, `measures_not_run` which measures its encoder
    lacks, and why. Raises BiasflowError naming encoder and method where a method of a run lacks a measure that the plan
    says was run."""
    ours = of_paper(run)
    shown = readings(ours)
    printed = bias_rows(published_rows(ours), shown)
    scored = ours.scores[KEY].drop_duplicates()
    run_pairs = set(zip(scored["encoder"], scored["method"], strict=True))
    absent = [(name, method, *where) for name in ours.encoders for method, where in ours.methods.items()]
    absent = pd.DataFrame([row for row in absent if row[:2] not in run_pairs], columns=KEY)
    table = ordered(pd.concat([scored, absent, printed[KEY]]).drop_duplicates(), [], ours)
    table = table.set_index("encoder").loc[ours.encoders].reset_index()
    bias, perplexity = bias_rows(ours.inside, shown), perplexities(ours)
    perplexity = perplexity[(perplexity["set"] == shown.text) & (perplexity["stage"] == shown.stage)]
    sources = {"perplexity": perplexity, "glue": glue_average(ours, shown.strategy)}
    measured = {}
    for name, (reading, columns) in _columns(shown).items():
        values_of = sources[name][[*KEY, *columns]] if name in sources else wide(bias, KEY, columns)
        if name not in sources:  # those were checked by stage or strategy, of which one is shown here
            check_methods(values_of, ours, name, [])
        table = table.assign(**reading).merge(values_of, on=KEY, how="left", validate="one_to_one")
        measured[name] = set(values_of["encoder"])
    for p in [column for column in table if column.endswith("_p_value")]:
        table = with_bound(table, p, table.pop(p.removesuffix("p_value") + "partitions"))

    values = [column for column in table if column in set(printed["metric"])]
    table = merge_published(table, wide(printed, KEY, values, complete=False), on=KEY, values=values)
    states = [
        RUN if (encoder, method) in run_pairs else not_run(ours, encoder, "any", method)
        for encoder, method in zip(table["encoder"], table["method"], strict=True)
    ]
    reasons = {name: _missing(ours, name, measured) for name in ours.encoders}
    return table.assign(status=states, measures_not_run=table["encoder"].map(reasons)).astype(
        {"perplexity_seeds": "Int64", "glue_tasks": "Int64"}
    )


def occtmp(run: Run, source: str = NOTEBOOKS) -> pd.DataFrame:
    """OCCTMP on every set, by encoder, set, method and placement: the metrics of `metrics.occtmp`, published values.

    Single layers are in a figure. Raises BiasflowError naming encoder and method for a gap."""
    ours = of_paper(run)
    table = _occtmp(of_metrics(ours.inside, "occtmp"), ours)
    printed = of_metrics(published_rows(ours, source), "occtmp")
    values = [metric for metric in OCCTMP if metric in set(printed["metric"])]
    printed = wide(printed, [*KEY, "set"], values, complete=False)
    rows = with_not_run(table, ours, "occtmp", printed[[*KEY, "set"]])
    return merge_published(rows, printed, on=[*KEY, "set"], values=values)


def chinese(run: Run) -> pd.DataFrame:
    """OCCTMP on the Chinese occupations by encoder, method and placement, with its change from the untouched encoder.

    An encoder without Chinese scores has a row with the reason."""
    ours = of_paper(run, chinese=True)
    rows = of_metrics(ours.inside, "occtmp")
    table = _occtmp(rows[rows["set"] == CHINESE], ours).drop(columns="set")
    return with_not_run(change_from_none(table, [], ["diff", "signed_diff"]), ours, "chinese")


def association(run: Run, source: str = NOTEBOOKS) -> pd.DataFrame:
    """Every association test by encoder, test, pooling, method and placement, with Holm's correction and a verdict.

    An exact p of 0 is given as its bound (see `with_bound`). p_holm corrects for the `tests` with a p-value of the same
    encoder, method and placement, on words and on sentences, all poolings together. Raises BiasflowError naming encoder
    and method for a gap."""
    ours = of_paper(run)
    keys = [*KEY, "set", "variant"]
    table = wide(_association(ours.inside), keys, ASSOCIATION)
    check_methods(table, ours, "association", ["set", "variant"])
    table = with_bound(table, "p_value", table["partitions"])
    table["p_holm"] = table.groupby(KEY)["p_value"].transform(holm).astype(float)
    table["tests"] = table.groupby(KEY)["p_value"].transform("count")
    table["verdict"] = [_verdict(p, q) for p, q in zip(table["p_value"], table["p_holm"], strict=True)]
    table["exact"] = np.where(table["partitions"] == 0, "", np.where(table["exact"] == 1, "exact", "sampled"))
    measured = ["effect_size", "p_value", "p_value_bound", "p_holm"]
    order = ["encoder", "set", "variant", "method", *PLACEMENT, *measured]
    table = ordered(table, ["encoder", "set", "variant"], ours)[[*order, "verdict", "tests", "exact", "partitions"]]
    printed = wide(_association(published_rows(ours, source)), keys, ["effect_size", "p_value"], complete=False)
    names = {"set": "test", "variant": "pooling"}
    table, printed, keys = table.rename(columns=names), printed.rename(columns=names), [*KEY, *names.values()]
    rows = with_not_run(table, ours, "association", printed[keys])
    rows = rows.astype({"tests": "Int64", "partitions": "Int64"})
    return merge_published(rows, printed, on=keys, values=["effect_size", "p_value"])


def _association(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([of_metrics(rows, "weat"), of_metrics(rows, "seat")])


def _occtmp(rows: pd.DataFrame, ours: Rows) -> pd.DataFrame:
    table = wide(rows, [*KEY, "set"], OCCTMP)
    check_methods(table, ours, "occtmp", ["set"])
    return ordered(table, ["encoder", "set"], ours)[["encoder", "set", "method", *PLACEMENT, *OCCTMP]]


def _verdict(p: float, corrected: float) -> str:
    if np.isnan(p):
        return "not testable"
    if p >= _LEVEL:
        return "not significant"
    return "significant" if corrected < _LEVEL else "significant only before correction"


def _columns(shown: Readings) -> dict[str, tuple[dict[str, str], list[str]]]:
    """Measure of the main table -> the columns that say what is shown of it, filled in, and its own columns."""
    tests = {
        name: [f"{test.lower()}_{metric}" for test in names for metric in ("effect_size", "p_value", "partitions")]
        for name, names in (("weat", shown.words), ("seat", shown.sentences))
    }
    columns = {
        "occtmp": ({"occtmp_set": shown.occtmp}, [f"occtmp_{metric}" for metric in _MAIN_OCCTMP]),
        "weat": ({"word_pooling": shown.word_pooling}, tests["weat"]),
        "seat": ({"sentence_pooling": shown.sentence_pooling}, tests["seat"]),
        "perplexity": ({"perplexity_text": shown.text, "perplexity_stage": shown.stage}, _MAIN_PERPLEXITY),
        "glue": ({"glue_strategy": shown.strategy}, ["glue_average", "glue_tasks"]),
    }
    return {name: reading for name, reading in columns.items() if reading[1]}


def bias_rows(rows: pd.DataFrame, shown: Readings) -> pd.DataFrame:
    """The rows that the main table shows, one per cell, with the name of the column as `metric`.

    `rows`: our scores or the published ones. Of perplexity only the released form, which is what is published."""
    occtmp, perplexity = rows[rows["metric"].str.startswith("occtmp_")], perplexity_rows(rows)
    tests = [
        of_test[of_test["set"].isin(names) & (of_test["variant"] == pooling)]
        for of_test, names, pooling in (
            (of_metrics(rows, "weat"), shown.words, shown.word_pooling),
            (of_metrics(rows, "seat"), shown.sentences, shown.sentence_pooling),
        )
    ]
    released = (perplexity["set"] == shown.text) & (perplexity["stage"] == shown.stage)
    released &= perplexity["metric"] == "batch_perplexity"
    return pd.concat(
        [
            occtmp[occtmp["set"] == shown.occtmp],
            *(of_test.assign(metric=of_test["set"].str.lower() + "_" + of_test["metric"]) for of_test in tests),
            perplexity[released],
        ]
    )


def _sets(present: set[str], paper: Sequence[str]) -> list[str]:
    """Those of the paper's sets that have scores, else the planted ones, else all of the paper's, to stay empty."""
    return [name for name in paper if name in present] or _planted(present) or list(paper)


def _planted(present: set[str]) -> list[str]:
    return sorted(name for name in present if PLANTED in name)


def _tests(words: set[str], sentences: set[str]) -> list[list[str]]:
    """The tests on words and on sentences; a kind that a run on real data lacks is the paper's, to stay empty."""
    planted = [_planted(words), _planted(sentences)]
    if any(planted) and not (words & {*WORD_TESTS} or sentences & {*SENTENCE_TESTS}):
        return planted
    return [_sets(words - {*planted[0]}, WORD_TESTS), _sets(sentences - {*planted[1]}, SENTENCE_TESTS)]


def _first(order: Sequence[str], present: pd.Series) -> str:
    """The first of `order` that is present; the first of all where none is."""
    return next((name for name in order if name in set(present)), order[0])


def _missing(ours: Rows, encoder: str, measured: Mapping[str, set[str]]) -> str:
    """The measures that an encoder lacks, each with the reason; "" for an encoder that was not run at all.

    `measured`: the encoders that have a measure, of those that the table shows."""
    if encoder not in set(ours.scores["encoder"]):
        return ""
    reasons = {name: ours.reason(encoder, name) for name in _MEASURES if encoder not in measured.get(name, ())}
    return "; ".join(
        f"{name}: {reason or 'no scores came of it'}"
        for name, reason in reasons.items()
        if name in measured or reason not in ("", NOT_ASKED)
    )
