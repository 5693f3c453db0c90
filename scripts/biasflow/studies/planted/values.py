"""The values to judge, in one frame, whatever they are measures of."""

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers.frames import Run
from biasflow.results.scores import NA, NONE
from biasflow.results.tables import arranged
from biasflow.studies.judge import given_values, item_variance, with_doses
from biasflow.studies.measures import Judged
from biasflow.studies.planted.plan import LAST_LAYER, calibration_name, calibration_task, judged, met, planted_encoders

PLAIN, OWN = "plain", "own"
SEEN = "planted-seen"  # stimuli in combinations that occur in pre-training: see planted/stereoset.py
NO_TASK = -1  # in place of the bias of a task
MODEL = ["bias", "task_bias", "seed"]
KEYS = ["measure", "group", "sign", "task", *MODEL, "method"]


def measured(run: Run) -> pd.DataFrame:
    """A row per measure, model and method: KEYS, value, and error, the variance that the items of the measure leave in
    it (that of its 95 % interval, too large where that is made to reach 0; NaN where it has none).

    bias: of the pre-training; task, task_bias: the task and the bias of its data, "" and NaN for the encoder itself;
    group: inside, outside or cost. Masks, probes and orders are averaged over. BiasflowError names the first model
    without a value (one that is not defined is NaN), and a measure that was read on several datasets."""
    about = _measures(run)
    table = _scores(run).merge(about, on=["task", "data", "metric", "part", "variant"])
    models = table.groupby(KEYS, dropna=False, sort=False)
    for key, names in models["dataset"].unique().items():
        if len(names) > 1:  # their mean would be that of none
            raise BiasflowError(f"measure {key[0]}: read on {', '.join(names)}; name one of them under metrics")
    table = models[["value", "error"]].mean().reset_index()
    if run.options.get("given"):
        given = given_values(run, planted_encoders(run.options)).assign(task="", task_bias=np.nan, method=NONE)
        table = pd.concat([table, given[[*table]]], ignore_index=True)
    untouched = table[table["method"] == NONE].fillna({"task_bias": NO_TASK})
    known = set(untouched[["measure", *MODEL]].itertuples(index=False, name=None))
    for name, bias, task_bias, seed in _expected(run):
        if (name, bias, task_bias, seed) not in known:
            raise BiasflowError(
                f"encoder {calibration_name(bias, seed)}, method {NONE}: no score {name}; run its rules again"
            )
    order = [*about["measure"], *table["measure"]]  # those of others last
    return arranged(table, measure=order, **dict.fromkeys(MODEL))


def _measures(run: Run) -> pd.DataFrame:
    """The judged measures, by the keys of their scores."""
    names = ["measure", "group", "sign", "task", "data", "metric", "part", "variant"]
    rows = []
    for one in _judged(run):
        about = one.measure
        rows.append((one.name, about.group, one.sign, one.task, one.data, one.metric, about.part, about.variant))
    last_layer = f"layer[{run.options['encoder']['layers'] - 1}]"
    return pd.DataFrame(rows, columns=names).replace({"part": {LAST_LAYER: last_layer}})


def _judged(run: Run) -> list[Judged]:
    return list(judged({name: about["kind"] for name, about in run.options["tasks"].items()}))


def _scores(run: Run) -> pd.DataFrame:
    """The scores of the run's models with the biases and seeds that the names of these stand for."""
    options, scores, doses = run.options, run.scores, planted_encoders(run.options)
    tasks = {calibration_task(name, b): (name, b) for name in options["tasks"] for b in options["task_bias"]}
    wanted = scores["encoder"].isin(doses) & scores["task"].isin([NA, *tasks]) & (scores["setting"] == NA)
    wanted &= scores["strategy"].isin([NA, PLAIN]) & scores["head"].isin([NA, OWN]) & (scores["dataset"] != SEEN)
    rows = with_doses(scores[wanted], doses)
    rows["data"] = rows["dataset"].map(lambda dataset: _data(dataset, tasks)).where(rows["task"] == NA, "")
    rows[["task", "task_bias"]] = [tasks.get(name, ("", np.nan)) for name in rows["task"]]
    return rows.assign(error=item_variance(rows))


def _data(dataset: str, tasks: Mapping[str, tuple[str, float]]) -> str:
    """The task whose texts an encoder is read on that is not trained on them; "" where a test has its own."""
    return next((name for known, (name, _) in tasks.items() if dataset.startswith(f"{known}-")), "")


def _expected(run: Run) -> Iterator[tuple[str, float, float, int]]:
    """Measure, bias, bias of the task (NO_TASK for an encoder) and seed of every model whose value is needed."""
    options = run.options
    for entry in _judged(run):
        for task_bias in options["task_bias"] if entry.task else [NO_TASK]:
            biases = met(options, task_bias) if entry.task else options["bias"]
            yield from product([entry.name], biases, [task_bias], options["seeds"])
