"""A task of GLUE, or the embedded pairs as one: a configuration of the kind of classified texts."""

from collections.abc import Mapping

from biasflow.corpora.catalogue import Catalogue
from biasflow.corpora.glue import TASKS
from biasflow.matrix import Dataset
from biasflow.tasks.classification.plan import of_parts, part_of
from biasflow.tasks.kinds import WORLD, Asked, Step, TaskPlan, corpus_files

PARTS = ("train", "validation")
PLANTED = "planted-nli"


def glue_files(task: TaskPlan, catalogue: Catalogue) -> Mapping[str, list[str]]:
    """Return part -> its files: one upstream, two if mirrors split it (a name that ends in -rest)."""
    if task.about["data"] == PLANTED:
        return WORLD
    names = {part: f"glue-{task.about['data']}-{part}" for part in PARTS}
    all_names = {part: [name, f"{name}-rest", f"{name}-matched"] for part, name in names.items()}
    in_catalogue = {
        part: [name for name in part_names if name in catalogue.files] for part, part_names in all_names.items()
    }
    return {part: corpus_files(task, part_names, catalogue) for part, part_names in in_catalogue.items()}


def name_of(task: TaskPlan) -> str:
    """Return the GLUE task whose columns and classes the data have: MNLI for the embedded pairs."""
    return "mnli" if task.about["data"] == PLANTED else task.about["data"]


def columns(task: TaskPlan) -> dict[str, list[str] | None]:
    """Return the columns of the texts, and the classes (None: a number is predicted)."""
    entry = TASKS[name_of(task)]
    return {"texts": [*entry.texts], "labels": [*entry.labels] or None}


def test_sets(asked: Asked) -> list[Dataset]:
    """Return the validation part as the dataset: gold labels of the test part are secret."""
    return [part_of(asked, "validation", columns(asked.task), name=name_of(asked.task), batch_size=64)]


KIND = of_parts(
    Step(
        "glue_data",
        "tasks.classification.parts",
        {part: f"{part}.csv" for part in PARTS},
        sources=glue_files,
        options=lambda task: {"reader": "glue", **{key: task.about[key] for key in ("data", "planted", "limit")}},
        memory=4000,
    ),
    columns=columns,
    datasets={"test_sets": test_sets},
)
