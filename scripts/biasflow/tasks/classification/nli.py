"""Natural language inference: a configuration of the kind of classified texts, with the gender-occupation pairs that
are made of word lists (Dawkins et al. 2024)."""

from collections.abc import Mapping
from dataclasses import replace

from biasflow.base.names import naming, require
from biasflow.corpora.catalogue import Catalogue
from biasflow.corpora.nli import LABELS, TEXTS
from biasflow.encoders.configured import PLANTED
from biasflow.matrix import Dataset
from biasflow.planted.nli import occupation_pair_words
from biasflow.registry import PACKAGE
from biasflow.tasks.classification.plan import PARTS, of_parts, part_of
from biasflow.tasks.kinds import WORLD, Asked, Step, TaskPlan, corpus_files
from biasflow.text.occupation_pairs import LISTS, check_words, select

DEV = "dev2020"
PAIRS = f"{PACKAGE}.tasks.classification.pairs"
COLUMNS = {"texts": [*TEXTS], "labels": [*LABELS]}


def pair_files(task: TaskPlan, catalogue: Catalogue) -> Mapping[str, list[str]]:
    """Return part of the pairs -> files; no files for a part that is held out of another."""
    data = task.about["data"]
    return (
        WORLD if data == PLANTED else {part: corpus_files(task, data[part], catalogue) for part in PARTS if data[part]}
    )


def occupations(task: TaskPlan) -> str:
    """Return which word lists make the gender-occupation pairs: those that the configuration names, or by default those
    that fit the data: embedded lists for embedded pairs, real ones for others."""
    return task.about["occupations"] or (PLANTED if task.about["data"] == PLANTED else DEV)


def word_lists(task: TaskPlan, catalogue: Catalogue) -> Mapping[str, list[str]]:
    """The word lists that the gender-occupation pairs are made of."""
    if occupations(task) == PLANTED:
        return WORLD
    return {name: [task.paths.corpus(f"{DEV}-{name}")] for name in LISTS}


def test_sets(asked: Asked) -> list[Dataset]:
    """The test part, for accuracy."""
    return [_with_heads(asked, part_of(asked, "test", COLUMNS, batch_size=asked.task.about["batch_size"]))]


def occupation_pairs(asked: Asked) -> list[Dataset]:
    """The gender-occupation pairs, for fairness. BiasflowError for a selection of which none can be made; that of
    downloaded lists is known to have templates when these are there."""
    about = asked.task.about
    if occupations(asked.task) == PLANTED:
        words, selection = occupation_pair_words(), about["selections"][about["selection"]]
        with naming(f"tasks.{asked.task.name}.selections.{about['selection']}"):
            select(words["occupations"], words["templates"], **selection)
    options = {"batch_size": about["batch_size"], "max_length": about["finetuning"]["max_length"], "task": PAIRS}
    files = {"pairs": (asked.task.file("occupation_pairs.json"),)}
    return [_with_heads(asked, Dataset("occupation-pairs", files, options, modules=(PAIRS,)))]


def _with_heads(asked: Asked, dataset: Dataset) -> Dataset:
    """What is predicted; with heads that are retrained under each method, by these too."""
    training = asked.task.about["retrain_heads"]
    if training is None or asked.model.carried:
        return dataset
    return replace(dataset, made_from={"heads": ("nli_heads", part_of(asked, "train", COLUMNS, **training))})


def check(task: TaskPlan) -> None:
    """Raise BiasflowError for an unknown selection, and for one whose words are not in pairs."""
    chosen, selections = task.about["selection"], task.about["selections"]
    require(chosen, selections, f"tasks.{task.name}.selection", "selections")
    for name, selection in selections.items():
        with naming(f"tasks.{task.name}.selections.{name}"):
            check_words(selection["masculine"], selection["feminine"])


KIND = of_parts(
    Step(
        "nli_data",
        "tasks.classification.parts",
        {**{part: f"{part}.csv" for part in PARTS}, "sources": "sources.csv"},
        sources=pair_files,
        options=lambda task: {"reader": "nli", **{key: task.about[key] for key in ("data", "planted", "limit")}},
        memory=6000,
        runtime=30,
    ),
    Step(
        "occupation_pairs",
        "tasks.classification.pairs",
        {"pairs": "occupation_pairs.json"},
        sources=word_lists,
        options=lambda task: task.about["selections"][task.about["selection"]],
        memory=1000,
        runtime=10,
    ),
    columns=lambda task: COLUMNS,
    datasets={"test_sets": test_sets, "occupation_pairs": occupation_pairs},
    printed={"occupation_pairs": "occupation_pairs.json"},
    check=check,
)
