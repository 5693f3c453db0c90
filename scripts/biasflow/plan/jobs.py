"""The parts of a plan, as named tuples and dataclasses: jobs, readings and scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from biasflow.asking.matrix import Block, Cell, Dataset, Model
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
    """The scores that a metric computes from a reading (by its key), for the methods that it is asked for."""

    metric: str
    reading: ReadingKey
    dataset: Dataset
    methods: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything that a run makes. cells: all that was asked for; readings: what is read, by its key; scored: the
    scores that a job makes; fits: the methods that a job fits; trained: (encoder, training) -> model that is
    fine-tuned; absent: as facts.Facts.absent; repeated: cells of a block that an earlier one has as well."""

    cells: tuple[Cell, ...]
    readings: Mapping[ReadingKey, Reading]
    scored: Mapping[ScoringJob, tuple[Score, ...]]
    fits: Mapping[FitJob, tuple[str, ...]]
    trained: Mapping[tuple[str, str], Model]
    blocks: tuple[Block, ...] = field(default=())
    absent: Mapping[str, str] = field(default_factory=dict)
    repeated: tuple[Cell, ...] = field(default=())
