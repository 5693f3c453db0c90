"""Table 7, the source of the other tables and figures: every setting, inside the encoder and in NLI, and which of the
debiased models keep enough accuracy to be of use; and the tables made from it, from shares and from fine-tunings: the
best of each level, information weighting, intervals over seeds, whether ranks depend on a choice, subspaces."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.methods.grid import SENTENCE_DEBIAS
from biasflow.papers.dawkins2024 import grid
from biasflow.papers.frames import RUN, Run
from biasflow.papers.rows import NOTE
from biasflow.results.scores import NA
from biasflow.results.statistics import correlation, t_interval
from biasflow.results.tables import arranged, merge_published

Reading = Literal["absolute", "relative"]
_SLACK = 1e-9  # accuracies are counts over n: only floating point can put one this close below the cutoff


def cutoff(base_accuracy: ArrayLike, *, threshold: float = 0.05, reading: Reading = "absolute") -> ArrayLike:
    """The smallest viable accuracy: base - threshold (`absolute`) or (1 - threshold) x base (`relative`), all shares.

    Dawkins et al. (2024, table 7) ask that the base accuracy is not reduced by more than 5 %, without saying 5 % of
    what; hence the two readings."""
    return base_accuracy - threshold if reading == "absolute" else (1 - threshold) * base_accuracy


def viable(accuracy: ArrayLike, base: ArrayLike, **viability: float | str) -> np.ndarray:
    """accuracy >= `cutoff(base, ...)` for each model; a model exactly at the cutoff is viable."""
    return np.asarray(accuracy, dtype=float) >= cutoff(base, **viability) - _SLACK


def settings_table(run: Run) -> pd.DataFrame:
    """All settings of every encoder and stimuli set in the printed order, with the printed table's values beside the
    paper's own encoder and stimuli.

    NLI columns are means over the fine-tuning seeds (counted in `nli_seeds`), repeated for each stimuli set. A further
    reading of the interventions adds rows for the settings that it has. `viable` is "yes" or "no", "" without NLI
    scores. `status` and `nli_status` say why an encoder has no scores on stimuli (it has no stimuli then) or in NLI.
    BiasflowError names the first setting that is missing, or that the printed table does not have."""
    published = grid.printed_settings(run)
    measured, judged = _inside(run), nli_by_setting(run)
    blocks = []
    for encoder in grid.encoders(run):
        sets = measured.loc[measured["encoder"] == encoder, "stimuli"].unique()
        of_encoder = judged[judged["encoder"] == encoder]
        statuses = {
            "status": RUN if len(sets) else grid.not_run(run, encoder, grid.INSIDE),
            "nli_status": grid.not_run(run, encoder, grid.NLI) if of_encoder.empty else RUN,
        }
        further = [name for name in of_encoder["interventions"].unique() if name != grid.AFTER]
        for stimuli, interventions in product(sets if len(sets) else [""], [grid.AFTER, *further]):
            settings = published[grid.SETTING]
            if interventions != grid.AFTER:
                settings = settings.merge(of_encoder.loc[of_encoder["interventions"] == interventions, grid.SETTING])
            keys = dict(zip([*grid.BLOCK, "interventions"], (encoder, stimuli, interventions), strict=True))
            blocks.append(settings.assign(**keys, **statuses))
    rows = pd.concat(blocks, ignore_index=True)
    rows = rows.merge(measured, on=[*grid.BLOCK, *grid.SETTING], how="left", validate="many_to_one")
    rows = rows.merge(judged, on=[*grid.READING, *grid.SETTING], how="left", validate="many_to_one")
    rows = rows.fillna({"viable": "", "nli_seeds": 0}).astype({"nli_seeds": int})
    order = [*grid.BLOCK, "interventions", *grid.SETTING, *grid.MEASURES, *grid.CONTROLS, *grid.SCORES]
    rows = rows[[*order, "viable", "nli_seeds", "status", "nli_status"]]
    table = merge_published(rows, published, on=grid.SETTING, values=[*grid.MEASURES, *grid.PRINTED_SCORES])
    table = grid.published_where(grid.printed_inside(run, table), table, grid.MEASURES)
    table = grid.published_where(grid.printed_nli(run, table), table, grid.PRINTED_SCORES)
    table.attrs[NOTE] = _note(run)
    return table


def table7(run: Run) -> pd.DataFrame:
    """Return `settings_table` with the levels of each encoder."""
    return grid.own_levels(run, settings_table(run))


def nli_by_setting(run: Run) -> pd.DataFrame:
    """Means over the fine-tuning seeds (`nli_seeds`) of every setting, and whether the setting is `viable`.

    Fairness is the mean of the seeds' fairness, not the product of two means. A setting is viable by its mean SNLI
    accuracy against the untouched encoder's: Base of the main reading."""
    means = {column: (column, "mean") for column in grid.SCORES}
    groups = grid.nli(run).groupby([*grid.READING, *grid.SETTING], sort=False, as_index=False)
    table = groups.agg(**means, nli_seeds=("seed", "nunique"))
    return table.assign(viable=against_base(table, ["encoder"], **run.options["viability"]))


