"""The downstream half of Dawkins et al. (2024): natural language inference (NLI) scores by setting and their tables."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.stereoset import SETTING
from scripts.biasflow.results.tables import merge_published
from scripts.biasflow.results.viability import viable

TASK = "nli"
READING = ["encoder", "interventions"]
AFTER = "after fine-tuning"  # the paper's reading: its introduction applies the interventions to the fine-tuned model
INTERVENTIONS = {  # (strategy, stage) in scores.csv -> its name in the tables; the first is the main reading
    ("after_finetuning", "before"): AFTER,
    ("after_finetuning", "after"): "after fine-tuning, head retrained",
    ("during_finetuning", "before"): "during fine-tuning",
    ("during_finetuning", "after"): "during fine-tuning, head retrained",
}
SCORES = {  # column of the tables -> (metric, variant) in scores.csv
    "parity": ("nli_parity", "majority"),
    "parity_templates": ("nli_parity", "templates"),
    "accuracy": ("nli_accuracy", ""),
    "fairness": ("nli_fairness", "majority"),
    "fairness_templates": ("nli_fairness", "templates"),
    "snli_accuracy": ("nli_test_accuracy", ""),
}
PRINTED_SCORES = ["parity", "accuracy", "fairness", "snli_accuracy"]  # what the paper's table 7 prints of these
RUN, NOT_ASKED = "run", "not asked for"
_ALL = "all"
_SEED = [*READING, "seed"]


def not_run_status(encoder: str, reasons: Mapping[str, str] | None) -> str:
    """The status of an encoder without scores, e.g. "not run: no NSP head"."""
    return f"not run: {(reasons or {}).get(encoder, NOT_ASKED)}"


def encoders(scores: pd.DataFrame, *reasons: Mapping[str, str] | None) -> list[str]:
    """The encoders with scores of this paper, then those that only have a reason for having none, each once."""
    scored = scores.loc[scores["paper"] == "projective", "encoder"]
    return list(dict.fromkeys([*sorted(set(scored)), *(encoder for given in reasons for encoder in given or {})]))


def nli_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per encoder, reading of the interventions, setting and fine-tuning seed: a column per entry of SCORES.

    `scores`: tidy scores. Raises BiasflowError for a strategy or stage that no reading has, and naming the first
    setting that lacks a score."""
    ours = scores[(scores["paper"] == "projective") & (scores["task"] == TASK)]
    for strategy, stage in sorted(set(zip(ours["strategy"], ours["stage"], strict=True)) - set(INTERVENTIONS)):
        raise BiasflowError(f"NLI scores: strategy {strategy!r} with stage {stage!r} is unknown; see INTERVENTIONS")
    names = {score: column for column, score in SCORES.items()}
    interventions = [INTERVENTIONS[key] for key in zip(ours["strategy"], ours["stage"], strict=True)]
    columns = [names.get(key) for key in zip(ours["metric"], ours["variant"], strict=True)]
    ours = ours.assign(interventions=interventions, column=columns).dropna(subset="column")
    ours = ours.rename(columns={"method": "level", "setting": "settings"})
    # Each score of a setting and seed is written once, so a mean here would hide a mistake: pivot refuses doubles.
    wide = ours.pivot(index=[*READING, *SETTING, "seed"], columns="column", values="value").reindex(
        columns=list(SCORES)
    )
    for column in SCORES:
        for encoder, _, level, settings, _ in wide.index[wide[column].isna()][:1]:
            raise BiasflowError(f"encoder {encoder}, NLI: setting {level} ({settings}) has no {column}; score it first")
    return wide.rename_axis(columns=None).reset_index()


def nli_by_setting(
    scores: pd.DataFrame, published: pd.DataFrame, *, threshold: float = 0.05, reading: str = "absolute"
) -> pd.DataFrame:
    """Means over the fine-tuning seeds (`nli_seeds`) of every setting, and whether the setting is `viable`.

    Fairness is the mean of the seeds' fairness, not the product of two means. A setting is viable by its mean SNLI
    accuracy against the untouched encoder's: Base of the main reading. `published`: the printed table 7, whose
    settings the main reading must all have; other readings may have some. Raises BiasflowError otherwise."""
    seeds = nli_scores(scores)
    keys = [*READING, *SETTING]
    table = seeds.groupby(keys, sort=False).agg(**{c: (c, "mean") for c in SCORES}, nli_seeds=("seed", "nunique"))
    table = table.reset_index()
    printed = pd.MultiIndex.from_frame(published[SETTING])
    for (encoder, interventions), block in table.groupby(READING):
        for level, settings in pd.MultiIndex.from_frame(block[SETTING]).difference(printed)[:1]:
            raise BiasflowError(f"encoder {encoder}, NLI {interventions}: {level} ({settings}) is not in table 7")
    for encoder, block in table.groupby("encoder"):
        main = block[block["interventions"] == AFTER]
        for level, settings in printed.difference(pd.MultiIndex.from_frame(main[SETTING]))[:1]:
            raise BiasflowError(f"encoder {encoder}, NLI {AFTER}: setting {level} ({settings}) has no scores")
    return table.assign(viable=_against_base(table, ["encoder"], threshold=threshold, reading=reading))


