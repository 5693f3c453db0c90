"""The plan of GLUE: one task of it, or the embedded pairs as one."""

from collections.abc import Mapping

from biasflow.corpora.catalogue import Catalogue
from biasflow.matrix import Dataset
from biasflow.tasks.kinds import WORLD, Asked, Kind, Step, TaskPlan, corpus_files, recipe

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


def columns(task: TaskPlan) -> str:
    """Return the GLUE task whose columns and classes the data have: MNLI for the embedded pairs."""
    return "mnli" if task.about["data"] == PLANTED else task.about["data"]


def test_sets(asked: Asked) -> list[Dataset]:
    """Return the validation part as the dataset: gold labels of the test part are secret."""
    task = asked.task
    options = {"batch_size": 64, "max_length": task.about["finetuning"]["max_length"]}
    options |= {"task": task.module, "name": columns(task)}
    return [Dataset("validation", {"examples": (task.file("validation.csv"),)}, options, modules=(task.module,))]


KIND = Kind(
    steps=(
        Step(
            "glue_data",
            "tasks.glue.data",
            {part: f"{part}.csv" for part in PARTS},
            sources=glue_files,
            options=lambda task: {key: task.about[key] for key in ("data", "planted", "limit")},
            memory=4000,
        ),
    ),
    trained_on={part: f"{part}.csv" for part in PARTS},
    datasets={"test_sets": test_sets},
    training=lambda task, strategy: {**recipe(task, strategy), "name": columns(task)},
    head="classification",
)
