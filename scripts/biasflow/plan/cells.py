"""The plan of a run: the cells of the matrix that a configuration asks for, why some of them cannot be measured, and
the readouts, scores and fits that the others need.

A pure function of the configuration and of what lies on disk (facts); rules look up their inputs in it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from biasflow.asking.matrix import FINETUNED, NA, NOT_RUN, PRETRAINED, RANDOM, RUN, Block, Cell, Dataset, Model
from biasflow.asking.sources import EXTERNAL, given_files, is_external, origin
from biasflow.asking.tasks import Asked, TaskPlan
from biasflow.encoders.families import FAMILIES
from biasflow.plan.asked import in_parts
from biasflow.plan.blocks import blocks_of
from biasflow.plan.checks import check_texts
from biasflow.plan.datasets import DATASETS, SAMPLED, datasets_of, kinds_of, own_groups
from biasflow.plan.facts import Facts, depth, has_head, is_narrow, model_type, pooling, width
from biasflow.plan.jobs import FitJob, Plan, Reading, ReadingJob, ReadingKey, Score, ScoringJob
from biasflow.plan.methods import NONE, acts_in_attention, largest_rank, missing_layer, note_of, sources, unseen_setting
from biasflow.plan.tasks import kind_of, task_of
from biasflow.registry import METRICS, READOUTS, TASKS, TRAINING

Key = TypeVar("Key")


def plan(config: Mapping, facts: Facts) -> Plan:
    """The plan of a resolved configuration. BiasflowError, naming the key, for what no run can do."""
    blocks = in_parts(blocks_of(config), facts.asked)
    seen: dict[tuple, Cell] = {}
    repeated: list[Cell] = []
    readings: dict[ReadingKey, Reading] = {}
    scored: dict[ScoringJob, dict[tuple, Score]] = {}
    trained: dict[tuple[str, str], Model] = {}
    narrow = {encoder: is_narrow(config, facts, encoder) for encoder in config["encoders"]}
    for block, model in ((each, model) for each in blocks for model in models_of(each)):
        job = ScoringJob(model.encoder, model.training, block.name)
        for cell, dataset in _cells(config, facts, block, model, seen, repeated):
            if METRICS[cell.metric].readout == TRAINING:
                key = ReadingKey(ReadingJob(*job, TRAINING), TRAINING, TRAINING)
                trained[model.encoder, model.training] = model
            else:
                reading = Reading(block, model, METRICS[cell.metric].readout, dataset, narrow[model.encoder])
                key = _add(readings, reading.key, reading, cell.method)
            score, own = Score(cell.metric, key, dataset), scored.setdefault(job, {})
            _add(own, (cell.metric, key, dataset.label), score, cell.method)
        for readout, dataset in _items(config, facts, block, model):
            reading = Reading(block, model, readout, dataset, narrow[model.encoder])
            _add(readings, reading.key, reading, *block.methods)
    readings = _with_underlying(readings)
    trained |= {(r.model.encoder, r.model.training): r.model for r in readings.values() if r.model.task != NA}
    scores = {job: tuple(own.values()) for job, own in scored.items()}
    fits = _fits(readings, config)
    planned = Plan(tuple(seen.values()), readings, scores, fits, trained, tuple(blocks), facts.absent, tuple(repeated))
    check_texts(config, facts, planned)
    return planned


def _cells(
    config: Mapping, facts: Facts, block: Block, model: Model, seen: dict[tuple, Cell], repeated: list[Cell]
) -> Iterator[tuple[Cell, Dataset]]:
    """The cells of a model in a block that run, and their datasets; all of them are put into `seen`, or into `repeated`
    where an earlier block has the same."""
    for metric in block.metrics:
        for dataset in _datasets(config, facts, block, model, metric):
            for method in [model.carried] if model.carried else block.methods:
                key = (model, method, metric, dataset.label if dataset else block.task)
                if key in seen:
                    repeated.append(replace(seen[key], block=block.asked))
                    continue
                reason = why_not(config, facts, block, model, method, metric, dataset)
                name = dataset.label if dataset else NA
                status = NOT_RUN if reason else RUN
                about = config["methods"][method]
                note = "" if reason else note_of(about, _sees(metric, dataset), own_groups(config))
                seen[key] = Cell(block.asked, model, method, metric, name, status, reason or "", note)
                if not reason:
                    yield seen[key], dataset


def _items(config: Mapping, facts: Facts, block: Block, model: Model) -> Iterator[tuple[str, Dataset]]:
    """The readouts that a paper prints item by item, and their datasets."""
    for readout, datasets in block.items:
        if not _no_head(config, facts, model, readout) and model.encoder not in facts.missing:
            yield from ((readout, dataset) for dataset in DATASETS[datasets](_asked(config, block, model)))


def _add(known: dict[Key, Reading | Score], key: Key, new: Reading | Score, *methods: str) -> Key:
    """Put a reading or a score among the known ones, or the methods to those of the one that is there already."""
    there = known.get(key, new)
    known[key] = replace(there, methods=tuple(dict.fromkeys((*there.methods, *methods))))
    return key


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
    if is_external(config, model.encoder) and (reason := _not_given(config, model, method, about.readout)):
        return reason
    kind, kinds = _kind(config, model.task), kinds_of(metric)
    if not _is_measured(config, model, metric):
        names = " and ".join(TASKS[name].label if name else "pretrained encoders" for name in kinds)
        what = f"models fine-tuned for {TASKS[kind].label}" if kind else "pretrained encoders"
        return f"{block.key}.metrics: {metric} is for {names}, not for {what}"
    if datasets_of(metric, _task(config, block)) is None:
        return f"{block.key}.task: {metric} needs a task of kind {' or '.join(filter(None, kinds))}"
    if dataset is None:
        key = f"metrics.{metric}" if metric in config["metrics"] else f"{block.key}.metrics: {metric}"
        return f"{key} has no dataset for encoders.{model.encoder}"
    if reason := _no_data(facts, model, dataset, _task(config, block)):
        return reason
    if about.readout == TRAINING or is_external(config, model.encoder):
        return None
    if reason := _no_head(config, facts, model, about.readout):
        return reason
    if about.untouched_only and method != NONE and method != model.carried:
        return f"{block.key}.methods: {metric} is measured on the untouched model only"
    return None if method == NONE else _not_under(config, facts, block, model, method, metric, dataset)


def _not_given(config: Mapping, model: Model, method: str, readout: str) -> str | None:
    """Why files of an external encoder cannot stand for what a cell reads, or None where they do."""
    key = f"encoders.{model.encoder}"
    if model.training != PRETRAINED:
        return f"{key} is {EXTERNAL}: it has no weights to train; its files are read as trainings: [{PRETRAINED}]"
    if readout not in given_files(config["encoders"][model.encoder]):
        return f"{key} is {EXTERNAL} and gives no {readout}"
    if method != NONE:
        return f"{key} is {EXTERNAL}: methods.{method} has no weights to act on"
    return None


def _no_head(config: Mapping, facts: Facts, model: Model, readout: str) -> str | None:
    """That the encoder lacks the pre-training head that a readout takes; None where it has it, or none is taken."""
    head = READOUTS[readout].head
    if head == "masked_lm" and origin(config, model.encoder) in facts.without_mask:
        return f"encoders.{model.encoder} has no mask token in its tokenizer, so no word can be masked"
    if head in ("next_sentence", "masked_lm") and not has_head(config, facts, model.encoder, head):
        return f"encoders.{model.encoder} has no {name_of_head(head)} head"
    return None


def name_of_head(head: str) -> str:
    """A head of registry.Readout in words."""
    return head.replace("_", "-").replace("lm", "LM")


def _no_data(facts: Facts, model: Model, dataset: Dataset, task: TaskPlan | None) -> str | None:
    """Why files cannot be had that the model is trained on, or measured on."""
    read = [dataset, *(below for _, below in dataset.made_from.values())]
    files = {
        file
        for each in read
        for names in (each.files, each.scored_with)
        for of_role in names.values()
        for file in of_role
    }
    if model.task != NA:
        files |= set(task.files(task.kind.trained_on).values())
    return next((reason for file, reason in facts.absent.items() if file in files), None)


def _not_under(
    config: Mapping, facts: Facts, block: Block, model: Model, method: str, metric: str, dataset: Dataset
) -> str | None:
    """Why a model cannot be measured under a method, or None."""
    about, layers = config["methods"][method], depth(config, facts, model.encoder)
    if reason := _no_place(config, facts, model.encoder, method):
        return reason
    if layers and (place := missing_layer(about, layers)):
        return f"methods.{method}: encoders.{model.encoder} has {layers} layers and no place {place}"
    (eraser, rank), dimensions = largest_rank(about), width(config, facts, model.encoder)
    if dimensions and rank > dimensions:
        fewer = f"encoders.{model.encoder} has only {dimensions} dimensions"
        return f"methods.{method}: {eraser} removes {rank} directions, but {fewer}"
    gendered = [kind for kind in TASKS if kind_of(kind).gendered]
    if "task" in sources(about) and _kind(config, block.task) not in gendered:
        return f"{block.key}.task: methods.{method} is fitted to a task of kind {' or '.join(gendered)}"
    sees = _sees(metric, dataset)
    if unseen := unseen_setting(about, sees, layers):
        setting, places = unseen
        which = "it" if setting == NA else setting
        return f"methods.{method}: {which} acts at {places} only, so it cannot change {sees}, which {metric} reads"
    return None


def _no_place(config: Mapping, facts: Facts, encoder: str, method: str) -> str | None:
    """That the encoder's architecture lacks a place that a method acts at, or None."""
    kind = model_type(config, facts, encoder)
    if kind is not None and kind not in FAMILIES:
        return (
            f"methods.{method}: the layers of encoders.{encoder} (model type {kind}) are not known; measure it as it is"
        )
    if kind is not None and not FAMILIES[kind].attention and acts_in_attention(config["methods"][method]):
        return (
            f"methods.{method}: encoders.{encoder} (model type {kind}) makes query, key and value in one matrix, so it "
            "has no such places"
        )
    return None


