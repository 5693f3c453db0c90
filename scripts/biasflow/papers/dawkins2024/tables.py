"""The tables of Dawkins et al. (2024) with our numbers beside the printed ones."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.stereoset import (
    ANTI,
    SETTING,
    STEREOTYPE,
    UNRELATED,
    triple_distances,
    triple_strengths,
    variant_of,
)
from scripts.biasflow.papers.dawkins2024.downstream import (
    AFTER,
    PRINTED_SCORES,
    READING,
    RUN,
    SCORES,
    TASK,
    encoders,
    nli_by_setting,
    not_run_status,
)
from scripts.biasflow.results.statistics import correlation
from scripts.biasflow.results.tables import DIFFERENCE, PUBLISHED, merge_published

BLOCK = ["encoder", "stimuli"]
MEASURES = ["strength", "distance"]
PRINTED = "printed"
_CONTROLS = ["stereotype_score", "language_model_score"]
_OTHER_LABEL = {STEREOTYPE: ANTI, ANTI: STEREOTYPE, UNRELATED: UNRELATED}
_PRINTED = "Published numbers, and so the differences (ours minus published), belong to the paper's bert-base-uncased."
_RULE = "An example that the stimuli do not contain is replaced by rule (column chosen) and has no published value."

CAPTIONS = {
    "finetuning": "What the encoders were fine-tuned, validated and tested on (pairs without gold label are dropped, "
    "long ones cut), the epoch that was kept, and the size of the gender-occupation set. SNLI accuracy in the other "
    "tables is accuracy on the test pairs named here; it is SNLI's own only if these are.",
    "table1": f"An example triple with the Base model's p(NS) (paper: table 1). {_PRINTED} {_RULE}",
    "table2": "Sentences that the authors of the enhanced StereoSet dropped or mended, with the Base model's p(NS) for "
    "the original and for the mended wording (paper: table 2, which prints no probabilities).",
    "table3": f"Triple pairs with a small and a large bias strength s, Base model (paper: table 3). {_PRINTED} {_RULE}",
    "table4": f"Triple pairs with a large distance d, Base model (paper: table 4). {_PRINTED} {_RULE}",
    "table5": "The best Strength and Distance of each level, and the best NLI Fairness Score among its viable models, "
    f"with the setting that reaches it; of equal settings the one printed first (paper: table 5). {_PRINTED}",
    "table6": "Mean SNLI accuracy of the models without (n_p = 0) and with (n_p = 1) information weighting at SENT, "
    "and the mean and sample standard deviation of the increase over the pairs of models that differ in n_p only "
    f"(paper: table 6). {_PRINTED}",
    "table7": "Strength and Distance (top 10 % of the triple pairs), parity, accuracy, NLI Fairness Score and SNLI "
    "accuracy in all 76 settings (paper: table 7); StereoSet's Stereotype Score (original triples) and language-model "
    "score, and parity in every template, are not printed. Intrinsic columns are means over pre-training seeds, NLI "
    "columns over fine-tuning seeds; viable models keep the SNLI accuracy of Base but for the threshold. "
    f"Settings are (n_11, c_11, n_12, c_12, n_p) as far as the level goes. {_PRINTED}",
    "correlations": "Does intrinsic bias go with downstream bias? Strength and Distance against the NLI Fairness Score "
    "over the settings, with 95 % bootstrap intervals: all settings, each level, and viable models only. Rows of the "
    "encoder `printed` are computed from the paper's table 7; the published value is the one in its text.",
    "nli_intervals": "NLI scores of every setting: mean and 95 % t interval over the fine-tuning seeds (none for "
    "a single seed), and the share of seeds whose model is viable. "
    "The intervals are those of Student's t: with two or three seeds they may be wider than [0, 1].",
    "rank_agreement": "Do the ranks of the settings depend on the share of triple pairs, or on the stimuli? Spearman "
    "correlation over all settings with a 95 % bootstrap interval. The paper says that the choice of share leaves the "
    "relative ranks unchanged; the verdict counts the pairs of settings that change order.",
    "swap_agreement": "How often our gender swapper gives the sentence of the authors' gender-swapped file; any name "
    "of the other gender counts as equal. What is set aside, entry by entry with its reason, is in config/gender.",
    "subspaces": "The gender subspaces on the untouched encoder: the share of variance that each direction explains "
    "(v_i of equation 5; mean and range over the heads in attention), and how many sentence pairs the encoder's "
    "tokenizer could use. The paper prints none of these.",
    "statements": "What section 5 of the paper says on intrinsic bias and on NLI, counted in our table 7 and in the "
    "printed one. Statements on NLI are left out where there are no NLI scores.",
}


def table7(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    nli_not_run: Mapping[str, str] | None = None,
    top: float = 0.10,
    threshold: float = 0.05,
    reading: str = "absolute",
) -> pd.DataFrame:
    """All settings of every encoder and stimuli set in the printed order, with the printed table's values.

    `scores`: tidy scores. Intrinsic columns are means over the encoders' seeds (counted in `seeds`), NLI columns over
    the fine-tuning seeds (`nli_seeds`), repeated for each stimuli set. `published`: the printed table 7. A further
    reading of `interventions` adds rows for the settings that it has. `viable` ("yes", "no", or "" without NLI scores)
    follows from `threshold` and `reading`. An encoder without intrinsic scores has no stimuli; `not_run` and
    `nli_not_run` (encoder -> reason) give the reason in `status` and `nli_status`.
    Raises BiasflowError naming the first setting that is missing, or that the printed table does not have."""
    intrinsic = _intrinsic(scores, published, top)
    nli = nli_by_setting(scores, published, threshold=threshold, reading=reading)
    blocks = []
    for encoder in encoders(scores, not_run, nli_not_run):
        sets = intrinsic.loc[intrinsic["encoder"] == encoder, "stimuli"].unique()
        own = nli[nli["encoder"] == encoder]
        status = RUN if len(sets) else not_run_status(encoder, not_run)
        nli_status = not_run_status(encoder, nli_not_run) if own.empty else RUN
        further = [name for name in own["interventions"].unique() if name != AFTER]
        for stimuli, interventions in product(sets if len(sets) else [""], [AFTER, *further]):
            settings = published[SETTING]
            if interventions != AFTER:
                settings = settings.merge(own.loc[own["interventions"] == interventions, SETTING])
            keys = dict(zip([*BLOCK, "interventions"], (encoder, stimuli, interventions), strict=True))
            blocks.append(settings.assign(**keys, status=status, nli_status=nli_status))
    if not blocks:
        raise BiasflowError("table 7: no scores of the paper `projective` and no encoder that was not run")
    rows = pd.concat(blocks, ignore_index=True)
    rows = rows.merge(intrinsic, on=[*BLOCK, *SETTING], how="left", validate="many_to_one")
    rows = rows.merge(nli, on=[*READING, *SETTING], how="left", validate="many_to_one")
    rows = rows.fillna({"viable": "", "seeds": 0, "nli_seeds": 0}).astype({"seeds": int, "nli_seeds": int})
    order = [*BLOCK, "interventions", *SETTING, *MEASURES, *_CONTROLS, *SCORES]
    rows = rows[[*order, "viable", "seeds", "nli_seeds", "status", "nli_status"]]
    return merge_published(rows, published, on=SETTING, values=[*MEASURES, *PRINTED_SCORES])


def table5(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The best of each level of `rows` (a table 7) beside the printed table 5: the smallest Strength and Distance over
    all its settings, and the largest fairness among its viable models, with their SNLI accuracy.

    Of equal values the first in printed order counts. What was not run stays empty, and so does the fairness of a
    level without a viable model, with a `note`."""
    main = rows[rows["interventions"] == AFTER]  # further readings do not change what is measured before fine-tuning
    intrinsic = dict(list(main.groupby([*BLOCK, "level"], sort=False)))
    best = []
    for (*block_keys, interventions, level), block in rows.groupby([*BLOCK, "interventions", "level"], sort=False):
        row = dict(zip(BLOCK, block_keys, strict=True)) | {"interventions": interventions, "level": level}
        for measure in MEASURES:
            row |= _best(intrinsic[(*block_keys, level)], measure, ascending=True)
        viable = block[block["viable"] == "yes"]
        row |= _best(viable, "fairness", ascending=False, also=["snli_accuracy"])
        statuses = block[["status", "nli_status"]].iloc[0].to_dict()
        none_left = viable.empty and statuses["nli_status"] == RUN
        best.append(row | {"note": "no viable model" if none_left else ""} | statuses)
    values = [*MEASURES, "fairness", "snli_accuracy"]
    table = merge_published(pd.DataFrame(best), published, on=["level"], values=values)
    settings = [f"{measure}_settings" for measure in (*MEASURES, "fairness")]
    renamed = published[["level", *settings]].rename(columns={name: name + PUBLISHED for name in settings})
    table = table.merge(renamed, on="level", how="left")
    order = [*BLOCK, "interventions", "level"]
    for value in values:
        order += [value, value + PUBLISHED, value + DIFFERENCE]
        if f"{value}_settings" in settings:
            order += [f"{value}_settings", f"{value}_settings{PUBLISHED}"]
    return table[[*order, "note", "status", "nli_status"]]


