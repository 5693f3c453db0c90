"""Tables 1, 3, 4, 5, 9 and 10 of Orgad, Goldfarb-Tarrant & Belinkov (2022), occupation prediction, and its data."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from scripts.biasflow.errors import BiasflowError
from scripts.biasflow.internal_rows import (
    AFTER,
    BEFORE,
    CEAT_VARIANT,
    COMPRESSION,
    COMPRESSION_BITS,
    CONTROL,
    EXTRINSIC,
    FINETUNED,
    FROZEN,
    MEASURE,
    MEASURES,
    NONE,
    PRETRAINED,
    RANDOM,
    RAW,
    STRATEGIES,
    Measure,
    ceat_runs,
    ceat_tests,
    compression_runs,
    diverged,
    encoders,
    extrinsic_runs,
    of_paper,
    printed_rows,
    undefined_cells,
)
from scripts.biasflow.metrics.association import holm
from scripts.biasflow.projective_downstream import NOT_ASKED, RUN, not_run_status
from scripts.biasflow.statistics import paired_permutation
from scripts.biasflow.tables import DIFFERENCE, PUBLISHED, merge_published

LEVEL = 0.05
SAMPLES = 10_000  # sign patterns drawn where there are more than 20 pairs
_CELL = ["encoder", *MEASURE, "strategy", "setting"]
_TABLE = {BEFORE: "3", AFTER: "4", FROZEN: "5"}
_ORDER = [measure[1:] for measure in MEASURES]
_LABEL = {measure[1:]: measure.label for measure in MEASURES}
_BASELINES = (RANDOM, PRETRAINED)
_OVERVIEW = ["TPR gap (P)", "FPR gap (S)", "Separation gap (S)", "Sufficiency gap (S)"]  # the measures of table 1
_TOGETHER = 0  # iterations are counted from 1
_TEST = "C6"  # the CEAT test of the published values

_PUBLISHED = (
    "Published values stand beside the encoder of that name; differences are ours minus published, also in printed "
    "standard deviations."
)
_GAPS = (
    "Gaps are women minus men: (P) is Pearson's correlation of the gaps with the share of women in a profession, (S) "
    "the sum of their absolute values. Independence is a sum of KL divergences in nats, separation and sufficiency sum "
    "|d of men - d of women| over classes (absdiff, the released form) or d of men + d of women (sum)."
)
_INPUT = (
    "Scrubbing is tested and probed on scrubbed biographies in the rows beside the published values, and on raw ones "
    "in the others."
)
_TESTS = (
    "p is the two-sided paired permutation test of the mean change from strategy none over seeds, exact up to 20 pairs "
    "and from 10,000 random sign patterns above. Its least value is 2 / 2^n for n pairs: no star can appear below six. "
    "The Holm-corrected p counts the strategies (and test inputs) that are compared on one measure as one family. A "
    "star is p < 0.05 before correction, as in print."
)
_SEEDS = (
    "Mean and standard deviation (n - 1; none for a single seed) are over seeds with a defined value (n). Seeds whose "
    "fine-tuning diverged are left out and listed; undefined cells are the classes of a gender that were 0/0, per run."
)

_R_SQUARED = (
    "R^2 of the line through the points of all strategies and seeds (and heads, after retraining): each "
    "extrinsic measure against compression and against CEAT, before and after the head was retrained. Points p < 0.05 "
    "are the encoders whose CEAT effect has a two-sided p below 0.05, as in the paper. Diverged seeds are left out. "
    "Heads that share an encoder share its compression, so that there are far fewer independent points than n. "
    f"{_INPUT} Published values stand beside the encoder of that name."
)

CAPTIONS = {
    "table1": "Intrinsic and extrinsic bias of every model, as means over seeds: compression of the gender probe "
    "(mixed: nats over bits, last epoch, as released and printed; bits: consistent units, best epoch; chance is 1.43 "
    "and 1), control compression (the same in bits with random labels), CEAT effect size and in how many seeds its "
    "two-sided p < 0.05, and four extrinsic measures before and after the head was retrained on the original data. "
    "Stars: who finds p < 0.05 against none (ours, published, both, neither). Published extrinsic values are those of "
    f"the paper's tables 3 and 4, because some of its table 1 are misprinted. {_GAPS} {_INPUT} {_PUBLISHED}",
    "table2": _R_SQUARED,
    "table6": f"The same with another encoder. {_R_SQUARED}",
    "table3": "Occupation prediction before retraining: every fine-tuned model with its own head. "
    f"{_GAPS} {_INPUT} {_TESTS} {_SEEDS} {_PUBLISHED}",
    "table4": "Occupation prediction after retraining: encoders frozen, new heads trained on the original data. Means, "
    "standard deviations and p are over all heads (pairs: encoder seed and head seed), which share encoders and are "
    "not independent; p by encoder averages the heads of each encoder first. The paper prints no stars for "
    f"compression here. {_GAPS} {_INPUT} {_TESTS} {_SEEDS} {_PUBLISHED}",
    "table5": "Occupation prediction without fine-tuning: a linear head on the frozen pre-trained encoder, trained on "
    f"the data of each strategy. Seeds are those of split and head. {_GAPS} {_INPUT} {_TESTS} {_SEEDS} {_PUBLISHED}",
    "table9": "Words by which a bag-of-words classifier tells gender in scrubbed biographies, all professions: in each "
    "iteration the words with the largest weights are scrubbed as well. In brackets: how many seeds list a word. The "
    "paper prints words of all iterations together; printed found counts those that are among ours.",
    "table10": "As table 9, for the biographies of nurses.",
    "correlations": "Correlation of every extrinsic measure with compression and with CEAT over fine-tuned encoders "
    "(after retraining: means over the heads of each): all of them, within strategies (both sides centred by strategy; "
    "p with as many degrees of freedom fewer), and in each strategy alone, with 95 % bootstrap intervals, which are "
    "too narrow for few seeds. The Holm-corrected p counts all tests of an encoder, stage and method as one family. "
    f"Where a correlation cannot be computed, note says why. {_INPUT}",
    "data": "Professions in the raw data: biographies of women and of men, share of women in the training split and in "
    "US labour statistics, whether the profession is used, and why not.",
}


def table1(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One row per encoder, model (random, pretrained, the strategies) and test input: overview of all measures.

    Columns per measure: mean, `_published`, `_difference`, `_sd` over seeds, and `_stars` (who finds p < 0.05 against
    none: "ours", "published", "both", "neither", "" where neither was tested). Compression as released, in bits and of
    the control; CEAT C6, or the first test that the run has (`ceat_test`; its roles and variance: CEAT_VARIANT), with
    `ceat_significant` of `ceat_seeds` seeds; CEAT has no test input and stands in the row of the printed one.
    `not_run`: encoder -> reason; `measures_not_run`: "before", "after", "compression" or "ceat" -> reason.
    Raises BiasflowError naming encoder and strategy for a hole in the scores."""
    names = encoders(scores, not_run)
    test = next(iter(ceat_tests(scores)), _TEST)
    printed = _printed_overview(published, test)
    measured = {"compression": _compressions(scores), "ceat": _ceats(scores, test)}
    measured |= {stage: _extrinsic_overview(scores, stage) for stage in (BEFORE, AFTER)}
    keys = ["encoder", "model", "setting"]
    table = _overview_rows([*measured.values()], printed, names)
    for frame in measured.values():
        table = table.merge(frame, on=keys, how="left", validate="one_to_one")
    table["ceat_test"] = test
    values = [name for name in printed if name not in keys and not name.endswith("_star")]
    stars = printed.set_index(keys)
    table = merge_published(table, printed, on=keys, values=values)
    for name in values:
        theirs = stars[f"{name}_star"].reindex(pd.MultiIndex.from_frame(table[keys]))
        theirs = theirs.mask(table["model"].to_numpy() == NONE, "")  # printed, but there is nothing to compare with
        table[f"{name}_stars"] = [_who(*pair) for pair in zip(table[f"{name}_stars"], theirs, strict=True)]
    lost = diverged(scores)
    table["diverged"] = [_seeds(lost.get(key, [])) for key in zip(table["encoder"], table["model"], strict=True)]
    run = set(of_paper(scores)["encoder"])
    table["status"] = [RUN if name in run else not_run_status(name, not_run) for name in table["encoder"]]
    table["measures_not_run"] = [
        _missing(name, measured, measures_not_run or {}, not_run or {}) for name in table["encoder"]
    ]
    return table.astype({"ceat_significant": "Int64", "ceat_seeds": "Int64"})


