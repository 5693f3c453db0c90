"""What every kind of task tells the plan: its data, who makes them, and what a training and a readout need.

Every kind says it as `KIND`, a Kind, in tasks/<kind>/plan.py, and its keys in the configuration in schema.yaml; kinds
that share a folder have <kind>.py and <kind>.yaml there (registry.Task)."""

import glob
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from biasflow.base.files import check_path
from biasflow.base.paths import Paths, package_folder
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import Encoder
from biasflow.encoders.places import LAST_CLS
from biasflow.matrix import Block, Dataset, Model
from biasflow.registry import PACKAGE, PLAIN, STRATEGIES, TASKS, module_of

Options = Mapping[str, object]
WORLD = {"world": package_folder("data/planted")}  # sources of what is made of the embedded world


@dataclass(frozen=True)
class TaskPlan:
    """A task of the configuration. about: its part of it; of_paper: whether a paper of the run takes it; blocks: those
    of the run, for data that depend on what is asked for; classifiers: by name the local ones that are given and
    decide on the task's texts."""

    name: str
    about: Mapping
    kind: "Kind"
    paths: Paths
    of_paper: bool = False
    blocks: tuple[Block, ...] = ()
    classifiers: Mapping[str, Encoder] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The full name of the module that trains for the task and says what models are asked."""
        return module_of(TASKS[self.about["kind"]])

    @property
    def cuts(self) -> str:
        """The full name of the module that cuts its data for probes of gender."""
        return cuts_module(self.about["kind"])

    def file(self, name: str) -> str:
        """The path of a file of its data."""
        return self.paths.data(f"{self.name}/{name}")

    def files(self, names: Mapping[str, str]) -> dict[str, str]:
        return {role: self.file(name) for role, name in names.items()}


@dataclass(frozen=True)
class Step:
    """A rule that makes data of a task, by `prepare(sources, outputs, **options)` of a module: it is given files by
    role, fills the outputs by role, and returns what provenance should say (a dictionary).

    rule: its name; module: in the package; outputs: role -> file in the folder of the task's data; sources: role ->
    paths, of which those of the catalogue are downloaded; made_from: role -> file of an
    earlier step; memory in MB, runtime in minutes; priority: of two jobs that could start, the higher one does; absent:
    why the sources cannot be had, by what lies on disk, or None."""

    rule: str
    module: str
    outputs: Mapping[str, str]
    options: Callable[[TaskPlan], Options]
    sources: Callable[[TaskPlan, Catalogue], Mapping[str, Sequence[str]]] = lambda task, catalogue: {}
    made_from: Mapping[str, str] = field(default_factory=dict)
    memory: int = 2000
    runtime: int = 20
    priority: int = 0
    absent: Callable[[TaskPlan], str | None] = lambda task: None


@dataclass(frozen=True)
class Gendered:
    """The vectors that methods with `fitted_to: task` are fitted to: `gendered_vectors(model, tokenizer, data,
    **options)` of a module, which returns vectors, genders and classes. data: role -> file of the task's data; options:
    by the seed of a split and the place; places: where vectors are read, and methods act."""

    module: str
    data: Mapping[str, str]
    options: Callable[[TaskPlan, int, str], Options]
    places: tuple[str, ...] = (LAST_CLS,)


def recipe(task: TaskPlan, strategy: str) -> dict[str, object]:
    """Keyword arguments of a training: the recipe of the key `finetuning`; of a strategy of the registry that changes
    something its module, the text that it trains on, and its options (`strategies.Strategy`)."""
    options: dict[str, object] = {"recipe": task.about["finetuning"]}
    if strategy in STRATEGIES and strategy != PLAIN:
        entry = STRATEGIES[strategy]
        of_strategy = dict(task.about.get(entry.adapts, {}))
        options["adaptation"] = {"module": entry.module, "text": entry.text, "options": of_strategy}
    return options


@dataclass(frozen=True)
class Kind:
    """A kind of task. steps: who makes its data; has: what strategies may need that its tasks have (registry.GROUP and
    the like); of: the kind of a task by its keys and the strategies that blocks name with it, where these decide what
    it has, and otherwise: what such a task could do to have the rest, with {task} for its name; checks: files of the
    data that are made to see whether they fit what is asked of them; trained_on: role -> file of the data that a
    training is given; training: keyword arguments of train() for a strategy, beside strategy, seed, method and device;
    datasets: what metrics read, by the names of registry.Metric.datasets; head: the one that a trained model is opened
    with (encoders.load), so that methods can be fitted to it; gendered: what else these can be fitted to; printed: item
    of papers -> file of the data; captioned: keys of the configuration that captions say; check: BiasflowError, naming
    the key, for what the schema cannot refuse; dropped: what the data will leave out, in a sentence, as far as that is
    known before the first job; drops: the file of the data that lists it (corpora.bios.dropped)."""

    steps: tuple[Step, ...]
    trained_on: Mapping[str, str]
    datasets: Mapping[str, Callable[["Asked"], list[Dataset]]]
    has: frozenset[str] = frozenset()
    of: Callable[[Mapping, Collection[str]], "Kind"] | None = None
    otherwise: str = ""
    checks: tuple[str, ...] = ()
    training: Callable[[TaskPlan, str], Options] = recipe
    head: str = "none"
    gendered: Gendered | None = None
    printed: Mapping[str, str] = field(default_factory=dict)
    captioned: tuple[str, ...] = ()
    check: Callable[[TaskPlan], None] = lambda task: None
    dropped: Callable[[TaskPlan, Catalogue], str] = lambda task, catalogue: ""
    drops: str = ""


@dataclass(frozen=True)
class Asked:
    """What datasets are looked up for: a model, its encoder, and the task whose data it is read on; block: the one that
    asks."""

    config: Mapping
    paths: Paths
    block: Block
    model: Model
    encoder: Encoder
    task: TaskPlan | None = None

    @property
    def pooling(self) -> str | None:
        """What stands for a sentence in the encoder, by its folder; None for a paper, which says it itself."""
        return None if self.block.is_of_paper else self.encoder.pooling

    @property
    def split_seeds(self) -> list[int]:
        """The splits that the model is read on: that of its seed, or all of the block if it has none."""
        return self.model.split_seeds(self.block.seeds)

    @property
    def options(self) -> Mapping:
        return self.config["metrics"]

    def chosen(self, value: Sequence[str] | None, planted: Sequence[str], real: Sequence[str]) -> Sequence[str]:
        """What the configuration names, or what fits the encoder."""
        return value if value is not None else planted if self.encoder.is_planted else real


def cuts_module(kind: str) -> str:
    """The full name of the module that cuts the data of a kind of task for probes (tasks.cuts), if it is probed."""
    return f"{PACKAGE}.{TASKS[kind].folder}.cuts"


def corpus_files(task: TaskPlan, names: Sequence[str], catalogue: Catalogue) -> list[str]:
    """Files of the catalogue by their names, and the user's own by their paths."""
    return [task.paths.corpus(name) if name in catalogue.files else name for name in names]


def with_hidden_layer(probed: Callable[[Asked], list[Dataset]]) -> Callable[[Asked], list[Dataset]]:
    """The datasets of a linear probe for a probe with a hidden layer, which reads the data `paper` alone."""

    def datasets(asked: Asked) -> list[Dataset]:
        extra = {"hidden": asked.options["probe_mlp"]["hidden"], "data": ["paper"]}
        return [replace(dataset, options={**dataset.options, **extra}) for dataset in probed(asked)]

    return datasets


def is_expanded(name: str) -> bool:
    """Whether a file name is a pattern, or lies in a folder that another key names."""
    return "{folder}" in name or glob.has_magic(name)


def expanded(names: Sequence[str], folder: str | None) -> list[str]:
    """Return the files that names stand for; a name with *, ? or [ stands for all files that it matches, sorted.
    folder: what {folder} stands for in names. BiasflowError for a file that no rule can take."""
    paths: list[str] = []
    for name in names:
        path = name.replace("{folder}", str(folder))
        # not Path.glob, which takes no absolute pattern
        paths += sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else [path]  # noqa: PTH207
    for path in paths:
        check_path(path)
    return paths