def _sees(metric: str, dataset: Dataset) -> str:
    return dataset.sees or METRICS[metric].reads_states


def _is_measured(config: Mapping, model: Model, metric: str) -> bool:
    """Whether a metric is for such models: of its kinds of task, or external ones that give what it reads."""
    if is_external(config, model.encoder):
        return METRICS[metric].readout in given_files(config["encoders"][model.encoder])
    return _kind(config, model.task) in kinds_of(metric)


def _kind(config: Mapping, task: str | None) -> str:
    """The kind of a task; "" for none."""
    return config["tasks"][task]["kind"] if task in config["tasks"] else ""


def _task(config: Mapping, block: Block) -> TaskPlan | None:
    return task_of(config, block.task) if block.task else None


def _asked(config: Mapping, block: Block, model: Model) -> Asked:
    return Asked(config, model, _task(config, block), block.seeds, block.strategies)


def _datasets(config: Mapping, facts: Facts, block: Block, model: Model, metric: str) -> list[Dataset | None]:
    """The datasets of a metric for a model; [None] where there is none, so that the cell says why."""
    datasets = datasets_of(metric, _task(config, block))
    if datasets is None or not _is_measured(config, model, metric):
        return [None]
    own = None if block.key.startswith("papers.") else pooling(config, facts, model.encoder)
    found = datasets(replace(_asked(config, block, model), pooling=own))
    return [_limited(config, block, model, METRICS[metric].datasets, dataset) for dataset in found] or [None]


