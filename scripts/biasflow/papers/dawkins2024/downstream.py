"""The downstream half: NLI scores over seeds and by weighting, and what the encoders were fine-tuned on."""

import json
from pathlib import Path

import pandas as pd

from biasflow.papers.dawkins2024.blocks import encoders_of_nli
from biasflow.papers.dawkins2024.rows import (
    AFTER,
    NLI,
    READING,
    SCORES,
    SETTING,
    encoders,
    nli,
    not_run,
    printed_nli,
    printed_settings,
    printed_table,
    published_where,
)
from biasflow.papers.dawkins2024.table7 import against_base, in_printed_order, nli_by_setting
from biasflow.papers.frames import RUN, Run
from biasflow.results.statistics import t_interval
from biasflow.results.tables import merge_published
from biasflow.text.occupation_pairs import load_pairs

_ALL = "all"


def weighting_pairs(snli_accuracy: pd.Series) -> pd.DataFrame:
    """Settings that differ in n_p only: columns np0 and np1, index level and `rest`, the settings without n_p.

    `snli_accuracy`: index level and settings. Pairs of which one side is absent are left out."""
    frame = snli_accuracy.rename("value").reset_index()
    frame[["rest", "comma", "n_p"]] = frame["settings"].str.rpartition(",")  # n_p is the last of the settings
    pairs = frame[frame["n_p"] != ""].pivot(index=["level", "rest"], columns="n_p", values="value")
    return pairs.reindex(columns=["0", "1"]).set_axis(["np0", "np1"], axis=1).dropna()


def table6(run: Run) -> pd.DataFrame:
    """Mean SNLI accuracy with n_p = 0 and n_p = 1 per level, and the mean and standard deviation of the increase.

    Per encoder and reading of the interventions, beside the printed table 6. Encoders without NLI scores have empty
    rows with the reason as `status`."""
    published = printed_table(run.printed, 6)
    judged = nli_by_setting(run, printed_settings(run))
    blocks = []
    for encoder in encoders(run):
        of_encoder = judged[judged["encoder"] == encoder]
        for interventions, block in of_encoder.groupby("interventions", sort=False):
            effect = weighting_effect(block.set_index(SETTING)["snli_accuracy"], levels=published["level"])
            blocks.append(effect.assign(encoder=encoder, interventions=interventions, status=RUN))
        if of_encoder.empty:
            status = not_run(run, encoder, NLI)
            blocks.append(published[["level"]].assign(encoder=encoder, interventions=AFTER, status=status))
    values = [column for column in published if column != "level"]
    table = pd.concat(blocks).reindex(columns=[*READING, "level", *values, "status"])
    table = table.astype({"level": str} | dict.fromkeys(values, float))
    table = merge_published(table, published, on=["level"], values=values)
    table = published_where(printed_nli(run, table), table, values)
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
        of_level = pairs if level == _ALL else pairs[pairs.index.get_level_values("level") == level]
        means = {f"snli_accuracy_{name}": of_level[name].mean() for name in of_level}
        increase = of_level["np1"] - of_level["np0"]
        increases = {"increase": increase.mean(), "increase_sd": increase.std(ddof=1)}
        rows.append({"level": level, "model_pairs": len(of_level)} | means | increases)
    return pd.DataFrame(rows)


def nli_intervals(run: Run) -> pd.DataFrame:
    """Mean and 95 % t interval over the fine-tuning seeds of every NLI score, and the share of seeds that are viable.

    Columns: encoder, interventions, level, settings (printed order), seeds, then per entry of SCORES its mean, `_low`
    and `_high` (NaN for fewer than three seeds), and `viable_share`: each seed's SNLI accuracy against Base of the same
    seed."""
    seeds = nli(run)
    seeds["viable"] = against_base(seeds, ["encoder", "seed"], **run.options["viability"]) == "yes"
    scores = {}
    for column in SCORES:
        scores[column] = (column, pd.Series.mean)
        scores[f"{column}_low"] = (column, lambda values: t_interval(values)[0])
        scores[f"{column}_high"] = (column, lambda values: t_interval(values)[1])
    groups = seeds.groupby([*READING, *SETTING], as_index=False)
    table = groups.agg(seeds=("seed", "size"), **scores, viable_share=("viable", "mean"))
    return in_printed_order(table, printed_settings(run))


def finetuning(run: Run) -> pd.DataFrame:
    """Return the fine-tunings with their data, one row each, and one row per encoder that was not run.

    Made of the files `sources` (part, source, pairs, dropped) and `occupation_pairs` of the task, and of what each
    fine-tuning wrote of itself (pairs cut, the epoch kept, its validation accuracy)."""
    training_files = run.files.get("training", {})
    data = _data(run) if training_files else {}
    rows = []
    for model, path in training_files.items():
        encoder, _, strategy, seed = model.split("/")
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
        row = {"encoder": encoder, "strategy": strategy, "seed": seed.removeprefix("seed"), **data}
        row |= {"cut": facts["cut"], "epoch": facts["epoch"], "epochs": len(facts["validation_scores"])}
        rows.append(row | {"validation_accuracy": facts["validation_score"], "status": RUN})
    tuned = {row["encoder"] for row in rows}
    for encoder in encoders_of_nli(run.options):
        if encoder not in tuned:
            rows.append({"encoder": encoder, "status": not_run(run, encoder, NLI)})
    parts = [f"{part}_{fact}" for part in ("train", "validation", "test") for fact in ("source", "pairs")]
    columns = ["encoder", "strategy", "seed", *parts, "dropped", "occupation_selection", "occupation_pairs"]
    return pd.DataFrame(rows).reindex(columns=[*columns, "cut", "epoch", "epochs", "validation_accuracy", "status"])


def _data(run: Run) -> dict[str, object]:
    """The task's data, part by part, and the gender-occupation pairs: the same for every fine-tuning."""
    task = run.options["task"]
    sources, data = pd.read_csv(run.files["sources"][task]), {}
    for part, block in sources.groupby("part", sort=False):
        data[f"{part}_source"] = " and ".join(block["source"])
        data[f"{part}_pairs"] = block["pairs"].sum()
    return data | {
        "dropped": sources["dropped"].sum(),
        "occupation_selection": run.options["selection"],
        "occupation_pairs": len(load_pairs(run.files["occupation_pairs"][task])),
    }
