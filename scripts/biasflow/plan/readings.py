"""The jobs that read from a model, and the jobs that score what was read.

Files are inputs, whose roles begin with the name of the dataset that takes them. No parameter has a path, so that a job
works wherever Snakemake puts its files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from biasflow.base.paths import Paths
from biasflow.corpora.catalogue import Catalogue
from biasflow.encoders.configured import GIVEN_AS, VECTORS, GivenFile
from biasflow.matrix import Dataset, Files
from biasflow.plan.encoders import model_files
from biasflow.plan.estimate import of_reading
from biasflow.plan.jobs import Job, Plan, Reading, ReadingJob, ReadingKey, Score
from biasflow.plan.setup import Setup
from biasflow.registry import METRICS, READOUTS, TOGETHER, TRAINING, external_module, module_of, rule_of
from biasflow.stimuli import densray_sets, triples

# Options of readouts that say how items are read, and not which they are.
NOT_OF_ITEMS = ("batch_size", "pooling", "sentence_pooling", "others")
# Metrics whose own readout lists its items itself -> the module that lists them for scores that somebody gives.
LISTINGS = {"occtmp": densray_sets.__name__, "strength": triples.__name__}


def reading_output(paths: Paths, key: ReadingKey) -> str:
    """The path that a job writes: the folder with the file of a readout; what a fine-tuning wrote of itself is scored
    as it is."""
    if key.job.readout == TRAINING:
        return paths.training(key.job.encoder, key.job.training)
    return paths.readout(*key.job)


def file_in_output(key: ReadingKey) -> str:
    """The path of a readout's file in the folder that its job writes; "" where the job writes the file itself."""
    if key.job.readout == TRAINING:
        return ""
    folder = f"{key.readout}/" if key.job.readout == TOGETHER else ""
    return f"{folder}{key.file}.{READOUTS[key.readout].suffix}"


def _inputs_of(name: str, files: Files) -> dict[str, list[str]]:
    """Inputs of a job, by the name of a dataset and a role: "vectors/C6/test"."""
    return {f"{name}/{role}": list(paths) for role, paths in files.items()}


def _name_of(reading: Reading) -> str:
    """The name of a reading in its job: its file without suffix."""
    return file_in_output(reading.key).rpartition(".")[0]


def reading_jobs(setup: Setup, plan: Plan, catalogue: Catalogue) -> Iterator[Job]:
    """The jobs that read from models: one for each readout of a block, or for all that are read together. What external
    encoders give for a readout of a block takes less time than a job starts, so that one job does it for all."""
    readings_by_job: dict[ReadingJob, list[Reading]] = {}
    for key, reading in plan.readings.items():
        readings_by_job.setdefault(key.job, []).append(reading)
    external: dict[tuple[str, str], dict[ReadingJob, list[Reading]]] = {}
    for job, readings in readings_by_job.items():
        if setup.encoders[job.encoder].is_external:
            external.setdefault((job.readout, job.block), {})[job] = readings
        else:
            yield _reading_job(setup, plan, catalogue, job, readings)
    metrics = {score.reading: score.metric for scores in plan.scored.values() for score in scores}
    for (readout, block), jobs in external.items():
        yield _external_job(setup, f"external_{readout}_{block}", jobs, metrics)


def _reading_job(setup: Setup, plan: Plan, catalogue: Catalogue, job: ReadingJob, readings: list[Reading]) -> Job:
    """The job of readings of a model. Its parameter tells for each readout and dataset the module, the name of its
    inputs and that of its file, the methods and options, and the names of files of other readouts that it is made from:
    they lie in the input of that role or, if there is none, are read by this job."""
    paths, fit, output = setup.paths, readings[0].fit, setup.paths.readout(*job)
    inputs: dict[str, str | Sequence[str]] = {"model": model_files(setup, readings[0].model)}
    params, modules = [], set()
    for reading in readings:
        name, dataset, module = _name_of(reading), reading.dataset, module_of(READOUTS[reading.readout])
        modules |= {module, *dataset.modules}
        folders = {role: reading_output(paths, key) for role, key in reading.made_from.items()}
        inputs |= _inputs_of(name, dataset.files)
        inputs |= {f"{name}/{role}": folder for role, folder in folders.items() if folder != output}
        made_from = {role: file_in_output(key) for role, key in reading.made_from.items()}
        about = {"methods": list(reading.methods), "made_from": made_from, "options": dict(dataset.options)}
        about["draws"] = READOUTS[reading.readout].draws
        params.append(_told(reading, module, name) | about)
    if {method for reading in readings for method in reading.methods} & set(plan.fits.get(fit, ())):
        inputs["methods"] = paths.methods(*fit)
    return Job(
        rule_of(job.readout),
        [job.encoder, job.training, job.block],
        [output],
        inputs,
        {"readout": params},
        sorted(modules),
        operations=sum(of_reading(setup, catalogue, reading) for reading in readings),
    )


