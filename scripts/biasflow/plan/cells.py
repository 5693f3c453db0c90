"""The plan of a run: the cells of the matrix that a configuration asks for, why some of them cannot be measured, and
the readouts, scores and fits that the others need.

A pure function of the configuration and of what lies on disk; rules look up their inputs in it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from biasflow.base.genders import WOMEN_FIRST
from biasflow.encoders.configured import EXTERNAL, GIVEN_AS, Encoder
from biasflow.encoders.families import FAMILIES
from biasflow.matrix import FINETUNED, NA, NOT_RUN, PRETRAINED, RANDOM, RUN, Block, Cell, Dataset, Model
from biasflow.plan.asked import in_parts
from biasflow.plan.blocks import blocks_of
from biasflow.plan.checks import check_texts
from biasflow.plan.datasets import DATASETS, SAMPLED, datasets_of, kinds_of, named_after_own_files, own_groups
from biasflow.plan.jobs import FitJob, Plan, Reading, ReadingJob, ReadingKey, Score, ScoringJob
from biasflow.plan.methods import (
    NONE,
    acts_at_sentence,
    acts_in_attention,
    largest_rank,
    missing_layer,
    note_of,
    places_of,
    sources,
    unseen_setting,
)
from biasflow.plan.setup import Setup, kind_of
from biasflow.registry import DECISIONS, EMBEDDING, GIVEN, METRICS, READOUTS, TASKS, TRAINING
from biasflow.tasks.kinds import Asked

Key = TypeVar("Key")


def plan(setup: Setup) -> Plan:
    """Return the cells of a run and the jobs that they need. BiasflowError, naming the key, for what no run can do."""
    blocks = in_parts(blocks_of(setup.config), setup.facts.asked)
    seen: dict[tuple, Cell] = {}
    repeated: list[Cell] = []
    readings: dict[ReadingKey, Reading] = {}
    scored: dict[ScoringJob, dict[tuple, Score]] = {}
    trained: dict[tuple[str, str], Model] = {}
    for block, model in ((one, model) for one in blocks for model in models_of(one)):
        encoder, task = setup.encoders[model.encoder], setup.task(block.task) if block.task else None
        asked = Asked(setup.config, setup.paths, block, model, encoder, task)
        job = ScoringJob(model.encoder, model.training, block.name)
        own_blocks = {other.asked for other in blocks if other.group == block.group}
        for cell, dataset in _cells(setup, asked, seen, repeated, own_blocks):
            if METRICS[cell.metric].readout == TRAINING:
                key = ReadingKey(ReadingJob(*job, TRAINING), TRAINING, TRAINING)
                trained[model.encoder, model.training] = model
            else:
                reading = Reading(block, model, METRICS[cell.metric].readout, dataset, encoder.is_narrow)
                key = _add(readings, reading.key, reading, cell.method)
            score, scores_of_job = Score(model, cell.metric, key, dataset), scored.setdefault(job, {})
            _add(scores_of_job, (cell.metric, key, dataset.label), score, cell.method)
        for readout, dataset in _items(asked):
            reading = Reading(block, model, readout, dataset, encoder.is_narrow)
            _add(readings, reading.key, reading, *block.methods)
    readings = _with_underlying(readings)
    trained |= {(r.model.encoder, r.model.training): r.model for r in readings.values() if r.model.is_trained}
    scores = {job: tuple(scores_of_job.values()) for job, scores_of_job in scored.items()}
    fits = _fits(readings, setup.methods)
    planned = Plan(tuple(seen.values()), readings, scores, fits, trained, tuple(blocks), tuple(repeated))
    check_texts(setup, planned)
    return planned


def _cells(
    setup: Setup, asked: Asked, seen: dict[tuple, Cell], repeated: list[Cell], own_blocks: Collection[str]
) -> Iterator[tuple[Cell, Dataset]]:
    """The cells of a model in a block that run, and their datasets; all of them are put into `seen`, or into `repeated`
    where an earlier block has the same. own_blocks: those of the block's group, such as a paper."""
    block, model, groups = asked.block, asked.model, own_groups(setup.config["fitting"])
    for metric in block.metrics:
        for dataset in _datasets(setup, asked, metric):
            for method in [model.carried] if model.carried else block.methods:
                key = (model, method, metric, dataset.label if dataset else block.task)
                if first := seen.get(key):
                    # A paper does not wait for the scores of another, and so has all of its own.
                    again = block.is_of_paper and first.status == RUN and first.block not in own_blocks
                    repeated.append(replace(first, block=block.asked, part=block.name if again else first.part))
                    if again:
                        yield repeated[-1], dataset
                    continue
                reason = why_not(setup, asked, method, metric, dataset)
                name = dataset.label if dataset else NA
                status = NOT_RUN if reason else RUN
                pair = dataset.scoring.get("pair", WOMEN_FIRST) if dataset else WOMEN_FIRST
                note = "" if reason else note_of(setup.methods[method], _states_read(metric, dataset), groups, pair)
                seen[key] = Cell(block.asked, model, method, metric, name, status, reason or "", note, block.name)
                if not reason:
                    yield seen[key], dataset


