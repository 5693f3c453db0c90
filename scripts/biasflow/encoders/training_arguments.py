"""What every training by transformers' Trainer has in common, whatever is trained."""

import sys
from pathlib import Path

from transformers import TrainingArguments


def training_arguments(folder: str | Path, *, seed: int, on_gpu: bool, **options) -> TrainingArguments:
    """The arguments of a training on one device that reports to nobody; options: all others.

    Whether it is deterministic on a GPU is the process's affair (`device.resolve_deterministic`): the Trainer's own
    `full_determinism` also makes every call wait for the GPU."""
    arguments = TrainingArguments(
        output_dir=str(folder),
        seed=seed,
        use_cpu=not on_gpu,
        report_to="none",
        disable_tqdm=not sys.stderr.isatty(),
        dataloader_pin_memory=on_gpu,
        **options,
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # two visible GPUs would each get a part of every batch
    return arguments
