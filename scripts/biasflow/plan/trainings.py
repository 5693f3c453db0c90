"""The inputs, parameters and modules of jobs that fine-tune a model, and of jobs that fit methods to one."""

from collections.abc import Mapping

from biasflow.asking.matrix import NA, PRETRAINED, RANDOM, Files, Model
from biasflow.asking.paths import package_file
from biasflow.asking.tasks import TaskPlan
from biasflow.plan.datasets import fitting_contexts, fitting_files, fitting_words
from biasflow.plan.encoders import Encoders
from biasflow.plan.jobs import FitJob, Plan, Reading
from biasflow.plan.methods import erasers, needs_origin, resolved, sources
from biasflow.plan.setup import Setup
from biasflow.registry import RAW, STRATEGIES, module_of

Named = dict[str, object]


class Trainings:
    """Trainings by the wildcards of their rules: encoder, task, strategy, seed."""

    def __init__(self, encoders: Encoders):
        self.setup, self.encoders = encoders.setup, encoders

    def method_files(self, wildcards) -> Named:
        """What the method of a strategy with-<method> is fitted to; nothing for any other strategy."""
        model = self._model(wildcards)
        return fitting_files_of(self.setup, model.encoder, [model.carried], None) if model.carried else {}

    def tokens(self, wildcards) -> list[str]:
        """The file of the tokens that a model is trained on; [] where no job of its own makes it."""
        return [file for files in self._tokens(self._model(wildcards)).values() for file in files]

    def tokenising(self, wildcards) -> Named:
        """For the rule of such a file: the module that knows the texts, the roles of its data, the longest text."""
        task = self.setup.task(wildcards.task)
        roles, max_length = list(task.kind.trained_on), task.about["finetuning"]["max_length"]
        return {"module": module_of(task.kind.tokenised), "roles": roles, "max_length": max_length}

    def params(self, wildcards) -> Named:
        """The module that trains, the roles of its data, and its keyword arguments."""
        model = self._model(wildcards)
        task = self.setup.task(model.task)
        options = {"strategy": model.strategy, "seed": int(model.seed), **task.kind.training(task, model.strategy)}
        return {
            "module": task.module,
            "roles": [*task.kind.trained_on, *self._tokens(model)],
            "options": options,
            "fit": specifications(self.setup, model.encoder, [model.carried]) if model.carried else None,
        }

    def modules(self, wildcards) -> list[str]:
        """The modules that a training imports by name: the task's, and those of its strategy and its erasers."""
        model = self._model(wildcards)
        modules = [self.setup.task(model.task).module]
        modules += [module_of(STRATEGIES[model.strategy])] if model.strategy in STRATEGIES else []
        carried = self.setup.methods[model.carried] if model.carried else []
        return sorted({*modules, *(module for _, module in erasers(carried))})

    def _tokens(self, model: Model) -> Files:
        task = self.setup.task(model.task)
        adaptation = task.kind.training(task, model.strategy).get("adaptation", {})
        return task.tokens(model.encoder, adaptation.get("text", RAW))

    def _model(self, wildcards) -> Model:
        return Model(wildcards.encoder, wildcards.task, wildcards.strategy, wildcards.seed)


class Fits:
    """Fits of methods by the wildcards of their rule: encoder, training, group of blocks."""

    def __init__(self, encoders: Encoders, plan: Plan):
        self.setup, self.encoders, self.plan = encoders.setup, encoders, plan

    def model_and_data(self, wildcards) -> Named:
        """The model, the encoder that it was trained from where a method is fitted to that, and `fitting_files_of`."""
        model, names, task = self._job(wildcards)
        inputs: Named = {"model": self.encoders.model_files(model)}
        if any(needs_origin(self.setup.methods[name]) for name in names):
            above = self.setup.encoders[model.encoder].continues if model.task == NA else None
            inputs["origin"] = self.encoders.files(above.name if above else model.encoder)
        return inputs | fitting_files_of(self.setup, model.encoder, names, task)

    def params(self, wildcards) -> Named:
        """The methods that a job fits, what they are fitted to, and the heads that models are opened with."""
        model, names, task = self._job(wildcards)
        roles = list(fitting_files_of(self.setup, model.encoder, names, task))
        heads = {"model": self.encoders.head(model), "pretrained": self.encoders.head(Model(model.encoder))}
        parameters = specifications(self.setup, model.encoder, names) | {"roles": roles, "heads": heads}
        if _fitted_to_task(self.setup.methods, names):
            seed = model.split_seeds(self._readings(wildcards)[0].block.seeds)[0]
            entry = task.kind.gendered
            roles = {"roles": list(entry.data), "options": entry.options(task, seed)}
            parameters["task"] = {"module": module_of(entry), **roles}
        return parameters

    def modules(self, wildcards) -> list[str]:
        _, names, task = self._job(wildcards)
        modules = {module for name in names for _, module in erasers(self.setup.methods[name])}
        of_task = {module_of(task.kind.gendered)} if _fitted_to_task(self.setup.methods, names) else set()
        return sorted(modules | of_task)

    def _job(self, wildcards) -> tuple[Model, list[str], TaskPlan | None]:
        """The model, the methods that are fitted to it, and the task whose data it is read on."""
        names = self.plan.fits[_fit_job(wildcards)]
        task = self._readings(wildcards)[0].block.task
        return model_of(self.plan, wildcards), list(names), self.setup.task(task) if task else None

    def _readings(self, wildcards) -> list[Reading]:
        return [reading for reading in self.plan.readings.values() if reading.fit == _fit_job(wildcards)]


def _fit_job(wildcards) -> FitJob:
    return FitJob(wildcards.encoder, wildcards.training, wildcards.group)


def model_of(plan: Plan, wildcards) -> Model:
    """The model of the wildcards encoder and training."""
    kind, _, seed = wildcards.training.partition("/seed")
    if kind == PRETRAINED:
        return Model(wildcards.encoder)
    if kind == RANDOM:
        return Model(wildcards.encoder, strategy=RANDOM, seed=seed)
    return plan.trained[wildcards.encoder, wildcards.training]


def fitting_files_of(setup: Setup, encoder: str, names: list[str], task: TaskPlan | None) -> Named:
    """The files that methods are fitted to: pairs of sentences, text and words, and the data of a task."""
    fitting = setup.config["fitting"]
    inputs: Named = {"sentence_pairs": fitting["sentence_pairs"] or package_file("data/sentence_pairs.yaml")}
    if any("words" in sources(setup.methods[name]) for name in names):
        inputs |= fitting_files(fitting, setup.paths, setup.encoders[encoder])
    return inputs | (task.files(task.kind.gendered.data) if _fitted_to_task(setup.methods, names) else {})


def _fitted_to_task(methods: Mapping[str, object], names: list[str]) -> bool:
    return any("task" in sources(methods[name]) for name in names)


def specifications(setup: Setup, encoder: str, names: list[str]) -> Named:
    """Methods as fits take them, and what they are fitted to."""
    fitting, its = setup.config["fitting"], setup.encoders[encoder]
    return {
        "methods": {name: resolved(setup.methods[name]) for name in names},
        "words": fitting_words(fitting, its),
        "contexts": fitting_contexts(fitting, its),
    }
