"""Fine-tuning an encoder to classify or rate sentences or pairs of sentences, with transformers' Trainer."""

import hashlib
import inspect
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
from torch import nn
from torch.utils.data import Dataset, Sampler
from transformers import DataCollatorWithPadding, PreTrainedTokenizerBase
from transformers.trainer_pt_utils import nested_concat

from biasflow.base.errors import BiasflowError
from biasflow.encoders.batches import batchwise, shortened
from biasflow.encoders.device import mark_trained, on_gpu, resolve_device
from biasflow.encoders.edit import edited
from biasflow.encoders.load import new_classifier
from biasflow.encoders.taps import name_of
from biasflow.strategies import Strategy
from biasflow.training import TOLD
from biasflow.training.checkpoints import DivergedError, checkpoints
from biasflow.training.examples import check_labels
from biasflow.training.loop import Loop, every_epoch
from biasflow.training.rows import LengthSampler, Rows, tokenised
from biasflow.training.task import fit_method, origin, save_training

EVALUATION_BATCH = 128
DIVERGED = "diverged_at"  # the key of the step in the facts of a training


@dataclass(frozen=True)
class Recipe:
    """How to fine-tune. `keep`: the epoch with the best validation score (the first of equal ones), or the last.

    The learning rate rises for the share `warmup` of the steps and then falls to 0 in a straight line (`schedule`
    "linear") or stays ("constant"). `clip`: the largest norm of the gradient; 0 leaves it as it is.
    `checkpoint_steps`: a checkpoint is also written after so many steps within an epoch."""

    epochs: int
    batch_size: int
    learning_rate: float
    warmup: float
    weight_decay: float
    max_length: int
    keep: str
    checkpoint_steps: int
    schedule: str = "linear"
    adam_epsilon: float = 1e-8
    clip: float = 1.0


def finetune(
    source: str | Path,
    folder: str | Path,
    work: str | Path,
    train: pd.DataFrame,
    validation: pd.DataFrame,
    *,
    texts: Sequence[str],
    labels: Sequence[str] | None,
    recipe: Recipe,
    seed: int,
    device: str = "cpu",
    new_model: Callable[..., tuple[nn.Module, PreTrainedTokenizerBase]] = new_classifier,
    strategy: Strategy = Strategy(),  # noqa: B008 - it is frozen
    method: Mapping | None = None,
    keep_diverged: bool = False,
) -> dict:
    """Fine-tune the encoder in `source` with a new head for `labels`; fill `folder`; return what happened.

    train, validation: columns `label` and those named by `texts` (one text, or a pair). Loss: cross-entropy, and the
    validation score is accuracy; with labels=None the column `label` holds numbers, the loss is the mean squared error,
    and the score is Pearson's correlation. AdamW; bf16 on a GPU; batches of similar length. `new_model` makes the model
    to be trained, as `new_classifier` does, and `strategy` may adapt it (see `strategies`); of what that predicts
    beside the label, as its outputs after the logits, what happened says how well (`training.TOLD`).
    `method`: one that is active in every forward pass, in training and ever after, fitted to the model before training
    (see `training.task.fit_method`).

    `work` is a folder for checkpoints, left where a killed run stopped; the next call with the same arguments goes on
    from there and ends with the same weights (same machine, same threads; on a GPU where it is deterministic, see
    `device.resolve_deterministic`), and removes it at the end. BiasflowError: a class absent from training, a label
    that is none of `labels`, checkpoints of another configuration (anything that decides the result); then nothing is
    written to `folder`. A loss that is not finite is a DivergedError; with `keep_diverged` the model as it was before
    training is kept instead, and what happened says so: `diverged_at`, a step, and no validation score."""
    _check(train, validation, labels)
    frames, beside = {"train": train, "validation": validation}, strategy.part("BESIDE", ())
    model, tokenizer = new_model(source, labels, seed=seed, device=resolve_device(device))
    model = strategy.adapt(model)
    limit = shortened(recipe.max_length, model, tokenizer)
    data = {
        name: tokenised(tokenizer, frame, texts=texts, labels=labels, max_length=limit, beside=beside)
        for name, frame in frames.items()
    }
    carried = fit_method(model.eval(), tokenizer, method)
    decided = {
        "recipe": asdict(recipe),
        "seed": seed,
        "labels": labels and list(labels),
        "data": [_digest(frame[[*texts, "label", *beside]]) for frame in frames.values()],
        "strategy": asdict(strategy),
        "method": carried.claim(),
        "keep_diverged": keep_diverged,
        **origin(source, model.device, [__file__, strategy.part("__file__"), inspect.getfile(new_model)]),
    }
    with checkpoints(work, decided) as work:
        try:
            with edited(model, carried.edits):
                facts = FineTuning(model, tokenizer, data, recipe, work=work, seed=seed).facts()
            strategy.finish(model)
            mark_trained(model)
        except DivergedError as error:
            if not keep_diverged:
                raise
            logging.getLogger("biasflow").warning("%s The model before training is kept, and marked.", error)
            facts = {"validation_scores": [], "epoch": 0, "validation_score": None, "steps": error.step}
            facts[DIVERGED] = error.step
            model, tokenizer = new_model(source, labels, seed=seed)
        facts |= {"seed": seed, "max_length": limit, **_data_facts(frames, data, labels)}
        return save_training(folder, model.to("cpu").eval(), tokenizer, facts, carried)