def _items(asked: Asked) -> Iterator[tuple[str, Dataset]]:
    """The readouts that a paper prints item by item, and their datasets."""
    for readout, datasets in asked.block.items:
        if not _no_head(asked.encoder, readout) and not asked.encoder.missing:
            yield from ((readout, dataset) for dataset in DATASETS[datasets](asked))


def _add(known: dict[Key, Reading | Score], key: Key, new: Reading | Score, *methods: str) -> Key:
    """Put a reading or a score among the known ones, or the methods to those of the one that is there already."""
    entry = known.get(key, new)
    known[key] = replace(entry, methods=tuple(dict.fromkeys((*entry.methods, *methods))))
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


def why_not(setup: Setup, asked: Asked, method: str, metric: str, dataset: Dataset | None) -> str | None:
    """Return why a cell cannot run, or None. Each reason names what in the configuration could be changed."""
    about, block, model, encoder = METRICS[metric], asked.block, asked.model, asked.encoder
    if encoder.missing:
        return encoder.missing
    if encoder.is_external and (reason := _not_given(asked, method, metric)):
        return reason
    kind, kinds = _kind(asked), kinds_of(metric)
    needed = list(filter(None, kinds)) or [""]
    needs_task = (
        f"{block.key}.task: {metric} needs a task of kind {' or '.join(needed)}; define one under tasks, such as "
        f"{{{needed[0]}: {{kind: {needed[0]}}}}}, and name it here"
    )
    if not _is_measured(asked, metric):
        if needed[0] and not block.task:
            return needs_task
        names = " and ".join(TASKS[name].label if name else "pretrained encoders" for name in kinds)
        models = f"models fine-tuned for {TASKS[kind].label}" if kind else "pretrained encoders"
        return f"{block.key}.metrics: {metric} is for {names}, not for {models}"
    if datasets_of(metric, asked.task, encoder) is None:
        if asked.task and asked.task.about["kind"] in kinds:
            if about.datasets == DECISIONS and GIVEN not in block.strategies:
                return f"{block.key}.metrics: {metric} is of a classifier that is given; name strategies: [{GIVEN}]"
            return f"{block.key}.metrics: {metric}: {asked.task.kind.otherwise.format(task=asked.task.name)}"
        return needs_task
    if dataset is None:
        if about.datasets == "planted_occupations":
            what = "encoders of the project's artificial text (corpus: planted), and for calibrations"
            return f"{block.key}.metrics: {metric} is for {what}"
        key = f"metrics.{metric}" if metric in asked.options else f"{block.key}.metrics: {metric}"
        return f"{key} has no dataset for encoders.{encoder.name}"
    if about.readout == TRAINING and not model.is_trained:
        return f"{block.key}.metrics: {metric} is of a training, and a classifier that is {GIVEN} has none here"
    if reason := _no_data(setup.facts.absent, asked, dataset) or dataset.absent:
        return reason
    if about.readout == TRAINING or encoder.is_external:
        return None
    if reason := _no_head(encoder, about.readout):
        return reason
    if (why := encoder.sentences_alone) and _states_read(metric, dataset) != EMBEDDING:
        return f"encoders.{encoder.name} {why}: nothing but its own vectors of sentences is read"
    if encoder.is_static and model.strategy == RANDOM:
        return f"{block.key}.trainings: encoders.{encoder.name} has no layers to draw anew; leave {RANDOM} out"
    if about.untouched_only and method != NONE and method != model.carried:
        return f"{block.key}.methods: {metric} is measured on the untouched model only"
    return None if method == NONE else _not_under(setup.methods[method], asked, method, metric, dataset)


def _not_given(asked: Asked, method: str, metric: str) -> str | None:
    """Why files of an external encoder cannot stand for what a cell reads, or None where they do."""
    key = f"encoders.{asked.encoder.name}"
    if asked.model.training != PRETRAINED:
        return f"{key} is {EXTERNAL}: it has no weights to train; its files are read as trainings: [{PRETRAINED}]"
    if not asked.encoder.given_for(METRICS[metric].readout, metric):
        readout = METRICS[metric].readout
        return f"{key} is {EXTERNAL} and gives no {GIVEN_AS.get(readout, readout)} for {metric}"
    if method != NONE:
        return f"{key} is {EXTERNAL}: methods.{method} has no weights to act on"
    return None


def _no_head(encoder: Encoder, readout: str) -> str | None:
    """That the encoder lacks the pre-training head that a readout takes; None where it has it, or none is taken."""
    head = READOUTS[readout].head
    if head == "masked_lm" and not encoder.has_mask:
        return f"encoders.{encoder.name} has no mask token in its tokenizer, so no word can be masked"
    if head in ("next_sentence", "masked_lm") and not encoder.has_head(head):
        of_text = head == "next_sentence" and encoder.no_documents
        return of_text or f"encoders.{encoder.name} has no {name_of_head(head)} head: {encoder.lacks_head(head)}"
    return None


def name_of_head(head: str) -> str:
    """Return the name of a head of registry.Readout in words."""
    return head.replace("_", "-").replace("lm", "LM")


