"""What a plan is made of: the readings and scores that its cells need."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from biasflow.asking.matrix import Block, Cell, Dataset, Model
from biasflow.registry import READOUTS, TOGETHER


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
    made_from: Mapping[str, tuple] = field(default_factory=dict)

    @property
    def fit(self) -> tuple[str, str, str]:
        """The key of the job that fits the methods."""
        return self.model.encoder, self.model.training, self.block.group

    @property
    def key(self) -> tuple[str, str, str, str, str, str]:
        """Encoder, training, block and name of its job, then the readout and its file."""
        job = TOGETHER if self.narrow and not READOUTS[self.readout].alone else self.readout
        return self.model.encoder, self.model.training, self.block.name, job, self.readout, self.dataset.file


@dataclass(frozen=True)
class Score:
    """What a metric makes of a reading (by its key), of the methods that it is asked for."""

    metric: str
    reading: tuple
    dataset: Dataset
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """cells: all that was asked for; readings: what is read, by its key; scored: (encoder, training, block) -> its
    scores; fits: (encoder, training, group of blocks) -> methods to be fitted; trained: (encoder, training) -> model
    that is fine-tuned; absent: as facts.Facts.absent; repeated: cells of a block that an earlier one has as well."""

    cells: tuple[Cell, ...]
    readings: Mapping[tuple, Reading]
    scored: Mapping[tuple, tuple[Score, ...]]
    fits: Mapping[tuple, tuple[str, ...]]
    trained: Mapping[tuple[str, str], Model]
    blocks: tuple[Block, ...] = field(default=())
    absent: Mapping[str, str] = field(default_factory=dict)
    repeated: tuple[Cell, ...] = field(default=())