def _check(train: pd.DataFrame, validation: pd.DataFrame, labels: Sequence[str] | None) -> None:
    """BiasflowError for a label that is none of `labels`, and for a class that training lacks."""
    for part, frame in (("training", train), ("validation", validation)):
        check_labels(frame, labels, part)
    absent = [label for label in labels or () if not (train["label"] == label).any()]
    if absent:
        raise BiasflowError(f"training data: no example of class {absent[0]}; every class must occur in training.")


class FineTuning(Loop):
    """The loop with batches of similar length, which validation, after every epoch, halves where they are too large.

    loop: work and seed of `Loop`."""

    def __init__(
        self, model: nn.Module, tokenizer: PreTrainedTokenizerBase, data: Mapping[str, Rows], recipe: Recipe, **loop
    ):
        gpu = on_gpu(model.device)
        steps = recipe.epochs * math.ceil(len(data["train"]) / recipe.batch_size)
        score = score_of(data["train"].beside, pearson if model.config.num_labels == 1 else accuracy)
        super().__init__(
            model,
            data["train"],
            DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8 if gpu else None),
            name="fine-tuning",
            steps=steps,
            batch_size=recipe.batch_size,
            checkpoint_steps=recipe.checkpoint_steps,
            trainer={"eval_dataset": data["validation"].by_length(), "compute_metrics": score},
            per_device_eval_batch_size=EVALUATION_BATCH,
            learning_rate=recipe.learning_rate,
            warmup_steps=round(recipe.warmup * steps),
            weight_decay=recipe.weight_decay,
            adam_epsilon=recipe.adam_epsilon,
            max_grad_norm=recipe.clip,
            lr_scheduler_type="linear" if recipe.schedule == "linear" else "constant_with_warmup",
            bf16=gpu,  # device.HALF
            label_names=["labels", *data["train"].beside],
            **every_epoch(recipe.keep),
            **loop,
        )
        self.keep = recipe.keep

    def facts(self) -> dict:
        """Train to the end; return the validation score (accuracy, or Pearson's correlation) by epoch, the epoch that
        was kept, the number of steps, and how well what is `beside` the label was told in it."""
        facts, evaluated = self.run_epochs(self.keep)
        beside = {name: evaluated[f"eval_{name}"] for name in self.train_dataset.beside}
        return facts | ({TOLD: beside} if beside else {})

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler:
        return LengthSampler(self.train_dataset.lengths, self.args.train_batch_size, self.args.seed)

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None) -> tuple:
        """Loss (the mean over the rows), outputs and labels of a batch, as the Trainer's own step gives them, in as
        many parts as the memory of a GPU needs (`batchwise`)."""
        rows, length = inputs["input_ids"].shape

        def predict(part: range) -> tuple:
            some = {name: values[part.start : part.stop] for name, values in inputs.items()}
            return super(FineTuning, self).prediction_step(model, some, prediction_loss_only, ignore_keys=ignore_keys)

        def name(row: int) -> str:
            return f"validation: {name_of(model)}: a text of {length} tokens"

        _, results = zip(*batchwise(predict, range(rows), batch_size=rows, name=name), strict=True)
        if len(results) == 1:
            return results[0]
        losses, *outputs = zip(*results, strict=True)
        # Of the loss of validation only whether it is finite is looked at.
        return sum(losses), *(reduce(nested_concat, output) for output in outputs)


def score_of(beside: Iterable[str], score: Callable) -> Callable[..., dict[str, float]]:
    """Return a function that computes the `score` of what is predicted and true; of models that predict columns
    `beside` the label, the recalls of these, too, by name."""
    names = list(beside)

    def scores(outcome) -> dict[str, float]:
        predicted, true = outcome
        return score((predicted[0], true[0])) | {
            name: mean_recall(told.argmax(-1), classes, true[0])
            for name, told, classes in zip(names, predicted[1:], true[1:], strict=True)
        }

    return scores if names else score


def mean_recall(predicted: np.ndarray, true: np.ndarray, labels: np.ndarray) -> float:
    """Return the share predicted right in each class, averaged over labels and classes; NaN if no label has all
    classes.

    predicted, true: class numbers [n]; labels: those of the examples [n]. Labels without all the classes of `true` are
    left out. With k classes it is 1 / k for whoever knows the label and nothing else, however labels and classes go
    together."""
    right = pd.Series(predicted == true).groupby([labels, true]).mean().unstack()
    return float(right.dropna().to_numpy().mean()) if len(right.dropna()) else float("nan")


def accuracy(outcome) -> dict[str, float]:
    """Return the share of examples whose largest logit is that of the label."""
    return {"score": float((outcome[0].argmax(-1) == outcome[1]).mean())}


def pearson(outcome) -> dict[str, float]:
    """Return Pearson's correlation of predicted and true numbers; 0 where all predictions are equal."""
    predicted = outcome[0].ravel()
    return {"score": float(np.corrcoef(predicted, outcome[1])[0, 1]) if np.ptp(predicted) > 0 else 0.0}


def _data_facts(
    frames: Mapping[str, pd.DataFrame], data: Mapping[str, Rows], labels: Sequence[str] | None
) -> dict[str, object]:
    """How many examples there are of each part and were cut, what the score is, and of classes how many there are and
    the largest one's share of validation."""
    facts: dict[str, object] = {name: len(frame) for name, frame in frames.items()}
    facts["cut"] = sum(rows.cut for rows in data.values())
    facts["validation_metric"] = "pearson" if labels is None else "accuracy"
    if labels is not None:
        facts["classes"] = len(labels)
        facts["majority_share"] = float(frames["validation"]["label"].value_counts(normalize=True).iloc[0])
    return facts


def _digest(frame: pd.DataFrame) -> str:
    """Of the rows in their order, which decides the batches."""
    return hashlib.sha256(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes()).hexdigest()
