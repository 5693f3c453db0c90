"""What a plan is made of: models, the datasets that are read from them, cells, and jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from biasflow.base.sample import marked
from biasflow.plan.blocks import PRETRAINED, RANDOM, Block
from biasflow.registry import READOUTS, TOGETHER, WITH

NA = "-"
RUN, NOT_RUN = "run", "not run"
Files = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Model:
    """Encoder and training. seed: of the fine-tuning, or of the weights of a random encoder."""

    encoder: str
    task: str = NA
    strategy: str = NA
    seed: str = NA

    @property
    def training(self) -> str:
        if self.strategy == RANDOM:
            return f"{RANDOM}/seed{self.seed}"
        return PRETRAINED if self.task == NA else f"{self.task}/{self.strategy}/seed{self.seed}"

    def split_seeds(self, seeds: Sequence[int]) -> list[int]:
        """The splits that it is read on: that of its seed, or all of a block's if it has none."""
        return list(seeds) if self.seed == NA else [int(self.seed)]

    @property
    def carried(self) -> str | None:
        """The method that was active in its training, and is in everything that is read from it."""
        return self.strategy.removeprefix(WITH) if self.strategy.startswith(WITH) else None


@dataclass(frozen=True)
class Dataset:
    """files: role -> paths, inputs of the readout; options: of its read(); modules: those that its read() imports by
    name; made_from: role -> readout and dataset of the same model and block that it is made from; scoring: options of
    the metric's score(); scored_with: role -> paths that the score needs as well; spares: further inputs of the
    readout that spare it work and change nothing, so that their age does not matter; part_of: the name of the file in
    which several datasets are read together, by the same files and options; sees: as registry.Metric.sees, where it
    differs from its metric's; suffix: what its name has at the end in files and tables; limits: those of `limit` that
    it was sampled by, of the model's task before that of the block."""

    name: str
    files: Files = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    scoring: Mapping[str, object] = field(default_factory=dict)
    scored_with: Files = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    made_from: Mapping[str, tuple[str, "Dataset"]] = field(default_factory=dict)
    spares: Files = field(default_factory=dict)
    part_of: str = ""
    sees: str = ""
    suffix: str = ""
    limits: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """Its name in tables: a limited one is never called as the full one is."""
        return marked(self.name + self.suffix, self.limits)

    @property
    def read_as(self) -> str:
        """The name that its read() is told."""
        return self.part_of or self.name

    @property
    def file(self) -> str:
        """The name of the file that it is read into."""
        return marked(self.read_as + self.suffix, self.limits)


@dataclass(frozen=True)
class Cell:
    """One cell: a model under a method, measured by a metric on a dataset; status, and why it does not run; note: what
    its score does not say by itself."""

    block: str
    model: Model
    method: str
    metric: str
    dataset: str
    status: str = RUN
    reason: str = ""
    note: str = ""


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
