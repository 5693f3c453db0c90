"""The plan of the classification of texts or pairs of texts, and what its configurations nli, glue and occupation
share.

A task whose texts are of people with a gender is split anew by every seed, has a classifier on the first token, and all
that needs a gender: gaps, probes, balancing. Any other has fixed parts and the classification head of transformers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import GENDERS, pairs_of
from biasflow.base.names import naming
from biasflow.corpora.bios import by_value
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import PLANTED
from biasflow.encoders.described import classes_of
from biasflow.encoders.places import LAST_CLS, POOLED
from biasflow.encoders.places import SENTENCE as SENTENCE_PLACE
from biasflow.matrix import NA, PRETRAINED, Dataset, of_pairs
from biasflow.registry import (
    ADAPTED,
    DECIDED,
    DECISIONS,
    EMBEDDING,
    ENGLISH,
    FIRST_TOKEN_HEAD,
    GIVEN,
    GROUP,
    PACKAGE,
    SENTENCE,
    STRATEGIES,
    module_of,
)
from biasflow.tasks.cuts import BALANCED
from biasflow.tasks.kinds import Asked, Gendered, Kind, Options, Step, TaskPlan, corpus_files, recipe, with_hidden_layer

RAW, SCRUBBED = "raw", "scrubbed"
TEXTS = {"texts": "texts.parquet"}  # role -> file of the task's data
PARTS = ("train", "validation", "test")
GIVEN_MODULE = f"{PACKAGE}.tasks.classification.given"
DECIDED_TEXTS = {"texts": "decided.parquet"}  # those of a task that tests a classifier which is given
DECIDED_UNDERSTOOD = "decided.csv"
UNDERSTOOD = "understood.csv"  # what was read of the user's files, in a sentence
READ_FIRST = 32e6  # bytes of texts that are read before the first job: three seconds
Columns = Callable[[TaskPlan], Options]  # texts and labels of the task's `train` and `examples`


def probed_texts(asked: Asked) -> list[Dataset]:
    """Return the vectors from which probes predict gender, with their splits and seeds."""
    probe = asked.options["compression"]
    options = {"cuts": asked.task.cuts, "split_seeds": asked.split_seeds, "probe_seeds": probe["seeds"]}
    options |= {key: probe[key] for key in ("data", "epochs")}
    datasets = [_made_of_vectors(asked, text, options, modules=(asked.task.cuts,)) for text in _texts(asked)]
    return _of_genders(asked.task, datasets)


def families(asked: Asked) -> list[Dataset]:
    """Return the vectors from which probes of several families predict gender: one probe of each for a split."""
    options = {"cuts": asked.task.cuts, "data": [BALANCED], "split_seeds": asked.split_seeds, "probe_seeds": [0]}
    options["hidden"] = asked.options["probe_families"]["hidden"]
    datasets = [_made_of_vectors(asked, text, options, modules=(asked.task.cuts,)) for text in _texts(asked)]
    return _of_genders(asked.task, datasets)


def classified_texts(asked: Asked) -> list[Dataset]:
    """Return the texts whose labels are predicted: by a model's own head and retrained ones, or, on an encoder that is
    not fine-tuned, by heads of each strategy. Strategies that act on the encoder in training (with-<method>, an
    adversary, BLIND) have no such heads."""
    fine_tuned = asked.model.task != NA
    modules: tuple[str, ...] = ()
    options = dict(asked.task.about["heads" if fine_tuned else "frozen"])
    seeds = options.pop("seeds")
    if fine_tuned:
        options |= {"split_seeds": asked.split_seeds, "head_seeds": seeds}
        texts = {RAW}
    else:
        strategies = [name for name in asked.block.strategies if name in STRATEGIES]
        names = [name for name in strategies if not STRATEGIES[name].adapts] or ["plain"]
        modules = tuple(module_of(STRATEGIES[name]) for name in names)
        known = [{"name": name, "module": STRATEGIES[name].module, "text": STRATEGIES[name].text} for name in names]
        options |= {"split_seeds": seeds, "strategies": known}
        texts = {strategy["text"] for strategy in known}
    printed = asked.task.kind.printed
    scored_with = {role: (asked.task.file(printed[role]),) for role in ("professions",) if role in printed}
    about = {"scored_with": scored_with, "modules": modules}
    datasets = [_made_of_vectors(asked, text, {"text": text, **options}, texts, **about) for text in _texts(asked)]
    return [of_pair for dataset in datasets for of_pair in _by_pair(asked.task, dataset)]


def _by_pair(task: TaskPlan, dataset: Dataset) -> list[Dataset]:
    """The dataset or, if the texts have further groups, one for each pair of groups."""
    if not (further := _further(task)):
        return [dataset]
    about = {"texts": dataset.files["texts"]}
    pairs = of_pairs(dataset, pairs_of([*GENDERS, *further]), least=task.about["data"]["least"])
    return [replace(one, scored_with={**one.scored_with, **about}) for one in pairs]


def _of_genders(task: TaskPlan, datasets: list[Dataset]) -> list[Dataset]:
    """The datasets, and for each further group of the texts one on which nothing is measured, and why."""
    absent = {
        group: f"tasks.{task.name}.groups: only women and men are told apart here; of {group} there are gaps (fairness)"
        for group in _further(task)
    }
    others = [replace(one, name=f"{one.name}-{group}", absent=why) for one in datasets for group, why in absent.items()]
    return datasets + others


def _further(task: TaskPlan) -> list[str]:
    """The groups that the texts of a task have beside women and men."""
    return [group for group in task.about.get("groups") or () if group not in GENDERS]


def adversaries(asked: Asked) -> list[Dataset]:
    """Return the record of an adversary in the training, as a dataset."""
    return [Dataset("validation")]


def _texts(asked: Asked) -> list[str]:
    """The raw texts; the scrubbed ones, too, where a model was trained on such, and for comparison with it."""
    strategies = asked.block.strategies if asked.model.training == PRETRAINED else [asked.model.strategy]
    return [RAW, SCRUBBED] if "scrubbing" in strategies else [RAW]


def _made_of_vectors(asked: Asked, text: str, options: Mapping, texts: Collection[str] = (), **about) -> Dataset:
    """The dataset of the vectors of a text: of the first token or, where the task says so (`pooling`) and the encoder
    is not fine-tuned, those that sentence-transformers makes; texts: on which heads are trained, whose vectors it
    holds, too; about: what else `Dataset` says."""
    task, encoder, suffix = asked.task, asked.encoder, ""
    files = {"texts": (task.file("texts.parquet"),)}
    place = SENTENCE_PLACE if asked.model.task == NA and task.about.get("pooling") == SENTENCE_PLACE else LAST_CLS
    if place == SENTENCE_PLACE:
        lack = f"tasks.{task.name}.pooling: encoders.{encoder.name} has no modules.json, so no vector of sentences"
        suffix = f"-{place}"
        about |= {"reads_states": EMBEDDING, "absent": "" if encoder.is_sentence_encoder else lack}
    vectors = {}
    for version in sorted({text, *texts}):
        of_version = {"text": version, **_read_at(task, place)}
        dataset = Dataset(f"{task.name}-{version}", files, of_version, suffix=suffix)
        vectors["vectors" if version == text else version] = "first_token", dataset
    return Dataset(f"{task.name}-{text}", files, options, made_from=vectors, suffix=suffix, **about)


def _read_at(task: TaskPlan, place: str) -> Options:
    """How texts are read at a place; a sentence encoder says itself how long they may be."""
    return {"place": place} if place == SENTENCE_PLACE else {"max_length": task.about["finetuning"]["max_length"]}


def splits(task: TaskPlan) -> dict[str, object]:
    """The seeds and strategies that all labels must be balanced for: those of all fine-tunings, and of the heads on
    encoders that are not fine-tuned."""
    blocks = [block for block in task.blocks if block.task == task.name]
    seeds = {*task.about["frozen"]["seeds"], *(seed for block in blocks for seed in block.seeds)}
    named = {name for block in blocks for name in block.strategies}
    return {"seeds": sorted(seeds), "strategies": [name for name in STRATEGIES if name in named]}


def advice(task: TaskPlan) -> str:
    """Say what to do if splits of the user's texts cannot be balanced."""
    key = f"tasks.{task.name}"
    more = "give more texts" if task.about["limit"] is None else f"raise {key}.limit"
    if task.about["data"]["small"] == "drop":
        return f"{more}, have it dropped (a larger {key}.data.least), or ask for another seed"
    return f"{more}, or have it dropped ({key}.data.small: drop)"


