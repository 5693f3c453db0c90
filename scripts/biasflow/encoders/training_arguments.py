"""What every training by transformers' Trainer has in common, whatever is trained."""

from pathlib import Path

from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from biasflow.base.progress import Progress


class Steps(TrainerCallback):
    """Tells how far a training is."""

    def __init__(self, description: str):
        self.description = description

    def on_train_begin(self, args, state, control, **kwargs):
        self.counted = Progress(state.max_steps - state.global_step, self.description)

    def on_step_end(self, args, state, control, **kwargs):
        self.counted.advance()


def with_progress(trainer: Trainer, description: str) -> Trainer:
    """The trainer, which tells how far it is as everything else does, under this name."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Steps(description))
    return trainer


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
        **options,
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # two visible GPUs would each get a part of every batch
    return arguments