def examples(
    table: int, stimuli: pd.DataFrame, probabilities: pd.DataFrame, published: pd.DataFrame, *, ids: str | None = None
) -> pd.DataFrame:
    """The example rows of table 1, 3 or 4 with the Base model's p(NS), and s (table 3) or d (table 4).

    `ids` says by which column of `published` (`context_id` or `stereoset_id`) the stimuli name their triples, None
    that they are other sentences. A printed triple that the stimuli lack is replaced by rule: table 1 the smallest
    |p(stereotype) - p(anti)| among triples predicted right (or among all), table 3 the smallest |s| and the largest
    s, table 4 the largest d; the first in the stimuli's order if several are equal."""
    printed = published[published["table"] == str(table)]
    if printed.empty:
        raise BiasflowError(f"examples: the paper prints no examples in a table {table}; choose 1, 3 or 4")
    sentences = _base_sentences(stimuli, probabilities)
    blocks = []
    for name, (triple, chosen) in _choose(table, sentences, printed, ids).items():
        block = printed[printed["example"] == name].assign(triple=triple, chosen=chosen)
        blocks.append(block if chosen == PRINTED else block.assign(p=np.nan, s=np.nan, d=np.nan))
    rows = pd.concat(blocks, ignore_index=True)
    keys = ["example", "triple", "swapped", "label"]
    ours = rows[["chosen", *keys]].merge(sentences, on=keys[1:], how="left", validate="many_to_one")
    values = ["p", *{3: ["s"], 4: ["d"]}.get(table, [])]
    columns = ["example", "chosen", "triple", "swapped", "sentence_a", "sentence_b", "label", *values]
    return merge_published(ours[columns], rows, on=keys, values=values)