def understood(task: TaskPlan, catalogue: Catalogue) -> str:
    """Say what is read of the user's files and what is left out, before the texts are collected for the first time, if
    these are read in seconds; BiasflowError for what collecting refuses."""
    data = task.about["data"]
    if data == PLANTED or Path(task.file(task.kind.drops)).exists():
        return ""
    names = list(files_of(data))
    files = dict(zip(names, map(Path, corpus_files(task, names, catalogue)), strict=True))
    if not all(path.is_file() for path in files.values()):
        return ""
    if sum(path.stat().st_size for path in files.values()) > READ_FIRST:
        return ""
    options = dict(task.kind.steps[0].options(task))  # of the texts
    if "reader" in options:
        from biasflow.tasks.classification.parts import of_table  # slow to load, and needed for such files alone

        about = {key: options[key] for key in ("columns", "parts")}
        return str(of_table({"files": list(files.values())}, **about)[1]["understood"])
    from biasflow.tasks.classification.collect import kept  # likewise

    return kept(files, options["data"], advice=options["advice"], limit=options["limit"]).understood


def files_of(data: Mapping) -> dict[str, str]:
    """Return the files of a task, and the part that each is, "" where files are not parts."""
    return dict.fromkeys(data.get("files", ()), "") | {name: part for part in PARTS for name in data.get(part, ())}