def against_base(table: pd.DataFrame, keys: list[str], **viability: float | str) -> np.ndarray:
    """ "yes" where a row is `viable`, else "no", by the Base row of the main reading with the same `keys`."""
    base = table[(table["level"] == grid.BASE) & (table["interventions"] == grid.AFTER)]
    accuracies = table[keys].merge(base[[*keys, "snli_accuracy"]], how="left", validate="many_to_one")["snli_accuracy"]
    if accuracies.isna().any():
        raise BiasflowError("NLI: no accuracy of the untouched model, by which viability is judged; score it first")
    return np.where(viable(table["snli_accuracy"], accuracies, **viability), "yes", "no")


def _note(run: Run) -> str:
    """How the grid's subspaces were fitted, and what viable means here."""
    method, viability = run.options["method"], run.options["viability"]
    eraser, in_sequence = (run.attributes("method", name).get(method) for name in ("eraser", "sequential"))
    fitted = "in sequence" if in_sequence == str(True) else "on the untouched model"
    subspaces = f"The subspaces are those of {eraser}, fitted {fitted}. " if eraser else ""
    return f"{subspaces}The threshold is {viability['threshold']:g} ({viability['reading']})."


def _inside(run: Run) -> pd.DataFrame:
    """encoder, stimuli, level, settings and the columns on stimuli."""
    measures = [*grid.MEASURES, *grid.CONTROLS]
    wide = grid.inside(run).reindex(columns=pd.MultiIndex.from_tuples(map(grid.key_of, measures)))
    return wide.set_axis(measures, axis=1).reset_index()


PLAIN = "plain"  # a subspace that was fitted with no other intervention active


def table5(run: Run) -> pd.DataFrame:
    """The best of each level beside the printed table 5, see `best_of_levels`."""
    table = best_of_levels(settings_table(run), grid.printed_table(run.printed, 5))
    intrinsic = [name for measure in grid.MEASURES for name in (measure, f"{measure}_settings")]
    table = grid.published_where(grid.printed_inside(run, table), table, intrinsic)
    of_nli = ["fairness", "fairness_settings", "snli_accuracy"]
    return grid.own_levels(run, grid.published_where(grid.printed_nli(run, table), table, of_nli))


