"""A rough estimate of the time that a run still needs: from the starts of its jobs, from items x tokens x parameters,
and from how fast and how busy this machine is now.

A training takes 6 operations for each token and parameter of the layers, a pass that reads 2; what a method changes
before the last layer takes a pass of its own, what it changes there is computed from the untouched states. Numbers of
items and tokens are typical ones, not counted: the files are not read. Downloads, and waiting for them, are apart."""

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import yaml

from biasflow.base.shipped import shipped
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import Encoder
from biasflow.encoders.recipes import EXAMPLES, PLANTED_BIAS, NewHeads, Recipe
from biasflow.encoders.stored import INNER, VOCABULARY, size_of
from biasflow.plan.jobs import Job, Reading
from biasflow.plan.setup import Setup
from biasflow.tasks.kinds import TaskPlan

RATE = 60e9  # operations a second of one core, in single precision, ...
PRODUCTS = 52e9  # ... where products of such matrices alone reached so many
SIDE = 63  # of the matrices whose product is timed. OpenBLAS shares larger ones out, and waits where others compute
SOFTMAX = 450  # operations that a probability of one word takes beside its product, in the time of RATE: 7.5 ns
# Seconds of processor time of the start of a job that loads a model, of a job that scores, of one that fetches a file,
# and of Snakemake and the jobs that every run has (the plan, the tables, the page).
START, SCORE, FETCH, REST = 6.0, 3.0, 1.2, 15.0
LOW, HIGH = 0.7, 1.5  # what may be wrong with all this, in parts of it
LESS, MORE = 0.5, 1.5  # how the load may be while the run lasts, in parts of what it is now
TEXT_TOKENS = 25  # of a sentence
CONTEXTS, CONTEXT_TOKENS = 13_000, 80  # of a test of CEAT in WikiText-2
PLANTED_TOKENS = 25  # of a pair of sentences of the embedded corpus: 18, and what the output layer adds
RUNNING = 12_000  # parts of TEXT_TOKENS of the running text of the perplexity
WIKITEXT_TOKENS = 34  # of a sentence of it
CONTINUED, BLOCK = 2.5e6, 512  # tokens of WikiText-2, and of a block
OWN_FILE = 10_000  # examples of a file that the catalogue does not count
_TYPICAL = yaml.safe_load(shipped("plan/estimate.yaml").read_text("utf-8"))
ITEMS, TASK_TOKENS, TRAINED = (_TYPICAL[name] for name in ("items", "task_tokens", "trained"))
AT_THE_END = ("last", "last.cls", "pooled", "layer[-1]", "layer[-1].cls")


class Machine(NamedTuple):
    """What this machine can do now. speed: of one core, in parts of the one whose times stand in this file; cores: how
    many it has; load: how many processes wanted one in the last minute."""

    speed: float
    cores: int
    load: float

    def crowd(self, jobs: int, load: float) -> float:
        """How many processes share a core, if a run of so many jobs at a time joins a load."""
        return max(1.0, (load + jobs) / self.cores)


def this_machine() -> Machine:
    """Measure this machine: 20 ms of matrix products on one core, half a second by the clock where others compute."""
    matrix = np.random.default_rng(0).random((SIDE, SIDE), dtype=np.float32)
    start, begin, products = time.perf_counter(), time.process_time(), 0
    while (used := time.process_time() - begin) < 0.02 and time.perf_counter() - start < 0.5:
        for _ in range(20):
            matrix @ matrix
        products += 20
    return Machine(2 * SIDE**3 * products / max(used, 1e-6) / PRODUCTS, os.cpu_count() or 1, os.getloadavg()[0])