def of_people(
    collect: Step, splits_rule: str, *further: Step, say: Callable[[TaskPlan], str] = advice, **about: object
) -> Kind:
    """The kind of tasks whose texts are of people with a gender. collect: the step that makes their texts; splits_rule:
    the name of the rule that tries all splits; further: steps; say: what to do if splits cannot be balanced; about:
    what else `Kind` says."""
    check_splits = Step(
        splits_rule,
        "tasks.classification.splits",
        {"splits": "splits.csv"},
        made_from=TEXTS,
        options=lambda task: {**splits(task), "advice": say(task)},
        memory=8000,
        priority=1,  # before anything is trained
    )
    return Kind(
        steps=(collect, check_splits, *further),
        checks=("splits.csv",),
        trained_on=TEXTS,
        dropped=understood,
        datasets={
            "probed_texts": probed_texts,
            "mlp_probed_texts": with_hidden_layer(probed_texts),
            "families": families,
            "classified_texts": classified_texts,
            "adversaries": adversaries,
        },
        gendered=Gendered(
            "tasks.classification.gendered_vectors",
            TEXTS,
            lambda task, seed, place: {"seed": seed, **_read_at(task, place)},
            (LAST_CLS, SENTENCE_PLACE),
        ),
        **{"has": frozenset({GROUP, ENGLISH, FIRST_TOKEN_HEAD, ADAPTED}), **about},
    )


def of_parts(
    collect: Step, *further: Step, columns: Columns, datasets: Mapping[str, Callable[[Asked], list[Dataset]]], **about
) -> Kind:
    """The kind of tasks whose texts are in fixed parts. collect: the step that makes them; further: steps; columns:
    texts and labels of a task; datasets, about: as `Kind` has them."""
    return Kind(
        steps=(collect, *further),
        trained_on={part: f"{part}.csv" for part in ("train", "validation")},
        datasets=datasets,
        training=lambda task, strategy: {**recipe(task, strategy), **columns(task)},
        head="classification",
        has=frozenset({ADAPTED}),
        **about,
    )


def part_of(asked: Asked, part: str, columns: Options, **options: object) -> Dataset:
    """A part of a task's texts whose labels are predicted. columns: its texts and labels; options: further ones of the
    readout."""
    task = asked.task
    files = {"examples": (task.file(f"{part}.csv"),)}
    if columns["labels"] == []:
        files["train"] = (task.file("train.csv"),)
    options = {"max_length": task.about["finetuning"]["max_length"], "task": task.module, **columns, **options}
    return Dataset(part, files, options, modules=(task.module,))


def own_columns(task: TaskPlan) -> dict[str, Sequence[str]]:
    """The columns of the user's texts; their labels are those of the data."""
    return {"texts": _texts_of(task.about), "labels": []}


def _texts_of(about: Mapping) -> list[str]:
    text = about["columns"]["text"]
    return [text] if isinstance(text, str) else text