def table2(changes: pd.DataFrame, original: pd.DataFrame | None, authors: pd.DataFrame | None) -> pd.DataFrame:
    """What the authors dropped or mended, with the Base model's p(NS) of the unswapped sentence before and after.

    `changes`: triple, authors_triple, change, label, original_context, original_next_sentence, authors_context,
    authors_next_sentence; `original`, `authors`: tidy probabilities of the two stimuli sets. Where one of the sets is
    missing the table is a single row whose `status` says so."""
    before, after = (["original_context", "original_next_sentence"], ["authors_context", "authors_next_sentence"])
    order = ["triple", "authors_triple", "change", "label", *before, "p_original", *after, "p_authors", "p_difference"]
    for name, probabilities in (("original", original), ("authors'", authors)):
        if probabilities is None:
            return pd.DataFrame([{"status": f"not built: no probabilities of the {name} stimuli"}]).reindex(
                columns=[*order, "status"]
            )
    table = changes.assign(status=RUN)
    for column, triple, probabilities in (("p_original", "triple", original), ("p_authors", "authors_triple", authors)):
        unswapped = _base(probabilities).query("not swapped")[["triple", "label", "p"]]
        unswapped = unswapped.rename(columns={"triple": triple, "p": column})
        table = table.merge(unswapped, on=[triple, "label"], how="left", validate="many_to_one")
    table["p_difference"] = table["p_authors"] - table["p_original"]
    return table[[*order, "status"]]


def rank_agreement(scores: pd.DataFrame, *, top: float = 0.10, seed: int = 0) -> pd.DataFrame:
    """Spearman's correlation over the settings between all shares, and between stimuli sets at the share `top`.

    Per encoder and for Strength and Distance; `comparison` is `share` or `stimuli`, `a` and `b` are what is compared,
    [low, high] is a seeded bootstrap interval, `verdict` counts the pairs of settings that change order."""
    wide = _by_setting(scores)
    rows = []
    for metric in MEASURES:
        variants = sorted((v for m, v in wide.columns if m == metric), key=_percent)
        for (encoder, stimuli), block in wide.groupby(level=BLOCK):
            for a, b in combinations(variants, 2):
                keys = {"encoder": encoder, "stimuli": stimuli, "metric": metric, "comparison": "share", "a": a, "b": b}
                rows.append(keys | _agreement(block[metric, a], block[metric, b], seed))
        for encoder, block in wide.groupby(level="encoder"):
            sets = block[metric, variant_of(top)].unstack("stimuli")
            for a, b in combinations(sets, 2):
                keys = {"encoder": encoder, "stimuli": "", "metric": metric, "comparison": "stimuli", "a": a, "b": b}
                rows.append(keys | _agreement(sets[a], sets[b], seed))
    columns = [*BLOCK, "metric", "comparison", "a", "b", "spearman", "p", "low", "high", "n", "verdict"]
    return pd.DataFrame(rows, columns=columns).sort_values(BLOCK, kind="stable", ignore_index=True)


