"""The plan of coreference: documents for training and test, and pairs of sentences that differ only in gender."""

from collections.abc import Mapping
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import PLANTED
from biasflow.matrix import Dataset
from biasflow.registry import ADAPTED, DOCUMENTS, STRATEGIES, WORDS
from biasflow.tasks.kinds import (
    WORLD,
    Asked,
    Kind,
    Step,
    TaskPlan,
    corpus_files,
    expanded,
    is_expanded,
    recipe,
    with_hidden_layer,
)

PARTS = ("train", "validation", "test")
SIDES = ("pro", "anti")
SAME_SEED = "same-seed"  # a reading of biographies alone: here `released` has the model's seed
WINOBIAS_PARTS = ("dev", "test")
WINOBIAS = [{"part": part, "type": f"type{number}"} for part in WINOBIAS_PARTS for number in (1, 2)]


def documents(asked: Asked) -> list[Dataset]:
    """Return the test documents, whose clusters are predicted together with those of the pairs."""
    return [_resolved(asked, "test", "test")]


def document_pairs(asked: Asked) -> list[Dataset]:
    """The pairs of sentences, pro and anti."""
    return [_resolved(asked, f"winobias{part_suffix(asked.task)}", *SIDES, "pairs")]


def _resolved(asked: Asked, name: str, *scored_with: str) -> Dataset:
    task, about = asked.task, asked.task.about
    read = {role: (task.file(f"{role}.conll"),) for role in (*PARTS, *SIDES)}
    known = {**read, "pairs": (task.file("pairs.csv"),)}
    return Dataset(
        f"{task.name}-{name}",
        read,
        {"recipe": about["finetuning"], "head_seeds": about["heads"]["seeds"]},
        scored_with={role: known[role] for role in scored_with},
        part_of=task.name,
    )


def probed_texts(asked: Asked) -> list[Dataset]:
    """Return the professions of the pro-stereotypical sentences, whose stereotype a probe predicts from their
    vectors."""
    task, probe = asked.task, asked.options["compression"]
    space = task.about["finetuning"]["reading"]["word_prefix_space"]
    files = {"pro": (task.file("pro.conll"),)}
    name = f"{task.name}-professions{part_suffix(task)}"
    vectors = Dataset(name, files, {"word_prefix_space": space})
    options = {"cuts": task.cuts, "split_seeds": asked.split_seeds}
    options |= {key: probe[key] for key in ("orders", "epochs")}
    options["data"] = [reading for reading in probe["data"] if reading != SAME_SEED]
    made_from = {"vectors": ("professions", vectors)}
    return [Dataset(vectors.name, options=options, modules=(task.cuts,), made_from=made_from, reads_states=WORDS)]


def document_files(task: TaskPlan, catalogue: Catalogue) -> Mapping[str, list[str]]:
    """Part of the data -> its files."""
    data = task.about["data"]
    if data == PLANTED:
        return WORLD
    return {part: corpus_files(task, expanded(data[part], data["folder"]), catalogue) for part in PARTS}


def pair_files(task: TaskPlan, catalogue: Catalogue) -> Mapping[str, list[str]]:
    """The files of each side, in the order of `winobias_files`; none of planted pairs."""
    if pairs_of(task) == PLANTED:
        return WORLD
    files = winobias_files(task)
    names = {side: [f"winobias-{file['part']}-{file['type']}-{side}" for file in files] for side in SIDES}
    return {side: corpus_files(task, side_names, catalogue) for side, side_names in names.items()}


def winobias_files(task: TaskPlan) -> list[dict[str, str]]:
    """Return part and type of the files of WinoBias that a task measures."""
    return [file for file in WINOBIAS if file["part"] in task.about["parts"]]


def part_suffix(task: TaskPlan) -> str:
    """Return "-dev" or "-test" if a task measures only this part of WinoBias, otherwise ""."""
    return f"-{task.about['parts'][0]}" if set(task.about["parts"]) != set(WINOBIAS_PARTS) else ""


def check(task: TaskPlan) -> None:
    """Raise BiasflowError if only one part of WinoBias is named, and the pairs are planted or a paper needs both."""
    key = f"config: key 'tasks.{task.name}.parts'"
    if part_suffix(task) and pairs_of(task) == PLANTED:
        raise BiasflowError(f"{key}: planted pairs have no parts; leave it out, or write pairs: winobias")
    if part_suffix(task) and task.of_paper:
        raise BiasflowError(f"{key}: the paper measures both parts; leave it out, or use another task for the paper")


def pairs_of(task: TaskPlan) -> str:
    """Return which pairs a task has: those that it names, or by default those that fit its documents."""
    return task.about["pairs"] or (PLANTED if task.about["data"] == PLANTED else "winobias")


def drawn(task: TaskPlan, *numbers: str) -> dict[str, object]:
    """Return the options of embedded texts; numbers: the keys with their sizes."""
    return {key: task.about["planted"][key] for key in ("bias", "seed", *numbers)}


def absent(task: TaskPlan) -> str | None:
    """Return why the documents are not available, or None; BiasflowError, naming the key, for a pattern or a name in
    the folder that matches no file."""
    data, key = task.about["data"], f"tasks.{task.name}.data"
    if data == PLANTED:
        return None
    if data["folder"] is None and any("{folder}" in name for part in PARTS for name in data[part]):
        return f"{key}.folder: the documents are in a folder that is not named; OntoNotes 5.0 needs a licence"
    for part in PARTS:
        for name in filter(is_expanded, data[part]):
            paths = expanded([name], data["folder"])
            if not paths or not Path(paths[0]).is_file():
                raise BiasflowError(f"config: key '{key}.{part}': there is no file {name}")
    return None


def training(task: TaskPlan, strategy: str) -> dict[str, object]:
    """Keyword arguments of `task.train`: those of every task, and what becomes of names where documents are changed."""
    options = recipe(task, strategy)
    if strategy in STRATEGIES and not STRATEGIES[strategy].adapts and "adaptation" in options:
        options["adaptation"] |= {"options": {"names": task.about["names"]}}
    return options


KIND = Kind(
    steps=(
        Step(
            "coreference_documents",
            "tasks.coreference.collect",
            {**{part: f"{part}.conll" for part in PARTS}, "sources": "sources.csv", "baseline": "baseline.csv"},
            sources=document_files,
            options=lambda task: {
                "planted": drawn(task, *PARTS) if task.about["data"] == PLANTED else None,
                "broken": task.about["broken"],
            },
            absent=absent,
        ),
        Step(
            "coreference_pairs",
            "tasks.coreference.pairs",
            {**{side: f"{side}.conll" for side in SIDES}, "pairs": "pairs.csv", "pairs_baseline": "pairs_baseline.csv"},
            sources=pair_files,
            options=lambda task: {
                "planted": drawn(task, "pairs") if pairs_of(task) == PLANTED else None,
                "files": winobias_files(task),
            },
        ),
    ),
    trained_on={part: f"{part}.conll" for part in ("train", "validation")},
    datasets={
        "documents": documents,
        "document_pairs": document_pairs,
        "probed_texts": probed_texts,
        "mlp_probed_texts": with_hidden_layer(probed_texts),
    },
    has=frozenset({DOCUMENTS, ADAPTED}),
    training=training,
    check=check,
    printed={name: f"{name}.csv" for name in ("sources", "baseline", "pairs", "pairs_baseline")},
)
