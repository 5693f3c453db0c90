"""The loop of every training: transformers' Trainer on one device, with checkpoints from which a killed run goes on,
progress, plain lines in the log, and a stop where the loss is lost."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import Sampler
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import TrainerState

from biasflow.base.progress import Progress
from biasflow.encoders.device import on_gpu
from biasflow.training import BEST
from biasflow.training.checkpoints import CHECKPOINT, OPTIMIZER, DivergedError, last_checkpoint, mark_complete

EVERY = 300.0  # seconds between checkpoints of a training that has no number of steps between them
LOGGED = 20  # lines of a training in the log
LOSSES = ("loss", "eval_loss", "train_loss")

log = logging.getLogger("biasflow")


class Watch(TrainerCallback):
    """Progress, plain lines in the log, checkpoints that are marked when they are complete, and a stop where the loss
    is lost.

    name: what the training is called; rates: the keys of its learning rates; checkpoint_steps: a checkpoint is written
    after so many steps (None: whenever EVERY seconds have passed since the last one, so that a short training writes
    none). Of an earlier checkpoint, which stays as the best so far, only the weights are used: its optimiser goes."""

    def __init__(self, name: str, rates: str, checkpoint_steps: int | None = None):
        self.name, self.rates, self.checkpoint_steps = name, rates, checkpoint_steps
        self.written = time.monotonic()

    def on_train_begin(self, args, state, control, **kwargs):
        if state.global_step:
            log.info("%s goes on from a checkpoint: step %d of %d", self.name, state.global_step, state.max_steps)
        self.progress = Progress(state.max_steps - state.global_step, self.name)

    def on_step_end(self, args, state, control, **kwargs):
        self.progress.advance()
        if self.checkpoint_steps is None:
            is_due = time.monotonic() - self.written >= EVERY
        else:
            is_due = state.global_step % self.checkpoint_steps == 0
        control.should_save = control.should_save or is_due

    def on_save(self, args, state, control, **kwargs):
        latest = Path(args.output_dir, f"{CHECKPOINT}{state.global_step}")
        mark_complete(latest)
        for checkpoint in latest.parent.glob(f"{CHECKPOINT}*"):
            if checkpoint != latest:
                (checkpoint / OPTIMIZER).unlink(missing_ok=True)
        self.written = time.monotonic()

    def on_log(self, args, state, control, logs=None, **kwargs):
        for loss in (logs[name] for name in LOSSES if name in (logs or {})):
            if not math.isfinite(loss):
                raise DivergedError(self.name, loss, state.global_step, self.rates)
        if logs and "loss" in logs:
            log.info("%s: step %d of %d, loss %.3f", self.name, state.global_step, state.max_steps, logs["loss"])


class Loop(Trainer):
    """transformers' Trainer, watched (`Watch`).

    What differs between trainings is the order of the rows, the loss of a batch, how it is evaluated and the optimiser:
    methods that a subclass replaces, and further options of the Trainer and of its arguments.

    rows: a Dataset, or numbers that `collate` makes batches of; work: the folder for checkpoints; steps: how many in
    all. A loss that is not finite is a DivergedError."""

    def __init__(
        self,
        model: nn.Module,
        rows,
        collate,
        *,
        name: str,
        work: str | Path,
        seed: int,
        steps: int,
        batch_size: int,
        rates: str = "learning_rate",
        checkpoint_steps: int | None = None,
        callbacks: Sequence[TrainerCallback] = (),
        optimizers: tuple = (None, None),
        trainer: dict | None = None,
        **arguments,
    ):
        super().__init__(
            model=model,
            args=training_arguments(
                work,
                seed=seed,
                on_gpu=on_gpu(next(model.parameters()).device),
                max_steps=steps,
                per_device_train_batch_size=batch_size,
                logging_steps=max(1, steps // LOGGED),
                **{"save_strategy": "no"} | arguments,  # `Watch` says when
            ),
            train_dataset=rows,
            data_collator=collate,
            optimizers=optimizers,
            callbacks=[*callbacks, Watch(name, rates, checkpoint_steps)],
            **trainer or {},
        )
        self.remove_callback(PrinterCallback)
        self.begun = last_checkpoint(Path(work))

    def run(self) -> TrainerState:
        """Train to the end, from the last checkpoint if there is one; return what happened."""
        self.train(resume_from_checkpoint=self.begun)
        return self.state

    def run_epochs(self, keep: str) -> tuple[dict[str, object], dict[str, float]]:
        """Train to the end (see `every_epoch`). Return the validation scores by epoch, the epoch that is kept, its
        score and the number of steps; and all that was evaluated after that epoch."""
        epochs = [entry for entry in self.run().log_history if "eval_score" in entry]
        scores = [entry["eval_score"] for entry in epochs]
        kept = int(np.argmax(scores)) if keep == BEST else len(scores) - 1
        facts = {"validation_scores": scores, "epoch": kept + 1, "validation_score": scores[kept]}
        return facts | {"steps": self.state.global_step}, epochs[kept]


@torch.inference_mode()
def held_out_means(
    model: PreTrainedModel,
    batches: Iterable[Mapping[str, torch.Tensor]],
    sums: Callable[[Mapping[str, torch.Tensor]], Mapping[str, tuple[float, int]]],
) -> dict[str, float]:
    """Means over batches by name, of the sum and the number that `sums` returns of a batch on the model's device; the
    model is left in training mode."""
    model.eval()
    totals, counts = Counter(), Counter()
    for batch in batches:
        for name, (total, n) in sums({key: value.to(model.device) for key, value in batch.items()}).items():
            totals[name] += total
            counts[name] += n
    model.train()
    return {name: totals[name] / counts[name] for name in totals}


class EpochSampler(Sampler):
    """An order of n rows that follows from seed and epoch alone, so that it can be gone on with."""

    def __init__(self, n: int, seed: int):
        self.n, self.seed, self.epoch = n, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self.n


def every_epoch(keep: str) -> dict[str, object]:
    """The arguments of a training that is evaluated after every epoch, and keeps the one with the best `score`, or the
    last."""
    is_best = keep == BEST
    return {
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "load_best_model_at_end": is_best,
        "metric_for_best_model": "score" if is_best else None,  # a best one would be kept on the disk
        "greater_is_better": True,
    }


def training_arguments(folder: str | Path, *, seed: int, on_gpu: bool, **options) -> TrainingArguments:
    """The arguments of a training on one device that reports to nobody; options: all others.

    Whether it is deterministic on a GPU is the process's affair (`device.resolve_deterministic`): the Trainer's own
    `full_determinism` also makes every call wait for the GPU."""
    arguments = TrainingArguments(
        output_dir=str(folder),
        seed=seed,
        use_cpu=not on_gpu,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=on_gpu,
        save_total_limit=1,  # the latest; the best one so far stays as well
        logging_nan_inf_filter=False,
        **options,
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # two visible GPUs would each get a part of every batch
    return arguments