def _limited(config: Mapping, block: Block, model: Model, kind: str, dataset: Dataset) -> Dataset:
    """A dataset with the limits that its scores depend on: that of the task whose data it is of or that the model was
    fine-tuned on, or a method of the block fitted to, and that of the block, which its readout is given."""
    fitted = block.task and any("task" in sources(config["methods"][name]) for name in block.methods)
    on_task = model.task != NA or kind not in DATASETS or fitted
    of_task = [config["tasks"][block.task].get("limit")] if on_task else []
    of_block = block.limit if kind in SAMPLED else None
    limits = tuple(limit for limit in (*of_task, of_block) if limit)
    options = dataset.options if of_block is None else {**dataset.options, "limit": of_block}
    return replace(dataset, options=options, limits=limits)


def _with_underlying(readings: Mapping[ReadingKey, Reading]) -> dict[ReadingKey, Reading]:
    """The readings, and those that they are made from before them, since one job may read both: under all methods that
    are asked for of any of them. What an earlier block has is not read again."""
    below: dict[ReadingKey, Reading] = {}
    above: dict[ReadingKey, Reading] = {}
    for key, reading in readings.items():
        made_from = {}
        for role, (readout, dataset) in reading.dataset.made_from.items():
            source = replace(reading, readout=readout, dataset=dataset, methods=())
            place = next((other for other, known in below.items() if _serves(known, source, reading)), source.key)
            known = below.get(place, source)
            below[place] = replace(known, methods=tuple(dict.fromkeys([*known.methods, *reading.methods])))
            made_from[role] = place
        above[key] = replace(reading, made_from=made_from)
    return below | above


def _serves(known: Reading, source: Reading, reading: Reading) -> bool:
    """Whether a reading of an earlier block is what another is made from, under all its methods."""
    same = (known.fit, known.readout, known.dataset) == (source.fit, source.readout, source.dataset)
    return same and known.block.name != source.block.name and set(reading.methods) <= set(known.methods)


def _fits(readings: Mapping[ReadingKey, Reading], config: Mapping) -> dict[FitJob, tuple[str, ...]]:
    """Which methods are fitted to which model for which group of blocks, in the order of the configuration."""
    found: dict[FitJob, set[str]] = {}
    for reading in readings.values():
        if reading.model.carried is None:
            named = (method for method in reading.methods if config["methods"][method])
            found.setdefault(reading.fit, set()).update(named)
    return {
        job: tuple(name for name in config["methods"] if name in methods) for job, methods in found.items() if methods
    }
