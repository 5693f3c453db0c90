"""The plan: which cells of the matrix a configuration asks for, why one cannot run, and what each needs.

A pure function of the configuration and of what lies on disk (facts); rules look up their inputs in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from scripts.biasflow.plan.blocks import FINETUNED, PRETRAINED, RANDOM, Block, blocks_of
from scripts.biasflow.plan.configuration import check_planted_texts
from scripts.biasflow.plan.datasets import DATASETS, Asked, Dataset, training_examples
from scripts.biasflow.plan.facts import Facts, depth, has_head
from scripts.biasflow.plan.methods import NONE, missing_layer, sources, unseen_setting
from scripts.biasflow.registry import METRICS, READOUTS, STRATEGIES, TASKS, TRAINING, WITH

NA = "-"
RUN, NOT_RUN = "run", "not run"
OF_TASKS = (
    "task_texts",
    "test_sets",
    "occupation_pairs",
)  # datasets (plan.datasets) that are a task's; others need none
# The part of the configuration that names the text of a readout.
TEXTS = {
    "losses": "metrics.perplexity",
    "likelihoods": "metrics.perplexity",
    "associations": "metrics.ceat",
    "gender_shares": "fitting",
    "token_scores": "fitting",
}
SCRUBBING = "scrubbing"


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

    @property
    def carried(self) -> str | None:
        """The method that was active in its training, and is in everything that is read from it."""
        return self.strategy.removeprefix(WITH) if self.strategy.startswith(WITH) else None


@dataclass(frozen=True)
class Cell:
    """One cell: a model under a method, measured by a metric on a dataset; status, and why it does not run."""

    block: str
    model: Model
    method: str
    metric: str
    dataset: str
    status: str = RUN
    reason: str = ""


@dataclass(frozen=True)
class Reading:
    """One job: a readout of a model on a dataset under methods.

    task, seeds, strategies: the task whose data it is read on, and those of the block."""

    block: str
    model: Model
    readout: str
    dataset: Dataset
    methods: tuple[str, ...]
    task: str | None
    seeds: tuple[int, ...] = ()
    strategies: tuple[str, ...] = ()
    group: str = ""

    @property
    def fit(self) -> tuple[str, str, str]:
        """The key of the job that fits the methods."""
        return self.model.encoder, self.model.training, self.group

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return self.model.encoder, self.model.training, self.block, self.readout, self.dataset.name


@dataclass(frozen=True)
class Plan:
    """cells: all that was asked for; readings: what is read, by its key; scored: (encoder, training, block) -> metric,
    key of the reading and methods of each score; fits: (encoder, training, group of blocks) -> methods to be fitted;
    trained: (encoder, training) -> model that is fine-tuned."""

    cells: tuple[Cell, ...]
    readings: Mapping[tuple, Reading]
    scored: Mapping[tuple, tuple[tuple[str, tuple, tuple[str, ...]], ...]]
    fits: Mapping[tuple, tuple[str, ...]]
    trained: Mapping[tuple[str, str], Model]
    blocks: tuple[Block, ...] = field(default=())


def plan(config: Mapping, facts: Facts) -> Plan:
    """The plan of a resolved configuration. BiasflowError, naming the key, for what no run can do."""
    blocks = blocks_of(config)
    cells: list[Cell] = []
    wanted: dict[tuple, tuple[Reading, list[str]]] = {}
    scored: dict[tuple, dict[tuple, list[str]]] = {}
    trained: dict[tuple[str, str], Model] = {}
    seen: set[tuple] = set()
    for block in blocks:
        for model in models_of(block):
            for metric in block.metrics:
                for dataset in _datasets(config, block, model, metric):
                    methods = [model.carried] if model.carried else block.methods
                    for method in methods:
                        key = (model, method, metric, dataset.name if dataset else block.task)
                        if key in seen:
                            continue
                        seen.add(key)
                        reason = why_not(config, facts, block, model, method, metric, dataset)
                        name = dataset.name if dataset else NA
                        status = NOT_RUN if reason else RUN
                        cells.append(Cell(block.name, model, method, metric, name, status, reason or ""))
                        if reason:
                            continue
                        place = (model.encoder, model.training, block.name)
                        if METRICS[metric].readout == TRAINING:
                            read = (*place, TRAINING, TRAINING)
                            trained[model.encoder, model.training] = model
                        else:
                            reading = _reading(block, model, METRICS[metric].readout, dataset)
                            wanted.setdefault(reading.key, (reading, []))[1].append(method)
                            read = reading.key
                        scored.setdefault(place, {}).setdefault((metric, read), []).append(method)
            for readout, datasets in block.items:
                if _no_head(config, facts, model, readout) or model.encoder in facts.missing:
                    continue
                for dataset in DATASETS[datasets](_asked(config, block, model)):
                    reading = _reading(block, model, readout, dataset)
                    wanted.setdefault(reading.key, (reading, []))[1].extend(block.methods)
    readings = {
        key: replace(reading, methods=tuple(dict.fromkeys(methods))) for key, (reading, methods) in wanted.items()
    }
    readings |= _underlying(readings, config)
    trained |= {(r.model.encoder, r.model.training): r.model for r in readings.values() if r.model.task != NA}
    fits = _fits(readings, config)
    check_planted_texts(config, _users_of_texts(config, readings, fits, trained))
    jobs = {
        place: tuple((metric, key, tuple(methods)) for (metric, key), methods in own.items())
        for place, own in scored.items()
    }
    return Plan(tuple(cells), readings, jobs, fits, trained, tuple(blocks))


def _users_of_texts(config: Mapping, readings: Mapping, fits: Mapping, trained: Mapping) -> dict[str, list[str]]:
    """Part of the configuration that names a text -> encoders that are run with it."""
    users = [
        (TEXTS[reading.readout], reading.model.encoder) for reading in readings.values() if reading.readout in TEXTS
    ]
    fitted = [(encoder, names) for (encoder, *_), names in fits.items()]
    fitted += [(model.encoder, (model.carried,)) for model in trained.values() if model.carried]
    users += [
        ("fitting", encoder)
        for encoder, names in fitted
        if any("words" in sources(config["methods"][name]) for name in names)
    ]
    found: dict[str, list[str]] = {}
    for part, encoder in dict.fromkeys(users):
        found.setdefault(part, []).append(encoder)
    return found


def models_of(block: Block) -> Iterator[Model]:
    """The models of a block, encoder by encoder."""
    for encoder in block.encoders:
        if PRETRAINED in block.trainings:
            yield Model(encoder)
        if RANDOM in block.trainings:
            yield from (Model(encoder, strategy=RANDOM, seed=str(seed)) for seed in block.seeds)
        if FINETUNED in block.trainings:
            for strategy in block.strategies:
                yield from (Model(encoder, block.task, strategy, str(seed)) for seed in block.seeds)


def why_not(
    config: Mapping,
    facts: Facts,
    block: Block,
    model: Model,
    method: str,
    metric: str,
    dataset: Dataset | None,
) -> str | None:
    """Why a cell cannot run, or None. Each reason names what in the configuration could be changed."""
    about = METRICS[metric]
    if model.encoder in facts.missing:
        return facts.missing[model.encoder]
    kind = config["tasks"][model.task]["kind"] if model.task != NA else ""
    if kind not in about.kinds:
        names = " and ".join(TASKS[name].label if name else "pretrained encoders" for name in about.kinds)
        what = f"models fine-tuned for {TASKS[kind].label}" if kind else "pretrained encoders"
        return f"{block.key}.metrics: {metric} is for {names}, not for {what}"
    if not _has_data(config, block, metric):
        return f"{block.key}.task: {metric} needs a task of kind {' or '.join(filter(None, about.kinds))}"
    if dataset is None:
        key = f"metrics.{metric}" if metric in config["metrics"] else f"{block.key}.metrics: {metric}"
        return f"{key} has no dataset for encoders.{model.encoder}"
    if about.readout == TRAINING:
        return None
    if reason := _no_head(config, facts, model, about.readout):
        return reason
    if about.untouched_only and method != NONE and method != model.carried:
        return f"{block.key}.methods: {metric} is measured on the untouched model alone"
    return None if method == NONE else _not_under(config, facts, block, model, method, metric)


def _no_head(config: Mapping, facts: Facts, model: Model, readout: str) -> str | None:
    """That the encoder lacks the pre-training head that a readout takes; None where it has it, or none is taken."""
    head = READOUTS[readout].head
    if head in ("next_sentence", "masked_lm") and not has_head(config, facts, model.encoder, head):
        return f"encoders.{model.encoder} has no {head.replace('_', '-').replace('lm', 'LM')} head"
    return None


def _not_under(config: Mapping, facts: Facts, block: Block, model: Model, method: str, metric: str) -> str | None:
    """Why a model cannot be measured under a method, or None."""
    about, layers = config["methods"][method], depth(config, facts, model.encoder)
    if layers and (place := missing_layer(about, layers)):
        return f"methods.{method}: encoders.{model.encoder} has {layers} layers and no place {place}"
    if "task" in sources(about) and (block.task is None or config["tasks"][block.task]["kind"] != "occupation"):
        return f"{block.key}.task: methods.{method} is fitted to a task of kind occupation"
    if unseen := unseen_setting(about, METRICS[metric].sees, layers):
        setting, places = unseen
        which = "it" if setting == NA else setting
        return f"methods.{method}: {which} acts at {places} alone, and {metric} is made of {METRICS[metric].sees}"
    return None


def _has_data(config: Mapping, block: Block, metric: str) -> bool:
    """Whether the block names a task whose data the metric is made of, if it needs any."""
    if METRICS[metric].datasets not in OF_TASKS:
        return True
    return block.task is not None and config["tasks"][block.task]["kind"] in METRICS[metric].kinds


def _datasets(config: Mapping, block: Block, model: Model, metric: str) -> list[Dataset | None]:
    """The datasets of a metric for a model; [None] where there is none, so that the cell says why."""
    about = METRICS[metric]
    kind = config["tasks"][model.task]["kind"] if model.task != NA else ""
    if kind not in about.kinds or not _has_data(config, block, metric):
        return [None]
    return list(DATASETS[about.datasets](_asked(config, block, model))) or [None]


def _reading(block: Block, model: Model, readout: str, dataset: Dataset) -> Reading:
    return Reading(block.name, model, readout, dataset, (), block.task, block.seeds, block.strategies, block.group)


def _asked(config: Mapping, block: Block, model: Model) -> Asked:
    return Asked(config, model.encoder, block.task, model.training, block.seeds, block.strategies)


def _underlying(readings: Mapping[tuple, Reading], config: Mapping) -> dict[tuple, Reading]:
    """The readings that others are made from, under all methods that are asked for of any of them: vectors (heads are
    trained on raw ones, so these are read wherever scrubbed ones are), and heads that are retrained under methods."""
    found: dict[tuple, Reading] = {}
    for reading in readings.values():
        for readout, dataset in _below(reading, config):
            source = replace(reading, readout=readout, dataset=dataset, methods=())
            known = found.get(source.key, source)
            found[source.key] = replace(known, methods=tuple(dict.fromkeys([*known.methods, *reading.methods])))
    return found


def _below(reading: Reading, config: Mapping) -> list[tuple[str, Dataset]]:
    below = READOUTS[reading.readout].of
    if below is not None:
        names = {reading.dataset.name, *(f"{reading.task}-{text}" for text in texts_of_heads(reading))}
        asked = Asked(config, reading.model.encoder, reading.task, PRETRAINED, (), (SCRUBBING,))
        return [(below, each) for each in DATASETS["task_texts"](asked) if each.name in names]
    if retrains_heads(reading, config):
        return [("nli_heads", training_examples(config, reading.task))]
    return []


def texts_of_heads(reading: Reading) -> list[str]:
    """The texts whose vectors heads are trained on: raw ones after fine-tuning, each strategy's own without it."""
    if reading.readout != "heads":
        return []
    return list(dict.fromkeys(STRATEGIES[name].text for name in strategies_of_heads(reading)))


def strategies_of_heads(reading: Reading) -> list[str]:
    """How the data of heads are debiased: plain after fine-tuning, as the block says without it. A method that is
    active in a training (with-<method>) is none of the data."""
    own = [name for name in reading.strategies if name in STRATEGIES] if reading.model.task == NA else []
    return own or ["plain"]


def retrains_heads(reading: Reading, config: Mapping) -> bool:
    """Whether predictions are asked for of heads that are retrained under each method, too."""
    if reading.readout != "predictions" or reading.model.carried:
        return False
    return config["tasks"][reading.task].get("retrain_heads") is not None


def _fits(readings: Mapping[tuple, Reading], config: Mapping) -> dict[tuple, tuple[str, ...]]:
    """Which methods are fitted to which model for which group of blocks, in the order of the configuration."""
    found: dict[tuple, set[str]] = {}
    for reading in readings.values():
        if reading.model.carried is None:
            named = (method for method in reading.methods if config["methods"][method])
            found.setdefault(reading.fit, set()).update(named)
    return {
        key: tuple(name for name in config["methods"] if name in methods) for key, methods in found.items() if methods
    }