def best_of_levels(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The best of each level of `rows` (a table 7) beside the printed table 5 (`published`): the smallest Strength and
    Distance over all its settings, and the largest fairness among its viable models, with their SNLI accuracy.

    Of equal values the first in printed order counts. What was not run stays empty, and so does the fairness of a
    level without a viable model, with a `note`."""
    # Further readings do not change what is measured before fine-tuning.
    main = rows[rows["interventions"] == grid.AFTER]
    intrinsic = dict(list(main.groupby([*grid.BLOCK, "level"], sort=False)))
    best = []
    for (*block_keys, interventions, level), block in rows.groupby([*grid.BLOCK, "interventions", "level"], sort=False):
        row = dict(zip(grid.BLOCK, block_keys, strict=True)) | {"interventions": interventions, "level": level}
        for measure in grid.MEASURES:
            row |= _best(intrinsic[(*block_keys, level)], measure, ascending=True)
        viable = block[block["viable"] == "yes"]
        row |= _best(viable, "fairness", ascending=False, also=["snli_accuracy"])
        statuses = block[["status", "nli_status"]].iloc[0].to_dict()
        none_left = viable.empty and statuses["nli_status"] == RUN
        best.append(row | {"note": "no viable model" if none_left else ""} | statuses)
    values = [name for name in published if name != "level"]
    return merge_published(pd.DataFrame(best), published, on=["level"], values=values)


def rank_agreement(run: Run) -> pd.DataFrame:
    """Spearman's correlation over the settings between all shares, and between stimuli sets at the paper's share.

    Per encoder and for Strength and Distance; `comparison` is `share` or `stimuli`, `a` and `b` are what is compared,
    [low, high] is a 95 % interval, `verdict` counts the pairs of settings that change order."""
    wide, rows = grid.inside(run), []

    def compare(values: pd.DataFrame, **keys: str) -> None:
        for a, b in combinations(values, 2):
            rows.append(keys | {"a": a, "b": b} | _agreement(values[a], values[b]))

    for (encoder, stimuli), block in wide.groupby(level=grid.BLOCK):
        for measure in grid.MEASURES:
            values = block[measure].xs(NA, axis=1, level="variant")[grid.shares(run)]
            compare(values, encoder=encoder, stimuli=stimuli, metric=measure, comparison="share")
    for encoder, block in wide.groupby(level="encoder"):
        for measure in grid.MEASURES:
            values = block[grid.key_of(measure)].unstack("stimuli")
            compare(values, encoder=encoder, stimuli="", metric=measure, comparison="stimuli")
    columns = [*grid.BLOCK, "metric", "comparison", "a", "b", "spearman", "p", "low", "high", "n", "verdict"]
    return pd.DataFrame(rows, columns=columns).sort_values(grid.BLOCK, kind="stable", ignore_index=True)


def subspaces(run: Run) -> pd.DataFrame:
    """Explained variance by encoder, subspace and component on the plain model, with the sentence pairs behind it.

    Made of the files `explained_variance` (method, subspace, upstream, head, component, explained_variance) and
    `sentence_pairs` (set, kept) of each encoder; an encoder without has one row, with the reason as `status`."""
    files, blocks = run.files.get("explained_variance", {}), [pd.DataFrame(columns=["encoder"])]
    for encoder in filter(files.__contains__, run.options["encoders"]):
        variance, pairs = pd.read_csv(files[encoder]), pd.read_csv(run.files["sentence_pairs"][encoder])
        plain = variance[(variance["method"] == run.options["method"]) & (variance["upstream"] == PLAIN)]
        grouped = plain.groupby(["subspace", "component"], sort=False)["explained_variance"]
        block = grouped.agg(mean="mean", low="min", high="max", heads="size").reset_index()
        kept = pairs.groupby("set")["kept"].agg(["sum", "size"])
        source = block["subspace"].where(block["subspace"] == SENTENCE_DEBIAS, "interventions")
        used = {"pairs_used": source.map(kept["sum"]), "pairs": source.map(kept["size"])}
        blocks.append(block.assign(**used, status=RUN, encoder=encoder))
    order = ["encoder", "subspace", "component", "mean", "low", "high", "heads", "pairs_used", "pairs", "status"]
    table = grid.with_absent(run, pd.concat(blocks), run.options["encoders"], grid.INSIDE)
    return table.reindex(columns=order)


def _agreement(a: pd.Series, b: pd.Series) -> dict:
    result = correlation(a, b, "spearman")
    pairs = np.array(np.triu_indices(len(a), k=1))
    of_a, of_b = (np.sign(np.subtract(*side.to_numpy()[pairs])) for side in (a, b))
    changed = int((of_a != of_b).sum())
    verdict = f"{changed} of {len(of_a)} pairs of settings change order" if changed else "ranks unchanged"
    return vars(result) | {"spearman": result.estimate, "verdict": result.reason or verdict}


def _best(block: pd.DataFrame, measure: str, *, ascending: bool, also: Sequence[str] = ()) -> dict:
    """The best value of a measure, its settings and other columns of that row; NaN and "" where there is none."""
    known = block.dropna(subset=measure).sort_values(measure, ascending=ascending, kind="stable")
    best = known.iloc[0] if len(known) else dict.fromkeys(block, np.nan) | {"settings": ""}
    return {measure: best[measure], f"{measure}_settings": best["settings"], **{name: best[name] for name in also}}


_ALL = "all"


def weighting_pairs(snli_accuracy: pd.Series) -> pd.DataFrame:
    """Settings that differ in n_p only: columns np0 and np1; the last level of the index is the settings without n_p.

    `snli_accuracy`: its index ends in level and settings. Pairs of which one side is absent are left out."""
    *keys, settings = snli_accuracy.index.names
    frame = snli_accuracy.rename("value").reset_index()
    split = [text.rpartition(",") for text in frame[settings]]  # n_p is the last of the settings
    frame = frame.assign(rest=[rest for rest, *_ in split], n_p=[n_p for *_, n_p in split])
    pairs = frame[frame["n_p"] != ""].pivot(index=[*keys, "rest"], columns="n_p", values="value")
    return pairs.reindex(columns=["0", "1"]).set_axis(["np0", "np1"], axis=1).dropna()


def table6(run: Run) -> pd.DataFrame:
    """Mean SNLI accuracy with n_p = 0 and n_p = 1 per level, and the mean and standard deviation of the increase.

    Per encoder, reading of the interventions and level ("all": every pair), beside the printed table 6. Encoders
    without NLI scores have empty rows with the reason as `status`.

    increase_sd is the sample's (ddof = 1), which is what the printed rows of the single levels have; the printed 0.0439
    of all pairs is between the two (0.0434 and 0.0440 from the printed table 7). One pair has none."""
    published, judged = grid.printed_table(run.printed, 6), nli_by_setting(run)
    models = judged[grid.READING].drop_duplicates().assign(status=RUN)
    models = grid.with_absent(run, models, grid.encoders(run), grid.NLI).fillna({"interventions": grid.AFTER})
    pairs = weighting_pairs(judged.set_index([*grid.READING, *grid.SETTING])["snli_accuracy"]).reset_index()
    pairs = pairs.assign(increase=pairs["np1"] - pairs["np0"])
    groups = pd.concat([pairs, pairs.assign(level=_ALL)]).groupby([*grid.READING, "level"])
    mean = pd.Series.mean  # the groups' own rounds otherwise in the last digits
    effects = groups.agg(
        model_pairs=("np0", "size"),
        snli_accuracy_np0=("np0", mean),
        snli_accuracy_np1=("np1", mean),
        increase=("increase", mean),
        increase_sd=("increase", pd.Series.std),
    )
    table = models.merge(published[["level"]], how="cross").merge(effects.reset_index(), how="left")
    table["model_pairs"] = table["model_pairs"].fillna(0).where(table["status"] == RUN)
    values = [*effects]
    table = merge_published(table[[*grid.READING, "level", *values, "status"]], published, on=["level"], values=values)
    table = grid.published_where(grid.printed_nli(run, table), table, values)
    counts = [column for column in table if column.startswith("model_pairs")]
    return grid.own_levels(run, table.astype(dict.fromkeys(counts, "Int64")))


def nli_intervals(run: Run) -> pd.DataFrame:
    """Mean and 95 % t interval over the fine-tuning seeds of every NLI score, and the share of seeds that are viable.

    Columns: encoder, interventions, level, settings (printed order), seeds, then per entry of SCORES its mean, `_low`
    and `_high` (NaN for fewer than three seeds), and `viable_share`: each seed's SNLI accuracy against Base of the same
    seed."""
    seeds = grid.nli(run)
    seeds["viable"] = against_base(seeds, ["encoder", "seed"], **run.options["viability"]) == "yes"
    low, high = (lambda values, end=end: t_interval(values)[end] for end in (0, 1))
    aggregates = {"": pd.Series.mean, "_low": low, "_high": high}
    scores = {column + end: (column, how) for column in grid.SCORES for end, how in aggregates.items()}
    groups = seeds.groupby([*grid.READING, *grid.SETTING], as_index=False)
    table = groups.agg(seeds=("seed", "size"), **scores, viable_share=("viable", "mean"))
    table = grid.printed_settings(run)[grid.SETTING].merge(table)  # in the printed order
    columns = [*grid.READING, *table.columns.drop(grid.READING)]
    return grid.own_levels(run, arranged(table[columns], encoder=None, interventions=grid.INTERVENTIONS))