def _external_job(
    setup: Setup, rule: str, jobs: Mapping[ReadingJob, list[Reading]], metrics: Mapping[ReadingKey, str]
) -> Job:
    """The job that makes files of external encoders the readouts that they stand for. Its parameter tells for each
    output and dataset the module, the name of its inputs and that of its file, and the module's options. metrics: those
    that score the readings."""
    inputs: dict[str, Sequence[str]] = {}
    modules: set[str] = set()
    params: list[list[dict]] = []
    for readings in jobs.values():
        params.append([])
        for reading in readings:
            encoder, metric = reading.model.encoder, metrics[reading.key]
            given = setup.encoders[encoder].given_for(reading.readout, metric)
            name, module = f"{encoder}/{_name_of(reading)}", external_module(READOUTS[reading.readout])
            inputs |= _inputs_of(name, {"given": [file.file for file in given], **reading.dataset.files})
            modules |= {module, *reading.dataset.modules, *filter(None, [_listing(reading, metric)])}
            params[-1].append(_told(reading, module, name) | {"options": _external_options(reading, metric, given)})
    outputs = [setup.paths.readout(*job) for job in jobs]
    return Job(rule, [], outputs, inputs, {"readouts": params}, sorted(modules))


def _told(reading: Reading, module: str, inputs: str) -> dict[str, object]:
    """What the parameter of a job tells of any of its readouts."""
    dataset, file = reading.dataset.read_as, file_in_output(reading.key)
    return {"module": module, "dataset": dataset, "inputs": inputs, "file": file}


def _external_options(reading: Reading, metric: str, files: list[GivenFile]) -> dict[str, object]:
    """Of a readout of items: what says which they are; of vectors: the test; none of files that hold documents."""
    options, listing = reading.dataset.options, _listing(reading, metric)
    if reading.readout in GIVEN_AS:
        return dict(options)
    if reading.readout == VECTORS:
        about = {"dataset": reading.dataset.read_as, "templates": options.get("templates")}
        return about | ({"of_words": True} if options.get("of_words") else {})
    if not listing:
        return {}
    extra = {"metric": metric, "columns": [file.column for file in files]}
    if "items" in options:
        return {**options, **extra}
    of = {key: options[key] for key in ("templates", "pronouns") if key in options}
    return {"items": listing, "of": {"name": reading.dataset.read_as, **of}, "limit": options.get("limit"), **extra}


def _listing(reading: Reading, metric: str) -> str:
    """The module whose `items` lists what somebody scored; "" where files hold no scores of items."""
    return reading.dataset.options.get("items") or LISTINGS.get(metric, "")


def scoring_jobs(setup: Setup, plan: Plan) -> Iterator[Job]:
    """The jobs that score the readouts of a model for a block, and the one that puts all scores into one table."""
    paths = setup.paths
    of_job = {"scores": paths.scores, "reasons": paths.reasons, "resamples": paths.resamples}
    for job, scores_of_job in plan.scored.items():
        yield Job("score", job, [path(*job) for path in of_job.values()], *_scored(paths, scores_of_job))
    outputs = [f"{paths.root}/scores.csv", f"{paths.root}/reasons.csv"]
    yield Job("scores", [], outputs, {role: [path(*job) for job in plan.scored] for role, path in of_job.items()})


def _scored(paths: Paths, scores: tuple[Score, ...]) -> tuple[dict, dict, list[str]]:
    """Inputs, parameters and modules of the job of these scores. A parameter tells for each metric and readout its
    module, the dataset, the methods, the measures whose resamples are kept, and the options; the role of the readout's
    folder and the file's name in there; the name of the inputs that the metric takes beside it; and what says which
    its items are: the name of the inputs that they come from, and the options that choose them."""
    inputs: dict[str, str | Sequence[str]] = {}
    params = []
    for score in scores:
        name, readout = f"{score.metric}/{score.dataset.label}", score.reading.job.readout
        inputs[readout] = reading_output(paths, score.reading)
        inputs |= _inputs_of(name, score.dataset.scored_with) | _inputs_of(f"items/{name}", _item_files(score.dataset))
        params.append(
            {
                "metric": score.metric,
                "module": module_of(METRICS[score.metric]),
                "readout": readout,
                "file": file_in_output(score.reading),
                "dataset": score.dataset.label,
                "methods": list(score.methods),
                "measures": [list(row) for row in METRICS[score.metric].rows()],
                "limits": list(score.dataset.limits),
                "inputs": name,
                "items": f"items/{name}",
                "chosen_by": {key: value for key, value in score.dataset.options.items() if key not in NOT_OF_ITEMS},
                "options": dict(score.dataset.scoring),
            }
        )
    modules = sorted({module_of(METRICS[score.metric]) for score in scores})
    return inputs, {"model": asdict(scores[0].model), "jobs": params}, modules


def _item_files(dataset: Dataset) -> Files:
    """The files from which the items of a dataset come, by role: its own, and those of what it is made from."""
    files = dict(dataset.files)
    for role, (_, other) in dataset.made_from.items():
        files |= {f"{role}-{name}": paths for name, paths in _item_files(other).items()}
    return files