def table3(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Before retraining: a row per encoder, measure (printed ones first), strategy and test input.

    Columns: mean, sd (n - 1) over the `n` seeds with a defined value, change from none over the `pairs` of seeds that
    both have, its p (`statistics.paired_permutation`) and p_holm (family: the tests of one measure), star (p <
    0.05), the printed mean, sd and star with `difference_in_printed_sd` and `stars_agree`, undefined_cells (mean per
    run), the `diverged` seeds, which are left out, and `status`. `not_run`: encoder -> reason; `measures_not_run`:
    "before" or "compression" -> reason. Raises BiasflowError naming encoder and strategy for a hole in the scores."""
    return _stage_table(scores, published, BEFORE, not_run, measures_not_run)


def table4(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """After retraining: as `table3`, over all heads; `n` counts encoders and `n_heads` heads.

    Pairs are those of encoder seed and head seed; `p_by_encoder` (and its Holm correction) compares means over the
    heads of each encoder instead. `measures_not_run`: "after" or "compression" -> reason."""
    return _stage_table(scores, published, AFTER, not_run, measures_not_run)


def table5(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Without fine-tuning: as `table3`, without compression, which no strategy changes.

    `measures_not_run`: "frozen" -> reason."""
    return _stage_table(scores, published, FROZEN, not_run, measures_not_run)


def words_table(top_words: pd.DataFrame, printed: pd.DataFrame, table: str) -> pd.DataFrame:
    """Table "9" or "10": a row per gender for all iterations together, with the printed words, then one per iteration.

    `top_words`: what tasks.gender_classifier.top_words returns; `printed`: table, iteration, gender, rank, word, where
    the paper does not tell the iterations apart. Words are sorted by how many of the `seeds` list them (in brackets),
    then by mean rank, then by the alphabet; `printed_found` of the `printed_words` of a gender are among them. Accuracy
    and majority share (what guessing the commoner gender would get) are means over seeds.
    Raises BiasflowError for a missing column, no top words, and a table that nothing is printed of."""
    from scripts.biasflow.tasks.gender_classifier import words_by_seeds  # slow to load

    _require(top_words, ["seed", "iteration", "gender", "rank", "word", "accuracy", "majority_share"], "top words")
    _require(printed, ["table", "gender", "rank", "word"], "printed words")
    printed = printed[printed["table"].astype(str) == table]
    printed = printed.assign(rank=printed["rank"].astype(int)).sort_values("rank")
    if top_words.empty or printed.empty:
        lacking = "top words" if top_words.empty else "printed words"
        raise BiasflowError(f"table {table}: there are no {lacking}; give rows for it")
    theirs = {gender: block["word"].tolist() for gender, block in printed.groupby("gender")}
    together = pd.concat([top_words.assign(iteration=_TOGETHER), top_words], ignore_index=True)
    fits = together.drop_duplicates(["iteration", "gender", "seed"]).groupby(["iteration", "gender"])
    rows = []
    for (iteration, gender), block in words_by_seeds(together).groupby(["iteration", "gender"]):
        words, fit = theirs.get(gender, []), fits.get_group((iteration, gender))
        all_iterations = iteration == _TOGETHER
        rows.append(
            {
                "iteration": "all" if all_iterations else str(iteration),
                "gender": gender,
                "words": ", ".join(f"{row.word} ({row.seeds})" for row in block.itertuples()),
                "seeds": fit["seed"].nunique(),
                # Over all iterations there is no one accuracy: it falls as words are scrubbed.
                "accuracy": np.nan if all_iterations else fit["accuracy"].mean(),
                "majority_share": fit["majority_share"].mean(),
                "printed": ", ".join(words) if all_iterations else "",
                "printed_words": len(words),
                "printed_found": len(set(words) & set(block["word"])),
            }
        )
    return pd.DataFrame(rows)


def data_table(professions: pd.DataFrame) -> pd.DataFrame:
    """The professions, used ones first: biographies by gender, share of women, labour statistics, what was dropped.

    `professions`: profession, women, men, share_of_women, labour_share (NaN where it cannot be mapped), kept, reason.
    Raises BiasflowError for a missing column, a profession given twice, and one that was dropped without a reason."""
    _require(
        professions,
        ["profession", "women", "men", "share_of_women", "labour_share", "kept", "reason"],
        "professions",
    )
    for name in professions.loc[professions["profession"].duplicated(), "profession"].head(1):
        raise BiasflowError(f"professions: {name} is given twice; give each once")
    table = professions.assign(
        kept=professions["kept"].astype(bool), reason=professions["reason"].astype(object).fillna("")
    )
    for name in table.loc[~table["kept"] & (table["reason"] == ""), "profession"].head(1):
        raise BiasflowError(f"professions: {name} was dropped without a reason; give one")
    unmapped = np.where(table["labour_share"].isna(), "not in the labour statistics", "")
    notes = [
        "; ".join(part for part in parts if part)
        for parts in zip(table["reason"], np.where(table["kept"], unmapped, ""), strict=True)
    ]
    table = table.assign(
        biographies=table["women"] + table["men"], used=np.where(table["kept"], "yes", "no"), note=notes
    )
    table = table.sort_values(["kept", "profession"], ascending=[False, True], ignore_index=True)
    return table[["profession", "biographies", "women", "men", "share_of_women", "labour_share", "used", "note"]]


def _stage_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    stage: str,
    not_run: Mapping[str, str] | None,
    measures_not_run: Mapping[str, str] | None,
) -> pd.DataFrame:
    names, reasons = encoders(scores, not_run), measures_not_run or {}
    table = _comparisons(scores, stage, _ORDER)
    lost = diverged(scores) if stage != FROZEN else {}
    table["diverged"] = [_seeds(lost.get(key, [])) for key in zip(table["encoder"], table["strategy"], strict=True)]
    table["status"] = RUN
    for name in ("p", "p_by_encoder") if stage == AFTER else ("p",):
        table[f"{name}_holm"] = table.groupby(["encoder", *MEASURE])[name].transform(holm).astype(float)

    printed = printed_rows(published, [_TABLE[stage]])
    printed = printed[printed["encoder"].isin(names)].assign(setting=lambda rows: rows["strategy"].map(STRATEGIES))
    printed = printed[[*_CELL, "value", "sd", "star"]].rename(columns={"value": "mean"})
    absent = printed.merge(table[_CELL], on=_CELL, how="left", indicator=True)
    absent = absent.loc[absent["_merge"] == "left_only", _CELL]
    # An encoder that nothing is printed of has a row all the same, to say why it has no scores.
    silent = [name for name in names if name not in {*table["encoder"], *absent["encoder"]}]
    absent = pd.concat([absent, pd.DataFrame({"encoder": silent})], ignore_index=True)
    measure = ["compression" if metric == COMPRESSION.metric else stage for metric in absent["metric"]]
    absent["status"] = [
        f"not run: {(not_run or {}).get(encoder) or _reason(encoder, table, reasons, what, stage)}"
        for encoder, what in zip(absent["encoder"], measure, strict=True)
    ]
    table = pd.concat([table, absent], ignore_index=True) if len(absent) else table
    text = [*_CELL, "star", "diverged", "status"]
    table = table.astype(dict.fromkeys(text, object)).fillna(dict.fromkeys(text, ""))

    table = merge_published(table, printed.drop(columns="star"), on=_CELL, values=["mean", "sd"])
    stars = table[_CELL].merge(printed[[*_CELL, "star"]], on=_CELL, how="left")["star"].fillna("")
    spread = table["sd" + PUBLISHED].where(table["sd" + PUBLISHED] > 0)
    table["difference_in_printed_sd"] = table["mean" + DIFFERENCE] / spread
    table["star" + PUBLISHED] = stars.to_numpy()
    both = (table["star"] != "") & (table["star" + PUBLISHED] != "")
    agree = np.where(table["star"] == table["star" + PUBLISHED], "yes", "no")
    table["stars_agree"] = np.where(both, agree, "")
    table.insert(1, "measure", [_LABEL.get(key, "") for key in zip(table["metric"], table["variant"], strict=True)])

    places = [
        (
            names.index(row.encoder),
            _place(_ORDER, (row.metric, row.variant)),
            _place(list(STRATEGIES), row.strategy),
            row.setting != STRATEGIES.get(row.strategy),
        )
        for row in table.itertuples()
    ]
    table = table.iloc[sorted(range(len(table)), key=places.__getitem__)].reset_index(drop=True)
    columns = ["encoder", "measure", "variant", "strategy", "setting", "mean", "mean" + PUBLISHED]
    columns += ["mean" + DIFFERENCE, "difference_in_printed_sd", "sd", "sd" + PUBLISHED, "n"]
    columns += ["n_heads"] if stage == AFTER else []
    columns += ["change", "pairs", "p", "p_holm"]
    columns += ["p_by_encoder", "p_by_encoder_holm"] if stage == AFTER else []
    columns += ["star", "star" + PUBLISHED, "stars_agree", "undefined_cells", "diverged", "status"]
    return table[columns].astype({name: "Int64" for name in ("n", "n_heads", "pairs") if name in columns})


