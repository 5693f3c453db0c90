"""The inputs, parameters and modules of jobs that read from a model, and of jobs that score what was read.

Files are inputs: parameters say which of them a dataset takes, by their role and their positions in the rule's input of
that name. So a rule works wherever Snakemake puts its files."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from biasflow.asking.encoders import VECTORS, GivenFile
from biasflow.asking.matrix import Files
from biasflow.asking.paths import Paths
from biasflow.plan.encoders import Encoders
from biasflow.plan.jobs import Plan, Reading, ReadingJob, ReadingKey, Score, ScoringJob
from biasflow.plan.trainings import model_of
from biasflow.registry import METRICS, PACKAGE, READOUTS, TOGETHER, TRAINING, external_module, module_of

Named = dict[str, object]
# Metrics whose own readout lists its items itself -> the module that lists them for scores that somebody gives.
LISTINGS = {"occtmp": f"{PACKAGE}.stimuli.occupations", "strength": f"{PACKAGE}.stimuli.triples"}


def reading_path(paths: Paths, key: ReadingKey) -> str:
    """The file of a readout of one dataset; what a fine-tuning wrote of itself is scored as it is."""
    if key.job.readout == TRAINING:
        return paths.training(key.job.encoder, key.job.training)
    folder = paths.readout(*key.job) + (f"/{key.readout}" if key.job.readout == TOGETHER else "")
    return f"{folder}/{key.file}.{READOUTS[key.readout].suffix}"


def reading_output(paths: Paths, key: ReadingKey) -> str:
    """The path that a rule writes: the file of a readout, or the folder that holds it."""
    return reading_path(paths, key) if key.job.readout == TRAINING else paths.readout(*key.job)


def file_in_output(paths: Paths, key: ReadingKey) -> str:
    """The path of a readout's file in the folder that its rule writes; "" where the rule writes the file itself."""
    return reading_path(paths, key).removeprefix(reading_output(paths, key)).removeprefix("/")


def by_role(files: Iterable[Files]) -> dict[str, list[str]]:
    """Role -> the files that any dataset has in it, each once: named inputs of a rule."""
    by_name: dict[str, dict[str, None]] = {}
    for role, paths in ((role, paths) for of_dataset in files for role, paths in of_dataset.items()):
        by_name.setdefault(role, {}).update(dict.fromkeys(paths))
    return {role: list(paths) for role, paths in by_name.items()}


def positions(files: Files, inputs: Mapping[str, list[str]]) -> dict[str, list[int]]:
    """Role -> where the files of a dataset stand in the input of that name."""
    return {role: [inputs[role].index(path) for path in paths] for role, paths in files.items()}


