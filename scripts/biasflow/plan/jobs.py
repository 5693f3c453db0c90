"""The parts of a plan: what is read, fitted and scored, and the table of the jobs that do it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from biasflow.base.errors import BiasflowError
from biasflow.matrix import Block, Cell, Dataset, Model
from biasflow.registry import READOUTS, TOGETHER


class FitJob(NamedTuple):
    """Fits the methods of a group of blocks to a model."""

    encoder: str
    training: str
    group: str


class ReadingJob(NamedTuple):
    """Reads what a block asks for from a model. readout: the one that it reads, TOGETHER for all that are too small for
    a job of their own, or TRAINING for what a fine-tuning wrote of itself."""

    encoder: str
    training: str
    block: str
    readout: str


class ScoringJob(NamedTuple):
    """Scores what a block asks for of a model."""

    encoder: str
    training: str
    block: str


class ReadingKey(NamedTuple):
    """What tells a reading from any other: its job, the readout, and the name of its file without suffix."""

    job: ReadingJob
    readout: str
    file: str


@dataclass(frozen=True)
class Reading:
    """A readout of a model on a dataset under methods. narrow: whether the encoder is (plan.facts); made_from: role ->
    key of the reading that it is made from, of its block or of an earlier one whose methods the same job fits."""

    block: Block
    model: Model
    readout: str
    dataset: Dataset
    narrow: bool
    methods: tuple[str, ...] = ()
    made_from: Mapping[str, ReadingKey] = field(default_factory=dict)

    @property
    def fit(self) -> FitJob:
        """The job that fits the methods."""
        return FitJob(self.model.encoder, self.model.training, self.block.group)

    @property
    def key(self) -> ReadingKey:
        name = TOGETHER if self.narrow and not READOUTS[self.readout].alone else self.readout
        job = ReadingJob(self.model.encoder, self.model.training, self.block.name, name)
        return ReadingKey(job, self.readout, self.dataset.file)


@dataclass(frozen=True)
class Score:
    """The scores of a model that a metric computes from a reading (by its key), for the methods it is asked for."""

    model: Model
    metric: str
    reading: ReadingKey
    dataset: Dataset
    methods: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything that a run makes. cells: all that was asked for; readings: what is read, by its key; scored: the
    scores that a job makes; fits: the methods that a job fits; trained: (encoder, training) -> model that is
    fine-tuned; repeated: cells of a block that an earlier one has as well, which a paper scores again where that is not
    its own."""

    cells: tuple[Cell, ...]
    readings: Mapping[ReadingKey, Reading]
    scored: Mapping[ScoringJob, tuple[Score, ...]]
    fits: Mapping[FitJob, tuple[str, ...]]
    trained: Mapping[tuple[str, str], Model]
    blocks: tuple[Block, ...] = ()
    repeated: tuple[Cell, ...] = ()


@dataclass(frozen=True, eq=False)
class Job:
    """A job of a run, as its rule and everything else that asks about it see it.

    wildcards: their values, in the order of the rule's output; outputs: files and folders; inputs: role -> a file or a
    list of files; params: what the script is told, by the name of the parameter; modules: those that the script imports
    by name; operations: about how many a job takes that trains, fits or reads (plan.estimate), else None."""

    rule: str
    wildcards: Sequence[str]
    outputs: Sequence[str]
    inputs: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    params: Mapping[str, object] = field(default_factory=dict)
    modules: Sequence[str] = ()
    operations: float | None = None

    @cached_property
    def files(self) -> list[str]:
        """All input files, each once."""
        by_role = ([files] if isinstance(files, str) else files for files in self.inputs.values())
        return list(dict.fromkeys(chain(*by_role)))


class Jobs:
    """The jobs of a run: found by rule and wildcards, or by a file that they make. Rules that have no choice (for
    downloads, texts, stimuli) say themselves what they take, and have no job here.

    checks: files that say whether the data of tasks fit what the configuration asks of them."""

    def __init__(self, jobs: Iterable[Job], checks: Sequence[str] = ()):
        self._by_rule = {(job.rule, *job.wildcards): job for job in jobs}
        self._by_output = {output: job for job in self for output in job.outputs}
        self.checks = checks

    def __iter__(self) -> Iterator[Job]:
        return iter(self._by_rule.values())

    def of(self, rule: str, wildcards: Iterable[str] = ()) -> Job:
        """The job of a rule with these wildcards. BiasflowError where the configuration asks for no such job."""
        try:
            return self._by_rule[rule, *wildcards]
        except KeyError:
            raise BiasflowError(
                f"the configuration asks for no job of the rule {rule} for {', '.join(wildcards)}"
            ) from None

    @property
    def outputs(self) -> list[str]:
        """All files and folders that the jobs make."""
        return list(self._by_output)

    def output_of(self, file: str) -> str | None:
        """The output of a job that a file is, or lies in."""
        while file and file not in self._by_output:
            file = file.rpartition("/")[0]
        return file or None

    def upstream(self, *outputs: str) -> list[Job]:
        """The jobs that make these outputs and, before each, those that it waits for, directly or not."""
        ordered: dict[Job, None] = {}

        def visit(job: Job) -> None:
            if job not in ordered:
                for output in dict.fromkeys(filter(None, map(self.output_of, job.files))):
                    visit(self._by_output[output])
                ordered[job] = None

        for output in outputs:
            visit(self._by_output[output])
        return list(ordered)

    @cached_property
    def needed(self) -> list[Job]:
        """The jobs that the run's tables and figures wait for."""
        printed = [job.outputs[0] for job in self if job.rule.startswith(("paper_", "matrix")) and job.outputs]
        return self.upstream(*printed, *self.checks)
