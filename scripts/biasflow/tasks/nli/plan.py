"""The plan of natural language inference: pairs of sentences, and the gender-occupation pairs made of word lists."""

from collections.abc import Mapping

from biasflow.base.names import naming, require
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import PLANTED
from biasflow.matrix import Dataset
from biasflow.planted.nli import occupation_pair_words
from biasflow.registry import PACKAGE
from biasflow.tasks.kinds import WORLD, Asked, Kind, Step, TaskPlan, corpus_files
from biasflow.text.occupation_pairs import LISTS, check_words, select

PARTS = ("train", "validation", "test")
DEV = "dev2020"
EXAMPLES = f"{PACKAGE}.tasks.nli.examples"


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
    return [_asked_of(asked, "test", examples="test.csv")]


def occupation_pairs(asked: Asked) -> list[Dataset]:
    """The gender-occupation pairs, for fairness. BiasflowError for a selection of which none can be made; that of
    downloaded lists is known to have templates when these are there."""
    about = asked.task.about
    if occupations(asked.task) == PLANTED:
        words, selection = occupation_pair_words(), about["selections"][about["selection"]]
        with naming(f"tasks.{asked.task.name}.selections.{about['selection']}"):
            select(words["occupations"], words["templates"], **selection)
    return [_asked_of(asked, "occupation-pairs", pairs="occupation_pairs.json")]


def _asked_of(asked: Asked, name: str, **files: str) -> Dataset:
    """What is predicted; with heads that are retrained under each method, these too."""
    task, about = asked.task, asked.task.about
    common = {"max_length": about["finetuning"]["max_length"], "task": EXAMPLES}
    made_from = {}
    if about["retrain_heads"] is not None and not asked.model.carried:
        options = {**about["retrain_heads"], **common}
        train = Dataset("train", {"examples": (task.file("train.csv"),)}, options, modules=(EXAMPLES,))
        made_from = {"heads": ("nli_heads", train)}
    return Dataset(
        name,
        {role: (task.file(file),) for role, file in files.items()},
        {"batch_size": about["batch_size"], **common},
        modules=(EXAMPLES,),
        made_from=made_from,
    )


def check(task: TaskPlan) -> None:
    """Raise BiasflowError for an unknown selection, and for one whose words are not in pairs."""
    chosen, selections = task.about["selection"], task.about["selections"]
    require(chosen, selections, f"tasks.{task.name}.selection", "selections")
    for name, selection in selections.items():
        with naming(f"tasks.{task.name}.selections.{name}"):
            check_words(selection["masculine"], selection["feminine"])


KIND = Kind(
    steps=(
        Step(
            "nli_data",
            "tasks.nli.data",
            {**{part: f"{part}.csv" for part in PARTS}, "sources": "sources.csv"},
            sources=pair_files,
            # The seed of the held-out validation pairs does not depend on the fine-tunings.
            options=lambda task: {**{key: task.about[key] for key in ("data", "planted", "limit")}, "seed": 0},
            memory=6000,
            runtime=30,
        ),
        Step(
            "occupation_pairs",
            "tasks.nli.pairs",
            {"pairs": "occupation_pairs.json"},
            sources=word_lists,
            options=lambda task: task.about["selections"][task.about["selection"]],
            memory=1000,
            runtime=10,
        ),
    ),
    trained_on={"train": "train.csv", "validation": "validation.csv"},
    datasets={"test_sets": test_sets, "occupation_pairs": occupation_pairs},
    head="classification",
    printed={"sources": "sources.csv", "occupation_pairs": "occupation_pairs.json"},
    captioned=("selection",),
    check=check,
)
