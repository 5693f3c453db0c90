"""The matrix that a configuration asks for: its blocks, models, datasets and cells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from biasflow.base.genders import pair_name
from biasflow.base.sample import marked
from biasflow.registry import GIVEN, WITH

NA = "-"
FINETUNED, PRETRAINED, RANDOM = "finetuned", "pretrained", "random"
PART = "+"  # between the name of a block and the number of what was added to it: no name has it
RUN, NOT_RUN = "run", "not run"
ELSEWHERE = ", measured on the first token"  # how the note of a cell ends whose method was fitted to words
Files = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Block:
    """A named part of the matrix: encoders (fine-tuned on a task, if one is named) x methods x metrics.

    items: readouts that a paper prints item by item, each with its datasets (plan.datasets); under all methods of the
    block, whichever other block scores them. group: blocks whose methods are fitted by one job: those
    of a paper. key: where it stands in the configuration, for errors. limit: of the items that are read (plan.datasets
    says of which)."""

    name: str
    key: str
    encoders: tuple[str, ...]
    task: str | None
    trainings: tuple[str, ...]
    strategies: tuple[str, ...]
    seeds: tuple[int, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    items: tuple[tuple[str, str], ...] = ()
    group: str = ""
    limit: int | None = None

    @property
    def asked(self) -> str:
        """Its name in the configuration, which a part that was added to it later has, too (plan.asked)."""
        return self.name.partition(PART)[0]

    @property
    def is_of_paper(self) -> bool:
        return self.key.startswith("papers.")


@dataclass(frozen=True)
class Model:
    """An encoder and how it is trained. seed: of the fine-tuning, or of the weights of a random encoder."""

    encoder: str
    task: str = NA
    strategy: str = NA
    seed: str = NA

    @property
    def training(self) -> str:
        if self.strategy == RANDOM:
            return f"{RANDOM}/seed{self.seed}"
        return PRETRAINED if self.task == NA else f"{self.task}/{self.strategy}/seed{self.seed}"

    @property
    def is_trained(self) -> bool:
        """Whether a job of the run fine-tunes it: of a classifier that is given only its texts are a task's."""
        return self.task != NA and self.strategy != GIVEN

    def split_seeds(self, seeds: Sequence[int]) -> list[int]:
        """The splits that it is read on: that of its seed, or all of a block's if it has none."""
        return list(seeds) if self.seed == NA else [int(self.seed)]

    @property
    def carried(self) -> str | None:
        """The method that was active in its training, and is in everything that is read from it."""
        return self.strategy.removeprefix(WITH) if self.strategy.startswith(WITH) else None


@dataclass(frozen=True)
class Dataset:
    """What a metric is measured on. files: role -> paths, inputs of the readout; options: of its read(); modules: those
    that its read() imports by name; made_from: role -> readout and dataset of the same model and block that it is made
    from; scoring: options of the metric's score(); scored_with: role -> paths that the score needs as well; part_of:
    the name of the file in which several datasets are read together, by the same files and options; reads_states: as
    registry.Metric.reads_states, where it differs from its metric's; suffix: what its name has at the end in files and
    tables; limits: those of `limit` that it was sampled by, of the model's task before that of the block; absent: why
    the encoder cannot be read on it, or ""."""

    name: str
    files: Files = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    scoring: Mapping[str, object] = field(default_factory=dict)
    scored_with: Files = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    made_from: Mapping[str, tuple[str, "Dataset"]] = field(default_factory=dict)
    part_of: str = ""
    reads_states: str = ""
    suffix: str = ""
    limits: tuple[int, ...] = ()
    absent: str = ""

    @property
    def label(self) -> str:
        """Its name in tables; a limited dataset never has the name of the full one."""
        return marked(self.name + self.suffix, self.limits)

    @property
    def read_as(self) -> str:
        """The name that the read() of its readout is given."""
        return self.part_of or self.name

    @property
    def file(self) -> str:
        """The name of the file that its readout writes."""
        return marked(self.read_as + self.suffix, self.limits)


def of_pairs(dataset: Dataset, pairs: Sequence[Sequence[object]], **scoring: object) -> list[Dataset]:
    """Return a dataset for each pair of groups whose gaps are read of people: all are read in one file, which has the
    pairs as its option `groups`; scoring: what else scores of a pair are told."""
    together = replace(dataset, options={**dataset.options, "groups": pairs}, part_of=dataset.read_as)
    names = [re.sub("[^A-Za-z0-9]+", "-", pair_name(pair)) for pair in pairs]
    return [
        replace(together, name=f"{dataset.name}-{name}", scoring={"pair": pair, **scoring})
        for name, pair in zip(names, pairs, strict=True)
    ]


@dataclass(frozen=True)
class Cell:
    """One cell: a model under a method, measured by a metric on a dataset; status, and why it does not run; note: what
    its score does not say by itself; part: the block, or the part of it (plan.asked), whose job scores the cell."""

    block: str
    model: Model
    method: str
    metric: str
    dataset: str
    status: str = RUN
    reason: str = ""
    note: str = ""
    part: str = ""