class Readings:
    """For the rule of each readout, or of those that are read together: functions of its wildcards, encoder, training
    and block."""

    def __init__(self, encoders: Encoders, plan: Plan):
        self.encoders, self.plan, self.paths = encoders, plan, encoders.paths
        self._jobs: dict[ReadingJob, list[Reading]] = {}
        self._metrics = {score.reading: score.metric for scores in plan.scored.values() for score in scores}
        for key, reading in plan.readings.items():
            self._jobs.setdefault(key.job, []).append(reading)

    def jobs(self, name: str) -> list[ReadingJob]:
        """The jobs of a readout, or of those that are read together."""
        return [job for job in self._jobs if job.readout == name]

    def of(self, wildcards, name: str) -> list[Reading]:
        """What a job reads, one dataset after the other, each after those that it is made from."""
        return self._jobs[ReadingJob(wildcards.encoder, wildcards.training, wildcards.block, name)]

    def model_and_data(self, name: str) -> Callable[..., Named]:
        """Wildcards -> the model, the methods fitted to it, the data by role, and the `readouts` of other jobs that it
        starts from."""

        def files(wildcards) -> Named:
            readings = self.of(wildcards, name)
            inputs: Named = {"model": self.encoders.model_files(readings[0].model), **_data(readings)}
            inputs["readouts"] = self._underlying(readings)
            fit = readings[0].fit
            if {method for reading in readings for method in reading.methods} & set(self.plan.fits.get(fit, ())):
                inputs["methods"] = self.paths.methods(*fit)
            return inputs

        return files

    def _underlying(self, readings: list[Reading]) -> list[str]:
        """The outputs of other jobs that some of the readings are made from."""
        outputs = (reading_output(self.paths, key) for reading in readings for key in reading.made_from.values())
        job_output = reading_output(self.paths, readings[0].key)
        return [output for output in dict.fromkeys(outputs) if output != job_output]

    def spares(self, name: str) -> Callable[..., list[str]]:
        """Wildcards -> files computed earlier, which save the job some work."""

        def spares(wildcards) -> list[str]:
            files_by_role = by_role(reading.dataset.spares for reading in self.of(wildcards, name))
            return sorted({file for files in files_by_role.values() for file in files})

        return spares

    def modules(self, name: str) -> Callable[..., list[str]]:
        """Wildcards -> the modules that the job imports by name."""

        def modules(wildcards) -> list[str]:
            readings = self.of(wildcards, name)
            of_datasets = {module for reading in readings for module in reading.dataset.modules}
            return sorted(of_datasets | {module_of(READOUTS[reading.readout]) for reading in readings})

        return modules

    def params(self, name: str) -> Callable[..., list[Named]]:
        """Wildcards -> for each readout and dataset its module, the name of its file, its methods and options, and
        where its files are: `data` and `spares` by role and position; `made_from` by role, with the position of the
        output in `readouts` (None: what this job itself has read) and the file's name in there."""

        def params(wildcards) -> list[Named]:
            readings = self.of(wildcards, name)
            data, spares = _data(readings), self.spares(name)(wildcards)
            return [
                {
                    "module": module_of(READOUTS[reading.readout]),
                    "dataset": reading.dataset.read_as,
                    "file": file_in_output(self.paths, reading.key),
                    "methods": list(reading.methods),
                    "data": positions(reading.dataset.files, data),
                    "spares": positions(reading.dataset.spares, dict.fromkeys(reading.dataset.spares, spares)),
                    "made_from": {role: self._place(key, readings) for role, key in reading.made_from.items()},
                    "options": dict(reading.dataset.options),
                }
                for reading in readings
            ]

        return params

    def _place(self, key: ReadingKey, readings: list[Reading]) -> list[object]:
        """Where the reading of a key is, for a job that starts from it."""
        output, outputs = reading_output(self.paths, key), self._underlying(readings)
        return [outputs.index(output) if output in outputs else None, file_in_output(self.paths, key)]

    def external_jobs(self) -> dict[tuple[str, str], list[ReadingJob]]:
        """Block and readout -> the jobs of its external encoders, which run as one job: each would take less time than
        its start."""
        jobs_by_readout: dict[tuple[str, str], list[ReadingJob]] = {}
        for job in self._jobs:
            if self.encoders.setup.encoders[job.encoder].is_external:
                jobs_by_readout.setdefault((job.block, job.readout), []).append(job)
        return jobs_by_readout

    def given_files_and_data(self, jobs: Sequence[ReadingJob]) -> Named:
        """For the rule that reads external encoders' files: these files and the data, of several jobs of one
        readout."""
        readings = [reading for job in jobs for reading in self._jobs[job]]
        files = dict.fromkeys(file.file for reading in readings for file in self._files(reading))
        return {"given": list(files), **_data(readings)}

    def _files(self, reading: Reading) -> list[GivenFile]:
        encoder = self.encoders.setup.encoders[reading.model.encoder]
        return encoder.given_for(reading.readout, self._metrics[reading.key])

    def given_modules(self, jobs: Sequence[ReadingJob]) -> list[str]:
        """The modules that the rule of external encoders imports by name."""
        listed = {
            module
            for job in jobs
            for reading in self._jobs[job]
            for module in (*reading.dataset.modules, *filter(None, [self._listing(reading)]))
        }
        return sorted({*(external_module(READOUTS[job.readout]) for job in jobs), *listed})

    def given_params(self, jobs: Sequence[ReadingJob]) -> list[list[Named]]:
        """For each job and dataset the module, the name of its file, its data and the external encoder's files, by role
        and position, and the module's options."""
        inputs = self.given_files_and_data(jobs)
        return [
            [
                {
                    "module": external_module(READOUTS[job.readout]),
                    "dataset": reading.dataset.read_as,
                    "file": file_in_output(self.paths, reading.key),
                    "data": positions(
                        {**reading.dataset.files, "given": tuple(file.file for file in self._files(reading))}, inputs
                    ),
                    "options": self._options(reading),
                }
                for reading in self._jobs[job]
            ]
            for job in jobs
        ]

    def _options(self, reading: Reading) -> Named:
        """Of a readout of items: what says which they are; of vectors: the test; none of files that hold documents."""
        if reading.readout == VECTORS:
            templates = reading.dataset.options.get("templates")
            return {"dataset": reading.dataset.read_as, "templates": templates}
        options, listing = reading.dataset.options, self._listing(reading)
        if not listing:
            return {}
        extra = {"metric": self._metrics[reading.key], "columns": [file.column for file in self._files(reading)]}
        if "items" in options:
            return {**options, **extra}
        of = {key: options[key] for key in ("template", "pronouns") if key in options}
        return {"items": listing, "of": {"name": reading.dataset.read_as, **of}, "limit": options.get("limit"), **extra}

    def _listing(self, reading: Reading) -> str:
        """The module whose `items` lists what somebody scored; "" where files hold no scores of items."""
        return reading.dataset.options.get("items") or LISTINGS.get(self._metrics[reading.key], "")


