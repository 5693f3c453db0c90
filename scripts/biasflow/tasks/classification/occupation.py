"""Biographies whose profession is predicted (Orgad et al. 2022): a configuration of the kind of classified texts, with
labour statistics and the words that tell gender."""

from collections.abc import Mapping

from biasflow.base.errors import BiasflowError
from biasflow.base.names import require
from biasflow.base.paths import package_file
from biasflow.corpora.bios import PROFESSIONS
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import PLANTED
from biasflow.planted.bios import load_grammar
from biasflow.tasks.classification import plan
from biasflow.tasks.classification.plan import TEXTS
from biasflow.tasks.kinds import WORLD, Step, TaskPlan, corpus_files

BIAS_IN_BIOS = "bias-in-bios-"  # files of biasflow/data/corpora.yaml
NURSE = "nurse"  # of table 10


def biography_files(task: TaskPlan, catalogue: Catalogue) -> Mapping[str, list[str]]:
    """The files of the biographies, or the embedded world, and the shares of women of labour statistics."""
    data, labour = task.about["data"], task.about["labour"]
    files = WORLD if data == PLANTED else {"files": corpus_files(task, data["files"], catalogue)}
    labour = labour or package_file("data/labour_statistics.csv")
    return {**files, "labour": [labour]}


def collected(task: TaskPlan) -> dict[str, object]:
    """Return how biographies are collected: the same ones for all seeds and strategies."""
    options = {key: task.about[key] for key in ("data", "planted", "scrubbing", "limit")}
    return {**options, "advice": advice(task)}


def advice(task: TaskPlan) -> str:
    """Say what to do if splits cannot be balanced."""
    return f"raise tasks.{task.name}.planted.biographies" if task.about["data"] == PLANTED else plan.advice(task)


def check(task: TaskPlan) -> None:
    """Raise BiasflowError for labour statistics together with planted biographies."""
    if task.about["data"] == PLANTED and task.about["labour"] is not None:
        raise BiasflowError(
            f"config: key 'tasks.{task.name}.labour': planted biographies have planted shares of women; leave it out, "
            "or name files in data"
        )
    _check_professions(task)


def _check_professions(task: TaskPlan) -> None:
    """BiasflowError for professions that the biographies do not have, as far as that is known before they are read."""
    data, key, known = task.about["data"], f"tasks.{task.name}", professions(task)
    if len(known) == 1:
        raise BiasflowError(
            f"config: key '{key}.data.professions': {known[0]} is the only profession; name two or more"
        )
    if data != PLANTED and all(name.startswith(BIAS_IN_BIOS) for name in data["files"]):
        for name in known:
            require(name, PROFESSIONS, f"{key}.data.professions", "professions of Bias in Bios")
    named = task.about["top_words"]["profession"]
    if known and named is not None:
        require(named, known, f"{key}.top_words.profession", "professions of the task")


def professions(task: TaskPlan) -> tuple[str, ...]:
    """Return the professions that the biographies may have; empty if the files decide."""
    data = task.about["data"]
    if data == PLANTED:
        return load_grammar().professions
    return PROFESSIONS if data["professions"] is None else tuple(data["professions"])


def top_words(task: TaskPlan) -> dict[str, object]:
    """Return how the words that reveal gender are searched."""
    about, known = task.about["top_words"], professions(task)
    first = known[0] if known and NURSE not in known else NURSE
    return {**about, "profession": about["profession"] or first}


KIND = plan.of_people(
    Step(
        "biographies",
        "tasks.classification.collect",
        {**TEXTS, "professions": "professions.csv", "sources": "sources.csv"},
        sources=biography_files,
        options=collected,
        memory=8000,
        runtime=60,
    ),
    "splits",
    Step(
        "top_words",
        "tasks.classification.gender_classifier",
        {name: f"{name}.csv" for name in ("top_words", "gender_accuracy", "scrubbed_examples")},
        made_from=TEXTS,
        options=top_words,
        memory=8000,
        runtime=120,
    ),
    say=advice,
    printed={
        name: f"{name}.csv" for name in ("professions", "top_words", "gender_accuracy", "scrubbed_examples", "sources")
    },
    captioned=("top_words", "scrubbing"),
    check=check,
    drops="professions.csv",
)
