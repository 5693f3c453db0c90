"""Which files, parameters and modules jobs that read take, each for all datasets of a block, and their scores."""

from collections.abc import Callable

from biasflow.plan.encoders import Encoders
from biasflow.plan.jobs import Plan, Reading, Score
from biasflow.plan.paths import Paths
from biasflow.plan.sources import given_files
from biasflow.plan.trainings import model_of
from biasflow.registry import METRICS, READOUTS, TOGETHER, TRAINING, external_module, module_of

Named = dict[str, object]


def reading_path(paths: Paths, key: tuple) -> str:
    """The file of a readout of one dataset; what a fine-tuning wrote of itself is scored as it is."""
    *job, readout, dataset = key
    if readout == TRAINING:
        return f"{paths.model(*key[:2])}/{TRAINING}.json"
    folder = f"{paths.readout(*job)}/{readout}" if job[3] == TOGETHER else paths.readout(*job)
    return f"{folder}/{dataset}.{READOUTS[readout].suffix}"


def reading_output(paths: Paths, key: tuple) -> str:
    """What a rule writes, with the file of a readout in it."""
    return reading_path(paths, key) if key[3] == TRAINING else paths.readout(*key[:4])


class Readings:
    """For the rule of each readout, or of those that are read together: functions of its wildcards, encoder, training
    and block."""

    def __init__(self, encoders: Encoders, plan: Plan):
        self.encoders, self.plan, self.paths = encoders, plan, encoders.paths
        self._jobs: dict[tuple, list[Reading]] = {}
        for key, reading in plan.readings.items():
            self._jobs.setdefault(key[:4], []).append(reading)

    def of(self, wildcards, name: str) -> list[Reading]:
        """What a job reads, one dataset after the other, each after those that it is made from."""
        return self._jobs[wildcards.encoder, wildcards.training, wildcards.block, name]

    def inputs(self, name: str) -> Callable[..., Named]:
        """Wildcards -> the model, the methods fitted to it, and the data, but for what the job itself reads first."""

        def inputs(wildcards) -> Named:
            readings = self.of(wildcards, name)
            data = {file for reading in readings for file in _data(reading)}
            data |= {reading_output(self.paths, key) for reading in readings for key in reading.made_from.values()}
            data -= {reading_output(self.paths, readings[0].key)}
            found: Named = {"model": self.encoders.model_files(readings[0].model), "data": sorted(data)}
            fit = readings[0].fit
            if {method for reading in readings for method in reading.methods} & set(self.plan.fits.get(fit, ())):
                found["methods"] = self.paths.methods(*fit)
            return found

        return inputs

    def spares(self, name: str) -> Callable[..., list[str]]:
        """Wildcards -> the files that spare it work."""

        def spares(wildcards) -> list[str]:
            found = [files for reading in self.of(wildcards, name) for files in reading.dataset.spares.values()]
            return sorted({file for files in found for file in files})

        return spares

    def modules(self, name: str) -> Callable[..., list[str]]:
        """Wildcards -> the modules that it imports by name."""

        def modules(wildcards) -> list[str]:
            readings = self.of(wildcards, name)
            own = {module for reading in readings for module in reading.dataset.modules}
            return sorted(own | {module_of(READOUTS[reading.readout]) for reading in readings})

        return modules

    def params(self, name: str) -> Callable[..., list[Named]]:
        """Wildcards -> for each readout and dataset its module, file, methods, data and options."""
        return lambda wildcards: [self._params(reading) for reading in self.of(wildcards, name)]

    def given(self, wildcards) -> Named:
        """For the rule of what external encoders give (the readout is a wildcard, too): their files, and the data."""
        readings = self.of(wildcards, wildcards.readout)
        files = given_files(self.encoders.config["encoders"][wildcards.encoder])[wildcards.readout]
        return {"given": files, "data": sorted({file for reading in readings for file in _data(reading)})}

    def given_module(self, wildcards) -> str:
        """The module that makes a readout of them."""
        return external_module(READOUTS[wildcards.readout])

    def given_params(self, wildcards) -> Named:
        """That module and, for each dataset, file and data."""
        each = [self._params(reading) for reading in self.of(wildcards, wildcards.readout)]
        datasets = [{key: params[key] for key in ("dataset", "file", "data")} for params in each]
        return {"module": self.given_module(wildcards), "datasets": datasets}

    def _params(self, reading: Reading) -> Named:
        files = {**reading.dataset.files, **reading.dataset.spares}
        data = {role: list(paths) for role, paths in files.items()}
        path, folder = (of(self.paths, reading.key) for of in (reading_path, reading_output))
        return {
            "module": module_of(READOUTS[reading.readout]),
            "dataset": reading.dataset.read_as,
            "file": path.removeprefix(f"{folder}/"),
            "methods": list(reading.methods),
            "data": data | {role: [reading_path(self.paths, key)] for role, key in reading.made_from.items()},
            "options": dict(reading.dataset.options),
        }


def _data(reading: Reading) -> list[str]:
    return [file for files in reading.dataset.files.values() for file in files]


class Scores:
    """The scores of a model that a block asks for, by the wildcards of their rule: encoder, training, block."""

    def __init__(self, plan: Plan, paths: Paths):
        self.plan, self.paths = plan, paths

    def model(self, wildcards) -> dict[str, str]:
        """The four keys of a model in the table of scores."""
        model = model_of(self.plan, wildcards)
        return {key: getattr(model, key) for key in ("encoder", "task", "strategy", "seed")}

    def inputs(self, wildcards) -> Named:
        """The readouts that a job scores, and the data that its metrics take beside them."""
        scores = self._jobs(wildcards)
        found: Named = {"readouts": list(dict.fromkeys(reading_output(self.paths, score.reading) for score in scores))}
        for score in scores:
            found |= {role: list(files) for role, files in score.dataset.scored_with.items()}
        return found

    def params(self, wildcards) -> list[Named]:
        """For each metric and readout that a job scores: its module, the dataset, the methods and the options."""
        return [
            {
                "metric": score.metric,
                "module": module_of(METRICS[score.metric]),
                "readout": reading_path(self.paths, score.reading),
                "dataset": score.dataset.label,
                "methods": list(score.methods),
                "limits": list(score.dataset.limits),
                "roles": list(score.dataset.scored_with),
                "options": dict(score.dataset.scoring),
            }
            for score in self._jobs(wildcards)
        ]

    def modules(self, wildcards) -> list[str]:
        return sorted({module_of(METRICS[score.metric]) for score in self._jobs(wildcards)})

    def _jobs(self, wildcards) -> tuple[Score, ...]:
        return self.plan.scored[wildcards.encoder, wildcards.training, wildcards.block]