def _of_people(task: TaskPlan) -> dict[str, object]:
    data = {key: task.about["data"][key] for key in ("least", "small")}
    data |= {key: task.about[key] for key in ("columns", "groups", "unknown")} | _files_and_parts(task)
    return {"data": data, "scrubbing": task.about["scrubbing"], "limit": task.about["limit"], "advice": advice(task)}


def _files_and_parts(task: TaskPlan) -> dict[str, list[str]]:
    files = files_of(task.about["data"])
    return {"files": list(files), "parts": [*filter(None, files.values())]}


def _files(task: TaskPlan, catalogue: Catalogue) -> dict[str, list[str]]:
    return {"files": corpus_files(task, list(files_of(task.about["data"])), catalogue)}


def check_files(task: TaskPlan) -> None:
    """Raise BiasflowError unless the data are files, or a file or more for each part, which no column tells then."""
    data, key = task.about["data"], f"config: key 'tasks.{task.name}"
    named = [name for name in ("files", *PARTS) if name in data]
    if named not in (["files"], [*PARTS]):
        raise BiasflowError(f"{key}.data': has {', '.join(named) or 'no file'}; name files, or {', '.join(PARTS)}")
    if named != ["files"] and task.about["columns"]["split"]:
        raise BiasflowError(f"{key}.columns.split': the files say which part a text is in; leave it out")
    if task.about["columns"]["label"] is None and DECIDED not in task.kind.has:
        raise BiasflowError(f"{key}.columns.label': a training needs labels; name their column")
    if twice := [name for name in files_of(data) if sum(name in data[part] for part in named) > 1]:
        raise BiasflowError(f"{key}.data': {twice[0]} is in two parts; name it in one")


def check(task: TaskPlan) -> None:
    """Raise BiasflowError for files that do not fit (`check_files`), a value of the gender that stands for both, and a
    pair of texts of people with a gender."""
    check_files(task)
    with naming(f"tasks.{task.name}.groups"):
        by_value(task.about["groups"] or {})
    if len(_texts_of(task.about)) > 1:
        raise BiasflowError(
            f"config: key 'tasks.{task.name}.columns.group': pairs of texts are classified without a gender; leave it "
            "out, or name one column of texts"
        )


PEOPLE = of_people(
    Step(
        "labelled_texts",
        "tasks.classification.collect",
        {**TEXTS, "labels": "labels.csv", "sources": "sources.csv", "understood": UNDERSTOOD},
        sources=_files,
        options=_of_people,
        memory=8000,
        runtime=60,
    ),
    "labelled_splits",
    check=check,
    captioned=("scrubbing",),
    drops=UNDERSTOOD,
    otherwise="the accuracy of texts with a gender is one of the measures of fairness; ask for that",
)
WITHOUT_GROUP = of_parts(
    Step(
        "labelled_parts",
        "tasks.classification.parts",
        {**{part: f"{part}.csv" for part in PARTS}, "understood": UNDERSTOOD},
        sources=_files,
        options=lambda task: {
            "reader": "table",
            "columns": {**task.about["columns"], "text": _texts_of(task.about)},
            "parts": _files_and_parts(task)["parts"],
            "limit": task.about["limit"],
        },
        memory=8000,
        runtime=60,
    ),
    columns=own_columns,
    datasets={"test_sets": lambda asked: [part_of(asked, "test", own_columns(asked.task))]},
    check=check_files,
    dropped=understood,
    drops=UNDERSTOOD,
    otherwise="it needs a gender of each text; name its column (tasks.{task}.columns.group)",
)


def _of_given(task: TaskPlan) -> dict[str, object]:
    about = {key: task.about["data"][key] for key in ("least", "small")}
    about |= {key: task.about[key] for key in ("groups", "unknown", "limit")}
    return about | {"columns": dict(task.about["columns"]), "advice": advice(task)}


def decided_texts(asked: Asked) -> list[Dataset]:
    """Return the texts on which a classifier that is given decides, with their copies."""
    table = (asked.task.file(DECIDED_TEXTS["texts"]),)
    options = {"task": GIVEN_MODULE, "given": True}
    copies = Dataset(
        "copies",
        {"examples": table},
        options,
        scored_with={"texts": table},
        modules=(GIVEN_MODULE,),
        part_of="texts",
        reads_states=SENTENCE,
    )
    return _of_genders(asked.task, [copies])


def _decided_labels(asked: Asked) -> list[Dataset]:
    """The same without the copies."""
    return [replace(decided_texts(asked)[0], name="texts", scored_with={})]