def _data(readings: list[Reading]) -> dict[str, list[str]]:
    return by_role(reading.dataset.files for reading in readings)


class Scores:
    """The scores of a model that a block asks for, by the wildcards of their rule: encoder, training, block."""

    def __init__(self, plan: Plan, paths: Paths):
        self.plan, self.paths = plan, paths

    def model(self, wildcards) -> dict[str, str]:
        """The four keys of a model in the table of scores."""
        model = model_of(self.plan, wildcards)
        return {key: getattr(model, key) for key in ("encoder", "task", "strategy", "seed")}

    def readouts_and_data(self, wildcards) -> Named:
        """The readouts that a job scores, and the data that its metrics take beside them."""
        scores = self._jobs(wildcards)
        return {"readouts": self._readouts(scores), **by_role(score.dataset.scored_with for score in scores)}

    def params(self, wildcards) -> list[Named]:
        """For each metric and readout that a job scores: its module, the dataset, the methods, the measures whose
        resamples are kept, and the options; the position of the readout's output in `readouts` and the file's name in
        there; and where the `files` are that the metric takes beside it, by role and position."""
        scores = self._jobs(wildcards)
        readouts, files = self._readouts(scores), by_role(score.dataset.scored_with for score in scores)
        return [
            {
                "metric": score.metric,
                "module": module_of(METRICS[score.metric]),
                "readout": readouts.index(reading_output(self.paths, score.reading)),
                "file": file_in_output(self.paths, score.reading),
                "dataset": score.dataset.label,
                "methods": list(score.methods),
                "measures": [list(row) for row in METRICS[score.metric].rows()],
                "limits": list(score.dataset.limits),
                "files": positions(score.dataset.scored_with, files),
                "options": dict(score.dataset.scoring),
            }
            for score in scores
        ]

    def _readouts(self, scores: Iterable[Score]) -> list[str]:
        return list(dict.fromkeys(reading_output(self.paths, score.reading) for score in scores))

    def modules(self, wildcards) -> list[str]:
        return sorted({module_of(METRICS[score.metric]) for score in self._jobs(wildcards)})

    def _jobs(self, wildcards) -> tuple[Score, ...]:
        return self.plan.scored[ScoringJob(wildcards.encoder, wildcards.training, wildcards.block)]
