"""The tasks of GLUE and their official metrics (Wang et al. 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from scripts.biasflow.base.errors import BiasflowError


@dataclass(frozen=True)
class GlueTask:
    """One task: its text columns, its classes in the order of the hub's numbers (none for a score), its metrics."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]


_SENTENCES = ("sentence1", "sentence2")
_ENTAILED = ("entailment", "not_entailment")

# By the hub's names of the configurations. The F1 of MRPC and QQP is that of their second class.
TASKS = {
    "cola": GlueTask(("sentence",), ("unacceptable", "acceptable"), ("matthews",)),
    "sst2": GlueTask(("sentence",), ("negative", "positive"), ("accuracy",)),
    "mrpc": GlueTask(_SENTENCES, ("not_equivalent", "equivalent"), ("accuracy", "f1")),
    "stsb": GlueTask(_SENTENCES, (), ("pearson", "spearman")),
    "qqp": GlueTask(("question1", "question2"), ("not_duplicate", "duplicate"), ("accuracy", "f1")),
    "mnli": GlueTask(("premise", "hypothesis"), ("entailment", "neutral", "contradiction"), ("accuracy",)),
    "qnli": GlueTask(("question", "sentence"), _ENTAILED, ("accuracy",)),
    "rte": GlueTask(_SENTENCES, _ENTAILED, ("accuracy",)),
    "wnli": GlueTask(_SENTENCES, ("not_entailment", "entailment"), ("accuracy",)),
}
SCORE_RANGE = (0.0, 5.0)  # of STS-B's gold scores


def glue_task(name: str) -> GlueTask:
    """The task of that name; BiasflowError with the known names when there is none."""
    if name not in TASKS:
        raise BiasflowError(f"GLUE task {name!r} is unknown; choose from {', '.join(TASKS)}.")
    return TASKS[name]


def glue_scores(task: str, gold: Sequence, predicted: Sequence) -> dict[str, float]:
    """The official metrics of a task, and `score`, the mean of them, which is the task's number in GLUE's average.

    CoLA: matthews, in [-1, 1] (0 where gold or predictions are of one class). STS-B: pearson and spearman (NaN where
    all predictions are the same: no correlation is defined). MRPC and QQP: accuracy and f1 of the class equivalent or
    duplicate. All others: accuracy. MNLI: call it once for each of its two validation parts.

    gold, predicted: [examples], class names or numbers (TASKS), for STS-B finite numbers. Source: Wang et al. (2019,
    table 1). Raises BiasflowError for an unknown task, no examples or unequal lengths, and names the row (from 0) of
    an unknown class or a number that is not finite; also for STS-B where all gold scores are the same."""
    entry = glue_task(task)
    if len(gold) != len(predicted) or not len(gold):
        raise BiasflowError(f"{task}: {len(gold)} gold labels and {len(predicted)} predictions; give one each.")
    values = _classes if entry.labels else _numbers
    gold, predicted = values(task, "gold", gold), values(task, "predicted", predicted)
    if not entry.labels and _constant(gold):
        raise BiasflowError(f"{task}: all gold scores are {gold[0]}: nothing can correlate with them; give more rows.")
    scores = {metric: float(_METRICS[metric](gold, predicted)) for metric in entry.metrics}
    return scores | {"score": float(np.mean(list(scores.values())))}


_METRICS = {
    "accuracy": accuracy_score,
    "f1": lambda gold, predicted: f1_score(gold, predicted, zero_division=0),
    "matthews": lambda gold, predicted: _matthews(gold, predicted),
    "pearson": lambda gold, predicted: _correlation(stats.pearsonr, gold, predicted),
    "spearman": lambda gold, predicted: _correlation(stats.spearmanr, gold, predicted),
}


def _matthews(gold: np.ndarray, predicted: np.ndarray) -> float:
    return 0.0 if _constant(gold) or _constant(predicted) else matthews_corrcoef(gold, predicted)


def _correlation(test, gold: np.ndarray, predicted: np.ndarray) -> float:
    return float("nan") if _constant(predicted) else test(gold, predicted).statistic


def _constant(values: np.ndarray) -> bool:
    return bool((values == values[0]).all())


def _classes(task: str, side: str, values: Sequence) -> np.ndarray:
    """Class numbers; BiasflowError names the first row whose value is neither a class nor its number."""
    labels = TASKS[task].labels
    numbers = {name: number for number, name in enumerate(labels)} | {number: number for number in range(len(labels))}
    found = [numbers.get(value) for value in values]
    if None in found:
        row = found.index(None)
        raise BiasflowError(f"{task}: {side}: row {row} holds {values[row]!r}; give one of {', '.join(labels)}.")
    return np.array(found)


def _numbers(task: str, side: str, values: Sequence) -> np.ndarray:
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise BiasflowError(f"{task}: {side}: not all values are numbers ({error}); give scores.") from error
    wrong = ~np.isfinite(numbers)
    if numbers.ndim != 1 or wrong.any():
        row = int(np.argwhere(wrong)[0][0]) if wrong.any() else 0
        raise BiasflowError(f"{task}: {side}: row {row} holds no finite number; give one score per example.")
    return numbers