def _reason(encoder: str, table: pd.DataFrame, reasons: Mapping[str, str], what: str, stage: str) -> str:
    """Why an encoder lacks a measure; compression is missing too where the whole stage is."""
    if encoder not in set(table["encoder"]):
        what = stage
    return reasons.get(what, NOT_ASKED)


def _comparisons(scores: pd.DataFrame, stage: str, measures: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """A row per _CELL of a stage: mean, sd, n, n_heads, and each strategy's change from none with its tests."""
    runs = extrinsic_runs(scores, stage)
    undefined = undefined_cells(runs).groupby(["encoder", "metric", "strategy", "setting"])["value"].mean()
    if stage != FROZEN:
        compression = compression_runs(scores)
        runs = pd.concat([runs, compression[compression["encoder"].isin(runs["encoder"])]], ignore_index=True)
    table = compare(runs[pd.MultiIndex.from_frame(runs[MEASURE]).isin(measures)])
    cells = pd.MultiIndex.from_frame(table[["encoder", "metric", "strategy", "setting"]])
    table["undefined_cells"] = undefined.reindex(cells).to_numpy(dtype=float)
    return table


def compare(runs: pd.DataFrame, *, samples: int = SAMPLES) -> pd.DataFrame:
    """Mean and sd of each encoder, metric, variant, strategy and setting, and its change from none on raw text.

    `runs`: RUN_KEY, metric, variant, value (NaN: left out). `change` is the mean over `pairs` with the same seed and
    head seed; `p` their paired permutation test, `p_by_encoder` that of the means over the heads of each encoder seed.
    `star`: "yes" where p < 0.05, "" without a test."""
    blocks = [_compare_encoder(block, samples).assign(encoder=name) for name, block in runs.groupby("encoder")]
    columns = [*_CELL, "mean", "sd", "n", "n_heads", "change", "pairs", "p", "p_by_encoder"]
    numbers = dict.fromkeys(["mean", "sd", "change", "p", "p_by_encoder"], float)
    table = (pd.concat(blocks, ignore_index=True) if blocks else pd.DataFrame(columns=columns))[columns].astype(numbers)
    table["star"] = np.where(table["p"].isna(), "", np.where(table["p"] < LEVEL, "yes", "no"))
    return table


def _compare_encoder(runs: pd.DataFrame, samples: int) -> pd.DataFrame:
    """`compare` of one encoder, without correction: a row per measure, strategy and test input."""
    wide = runs.pivot(index=["seed", "head_seed"], columns=[*MEASURE, "strategy", "setting"], values="value")
    # Encoder of each run as a number, and whether the run is a retrained head.
    seeds, heads = pd.factorize(wide.index.get_level_values("seed"))[0], wide.index.get_level_values("head_seed") != ""
    values = dict(zip(wide.columns, wide.to_numpy(dtype=float).T, strict=True))
    rows = []
    for (metric, variant, strategy, setting), own in values.items():
        there = np.isfinite(own)
        row = {"metric": metric, "variant": variant, "strategy": strategy, "setting": setting}
        row |= {"n": len(set(seeds[there])), "n_heads": int(heads[there].sum())}
        row |= {"mean": own[there].mean() if there.any() else np.nan}
        row |= {"sd": own[there].std(ddof=1) if there.sum() > 1 else np.nan}
        base = values.get((metric, variant, NONE, RAW if setting else ""))
        rows.append(row | (_change(own, base, seeds, samples) if strategy != NONE and base is not None else {}))
    return pd.DataFrame(rows).reindex(columns=[*rows[0], "change", "pairs", "p", "p_by_encoder"])


def _change(own: np.ndarray, base: np.ndarray, seeds: np.ndarray, samples: int) -> dict[str, float]:
    """The change from `base`, paired by position, and its tests: over all pairs, and over the means of each seed."""
    both = np.isfinite(own) & np.isfinite(base)
    if not both.any():
        return {"pairs": 0}
    own, base, seeds = own[both], base[both], np.unique(seeds[both], return_inverse=True)[1]
    by_encoder = [np.bincount(seeds, values) / np.bincount(seeds) for values in (own, base)]
    p = paired_permutation(own, base, samples=samples)
    return {
        "change": float((own - base).mean()),
        "pairs": len(own),
        "p": p,
        # Without several heads the two tests are the same.
        "p_by_encoder": p if len(own) == len(by_encoder[0]) else paired_permutation(*by_encoder, samples=samples),
    }


def _overview_rows(measured: Sequence[pd.DataFrame], published: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The rows of table 1: every model that an encoder has scores or printed values of, printed test input first."""
    keys = ["encoder", "model", "setting"]
    found = {key for frame in measured for key in frame[keys].itertuples(index=False, name=None)}
    found |= set(published[keys].itertuples(index=False, name=None))
    # An encoder without a single score or printed value has one row, for the reason.
    found |= {(name, "", "") for name in names if name not in {key[0] for key in found}}
    models = [*_BASELINES, *STRATEGIES, ""]
    rows = sorted(
        (key for key in found if key[0] in names),
        key=lambda key: (names.index(key[0]), models.index(key[1]), key[2] != STRATEGIES.get(key[1], RAW)),
    )
    return pd.DataFrame(rows, columns=keys)


def _compressions(scores: pd.DataFrame) -> pd.DataFrame:
    """Compression of every model; stars for the released reading, against none of the same encoder."""
    runs = _with_baselines(lambda stage: compression_runs(scores, stage))
    table, keys = compare(runs), ["encoder", "model", "setting"]
    main = _one_measure(table, COMPRESSION, "compression")
    bits = _one_measure(table, COMPRESSION_BITS, "compression_bits").drop(columns="compression_bits_stars")
    control = _one_measure(table, CONTROL, "control_compression")[[*keys, "control_compression"]]
    return main.merge(bits, on=keys, how="left").merge(control, on=keys, how="left")


def _ceats(scores: pd.DataFrame, test: str) -> pd.DataFrame:
    """Effect sizes of every model, how many have p < 0.05, and stars against none of the same encoder."""
    runs = _with_baselines(lambda stage: ceat_runs(scores, test, stage))
    effects = runs[runs["metric"] == "effect_size"]
    table = _one_measure(compare(effects), Measure("", "effect_size", CEAT_VARIANT), "ceat")
    p = runs[(runs["metric"] == "p_two_sided")].dropna(subset="value")
    counts = p.assign(below=p["value"] < LEVEL).groupby(["encoder", "strategy"])["below"].agg(["sum", "count"])
    counts = counts.rename(columns={"sum": "ceat_significant", "count": "ceat_seeds"}).rename_axis(["encoder", "model"])
    table = table.merge(counts.reset_index(), on=["encoder", "model"], how="left")
    return table.assign(setting=[STRATEGIES.get(model, RAW) for model in table["model"]])


def _with_baselines(runs_of: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """The runs of all stages; the baselines as strategies of their own, to be compared with none as well."""
    stages = {stage: runs_of(stage) for stage in (FINETUNED, *_BASELINES)}
    return pd.concat(
        [runs.assign(strategy=runs["strategy"].where(runs["strategy"] != "", stage)) for stage, runs in stages.items()]
    )


def _extrinsic_overview(scores: pd.DataFrame, stage: str) -> pd.DataFrame:
    measures = [measure for measure in EXTRINSIC if measure.label in _OVERVIEW]
    table = _comparisons(scores, stage, [measure[1:] for measure in measures])
    blocks = [_one_measure(table, measure, _overview_column(stage, measure)) for measure in measures]
    merged = blocks[0]
    for block in blocks[1:]:
        merged = merged.merge(block, on=["encoder", "model", "setting"], how="left")
    return merged


def _overview_column(stage: str, measure: Measure) -> str:
    """ "TPR gap (P)" before retraining -> "before_tpr_gap_p"."""
    return f"{stage}_{measure.label.lower().replace(' ', '_').replace('(', '').replace(')', '')}"


def _one_measure(table: pd.DataFrame, measure: Measure, name: str) -> pd.DataFrame:
    """One measure of a `compare` by encoder, model and setting: columns `name`, `name`_sd and `name`_stars."""
    own = table[(table["metric"] == measure.metric) & (table["variant"] == measure.variant)]
    columns = {"strategy": "model", "mean": name, "sd": f"{name}_sd", "star": f"{name}_stars"}
    return own[["encoder", "setting", *columns]].rename(columns=columns)


def _printed_overview(published: pd.DataFrame, test: str) -> pd.DataFrame:
    """Printed values and stars by encoder, model and test input: compression and CEAT of table 1, the rest of 3, 4."""
    first, later = printed_rows(published, ["1"]), printed_rows(published, [_TABLE[BEFORE], _TABLE[AFTER]])
    blocks = {"compression": first[first["metric"] == COMPRESSION.metric]}
    blocks["ceat"] = first[first["metric"] == "effect_size"].head(None if test == _TEST else 0)
    for stage in (BEFORE, AFTER):
        for measure in EXTRINSIC:
            if measure.label in _OVERVIEW:
                own = (later["table"] == _TABLE[stage]) & (later["metric"] == measure.metric)
                blocks[_overview_column(stage, measure)] = later[own & (later["variant"] == measure.variant)]
    keys = ["encoder", "model", "setting"]
    frames = []
    for name, block in blocks.items():
        models = block["strategy"].where(block["strategy"] != "", block["stage"])
        block = block.assign(model=models, setting=[STRATEGIES.get(model, RAW) for model in models])
        frames.append(block.set_index(keys)[["value", "star"]].rename(columns={"value": name, "star": f"{name}_star"}))
    return pd.concat(frames, axis=1).reset_index()


def _who(ours: object, theirs: object) -> str:
    """Who finds p < 0.05: "ours", "published", "both" or "neither"; "" where nobody tested."""
    tested = [star for star in (ours, theirs) if star in ("yes", "no")]
    if not tested:
        return ""
    stars = (ours == "yes", theirs == "yes")
    return {(True, True): "both", (True, False): "ours", (False, True): "published", (False, False): "neither"}[stars]


def _missing(
    encoder: str, measured: Mapping[str, pd.DataFrame], reasons: Mapping[str, str], not_run: Mapping[str, str]
) -> str:
    """What an encoder lacks, each with the reason; "" for an encoder that was not run at all."""
    if encoder in not_run:
        return ""
    absent = [name for name, frame in measured.items() if encoder not in set(frame["encoder"])]
    return "; ".join(f"{name}: {reasons.get(name, NOT_ASKED)}" for name in absent)


def _seeds(seeds: Sequence[str]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}" if seeds else ""


def _place(order: Sequence, key: object) -> int:
    return order.index(key) if key in order else len(order)


def _require(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    missing = [column for column in columns if column not in frame]
    if missing:
        raise BiasflowError(f"{name}: no column {', '.join(missing)}; it needs {', '.join(columns)}")
