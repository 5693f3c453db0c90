"""If a measure shows no bias: has the encoder not learnt it, or does the measure not detect it?"""

import numpy as np
import pandas as pd
from scipy.special import logit

from biasflow.asking.sources import PLANTED, calibration_name
from biasflow.base.errors import BiasflowError
from biasflow.metrics.log_odds import agreement
from biasflow.metrics.stereoset import ANTI, STEREOTYPE
from biasflow.papers.frames import Run
from biasflow.papers.judge import permutation_p
from biasflow.papers.planted.values import SEEN, measured
from biasflow.planted.stereoset import ideal_preference
from biasflow.planted.world import load_world
from biasflow.results.scores import NONE

MASKED, NEXT, PROBABILITY = (
    "masked word: slope of the log-odds",
    "next sentence: log-odds",
    "next sentence: probability",
)


def read_directly(run: Run) -> pd.DataFrame:
    """Return what the two heads have learnt by planted bias: a row per quantity, stimuli and bias.

    Of the masked-LM head the slope of its she-he log-odds on the shares of women; of the next-sentence head how much it
    prefers the stereotypical sentence of a triple (`preference`) in log-odds (nats), and in probability, which is half
    the Strength of all triples; on the triples of the measure, which no pre-training has, and on triples of
    combinations that pre-training has. Columns: quantity, stimuli, bias, mean, sd, ideal (what a perfect learner of
    that corpus would show; NaN for probabilities, which depend on all else that the head knows), learnt (mean / ideal),
    p (exact one-sided permutation test against the smallest bias)."""
    values = pd.concat([_masked(run), _next_sentence(run)], ignore_index=True)
    rows, lowest = [], min(run.options["bias"])
    for (quantity, stimuli), block in values.groupby(["quantity", "stimuli"], sort=False):
        groups = {bias: group["value"].to_numpy() for bias, group in block.groupby("bias")}
        for bias, group in groups.items():
            ideal = _IDEAL[quantity](bias)
            row = {"quantity": quantity, "stimuli": stimuli, "bias": bias, "mean": group.mean()}
            row |= {"sd": group.std(ddof=1) if len(group) > 1 else np.nan, "ideal": ideal}
            row |= {"learnt": group.mean() / ideal if ideal else np.nan}
            rows.append(row | {"p": permutation_p(groups[lowest], group) if bias > lowest else np.nan})
    return pd.DataFrame(rows)


def preference(table: pd.DataFrame) -> dict[str, float]:
    """How much the next-sentence head prefers stereotypes, from a readout of triples (columns triple, label, swapped,
    p): the mean over triples, originals and swapped copies, of stereotype less anti-stereotype, by quantity.

    In log-odds: log p / (1 - p), p(next sentence)."""
    wide = table.pivot(index=["triple", "swapped"], columns="label", values="p")
    turn = np.where(wide.index.get_level_values("swapped"), -1, 1)  # a swap turns the labels
    p = wide[[STEREOTYPE, ANTI]].to_numpy().clip(1e-15, 1 - 1e-15)
    return {
        NEXT: float((turn * (logit(p[:, 0]) - logit(p[:, 1]))).mean()),
        PROBABILITY: float((turn * (p[:, 0] - p[:, 1])).mean()),
    }


def ideal_slope(bias: float) -> float:
    """The slope of a head whose she-he log-odds are those of the corpus, logit(share of women at this bias), on
    logit(share of women at full bias): 1 at bias 1, 0 at bias 0."""
    world = load_world()
    shares = [world.shares[name] for name in world.occupations]
    return agreement(logit([world.share(name, bias) for name in world.occupations]), shares).slope


_IDEAL = {MASKED: ideal_slope, NEXT: ideal_preference, PROBABILITY: lambda bias: np.nan}


def _masked(run: Run) -> pd.DataFrame:
    values = measured(run)
    values = values[(values["measure"] == "log-odds slope") & (values["method"] == NONE)]
    return values[["bias", "value"]].assign(quantity=MASKED, stimuli="as in pre-training")


def _next_sentence(run: Run) -> pd.DataFrame:
    rows, files = [], run.files["next_sentence"]
    for stimuli, name in ((PLANTED, "held out"), (SEEN, "as in pre-training")):
        for bias in run.options["bias"]:
            for seed in run.options["seeds"]:
                key = f"{calibration_name(bias, seed)}/{stimuli}"
                if key not in files:
                    raise BiasflowError(f"{key}: not read; name {stimuli} in metrics.strength.stimuli")
                table = pd.read_parquet(files[key])
                preferences = preference(table[table["method"] == NONE])
                rows += [(quantity, name, bias, value) for quantity, value in preferences.items()]
    return pd.DataFrame(rows, columns=["quantity", "stimuli", "bias", "value"])
