"""Scores of predictions against gold labels: accuracy, and the official metrics of GLUE's tasks (Wang et al. 2019)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.corpora.glue import TASKS
from biasflow.metrics.items import majority, truncated_of_heads
from biasflow.readouts.files import PROBABILITIES, load_arrays
from biasflow.results.bootstrap import NOWHERE, RESAMPLED, SEED, Interval, ends, in_groups, interval, share_interval
from biasflow.results.statistics import row_correlations

# The official metrics where accuracy is not the only one. The F1 of MRPC and QQP is that of their second class.
OFFICIAL = {
    "cola": ("matthews",),
    "mrpc": ("accuracy", "f1"),
    "stsb": ("pearson", "spearman"),
    "qqp": ("accuracy", "f1"),
}
CORRELATED = 1000  # resamples of correlations, each ranked by itself


def score(path: str | Path) -> pd.DataFrame:
    """Return the scores of every head and method in a readout of `predictions` with gold labels: columns method,
    setting, head, metric, value, n (examples), low, high (over examples: Jeffreys' for an accuracy, otherwise
    bootstrap), resampled.

    Of a GLUE task its official metrics and glue_score, the mean of them (see `glue_scores`); of any other task
    accuracy, the share of right classes; of any with classes largest_label_share, the share of the most frequent
    prediction (1: the model always says the same), majority_share and majority_p (`items.majority`). BiasflowError for
    a readout without gold labels (its path is named)."""
    readout = load_arrays(path)
    gold, task = readout.meta.get("gold"), readout.meta.get("name")
    if gold is None:
        raise BiasflowError(f"{path}: has no gold labels; read the predictions of a dataset that has them.")
    rows = [
        (method, setting, head, metric, value, len(gold), *limits.get(metric, NOWHERE))
        for head, predicted in readout.arrays.items()
        if head != PROBABILITIES
        # Behind the examples that have gold labels may stand copies of them (tasks.classification.given).
        for (method, setting), labels in zip(readout.axis, predicted[:, : len(gold)], strict=True)
        for limits in [intervals(task, gold, labels)]
        for metric, value in {**glue_scores(task, gold, labels), **_of_classes(task, gold, labels)}.items()
    ]
    scores = pd.DataFrame(rows, columns=["method", "setting", "head", "metric", "value", "n", "low", "high", RESAMPLED])
    return pd.concat([scores, truncated_of_heads(readout)], ignore_index=True)


def intervals(task: str | None, gold: Sequence, predicted: np.ndarray) -> dict[str, Interval]:
    """Return metric -> its 95 % interval over examples; metrics and arguments are those of `glue_scores`."""
    metrics = OFFICIAL.get(task, ("accuracy",))
    if metrics == ("accuracy",):
        hits = predicted == np.asarray(gold)
        sums = in_groups(np.column_stack([hits, np.ones(len(hits))]))
        drawn = interval(lambda counts: np.divide(*(counts @ sums).T), np.arange(len(sums))).resampled
        return dict.fromkeys(("accuracy", "glue_score"), Interval(*share_interval(hits.sum(), len(hits)), drawn))
    if TASKS[task].labels:
        tables = np.zeros((len(gold), 2, 2))
        tables[np.arange(len(gold)), np.asarray(gold, dtype=int), predicted.astype(int)] = 1
        sums = in_groups(tables)
        resampled = {
            metric: interval(
                lambda counts, m=metric: of_tables(m, np.tensordot(counts, sums, 1)), np.arange(len(sums))
            ).resampled
            for metric in metrics
        }
    else:
        sides = np.asarray(gold, dtype=float), predicted.astype(float)
        picks = np.random.default_rng(SEED).integers(len(gold), size=(CORRELATED, len(gold)))
        resampled = {metric: row_correlations(*(side[picks] for side in sides), metric) for metric in metrics}
    resampled["glue_score"] = np.mean([*resampled.values()], axis=0)
    of_data = glue_scores(task, gold, predicted)
    return {metric: Interval(*ends(values, of_data[metric]), values) for metric, values in resampled.items()}


def of_tables(metric: str, tables: np.ndarray) -> np.ndarray:
    """A metric of two classes, from tables of counts [resamples, gold, predicted]."""
    (tn, fp), (fn, tp) = np.moveaxis(tables.astype(float), 0, -1)
    if metric == "accuracy":
        return (tn + tp) / (tn + fp + fn + tp)
    if metric == "f1":
        return 2 * tp / np.maximum(2 * tp + fp + fn, 1)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / np.sqrt(np.where(product > 0, product, np.inf))


def glue_scores(task: str | None, gold: Sequence, predicted: np.ndarray) -> dict[str, float]:
    """Return the official metrics of a task, and as `glue_score` their mean, which is the task's number in GLUE's
    average; accuracy alone of a task that is not of GLUE (None).

    CoLA: matthews, in [-1, 1] (0 where gold or predictions are of one class). STS-B: pearson and spearman (NaN where
    one side is constant: no correlation is defined). MRPC and QQP: accuracy and f1 of the class equivalent or
    duplicate. All others: accuracy. MNLI: call it once for each of its two validation parts.

    gold, predicted: [examples], class numbers, for STS-B scores. Source: Wang et al. (2019, table 1)."""
    gold = np.asarray(gold)
    if task is None:
        return {"accuracy": float((predicted == gold).mean())}
    metrics = OFFICIAL.get(task, ("accuracy",))
    if not TASKS[task].labels:
        sides = gold[None].astype(float), predicted[None].astype(float)
        scores = {metric: float(row_correlations(*sides, metric)[0]) for metric in metrics}
    elif metrics == ("accuracy",):
        scores = {"accuracy": float((predicted == gold).mean())}
    else:
        table = np.bincount(2 * gold.astype(int) + predicted.astype(int), minlength=4).reshape(1, 2, 2)
        scores = {metric: float(of_tables(metric, table)[0]) for metric in metrics}
    return {"glue_score": float(np.mean([*scores.values()])), **scores}


def _of_classes(task: str | None, gold: Sequence, predicted: np.ndarray) -> dict[str, float]:
    if task is not None and not TASKS[task].labels:
        return {}
    largest = np.unique(predicted, return_counts=True)[1].max() / len(predicted)
    share, p = majority(np.unique(np.asarray(gold), return_counts=True)[1], (predicted == np.asarray(gold)).sum())
    return {"largest_label_share": float(largest), "majority_share": float(share), "majority_p": float(p)}