@dataclass(frozen=True)
class Estimate:
    """The time that a run still needs. jobs: those that are not done, of `of`, that train, fit or read; computing: the
    seconds of processor time in which they compute, on the core whose times stand in this file; longest: those of the
    job that computes longest; beside: the seconds of all starts, scores and tables."""

    jobs: int
    of: int
    computing: float
    longest: float
    beside: float

    def clock(self, cores: int, machine: Machine) -> tuple[float, float]:
        """The shortest and the longest time by the clock, in seconds, with so many jobs at a time."""
        seconds = (self.computing / machine.speed + self.beside) / cores
        longest = self.longest / machine.speed + START
        low = max(seconds, longest) * machine.crowd(cores, LESS * machine.load)
        high = (seconds + longest * (1 - 1 / cores)) * machine.crowd(cores, MORE * machine.load)
        return LOW * low, HIGH * high

    def sentence(self, cores: int, machine: Machine | None = None) -> str:
        """What to tell before a run; "" where nothing dear is left. machine: this one, measured."""
        if not self.jobs:
            return ""
        machine = machine or this_machine()
        low, high = (_rounded(seconds / 60) for seconds in self.clock(max(cores, 1), machine))
        unit, low, high = ("hours", low / 60, high / 60) if low >= 120 else ("minutes", low, high)
        between = f"{low:g} to {high:g} {unit}" if low < high else "a minute"
        busy = f" (its load is {machine.load:.0f})" if machine.crowd(cores, machine.load) > 1.5 else ""
        return (
            f"of the {self.of} jobs of this run that train, fit or read, {self.jobs} are not done: very roughly "
            f"{between} on {cores} core{'s' * (cores != 1)}, as busy as this machine is now{busy}; downloads apart"
        )


def estimate(jobs: Collection[Job], files: Iterable[str], is_made: Callable[[str], bool]) -> Estimate:
    """The time that jobs need for what is not made yet, as far as that can be known before them.

    files: what they download; is_made: whether a file or folder of the results is there. What will be made again
    because its inputs changed is not known here, and not counted."""
    left = [job for job in jobs if not is_made(job.outputs[0])]
    seconds = [job.seconds for job in left if job.seconds is not None]
    scores = sum(job.rule == "score" for job in left)
    beside = REST + START * len(seconds) + SCORE * scores + FETCH * sum(not is_made(file) for file in files)
    of = sum(job.seconds is not None for job in jobs)
    return Estimate(len(seconds), of, sum(seconds), max(seconds, default=0), beside)


def seconds_of_pretraining(encoder: Encoder) -> float:
    """The time of a job that pre-trains an encoder or trains it further."""
    return 6 * _pretraining_tokens(encoder) * size_of_encoder(encoder).parameters / RATE


def seconds_of_fits(setup: Setup, encoder: Encoder, methods: Sequence[str]) -> float:
    """The time of a job that fits methods to a model."""
    texts = setup.config["fitting"]["n"] * (1 + sum(_passes(setup.methods, [name]) - 1 for name in methods) / 4)
    return 2 * texts * 30 * size_of_encoder(encoder).parameters / RATE


def _pretraining_tokens(encoder: Encoder) -> float:
    about = encoder.about
    if encoder.source == "pretrain":
        longest = PLANTED_TOKENS if encoder.is_planted else math.inf
        return about["steps"] * about["batch_size"] * min(about["max_length"], longest)
    if about["recipe"] == PLANTED_BIAS:
        occupations = 22  # of the biographies that have a clear share of women
        return occupations * about.get("examples", EXAMPLES) * (about["max_length"] or NewHeads.max_length)
    if not encoder.new_heads:
        return (about["steps"] or 0) * Recipe.batch_size * (about["max_length"] or BLOCK) or CONTINUED
    tokens = NewHeads.batch_size * (about["max_length"] or NewHeads.max_length)
    alone = (about["head_steps"] or NewHeads.head_steps) * tokens / 3  # the encoder itself learns nothing then
    return alone + (about["steps"] * tokens if about["steps"] else CONTINUED)


def seconds_of_training(task: TaskPlan, catalogue: Catalogue, encoder: Encoder) -> float:
    """The time of a fine-tuning."""
    recipe, kind = task.about.get("finetuning", {}), task.about["kind"]
    examples = _examples(task, catalogue) * (0.65 if kind == "occupation" else 1)
    tokens = min(TASK_TOKENS.get(kind, TEXT_TOKENS), recipe.get("max_length") or 512)
    return 6 * examples * recipe.get("epochs", 1) * tokens * size_of_encoder(encoder).parameters / RATE


