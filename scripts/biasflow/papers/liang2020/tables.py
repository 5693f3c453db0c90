"""The tables of Liang, Dufter & Schütze (2020): bias under DensRay, hard debiasing and the debiasing conceptor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scripts.biasflow.metrics.association import holm
from scripts.biasflow.papers.dawkins2024.downstream import NOT_ASKED, RUN, not_run_status
from scripts.biasflow.papers.liang2020.performance import glue_average, perplexities
from scripts.biasflow.papers.liang2020.rows import (
    KEY,
    MAIN_PLACE,
    NONE,
    change_from_none,
    check_methods,
    encoders,
    of_measure,
    of_paper,
    ordered,
    places_of_methods,
    wide,
    with_not_run,
)
from scripts.biasflow.results.tables import merge_published

OCCTMP = ["diff", "diff_variance", "signed_diff", "p_he", "p_she", "p_sum", "share_he"]
ASSOCIATION = ["effect_size", "p_value", "partitions", "exact"]
WORD_TESTS, SENTENCE_TESTS = ["C6", "C7", "C8"], ["sent-weat6", "sent-weat7", "sent-weat8"]
PROFESSIONS, CHINESE, WIKITEXT, PLANTED = "professions", "chinese-professions", "wikitext-2", "planted"
_MAIN_OCCTMP = ["diff", "diff_variance", "signed_diff", "p_sum"]
_MAIN_PERPLEXITY = ["perplexity", "perplexity_sd", "perplexity_seeds", "batch_perplexity"]
MEASURES = ["occtmp", "weat", "seat", "perplexity", "glue"]  # of the main table
_LEVEL = 0.05
_SENTENCES = "sent-"  # how the names of the tests on sentences begin
# Where a run has several readings the main table shows the first of these.
_POOLINGS = ["target", "mean", "cls", "first-piece"]
_SENTENCE_POOLINGS = ["cls", "mean", "first-piece", "target"]
_STAGES = ["finetuned", "pretrained"]
_STRATEGIES = ["in_training", "at_evaluation"]

_METHODS = (
    "Hard debiasing and DensRay are active in all layers, the conceptor in the last one, unless the setting says "
    "otherwise; none is the untouched encoder."
)
_PUBLISHED = (
    "Published values, from the paper's released notebooks, stand beside the encoder of that name; differences are "
    "ours minus published."
)
_CHANGE = "Change is the value minus that of the untouched encoder."

CAPTIONS = {
    "main": "Gender bias inside and what is left of the language model: OCCTMP (mean |log p(he) - log p(she)| in nats, "
    "its variance over occupations, the signed mean, and p(he) + p(she)), effect size and one-sided p of the "
    "association tests on words (C6 to C8) and on sentences (SEAT 6 to 8), masked-LM perplexity (mean and standard "
    "deviation over mask seeds; batch perplexity is the released form), and the mean GLUE score over tasks and "
    f"seeds. Before each measure stands what it was made with; measures not run says what is missing and why. "
    f"{_METHODS} {_PUBLISHED}",
    "occtmp": "OCCTMP on every set of occupations: diff is the mean |log p(he) - log p(she)| in nats and its variance "
    "is over occupations; the signed diff is above 0 where he is preferred; p are means over occupations of "
    f"probabilities over the whole vocabulary; share he counts occupations with p(he) > p(she). {_METHODS} "
    f"{_PUBLISHED}",
    "association": "Association tests on words (WEAT, C6 to C8) and on sentences (SEAT): effect size d in standard "
    "deviations, and the one-sided p of the permutation test, over all partitions (exact) or random ones (sampled). "
    "The Holm-corrected p counts as one family all tests of an encoder under one method and place, whatever their "
    f"pooling; tests is its size. The verdict is at the level 0.05. {_METHODS} {_PUBLISHED}",
    "perplexity": "Masked-LM perplexity over mask seeds: every scored token counts alike (perplexity), or every batch "
    "(batch perplexity, the paper's released form); pseudo-perplexity masks each token by itself and does not compare "
    "with either. The text's encoder is the pre-trained one, or one fine-tuned on the training part without debiasing. "
    f"{_CHANGE} {_METHODS} {_PUBLISHED}",
    "glue": "GLUE on the validation parts: mean and 95 % t interval over the fine-tuning seeds (none for a single "
    "seed), with the eraser active in training and evaluation, or at evaluation only; score is the mean of a task's "
    f"metrics. {_CHANGE} {_METHODS}",
    "chinese": "OCCTMP with Chinese occupations and pronouns (p he and p she are those of the masculine and the "
    f"feminine pronoun). {_CHANGE} {_METHODS}",
    "intrinsic": "The measures of Dawkins et al. (2024) under the erasers of this paper: Strength and Distance (top "
    "10 % of the triple pairs), Stereotype Score (original triples), language-model score, and NLI scores as means "
    f"over fine-tuning seeds with the eraser active at evaluation. {_CHANGE} {_METHODS}",
    "gender_share": "How much gender is in the vectors at each place of the untouched encoder: from 0, no direction "
    "tells the genders apart, to 1, they differ along one direction and nothing else varies. Attention: mean, lowest "
    "and highest over the heads, and the head that has the highest. Compare a layer with a layer and a head with a "
    "head: without gender the share is not quite 0, and larger in few dimensions.",
}


@dataclass(frozen=True)
class Readings:
    """Which sets and readings the main table shows of a run: sets of names, and one pooling, stage or strategy each."""

    occtmp: str
    words: tuple[str, ...]
    word_pooling: str
    sentences: tuple[str, ...]
    sentence_pooling: str
    text: str
    stage: str
    strategy: str


def readings(scores: pd.DataFrame) -> Readings:
    """The paper's sets if the run has scores for them, otherwise its planted ones; of several poolings, stages and
    strategies the first of _POOLINGS, _SENTENCE_POOLINGS, _STAGES and _STRATEGIES that it has."""
    ours = of_paper(scores)
    occtmp, association, perplexity, glue = (
        of_measure(ours, measure) for measure in ("occtmp", "association", "perplexity", "glue")
    )
    words, sentences = _tests(set(association["set"]))
    text = _sets(set(perplexity["set"]), [WIKITEXT])[0]
    return Readings(
        occtmp=_sets(set(occtmp["set"]), [PROFESSIONS])[0],
        words=words,
        word_pooling=_first(_POOLINGS, association.loc[association["set"].isin(words), "variant"]),
        sentences=sentences,
        sentence_pooling=_first(_SENTENCE_POOLINGS, association.loc[association["set"].isin(sentences), "variant"]),
        text=text,
        stage=_first(_STAGES, perplexity.loc[perplexity["set"] == text, "stage"]),
        strategy=_first(_STRATEGIES, glue.loc[glue["method"] != NONE, "strategy"]),
    )


def main_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One row per encoder and method, with every measure and its published value; without single layers.

    A method that an encoder was not run with has a row at the paper's place, for what is published of it.
    `scores`: tidy scores; `published`: the file liang2020, in columns where it has a value for one of the encoders.
    Before the columns of each measure stand the set, pooling, stage or strategy that they show (see `readings`).
    `not_run`: encoder -> reason, and `status` says it; `measures_not_run`: "occtmp",
    "weat", "seat", "perplexity" or "glue" -> reason, for the column `measures_not_run`. Raises BiasflowError naming
    encoder and method where a method of a run lacks a measure that the encoder has."""
    ours, names, shown = of_paper(scores), encoders(scores, not_run), readings(scores)
    run = places_of_methods(ours)
    keys = []
    for name in names:
        own = run.get(name, [])
        absent = [(method, place) for method, place in MAIN_PLACE.items() if method not in dict(own)]
        keys += [(name, *each) for each in [*own, *absent]]
    table = ordered(pd.DataFrame(keys, columns=KEY), []).set_index("encoder").loc[names].reset_index()
    bias, columns = _bias_rows(ours, shown), _bias_columns(shown)
    measured = {name: wide(bias[bias["metric"].isin(own)], KEY, own) for name, own in columns.items()}
    perplexity = perplexities(ours)
    measured["perplexity"] = perplexity.loc[
        (perplexity["set"] == shown.text) & (perplexity["stage"] == shown.stage), [*KEY, *_MAIN_PERPLEXITY]
    ]
    measured["glue"] = glue_average(ours, shown.strategy)
    for name, frame in measured.items():
        check_methods(frame, ours, [])
        table = table.assign(**_reading_columns(shown)[name])
        table = table.merge(frame, on=KEY, how="left", validate="one_to_one")

    printed = _bias_rows(published[published["encoder"].isin(names)], shown)
    values = [column for column in table if column in set(printed["metric"])]
    table = merge_published(table, wide(printed, KEY, values, complete=False), on=KEY, values=values)
    states = {
        key: RUN if key[1:] in run.get(key[0], []) else not_run_status(key[0], not_run)
        for key in table[KEY].itertuples(index=False, name=None)
    }
    reasons = {name: _missing(name, measured, measures_not_run or {}, not_run or {}) for name in names}
    return table.assign(
        status=list(states.values()),
        measures_not_run=table["encoder"].map(reasons),
    ).astype({"perplexity_seeds": "Int64", "glue_tasks": "Int64"})