def subspaces(
    variance: Mapping[str, pd.DataFrame], pairs: Mapping[str, pd.DataFrame], not_run: Mapping[str, str]
) -> pd.DataFrame:
    """Explained variance by encoder, subspace and component on the plain model, with the sentence pairs behind it.

    `variance`: encoder -> columns subspace, upstream, head, component, explained_variance; `pairs`: encoder -> columns
    set and kept; an encoder in `not_run` has one row, with the reason as `status`."""
    blocks = []
    for encoder, shares in variance.items():
        plain = shares[shares["upstream"] == "plain"]
        grouped = plain.groupby(["subspace", "component"], sort=False)["explained_variance"]
        block = grouped.agg(mean="mean", low="min", high="max", heads="size").reset_index()
        kept = pairs[encoder].groupby("set")["kept"].agg(["sum", "size"])
        source = block["subspace"].where(block["subspace"] == "sentence-debias", "interventions")
        blocks.append(
            block.assign(
                pairs_used=source.map(kept["sum"]), pairs=source.map(kept["size"]), status=RUN, encoder=encoder
            )
        )
    blocks += [pd.DataFrame({"encoder": [name], "status": [f"not run: {why}"]}) for name, why in not_run.items()]
    order = ["encoder", "subspace", "component", "mean", "low", "high", "heads", "pairs_used", "pairs", "status"]
    return pd.concat(blocks, ignore_index=True)[order]


def _percent(variant: str) -> float:
    return float(variant.removeprefix("top=").removesuffix("%"))


def _agreement(a: pd.Series, b: pd.Series, seed: int) -> dict:
    found = correlation(a, b, "spearman", seed=seed)
    first, second = np.triu_indices(len(a), k=1)
    a, b = a.to_numpy(), b.to_numpy()
    changed = int((np.sign(a[first] - a[second]) != np.sign(b[first] - b[second])).sum())
    verdict = found.reason or (
        f"{changed} of {len(first)} pairs of settings change order" if changed else "ranks unchanged"
    )
    return {"spearman": found.estimate, **{k: getattr(found, k) for k in ("p", "low", "high", "n")}, "verdict": verdict}


def _intrinsic(scores: pd.DataFrame, published: pd.DataFrame, top: float) -> pd.DataFrame:
    """The intrinsic columns of table 7 and `seeds`, by encoder, stimuli, level and settings; every setting is there."""
    wanted = [*((measure, variant_of(top)) for measure in MEASURES)]
    wanted += zip(_CONTROLS, ("original", "both"), strict=True)
    wide = _by_setting(scores)
    absent = [f"{metric} {variant}" for metric, variant in wanted if (metric, variant) not in wide]
    if absent and not wide.empty:
        raise BiasflowError(f"table 7: no scores for {', '.join(absent)}; score these first")
    blocks = wide.index.to_frame(index=False)[BLOCK].drop_duplicates()
    _same_settings(wide.index, pd.MultiIndex.from_frame(blocks.merge(published[SETTING], how="cross")))
    seeds = _of_stimuli(scores).groupby(BLOCK)["seed"].nunique().rename("seeds")
    table = wide.reindex(columns=pd.MultiIndex.from_tuples(wanted)).set_axis([*MEASURES, *_CONTROLS], axis=1)
    return table.reset_index().merge(seeds.reset_index(), on=BLOCK, how="left")


def _best(block: pd.DataFrame, measure: str, *, ascending: bool, also: Sequence[str] = ()) -> dict:
    """The best value of a measure, its settings and other columns of that row; NaN and "" where there is none."""
    known = block.dropna(subset=measure)
    if known.empty:
        return dict.fromkeys([measure, *also], np.nan) | {f"{measure}_settings": ""}
    best = known.loc[known[measure].idxmin() if ascending else known[measure].idxmax()]
    return {name: best[name] for name in (measure, *also)} | {f"{measure}_settings": best["settings"]}