def _examples(task: TaskPlan, catalogue: Catalogue) -> float:
    """How many examples a task has for training, limited or not; of files what the catalogue says of their rows."""
    about, data = task.about, task.about.get("data")  # a kind of task that somebody added may have neither key
    if str(data).startswith("planted"):
        planted = about.get("planted", {})
        size = planted.get("biographies") or planted.get("train") or OWN_FILE
    else:
        data = data if isinstance(data, Mapping) else {}
        entries = [catalogue.files.get(name) for name in data.get("files") or data.get("train") or ()]
        size = sum(entry.rows or OWN_FILE if entry else OWN_FILE for entry in entries) or OWN_FILE
    return min(size, about.get("limit") or size)


def seconds_of_reading(setup: Setup, catalogue: Catalogue, reading: Reading) -> float:
    """Seconds of one readout of one dataset: its passes through the layers, and the language-model head where it is."""
    if reading.readout in TRAINED and reading.block.task:
        return TRAINED[reading.readout] * _examples(setup.task(reading.block.task), catalogue)
    size = size_of_encoder(setup.encoders[reading.model.encoder])
    dataset, options = reading.dataset, reading.dataset.options
    limit, scored = options.get("limit"), 2.0
    start = next((name for name in ITEMS if dataset.name.startswith(name)), None)
    items, texts, tokens = ITEMS[start] if start else (1000, 1, TEXT_TOKENS)
    if reading.readout == "losses":
        items, texts, tokens, scored = RUNNING * len(options["mask_seeds"]), 1, TEXT_TOKENS, 0.15 * TEXT_TOKENS
        limit = limit and limit * len(options["mask_seeds"])
    elif "pseudo_sentences" in options:
        items, texts, tokens, scored = options["pseudo_sentences"], WIKITEXT_TOKENS, WIKITEXT_TOKENS, 1.0
    elif reading.readout == "sentence_vectors":
        items, texts, tokens = options["sentences"], 1, WIKITEXT_TOKENS
    elif reading.readout == "associations":
        items, texts, tokens = CONTEXTS, 1, PLANTED_TOKENS if dataset.name == "planted" else CONTEXT_TOKENS
    elif reading.readout in ("first_token", "predictions", "nli_heads") and reading.block.task and start is None:
        task = setup.task(reading.block.task)
        items, tokens = _examples(task, catalogue), TASK_TOKENS.get(task.about["kind"], TEXT_TOKENS)
        tokens = min(tokens, options.get("max_length") or tokens)
    through = min(items, limit or items) * texts
    of_words = reading.readout in ("losses", "likelihoods", "pair_tokens", "fillings", "masked_words")
    head = (2 * size.width + SOFTMAX) * size.words * scored * len(reading.methods) if of_words else 0
    return through * (2 * tokens * size.parameters * _passes(setup.methods, reading.methods) + head) / RATE


def _passes(about: Mapping[str, object], names: Sequence[str]) -> int:
    """How often a text goes through the layers under methods: once, and once for each that acts before the end."""
    before = 0
    for name in names:
        steps = [] if isinstance(about[name], Mapping) else about[name]
        before += any(step["places"] not in AT_THE_END for step in steps)
    return 1 + before


class Size(NamedTuple):
    """The size of an encoder. parameters: of an encoder's layers; words: of its vocabulary."""

    parameters: int
    width: int
    words: int


def size_of_encoder(encoder: Encoder) -> Size:
    """The size of an encoder, where it is not known that of BERT base."""
    about, hidden = encoder.origin.about, encoder.width or 768
    inner = about.get("intermediate") or size_of(encoder.known, INNER) or 3072
    words = about.get("vocab_size") or size_of(encoder.known, VOCABULARY) or 30522
    return Size((encoder.depth or 12) * (4 * hidden**2 + 2 * hidden * inner), hidden, words)


def _rounded(minutes: float) -> int:
    """To one digit, or to halves of ten: nobody should take it for more than it is."""
    step = 1 if minutes < 10 else 5 if minutes < 60 else 10 if minutes < 120 else 60
    return max(1, round(minutes / step) * step)
