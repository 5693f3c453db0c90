"""The plan of occupation prediction: biographies, their splits and vectors, and the datasets made from these."""

from collections.abc import Collection, Mapping
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.names import require
from biasflow.base.paths import package_file
from biasflow.corpora import bios
from biasflow.corpora.bios import PROFESSIONS
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import PLANTED
from biasflow.matrix import NA, PRETRAINED, Dataset
from biasflow.planted.bios import load_grammar
from biasflow.registry import STRATEGIES, module_of
from biasflow.tasks.cuts import BALANCED
from biasflow.tasks.kinds import (
    WORLD,
    Asked,
    Gendered,
    Kind,
    Step,
    TaskPlan,
    corpus_files,
    with_hidden_layer,
)

RAW, SCRUBBED = "raw", "scrubbed"
BIAS_IN_BIOS = "bias-in-bios-"  # files of biasflow/data/corpora.yaml
NURSE = "nurse"  # of table 10
READ_FIRST = 32e6  # bytes of biographies that are read before the first job: three seconds
BIOGRAPHIES = {"biographies": "biographies.parquet"}  # role -> file of the task's data


def probed_texts(asked: Asked) -> list[Dataset]:
    """Return the vectors from which probes predict gender, with their splits and seeds."""
    probe = asked.options["compression"]
    options = {"cuts": asked.task.cuts, "split_seeds": asked.split_seeds, "probe_seeds": probe["seeds"]}
    options |= {key: probe[key] for key in ("data", "epochs")}
    return [_made_of_vectors(asked, text, options, modules=(asked.task.cuts,)) for text in _texts(asked)]


def families(asked: Asked) -> list[Dataset]:
    """Return the vectors from which probes of several families predict gender: one probe of each for a split."""
    options = {"cuts": asked.task.cuts, "data": [BALANCED], "split_seeds": asked.split_seeds, "probe_seeds": [0]}
    options["hidden"] = asked.options["probe_families"]["hidden"]
    return [_made_of_vectors(asked, text, options, modules=(asked.task.cuts,)) for text in _texts(asked)]


def classified_texts(asked: Asked) -> list[Dataset]:
    """Return the texts whose professions are predicted: by a model's own head and retrained ones, or, on an encoder
    that is not fine-tuned, by heads of each strategy. Strategies that act on the encoder in training (with-<method>, an
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
    about = {"scored_with": {"professions": (asked.task.file("professions.csv"),)}, "modules": modules}
    return [_made_of_vectors(asked, text, {"text": text, **options}, texts, **about) for text in _texts(asked)]


def adversaries(asked: Asked) -> list[Dataset]:
    """Return the record of an adversary in the training, as a dataset."""
    return [Dataset("validation")]


def _texts(asked: Asked) -> list[str]:
    """The raw biographies; the scrubbed ones, too, where a model was trained on such, and for comparison with it."""
    strategies = asked.block.strategies if asked.model.training == PRETRAINED else [asked.model.strategy]
    return [RAW, SCRUBBED] if "scrubbing" in strategies else [RAW]


def _made_of_vectors(asked: Asked, text: str, options: Mapping, texts: Collection[str] = (), **about) -> Dataset:
    """The dataset of the first token's vectors of a text; texts: on which heads are trained, whose vectors it holds,
    too; about: what else `Dataset` says."""
    task = asked.task
    files = {"biographies": (task.file("biographies.parquet"),)}
    vectors = {}
    for version in sorted({text, *texts}):
        of_version = {"text": version, "max_length": task.about["finetuning"]["max_length"]}
        dataset = Dataset(f"{task.name}-{version}", files, of_version)
        vectors["vectors" if version == text else version] = "first_token", dataset
    return Dataset(f"{task.name}-{text}", files, options, made_from=vectors, **about)


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


def splits(task: TaskPlan) -> dict[str, object]:
    """The seeds and strategies that all professions must be balanced for: those of all fine-tunings, and of the heads
    on encoders that are not fine-tuned."""
    blocks = [block for block in task.blocks if block.task == task.name]
    seeds = {*task.about["frozen"]["seeds"], *(seed for block in blocks for seed in block.seeds)}
    named = {name for block in blocks for name in block.strategies}
    return {"seeds": sorted(seeds), "strategies": [name for name in STRATEGIES if name in named]}


def advice(task: TaskPlan) -> str:
    """Say what to do if splits cannot be balanced."""
    if task.about["data"] == PLANTED:
        return f"raise tasks.{task.name}.planted.biographies"
    key = f"tasks.{task.name}"
    more = "give more biographies" if task.about["limit"] is None else f"raise {key}.limit"
    if task.about["data"]["small"] == "drop":
        return f"{more}, have it dropped (a larger {key}.data.least), or ask for another seed"
    return f"{more}, or have it dropped ({key}.data.small: drop)"


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


def dropped(task: TaskPlan, catalogue: Catalogue) -> str:
    """Say which professions will be dropped, before the biographies are collected for the first time, if they lie in
    files that are read in seconds; BiasflowError for what collecting refuses."""
    data = task.about["data"]
    if data == PLANTED or data["small"] != "drop" or Path(task.file("professions.csv")).exists():
        return ""
    files = dict(zip(data["files"], map(Path, corpus_files(task, data["files"], catalogue)), strict=True))
    if not all(path.is_file() for path in files.values()):
        return ""
    if sum(path.stat().st_size for path in files.values()) > READ_FIRST:
        return ""
    from biasflow.tasks.occupation.collect import kept  # slow to load, and needed for such files alone

    _, known, _ = kept(files, data, advice=advice(task), limit=task.about["limit"])
    return bios.dropped(known)


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


KIND = Kind(
    steps=(
        Step(
            "biographies",
            "tasks.occupation.collect",
            {**BIOGRAPHIES, "professions": "professions.csv", "sources": "sources.csv"},
            sources=biography_files,
            options=collected,
            memory=8000,
            runtime=60,
        ),
        Step(
            "splits",
            "tasks.occupation.splits",
            {"splits": "splits.csv"},
            made_from=BIOGRAPHIES,
            options=lambda task: {**splits(task), "advice": advice(task)},
            memory=8000,
            priority=1,  # before anything is trained
        ),
        Step(
            "top_words",
            "tasks.occupation.gender_classifier",
            {name: f"{name}.csv" for name in ("top_words", "gender_accuracy", "scrubbed_examples")},
            made_from=BIOGRAPHIES,
            options=top_words,
            memory=8000,
            runtime=120,
        ),
    ),
    checks=("splits.csv",),
    trained_on=BIOGRAPHIES,
    datasets={
        "probed_texts": probed_texts,
        "mlp_probed_texts": with_hidden_layer(probed_texts),
        "families": families,
        "classified_texts": classified_texts,
        "adversaries": adversaries,
    },
    gendered=Gendered(
        "tasks.occupation.gendered_vectors",
        BIOGRAPHIES,
        lambda task, seed: {"seed": seed, "max_length": task.about["finetuning"]["max_length"]},
    ),
    printed={
        name: f"{name}.csv" for name in ("professions", "top_words", "gender_accuracy", "scrubbed_examples", "sources")
    },
    captioned=("top_words", "scrubbing"),
    check=check,
    dropped=dropped,
    drops="professions.csv",
)