def _of_stimuli(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores on stimuli sets: all of the paper's but those of NLI."""
    ours = scores[(scores["paper"] == "projective") & (scores["task"] != TASK)]
    return ours.rename(columns={"task": "stimuli", "method": "level", "setting": "settings"})


def _by_setting(scores: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds: index encoder, stimuli, level, settings; columns (metric, variant)."""
    keys = [*BLOCK, *SETTING, "metric", "variant"]
    return _of_stimuli(scores).groupby(keys)["value"].mean(skipna=False).unstack(["metric", "variant"])


def _same_settings(ours: pd.MultiIndex, expected: pd.MultiIndex) -> None:
    for left, right, what in ((expected, ours, "has no scores"), (ours, expected, "is not in the printed table 7")):
        for encoder, stimuli, level, settings in left.difference(right)[:1]:
            raise BiasflowError(f"encoder {encoder}, stimuli {stimuli}: setting {level} ({settings}) {what}")


def _base(probabilities: pd.DataFrame) -> pd.DataFrame:
    return probabilities[probabilities["level"] == "base"].astype({"triple": str})


def _base_sentences(stimuli: pd.DataFrame, probabilities: pd.DataFrame) -> pd.DataFrame:
    """One row per sentence pair, swapped ones too: triple, swapped, label (of that triple), sentences, p, s, d."""
    stimuli = stimuli.astype({"triple": str})
    swapped = stimuli.drop(columns=["context", "next_sentence"])
    swapped = swapped.rename(columns=lambda column: column.removeprefix("swapped_"))
    both = pd.concat([stimuli.assign(swapped=False), swapped.assign(swapped=True)], join="inner")
    both = both.merge(_base(probabilities), on=["triple", "label", "swapped"], how="left", validate="one_to_one")
    if both["p"].isna().any():
        row = both[both["p"].isna()].iloc[0]
        raise BiasflowError(f"triple {row['triple']} ({row['label']}): no p(NS) of the Base model; score the stimuli")
    both.loc[both["swapped"], "label"] = both.loc[both["swapped"], "label"].map(_OTHER_LABEL)
    p = both.set_index(["triple", "label", "swapped"])["p"].unstack(["label", "swapped"])
    p["s", ""] = triple_strengths(p[STEREOTYPE, False], p[ANTI, False], p[STEREOTYPE, True], p[ANTI, True])
    p["d", ""] = triple_distances(p[UNRELATED, False], p[UNRELATED, True])
    both = both.assign(s=both["triple"].map(p["s", ""]), d=both["triple"].map(p["d", ""]))
    both = both.rename(columns={"context": "sentence_a", "next_sentence": "sentence_b"})
    return both[["triple", "swapped", "label", "sentence_a", "sentence_b", "p", "s", "d"]]


def _choose(table: int, sentences: pd.DataFrame, printed: pd.DataFrame, ids: str | None) -> dict[str, tuple[str, str]]:
    """Example -> (triple, how it was chosen: `printed` or the rule)."""
    names = printed.drop_duplicates("example").set_index("example")
    present = names[ids][names[ids].isin(sentences["triple"])].to_dict() if ids else {}
    taken, chosen = set(present.values()), {}
    for name, (rule, order) in zip(names.index, _rules(table, sentences), strict=True):
        if name in present:
            chosen[name] = (present[name], PRINTED)
            continue
        triple = next((triple for triple in order if triple not in taken), None)
        if triple is None:
            raise BiasflowError(f"table {table}: too few triples in the stimuli for {len(names)} examples; give more")
        taken.add(triple)
        chosen[name] = (triple, rule)
    return chosen


def _rules(table: int, sentences: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """Per printed example: the rule in words, and the triples in its order."""
    triples = sentences.drop_duplicates("triple").set_index("triple")
    if table == 3:
        small, large = triples["s"].abs(), triples["s"]
        return [("smallest |s|", _ascending(small)), ("largest s", _ascending(-large))]
    if table == 4:
        return [("largest d", _ascending(-triples["d"]))] * 2
    p = sentences[~sentences["swapped"]].set_index(["triple", "label"])["p"].unstack().reindex(triples.index)
    right = (p[STEREOTYPE] > 0.5) & (p[ANTI] > 0.5) & (p[UNRELATED] < 0.5)
    gap = (p[STEREOTYPE] - p[ANTI]).abs()
    rule = "smallest |p(stereotype) - p(anti)|" + (" of the triples predicted right" if right.any() else "")
    return [(rule, _ascending(gap[right] if right.any() else gap))]


def _ascending(values: pd.Series) -> list[str]:
    return list(values.sort_values(kind="stable").index)