def occtmp_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """OCCTMP on every set, by encoder, set, method and setting: the metrics of `metrics.occtmp`, published values.

    Single layers are in a figure. `measures_not_run`: "occtmp" -> reason. Raises BiasflowError naming encoder and
    method for a gap."""
    ours = of_paper(scores)
    table = _occtmp(of_measure(ours, "occtmp"), ours)
    printed = wide(of_measure(published, "occtmp"), [*KEY, "set"], ["diff"])
    rows = with_not_run(
        table, scores, "occtmp", not_run=not_run, measures_not_run=measures_not_run, printed=printed[[*KEY, "set"]]
    )
    return merge_published(rows, printed, on=[*KEY, "set"], values=["diff"])


def chinese_table(
    scores: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """OCCTMP on the Chinese occupations by encoder, method and setting, with its change from the untouched encoder.

    An encoder without Chinese scores has a row with the reason (`measures_not_run`: "chinese" -> reason)."""
    ours = of_paper(scores)
    rows = of_measure(ours, "occtmp")
    table = _occtmp(rows[rows["set"] == CHINESE], ours).drop(columns="set")
    table = change_from_none(table, [], ["diff", "signed_diff"])
    return with_not_run(table, scores, "chinese", not_run=not_run, measures_not_run=measures_not_run)


def association_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Every association test by encoder, test, pooling, method and setting, with Holm's correction and a verdict.

    p_holm corrects for the `tests` with a p-value of the same encoder, method and setting, all poolings together.
    `measures_not_run`: "association" -> reason. Raises BiasflowError naming encoder and method for a gap."""
    ours = of_paper(scores)
    keys = [*KEY, "test", "pooling"]
    names = {"set": "test", "variant": "pooling"}
    table = wide(of_measure(ours, "association").rename(columns=names), keys, ASSOCIATION)
    check_methods(table, ours, ["test", "pooling"])
    table["p_holm"] = table.groupby(KEY)["p_value"].transform(holm).astype(float)
    table["tests"] = table.groupby(KEY)["p_value"].transform("count")
    table["verdict"] = [_verdict(p, q) for p, q in zip(table["p_value"], table["p_holm"], strict=True)]
    table["exact"] = np.where(table["partitions"] == 0, "", np.where(table["exact"] == 1, "exact", "sampled"))
    order = ["encoder", "test", "pooling", "method", "setting", "effect_size", "p_value", "p_holm"]
    table = ordered(table, ["encoder", "test", "pooling"])[[*order, "verdict", "tests", "exact", "partitions"]]
    printed = wide(of_measure(published, "association").rename(columns=names), keys, ["effect_size", "p_value"])
    rows = with_not_run(
        table, scores, "association", not_run=not_run, measures_not_run=measures_not_run, printed=printed[keys]
    )
    rows = rows.astype({"tests": "Int64", "partitions": "Int64"})
    return merge_published(rows, printed, on=keys, values=["effect_size", "p_value"])


def _occtmp(rows: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    table = wide(rows, [*KEY, "set"], OCCTMP)
    check_methods(table, ours, ["set"])
    return ordered(table, ["encoder", "set"])[["encoder", "set", "method", "setting", *OCCTMP]]


def _verdict(p: float, corrected: float) -> str:
    if np.isnan(p):
        return "not testable"
    if p >= _LEVEL:
        return "not significant"
    return "significant" if corrected < _LEVEL else "significant only before correction"


def _bias_columns(shown: Readings) -> dict[str, list[str]]:
    """The columns of the bias measures in the main table, by measure."""
    return {"occtmp": [f"occtmp_{metric}" for metric in _MAIN_OCCTMP]} | {
        measure: [f"{test.lower()}_{metric}" for test in tests for metric in ("effect_size", "p_value")]
        for measure, tests in (("weat", shown.words), ("seat", shown.sentences))
        if tests
    }


def _reading_columns(shown: Readings) -> dict[str, dict[str, str]]:
    """The columns that say what the columns of each measure in the main table show."""
    return {
        "occtmp": {"occtmp_set": shown.occtmp},
        "weat": {"word_pooling": shown.word_pooling},
        "seat": {"sentence_pooling": shown.sentence_pooling},
        "perplexity": {"perplexity_text": shown.text, "perplexity_stage": shown.stage},
        "glue": {"glue_strategy": shown.strategy},
    }


def _bias_rows(rows: pd.DataFrame, shown: Readings) -> pd.DataFrame:
    """The rows that the main table shows, one per cell, with the name of the column as `metric`.

    `rows`: our scores or the published file. Of perplexity only the released form, which is what is published."""
    occtmp, association, perplexity = (of_measure(rows, name) for name in ("occtmp", "association", "perplexity"))
    occtmp = occtmp[occtmp["set"] == shown.occtmp]
    pooling = dict.fromkeys(shown.words, shown.word_pooling) | dict.fromkeys(shown.sentences, shown.sentence_pooling)
    association = association[association["set"].map(pooling) == association["variant"]]
    released = (perplexity["set"] == shown.text) & (perplexity["stage"] == shown.stage)
    released &= perplexity["metric"] == "batch_perplexity"
    return pd.concat(
        [
            occtmp.assign(metric="occtmp_" + occtmp["metric"]),
            association.assign(metric=association["set"].str.lower() + "_" + association["metric"]),
            perplexity[released],
        ]
    )


def _sets(present: set[str], paper: Sequence[str]) -> list[str]:
    """Those of the paper's sets that have scores, else the planted ones, else all of the paper's, to stay empty."""
    planted = sorted(name for name in present if PLANTED in name)
    return [name for name in paper if name in present] or planted or list(paper)


def _tests(present: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tests on words and on sentences; a kind that a run on real data lacks is the paper's, to stay empty."""
    chosen = _sets(present, [*WORD_TESTS, *SENTENCE_TESTS])
    kinds = [[name for name in chosen if name.startswith(_SENTENCES) == kind] for kind in (False, True)]
    if not set(chosen) <= {*WORD_TESTS, *SENTENCE_TESTS}:
        return tuple(kinds[0]), tuple(kinds[1])
    return tuple(kinds[0] or WORD_TESTS), tuple(kinds[1] or SENTENCE_TESTS)


def _first(order: Sequence[str], present: pd.Series) -> str:
    """The first of `order` that is present; the first of all where none is."""
    return next((name for name in order if name in set(present)), order[0])


def _missing(
    encoder: str, measured: Mapping[str, pd.DataFrame], reasons: Mapping[str, str], not_run: Mapping[str, str]
) -> str:
    """The measures that an encoder lacks, each with the reason; "" for an encoder that was not run at all."""
    if encoder in not_run:
        return ""
    names = dict.fromkeys([*measured, *(name for name in reasons if name in MEASURES)])
    return "; ".join(
        f"{name}: {reasons.get(name, NOT_ASKED)}"
        for name in names
        if name not in measured or encoder not in set(measured[name]["encoder"])
    )