def _decided_people(asked: Asked) -> list[Dataset]:
    """The same texts by the gender of whom they are about."""
    decided = decided_texts(asked)[0]
    made_from, texts = {"predictions": ("predictions", decided)}, {"texts": decided.files["examples"]}
    options = {"text": RAW, "split_seeds": [0]}
    people = Dataset("people", texts, options, made_from=made_from, reads_states=SENTENCE)
    return _by_pair(asked.task, people)


def check_given(task: TaskPlan) -> None:
    """Raise BiasflowError for files that do not fit, and for texts on which no classifier that is given can decide."""
    key = f"config: key 'tasks.{task.name}"
    if "files" not in task.about["data"]:
        raise BiasflowError(
            f"{key}.data': a classifier that is given is not trained, so there are no parts; name files"
        )
    check_files(task)
    with naming(f"tasks.{task.name}.groups"):
        by_value(task.about["groups"] or {})
    if len(_texts_of(task.about)) > 1:
        raise BiasflowError(f"{key}.columns.text': pairs of texts are not exchanged; name one column of texts")


def understood_given(task: TaskPlan, catalogue: Catalogue) -> str:
    """As `understood`, of texts for classifiers that are given; BiasflowError for a label that one of these lacks."""
    files = [Path(file) for file in corpus_files(task, list(files_of(task.about["data"])), catalogue)]
    made, there = Path(task.file(DECIDED_UNDERSTOOD)).exists(), all(path.is_file() for path in files)
    if made or not there or sum(path.stat().st_size for path in files) > READ_FIRST:
        return ""
    from biasflow.tasks.classification.given import (  # slow to load, needed for such files
        check_gendered,
        check_labels,
        class_of,
        read_texts,
    )

    texts, said = read_texts(files, **_of_given(task))
    check_gendered(files[0], texts)
    tested, column = texts.loc[texts["tested"], "text"].tolist(), task.about["columns"]["label"]
    for name, encoder in task.classifiers.items():
        classes = classes_of(encoder.described.config)
        for path in files if column else ():
            check_labels(path, column, f"encoders.{name}", classes)
        numbers = {label: class_of(classes)(label) for label in filter(None, texts["label"].unique())}
        meant = [f"{label} is {classes[number]}" for label, number in sorted(numbers.items()) if label.isdecimal()]
        if meant and classes[numbers[min(numbers)]] != min(numbers):
            said += f"; labels by the numbers of {name}: {', '.join(meant)}"
        if cut := encoder.too_long(tested):
            said += f"; {cut:,} of {len(tested):,} tested texts are longer than {name} reads, and are cut"
    return said


OF_GIVEN = Kind(
    steps=(
        Step(
            "given_texts",
            "tasks.classification.given",
            {**DECIDED_TEXTS, "understood": DECIDED_UNDERSTOOD},
            sources=_files,
            options=_of_given,
            memory=8000,
            runtime=60,
        ),
    ),
    trained_on={},
    datasets={DECISIONS: decided_texts},
    head="classification",
    gendered=Gendered("tasks.classification.given", DECIDED_TEXTS, lambda task, seed, place: {}, (POOLED,)),
    has=frozenset({DECIDED}),
    check=check_given,
    dropped=understood_given,
    drops=DECIDED_UNDERSTOOD,
    otherwise="it needs a label of each text, or a gender; name its column (tasks.{task}.columns), or another metric",
)


def _part(about: Mapping, strategies: Collection[str]) -> Kind:
    columns = about["columns"]
    if GIVEN in strategies:
        of_labels = {"test_sets": _decided_labels} if columns["label"] and not columns["group"] else {}
        of_people = {"classified_texts": _decided_people} if columns["group"] else {}
        return replace(OF_GIVEN, datasets={**OF_GIVEN.datasets, **of_labels, **of_people})
    if columns["group"] is None:
        return WITHOUT_GROUP
    return PEOPLE if about["scrubbing"] else replace(PEOPLE, has=PEOPLE.has - {ENGLISH})


KIND = replace(
    PEOPLE,
    steps=PEOPLE.steps + WITHOUT_GROUP.steps + OF_GIVEN.steps,
    datasets={**PEOPLE.datasets, **WITHOUT_GROUP.datasets, **OF_GIVEN.datasets},
    of=_part,
)
