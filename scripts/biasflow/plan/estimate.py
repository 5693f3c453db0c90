"""A rough estimate of the time that a run still needs: tokens x parameters, at the speed of a matrix product on this
machine, and the starts of jobs. While a run lasts, its progress says the rest.

A training takes 6 operations for each token and parameter, a pass that only reads 2; a method that acts before the last
layer takes a pass of its own. Files are not read: items are counted by limits and by the catalogue, or are as many as
is usual."""

from collections.abc import Collection, Mapping
from time import process_time
from timeit import timeit

from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import Encoder
from biasflow.plan.jobs import Job, Reading
from biasflow.plan.setup import Setup
from biasflow.registry import READOUTS
from biasflow.tasks.kinds import TaskPlan

ITEMS, TOKENS = 500, 20  # of a test; of one of its sentences
EXAMPLES, TASK_TOKENS = 5000, 60  # of a task; of one of its texts
STEPS, BATCH = 600, 80  # of a training further; sentences of a step
HEAD = 3000  # parameters of a language-model head for each dimension: 30,000 words, and it reads one token in ten
START = 1e12  # operations in whose time a job starts
GPU, GPU_START = 1.5e14, 10  # operations a second of a large one; seconds in which it starts a job
LONG = 7200  # seconds from which times are told in hours, and that of a GPU beside them
LOW, HIGH = 0.5, 3.0  # parts of the estimate between which the time may lie


def operations(encoder: Encoder, tokens: float, *, training: bool = False) -> float:
    """The operations of passes of so many tokens through an encoder (of BERT's size where nothing says its own)."""
    hidden = encoder.width or 768
    return (6 if training else 2) * tokens * hidden * (12 * hidden * (encoder.depth or 12) + HEAD)


def of_pretraining(encoder: Encoder) -> float:
    """The operations of a job that pre-trains an encoder or trains it further."""
    sentences = (encoder.about.get("steps") or STEPS) * encoder.about.get("batch_size", BATCH)
    return operations(encoder, sentences * TOKENS, training=True)


def of_training(task: TaskPlan, catalogue: Catalogue, encoder: Encoder) -> float:
    """The operations of a fine-tuning."""
    epochs = task.about.get("finetuning", {}).get("epochs", 1)
    return operations(encoder, epochs * examples(task, catalogue) * TASK_TOKENS, training=True)


def of_reading(setup: Setup, catalogue: Catalogue, reading: Reading) -> float:
    """The operations of a readout of a dataset; none for one that is made from another."""
    task, files = reading.block.task, reading.dataset.files.values()
    if task and any(f"/data/{task}/" in file for of_role in files for file in of_role):
        tokens = examples(setup.task(task), catalogue) * TASK_TOKENS
    else:  # a readout that is long enough for a job of its own masks each token in turn
        limit = reading.dataset.options.get("limit") or ITEMS
        tokens = min(limit, ITEMS) * TOKENS ** (1 + READOUTS[reading.readout].alone)
    steps = [step for name in reading.methods for step in setup.methods[name] if isinstance(step, Mapping)]  # no grid's
    passes = 1 + sum(not step["places"].startswith(("last", "pooled", "layer[-1]")) for step in steps)
    return 0.0 if reading.made_from else operations(setup.encoders[reading.model.encoder], tokens * passes)


def examples(task: TaskPlan, catalogue: Catalogue) -> int:
    """How many examples a task has: its limit, or what the catalogue says of the rows of its files."""
    data, limit = task.about.get("data"), task.about.get("limit")
    files = (data.get("files") or data.get("train") or ()) if isinstance(data, Mapping) else ()
    size = sum(catalogue.files[name].rows or 0 for name in files if name in catalogue.files) or EXAMPLES
    return min(size, limit or size)


def estimate(
    jobs: Collection[Job], cores: int, *, speed: float | None = None, stored: float = 0, on_gpu: bool = False
) -> str:
    """What to tell of the time and room that these jobs need, in one line; "" if none of them trains, fits or reads.
    Downloads are not counted. speed: operations a second of one core, measured for 0.05 seconds of the processor where
    it is left out, so that other processes count for nothing; stored: bytes of encoders and models; on_gpu: whether
    the jobs have one, so that the time of processors does not matter."""
    computing = [job.operations for job in jobs if job.operations is not None]
    if not computing:
        return ""
    # Of matrices so small that no library shares their product out among cores.
    product = ("m @ m", "import numpy; m = numpy.ones((63, 63), 'f4')", process_time)
    speed = speed or 2 * 63**3 * 5000 / timeit(*product, number=5000)
    seconds = max((sum(computing) + START * len(jobs)) / cores, max(computing)) / speed
    times = [] if on_gpu else [f"{_range(seconds)} with {cores} at a time on this machine when idle"]
    if on_gpu or LOW * seconds >= LONG:
        times.append(
            f"{_range(sum(computing) / GPU + GPU_START * len(computing))} on one GPU of {GPU / 1e12:g} TFLOP/s"
        )
    disk = f"; {stored / 1e9:.0f} GB of encoders and models" if stored >= 1e9 else ""
    count = f"jobs that train, fit or read and are not done: {len(computing)}"
    return f"{count}; very roughly {', or '.join(times)}{disk}; downloads apart"


def _range(seconds: float) -> str:
    unit, size = ("hours", 3600) if LOW * seconds >= LONG else ("minutes", 60)
    return " to ".join(f"{float(f'{part * seconds / size:.1g}'):g}" for part in (LOW, HIGH)) + f" {unit}"