def _no_data(absent: Mapping[str, str], asked: Asked, dataset: Dataset) -> str | None:
    """Why files cannot be had that the model is trained on, or measured on. absent: as setup.Facts."""
    read = [dataset, *(below for _, below in dataset.made_from.values())]
    by_role = [names for source in read for names in (source.files, source.scored_with)]
    files = {file for names in by_role for file in chain(*names.values())}
    if asked.model.task != NA:
        files |= set(asked.task.files(asked.task.kind.trained_on).values())
    return next((reason for file, reason in absent.items() if file in files), None)


def _not_under(about: object, asked: Asked, method: str, metric: str, dataset: Dataset) -> str | None:
    """Why a model cannot be measured under a method, or None. about: the method, as plan.methods takes it."""
    encoder, layers = asked.encoder, asked.encoder.depth
    if reason := _no_place(about, encoder, method):
        return reason
    if layers and (place := missing_layer(about, layers)):
        return f"methods.{method}: encoders.{encoder.name} has {layers} layers and no place {place}"
    eraser, rank = largest_rank(about)
    if encoder.width and rank > encoder.width:
        fewer = f"encoders.{encoder.name} has only {encoder.width} dimensions"
        return f"methods.{method}: {eraser} removes {rank} directions, but {fewer}"
    gendered = [kind for kind in TASKS if kind_of(kind).gendered]
    if "task" in sources(about) and not (asked.task and asked.task.kind.gendered):
        return f"{asked.block.key}.task: methods.{method} is fitted to a task of kind {' or '.join(gendered)}"
    if "task" in sources(about) and places_of(about) - {*(known := asked.task.kind.gendered.places)}:
        acts = f"acts at {' or '.join(known)}; write places: {known[0]}"
        return f"methods.{method}: what is fitted to tasks.{asked.task.name} {acts}"
    reads_states = _states_read(metric, dataset)
    if unseen := unseen_setting(about, reads_states, layers):
        acts = f"{'it' if unseen[0] == NA else unseen[0]} acts at {unseen[1]} only"
        return f"methods.{method}: {acts}, so it cannot change {reads_states}, which {metric} reads"
    return None


def _no_place(about: object, encoder: Encoder, method: str) -> str | None:
    """That the encoder's architecture lacks a place that a method acts at, or None."""
    kind, named = encoder.model_type, f"encoders.{encoder.name} (model type {encoder.model_type})"
    if acts_at_sentence(about):
        lack = f"methods.{method}: encoders.{encoder.name} has no modules.json, so no vector of sentences of its own"
        return None if encoder.is_sentence_encoder else lack
    if kind is not None and kind not in FAMILIES:
        return f"methods.{method}: the layers of {named} are not known; measure it as it is"
    if kind is not None and not FAMILIES[kind].attention and acts_in_attention(about):
        return f"methods.{method}: {named} makes query, key and value in one matrix, so it has no such places"
    return None


def _states_read(metric: str, dataset: Dataset) -> str:
    return dataset.reads_states or METRICS[metric].reads_states


def _is_measured(asked: Asked, metric: str) -> bool:
    """Whether a metric is for such models: of its kinds of task, or external ones that give what it reads."""
    if asked.encoder.is_external:
        return bool(asked.encoder.given_for(METRICS[metric].readout, metric))
    return _kind(asked) in kinds_of(metric)


def _kind(asked: Asked) -> str:
    """The kind of task that the model is fine-tuned for; "" for none."""
    return "" if asked.model.task == NA else asked.task.about["kind"]


def _datasets(setup: Setup, asked: Asked, metric: str) -> list[Dataset | None]:
    """The datasets of a metric for a model; [None] where there is none, so that the cell says why."""
    datasets = datasets_of(metric, asked.task, asked.encoder)
    if datasets is None or not _is_measured(asked, metric):
        return [None]
    named = [named_after_own_files(dataset, asked.paths) for dataset in datasets(asked)]
    return [_limited(setup, asked, METRICS[metric].datasets, dataset) for dataset in named] or [None]


def _limited(setup: Setup, asked: Asked, kind: str, dataset: Dataset) -> Dataset:
    """A dataset with the limits that its scores depend on: that of the task whose data it is of or that the model was
    fine-tuned on, or a method of the block fitted to, and that of the block, which its readout is given."""
    fitted = asked.task and any("task" in sources(setup.methods[name]) for name in asked.block.methods)
    on_task = asked.task and (asked.model.task != NA or kind not in DATASETS or fitted)
    of_task = [asked.task.about.get("limit")] if on_task else []
    of_block = asked.block.limit if kind in SAMPLED else None
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


def _fits(readings: Mapping[ReadingKey, Reading], about: Mapping[str, object]) -> dict[FitJob, tuple[str, ...]]:
    """Which methods are fitted to which model for which group of blocks, in the order of the configuration."""
    by_job: dict[FitJob, set[str]] = {}
    for reading in readings.values():
        if reading.model.carried is None:
            named = (method for method in reading.methods if about[method])
            by_job.setdefault(reading.fit, set()).update(named)
    return {job: tuple(name for name in about if name in methods) for job, methods in by_job.items() if methods}