def viable_settings(table: pd.DataFrame, *, threshold: float = 0.05, reading: str = "absolute") -> np.ndarray:
    """Which rows (level, snli_accuracy) of one encoder are viable against its Base row: bool [rows]."""
    return viable(table["snli_accuracy"], _base_accuracy(table), threshold=threshold, reading=reading)


def weighting_pairs(snli_accuracy: pd.Series) -> pd.DataFrame:
    """Settings that differ in n_p only: columns np0 and np1, index level and `rest`, the settings without n_p.

    `snli_accuracy`: index level and settings. Pairs of which one side is absent are left out."""
    levels, settings = (snli_accuracy.index.get_level_values(name) for name in SETTING)
    frame = pd.DataFrame({"level": levels, "rest": settings.str[:-2], "n_p": settings.str[-1:]})
    frame = frame.assign(value=snli_accuracy.to_numpy())[frame["n_p"] != ""]
    pairs = frame.pivot(index=["level", "rest"], columns="n_p", values="value").reindex(columns=["0", "1"])
    return pairs.set_axis(["np0", "np1"], axis=1).dropna()


def table6(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    printed: pd.DataFrame,
    *,
    nli_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Mean SNLI accuracy with n_p = 0 and n_p = 1 per level, and the mean and standard deviation of the increase.

    Per encoder and reading of the interventions, beside the printed table 6 (`published`). `printed`: the printed
    table 7, for its settings. Encoders without NLI scores have empty rows with the reason as `status`."""
    nli = nli_by_setting(scores, printed)
    blocks = []
    for (encoder, interventions), block in nli.groupby(READING, sort=False):
        effect = weighting_effect(block.set_index(SETTING)["snli_accuracy"], levels=published["level"])
        blocks.append(effect.assign(encoder=encoder, interventions=interventions, status=RUN))
    for encoder in encoders(scores, nli_not_run):
        if encoder not in set(nli["encoder"]):
            status = not_run_status(encoder, nli_not_run)
            blocks.append(published[["level"]].assign(encoder=encoder, interventions=AFTER, status=status))
    values = [column for column in published if column != "level"]
    table = pd.concat(blocks) if blocks else pd.DataFrame()
    table = table.reindex(columns=[*READING, "level", *values, "status"])
    table = table.astype({"level": str} | dict.fromkeys(values, float))
    table = merge_published(table, published, on=["level"], values=values)
    pairs = [column for column in table if column.startswith("model_pairs")]
    return table.astype(dict.fromkeys(pairs, "Int64"))


def weighting_effect(snli_accuracy: pd.Series, *, levels: pd.Series) -> pd.DataFrame:
    """A row per entry of `levels` ("all": every pair): model_pairs, the two means, increase and increase_sd.

    increase_sd is the sample's (ddof = 1), which is what the printed rows of the single levels have; the printed 0.0439
    of all pairs is between the two (0.0434 and 0.0440 from the printed table 7). One pair has none.
    `snli_accuracy`: index level and settings. A level without pairs has 0 pairs and NaN."""
    pairs = weighting_pairs(snli_accuracy)
    rows = []
    for level in levels:
        own = pairs if level == _ALL else pairs[pairs.index.get_level_values("level") == level]
        increase = own["np1"] - own["np0"]
        rows.append(
            {
                "level": level,
                "model_pairs": len(own),
                "snli_accuracy_np0": own["np0"].mean(),
                "snli_accuracy_np1": own["np1"].mean(),
                "increase": increase.mean(),
                "increase_sd": increase.std(ddof=1),
            }
        )
    return pd.DataFrame(rows)


def nli_intervals(
    scores: pd.DataFrame, published: pd.DataFrame, *, threshold: float = 0.05, reading: str = "absolute"
) -> pd.DataFrame:
    """Mean and 95 % t interval over the fine-tuning seeds of every NLI score, and the share of seeds that are viable.

    Columns: encoder, interventions, level, settings (printed order), seeds, then per entry of SCORES its mean, `_low`
    and `_high` (NaN for one seed), and `viable_share`: each seed's SNLI accuracy against Base of the same seed."""
    seeds = nli_scores(scores)
    seeds["viable"] = _against_base(seeds, ["encoder", "seed"], threshold=threshold, reading=reading) == "yes"
    rows = []
    for keys, block in seeds.groupby([*READING, *SETTING]):
        row = dict(zip([*READING, *SETTING], keys, strict=True)) | {"seeds": len(block)}
        for column in SCORES:
            low, high = t_interval(block[column].to_numpy())
            row |= {column: block[column].mean(), f"{column}_low": low, f"{column}_high": high}
        rows.append(row | {"viable_share": block["viable"].mean()})
    columns = [*READING, *SETTING, "seeds", *(c + end for c in SCORES for end in ("", "_low", "_high")), "viable_share"]
    return in_printed_order(pd.DataFrame(rows, columns=columns), published, READING)


def t_interval(values: np.ndarray, *, confidence: float = 0.95) -> tuple[float, float]:
    """Student's t interval of the mean, mean -/+ t(n - 1) sd / sqrt(n), of values [n]; NaN for fewer than two."""
    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    half = stats.t.ppf((1 + confidence) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n)
    return float(values.mean() - half), float(values.mean() + half)


def in_printed_order(table: pd.DataFrame, published: pd.DataFrame, blocks: list[str]) -> pd.DataFrame:
    """Rows block by block (readings in the order of INTERVENTIONS), within each in the order of the printed table 7."""
    order = {key: number for number, key in enumerate(published[SETTING].itertuples(index=False, name=None))}
    ranks = {name: number for number, name in enumerate(INTERVENTIONS.values())}
    places = [order[key] for key in table[SETTING].itertuples(index=False, name=None)]
    sorting = table.assign(_place=places, _rank=table["interventions"].map(ranks))
    keys = [name if name != "interventions" else "_rank" for name in blocks]
    return sorting.sort_values([*keys, "_place"], kind="stable", ignore_index=True)[list(table)]


def _base_accuracy(table: pd.DataFrame) -> float:
    base = table.loc[table["level"] == "base", "snli_accuracy"]
    if len(base) != 1:
        raise BiasflowError(f"viability is judged against one Base row, but there are {len(base)}; score Base once")
    return float(base.iloc[0])


def _against_base(table: pd.DataFrame, keys: list[str], *, threshold: float, reading: str) -> pd.Series:
    """ "yes" or "no" for each row, by the Base row of the main reading with the same `keys`."""
    verdicts = pd.Series("", index=table.index, dtype=object)
    for key, block in table.groupby(keys):
        try:
            base = _base_accuracy(block[block["interventions"] == AFTER])
        except BiasflowError as error:
            named = ", ".join(f"{name} {value}" for name, value in zip(keys, key, strict=True))
            raise BiasflowError(f"NLI {AFTER}, {named}: {error}") from error
        kept = viable(block["snli_accuracy"], base, threshold=threshold, reading=reading)
        verdicts[block.index] = np.where(kept, "yes", "no")
    return verdicts


def finetuning(
    sources: pd.DataFrame, runs: Mapping[str, Mapping], *, selection: str, pairs: int, not_run: Mapping[str, str]
) -> pd.DataFrame:
    """What was fine-tuned on what: one row per fine-tuning, the same data in each, and one per encoder not run.

    `sources`: part, source, pairs, dropped; `runs`: "encoder/training/seed" -> what the fine-tuning wrote of itself
    (pairs trained on, cut, the epoch kept, its validation accuracy); `pairs`: how many the gender-occupation
    `selection` has."""
    data = {}
    for part, block in sources.groupby("part", sort=False):
        data[f"{part}_source"] = " and ".join(block["source"])
        data[f"{part}_pairs"] = block["pairs"].sum()
    data |= {"dropped": sources["dropped"].sum(), "occupation_selection": selection, "occupation_pairs": pairs}
    rows = []
    for name, facts in runs.items():
        encoder, training, seed = name.split("/")
        kept = {"cut": facts["cut"], "epoch": facts["epoch"], "epochs": len(facts["validation_scores"])}
        accuracy = {"validation_accuracy": facts["validation_score"]}
        rows.append({"encoder": encoder, "training": training, "seed": seed, **data, **kept, **accuracy, "status": RUN})
    rows += [{"encoder": encoder, "status": f"not run: {reason}"} for encoder, reason in not_run.items()]
    parts = [f"{part}_{what}" for part in ("train", "validation", "test") for what in ("source", "pairs")]
    columns = ["encoder", "training", "seed", *parts, "dropped", "occupation_selection", "occupation_pairs"]
    return pd.DataFrame(rows).reindex(columns=[*columns, "cut", "epoch", "epochs", "validation_accuracy", "status"])
