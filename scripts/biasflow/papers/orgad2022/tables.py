"""Tables 1, 3, 4, 5, 9 and 10 of Orgad, Goldfarb-Tarrant & Belinkov (2022), occupation prediction, and its data."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.association import holm
from scripts.biasflow.papers.dawkins2024.downstream import NOT_ASKED, RUN
from scripts.biasflow.papers.orgad2022.comparisons import CELL, PRINTED_IN, comparisons, seeds_named
from scripts.biasflow.papers.orgad2022.overview import table1 as table1
from scripts.biasflow.papers.orgad2022.rows import (
    AFTER,
    BEFORE,
    COMPRESSION,
    FROZEN,
    MEASURE,
    MEASURES,
    STRATEGIES,
    diverged,
    encoders,
    printed_rows,
)
from scripts.biasflow.results.tables import DIFFERENCE, PUBLISHED, merge_published

_ORDER = [measure[1:] for measure in MEASURES]
_LABEL = {measure[1:]: measure.label for measure in MEASURES}
_TOGETHER = 0  # iterations are counted from 1
PRINTED_PROFESSIONS = {"9": "all", "10": "nurse"}  # table -> whose words the paper prints

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
    "and 1), control compression (the same in bits with random labels; at chance: within 0.05 of 1; below, the "
    "code costs more than it saves, as with many dimensions and few biographies), CEAT effect size (one test, the "
    "words' roles as in WEAT, variance of the associations; all readings: internal_ceat) and in how many seeds its "
    "two-sided p < 0.05, and four extrinsic measures before and after the head was retrained on the original "
    "data. Stars: who finds p < 0.05 against none (ours, published, both, neither). Published extrinsic values are "
    f"those of the paper's tables 3 and 4, because some of its table 1 are misprinted. Pairs after "
    "retraining are heads, which share encoders: table 4 has the test over encoders, too. Truncated: training and "
    f"validation biographies cut, per run. {_TESTS} {_GAPS} {_INPUT} {_PUBLISHED}",
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
    "table10": "As table 9, for the biographies of one profession (internal.top_words.profession). The paper prints "
    "the words of nurses; they stand here if the run's profession is that.",
    "correlations": "Correlation of every extrinsic measure with compression and with CEAT over fine-tuned encoders "
    "(after retraining: means over the heads of each): all of them, within strategies (both sides centred by strategy; "
    "p with as many degrees of freedom fewer), and in each strategy alone, with 95 % bootstrap intervals, which are "
    "too narrow for few seeds. The Holm-corrected p counts all tests of an encoder, stage and method as one family. "
    f"Where a correlation cannot be computed, note says why. {_INPUT}",
    "data": "Professions in the raw data: biographies of women and of men, share of women among all of them and in "
    "labour statistics (for embedded biographies: as planted), whether the profession is used, and why not.",
}


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


def words_table(top_words: pd.DataFrame, printed: pd.DataFrame, table: str, *, profession: str) -> pd.DataFrame:
    """Table "9" or "10": a row per gender for all iterations together, with the printed words, then one per iteration.

    `profession`: whose biographies they are; the words are compared with the printed ones if it is that of the paper.

    `top_words`: what tasks.gender_classifier.top_words returns; `printed`: table, iteration, gender, rank, word, where
    the paper does not tell the iterations apart. Words are sorted by how many of the `seeds` list them (in brackets),
    then by mean rank, then by the alphabet; `printed_found` of the `printed_words` of a gender are among them. Accuracy
    and majority share (what guessing the commoner gender would get) are means over seeds.
    Raises BiasflowError for a missing column, no top words, and a table that nothing is printed of."""

    from scripts.biasflow.tasks.occupation.gender_classifier import words_by_seeds  # slow to load

    _require(top_words, ["seed", "iteration", "gender", "rank", "word", "accuracy", "majority_share"], "top words")
    _require(printed, ["table", "gender", "rank", "word"], "printed words")
    printed = printed[printed["table"].astype(str) == table]
    printed = printed.assign(rank=printed["rank"].astype(int)).sort_values("rank")
    if top_words.empty or printed.empty:
        lacking = "top words" if top_words.empty else "printed words"
        raise BiasflowError(f"table {table}: there are no {lacking}; give rows for it")
    comparable = profession == PRINTED_PROFESSIONS.get(table)
    theirs = {gender: block["word"].tolist() for gender, block in printed.groupby("gender")} if comparable else {}
    together = pd.concat([top_words.assign(iteration=_TOGETHER), top_words], ignore_index=True)
    fits = together.drop_duplicates(["iteration", "gender", "seed"]).groupby(["iteration", "gender"])
    rows = []
    for (iteration, gender), block in words_by_seeds(together).groupby(["iteration", "gender"]):
        words, fit = theirs.get(gender, []), fits.get_group((iteration, gender))
        all_iterations = iteration == _TOGETHER
        rows.append(
            {
                "profession": profession,
                "iteration": "all" if all_iterations else str(iteration),
                "gender": gender,
                "words": ", ".join(f"{row.word} ({row.seeds})" for row in block.itertuples()),
                "seeds": fit["seed"].nunique(),
                # Over all iterations there is no one accuracy: it falls as words are scrubbed.
                "accuracy": np.nan if all_iterations else fit["accuracy"].mean(),
                "majority_share": fit["majority_share"].mean(),
                "printed": ", ".join(words) if all_iterations else "",
                "printed_words": len(words) if comparable else None,
                "printed_found": len(set(words) & set(block["word"])) if comparable else None,
            }
        )
    return pd.DataFrame(rows).astype({"printed_words": "Int64", "printed_found": "Int64"})


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
    table = comparisons(scores, stage, _ORDER)
    lost = diverged(scores) if stage != FROZEN else {}
    table["diverged"] = [
        seeds_named(lost.get(key, [])) for key in zip(table["encoder"], table["strategy"], strict=True)
    ]
    table["status"] = RUN
    for name in ("p", "p_by_encoder") if stage == AFTER else ("p",):
        table[f"{name}_holm"] = table.groupby(["encoder", *MEASURE])[name].transform(holm).astype(float)

    printed = printed_rows(published, [PRINTED_IN[stage]])
    printed = printed[printed["encoder"].isin(names)].assign(setting=lambda rows: rows["strategy"].map(STRATEGIES))
    printed = printed[[*CELL, "value", "sd", "star"]].rename(columns={"value": "mean"})
    absent = printed.merge(table[CELL], on=CELL, how="left", indicator=True)
    absent = absent.loc[absent["_merge"] == "left_only", CELL]
    # An encoder that nothing is printed of has a row all the same, to say why it has no scores.
    silent = [name for name in names if name not in {*table["encoder"], *absent["encoder"]}]
    absent = pd.concat([absent, pd.DataFrame({"encoder": silent})], ignore_index=True)
    measure = ["compression" if metric == COMPRESSION.metric else stage for metric in absent["metric"]]
    absent["status"] = [
        f"not run: {(not_run or {}).get(encoder) or _reason(encoder, table, reasons, what, stage)}"
        for encoder, what in zip(absent["encoder"], measure, strict=True)
    ]
    table = pd.concat([table, absent], ignore_index=True) if len(absent) else table
    text = [*CELL, "star", "diverged", "status"]
    table = table.astype(dict.fromkeys(text, object)).fillna(dict.fromkeys(text, ""))

    table = merge_published(table, printed.drop(columns="star"), on=CELL, values=["mean", "sd"])
    stars = table[CELL].merge(printed[[*CELL, "star"]], on=CELL, how="left")["star"].fillna("")
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


def _place(order: Sequence, key: object) -> int:
    return order.index(key) if key in order else len(order)


def _require(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    missing = [column for column in columns if column not in frame]
    if missing:
        raise BiasflowError(f"{name}: no column {', '.join(missing)}; it needs {', '.join(columns)}")
