"""The tables of Dawkins et al. (2024) with our numbers beside the printed ones."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from scripts.biasflow.errors import BiasflowError
from scripts.biasflow.metrics.stereoset import (
    ANTI,
    SETTING,
    STEREOTYPE,
    UNRELATED,
    triple_distances,
    triple_strengths,
    variant_of,
)
from scripts.biasflow.statistics import correlation
from scripts.biasflow.tables import DIFFERENCE, PUBLISHED, merge_published

BLOCK = ["encoder", "stimuli"]
MEASURES = ["strength", "distance"]
RUN, PRINTED = "run", "printed"
_OTHER_LABEL = {STEREOTYPE: ANTI, ANTI: STEREOTYPE, UNRELATED: UNRELATED}
_PRINTED = "Published numbers, and so the differences (ours minus published), belong to the paper's bert-base-uncased."
_RULE = "An example that the stimuli do not contain is replaced by rule (column chosen) and has no published value."

CAPTIONS = {
    "table1": f"An example triple with the Base model's p(NS) (paper: table 1). {_PRINTED} {_RULE}",
    "table2": "Sentences that the authors of the enhanced StereoSet dropped or mended, with the Base model's p(NS) for "
    "the original and for the mended wording (paper: table 2, which prints no probabilities).",
    "table3": f"Triple pairs with a small and a large bias strength s, Base model (paper: table 3). {_PRINTED} {_RULE}",
    "table4": f"Triple pairs with a large distance d, Base model (paper: table 4). {_PRINTED} {_RULE}",
    "table5": "The best Strength and Distance of each level and the setting that reaches it; of equal settings the one "
    f"printed first (paper: table 5, intrinsic columns). {_PRINTED}",
    "table7": "Strength and Distance (top 10 % of the triple pairs) in all 76 settings, with StereoSet's Stereotype "
    "Score (original triples) and language-model score, which are not printed (paper: table 7, intrinsic columns). "
    f"Settings are (n_11, c_11, n_12, c_12, n_p) as far as the level goes. {_PRINTED}",
    "rank_agreement": "Do the ranks of the settings depend on the share of triple pairs, or on the stimuli? Spearman "
    "correlation over all settings with a 95 % bootstrap interval. The paper says that the choice of share leaves the "
    "relative ranks unchanged; the verdict counts the pairs of settings that change order.",
    "swap_agreement": "How often our gender swapper gives the sentence of the authors' gender-swapped file; any name "
    "of the other gender counts as equal. What is set aside, entry by entry with its reason, is in config/gender.",
    "subspaces": "The gender subspaces on the untouched encoder: the share of variance that each direction explains "
    "(v_i of equation 5; mean and range over the heads in attention), and how many sentence pairs the encoder's "
    "tokenizer could use. The paper prints none of these.",
    "statements": "What section 5 of the paper says on intrinsic bias, counted in our table 7 and in the printed one.",
}


def table7(
    scores: pd.DataFrame, published: pd.DataFrame, *, not_run: Mapping[str, str] | None = None, top: float = 0.10
) -> pd.DataFrame:
    """All settings of every encoder and stimuli set in the printed order, with the printed table's values.

    `scores`: tidy scores (means are taken over the encoders' seeds, counted in `seeds`); `published`: the printed
    table 7. `not_run` (encoder -> reason) adds one block of empty rows per encoder, with the reason as `status`.
    Raises BiasflowError naming the first setting that is missing, or that the printed table does not have."""
    wanted = [(measure, variant_of(top)) for measure in MEASURES]
    wanted += [("stereotype_score", "original"), ("language_model_score", "both")]
    wide = _by_setting(scores)
    absent = [f"{metric} {variant}" for metric, variant in wanted if (metric, variant) not in wide]
    if absent and not wide.empty:
        raise BiasflowError(f"table 7: no scores for {', '.join(absent)}; score these first")
    values = [metric for metric, _ in wanted]
    blocks = [
        published[SETTING].assign(**dict(zip(BLOCK, key, strict=True)), seeds=_seeds(scores, key), status=RUN)
        for key in wide.index.droplevel(SETTING).unique()
    ]
    blocks += [
        published[SETTING].assign(encoder=encoder, stimuli="", seeds=0, status=f"not run: {reason}")
        for encoder, reason in (not_run or {}).items()
    ]
    if not blocks:
        raise BiasflowError("table 7: no scores of the paper `projective` and no encoder that was not run")
    ours = wide.reindex(columns=pd.MultiIndex.from_tuples(wanted)).set_axis(values, axis=1)
    rows = pd.concat(blocks, ignore_index=True)
    _same_settings(ours.index, pd.MultiIndex.from_frame(rows.loc[rows["status"] == RUN, [*BLOCK, *SETTING]]))
    rows = rows.merge(ours.reset_index(), on=[*BLOCK, *SETTING], how="left", validate="one_to_one")
    rows = rows[[*BLOCK, *SETTING, *values, "seeds", "status"]]
    return merge_published(rows, published, on=SETTING, values=MEASURES)


def table5(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The best (smallest) Strength and Distance per level of `rows` (a table 7), beside the printed table 5.

    Of equal values the first in printed order counts. Levels of an encoder that was not run stay empty."""
    best = []
    for (*keys, level), block in rows.groupby([*BLOCK, "level"], sort=False):
        row = dict(zip([*BLOCK, "level"], [*keys, level], strict=True))
        for measure in MEASURES:
            run = block.dropna(subset=measure)
            first = None if run.empty else run.loc[run[measure].idxmin()]
            row[measure] = np.nan if first is None else first[measure]
            row[f"{measure}_settings"] = "" if first is None else first["settings"]
        best.append(row | {"status": block["status"].iloc[0]})
    table = merge_published(pd.DataFrame(best), published, on=["level"], values=MEASURES)
    settings = {f"{measure}_settings": f"{measure}_settings{PUBLISHED}" for measure in MEASURES}
    table = table.merge(published[["level", *settings]].rename(columns=settings), on="level", how="left")
    order = [*BLOCK, "level"]
    for m in MEASURES:
        order += [m, m + PUBLISHED, m + DIFFERENCE, f"{m}_settings", f"{m}_settings{PUBLISHED}"]
    return table[[*order, "status"]]


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


def _by_setting(scores: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds: index encoder, stimuli, level, settings; columns (metric, variant)."""
    ours = scores[scores["paper"] == "projective"]
    ours = ours.rename(columns={"task": "stimuli", "method": "level", "setting": "settings"})
    keys = [*BLOCK, *SETTING, "metric", "variant"]
    return ours.groupby(keys)["value"].mean(skipna=False).unstack(["metric", "variant"])


def _seeds(scores: pd.DataFrame, key: tuple[str, str]) -> int:
    block = (scores["paper"] == "projective") & (scores["encoder"] == key[0]) & (scores["task"] == key[1])
    return scores.loc[block, "seed"].nunique()


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
