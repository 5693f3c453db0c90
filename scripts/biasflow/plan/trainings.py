"""The jobs that make the data of tasks, fine-tune models, and fit methods to models."""

from collections.abc import Iterator, Mapping

from biasflow.base.paths import package_file
from biasflow.corpora.catalogue import Catalogue
from biasflow.matrix import NA, Model
from biasflow.plan.datasets import fitting_contexts, fitting_files, fitting_words
from biasflow.plan.encoders import encoder_files, head_of, model_files
from biasflow.plan.estimate import TOKENS, of_training, operations
from biasflow.plan.jobs import FitJob, Job, Plan, Reading
from biasflow.plan.methods import eraser_modules, needs_origin, places_of, resolved, sources
from biasflow.plan.setup import Setup
from biasflow.registry import STRATEGIES, module_of
from biasflow.tasks.kinds import TaskPlan
from biasflow.training import FITTING


def data_jobs(setup: Setup, plan: Plan, catalogue: Catalogue) -> Iterator[Job]:
    """The jobs that make the data of tasks, step by step."""
    for task in (setup.task(name, plan.blocks) for name in setup.config["tasks"]):
        for step in task.kind.steps:
            inputs = {role: list(files) for role, files in step.sources(task, catalogue).items()}
            inputs |= task.files(step.made_from)
            prepare = {"module": module_of(step), "roles": list(inputs), "options": step.options(task)}
            outputs = list(task.files(step.outputs).values())
            yield Job(step.rule, [task.name], outputs, inputs, {"prepare": prepare}, [module_of(step)])


def training_jobs(setup: Setup, plan: Plan, catalogue: Catalogue) -> Iterator[Job]:
    """The jobs that fine-tune models. The method of a strategy with-<method> is fitted in the training itself."""
    for model in plan.trained.values():
        task = setup.task(model.task)
        methods = [model.carried] if model.carried else []
        options = {"strategy": model.strategy, "seed": int(model.seed), **task.kind.training(task, model.strategy)}
        training = {
            "module": task.module,
            "roles": list(task.kind.trained_on),
            "options": options,
            "fit": _specifications(setup, model.encoder, methods) if methods else None,
        }
        modules = {task.module, *eraser_modules(setup.methods[name] for name in methods)}
        modules |= {FITTING} if methods else set()
        modules |= {module_of(STRATEGIES[model.strategy])} if model.strategy in STRATEGIES else set()
        inputs = _fitting_files(setup, model.encoder, methods, None) if methods else {}
        inputs |= task.files(task.kind.trained_on) | {"encoder": encoder_files(setup, model.encoder)}
        yield Job(
            f"finetune_{task.about['kind']}",
            [model.encoder, model.task, model.strategy, model.seed],
            [path(model.encoder, model.training) for path in (setup.paths.model, setup.paths.training)],
            inputs,
            {"training": training},
            sorted(modules),
            operations=of_training(task, catalogue, setup.encoders[model.encoder]),
        )


def fit_jobs(setup: Setup, plan: Plan) -> Iterator[Job]:
    """The jobs that fit methods to a model, those of a group of blocks together."""
    first_readings = {reading.fit: reading for reading in reversed(plan.readings.values())}
    for fit, methods in plan.fits.items():
        yield _fit(setup, fit, list(methods), first_readings[fit])


def _fit(setup: Setup, fit: FitJob, names: list[str], reading: Reading) -> Job:
    """The job of a fit. reading: one under its methods, which says the model and the task whose data it is read on."""
    model, methods = reading.model, [setup.methods[name] for name in names]
    task = setup.task(reading.block.task) if reading.block.task else None
    inputs = {"model": model_files(setup, model)}
    if any(map(needs_origin, methods)):
        above = setup.encoders[model.encoder].continues if model.task == NA else None
        inputs["origin"] = encoder_files(setup, above.name if above else model.encoder)
    files = _fitting_files(setup, model.encoder, names, task)
    heads = {"model": head_of(setup, model), "pretrained": head_of(setup, Model(model.encoder))}
    params = _specifications(setup, model.encoder, names) | {"roles": list(files), "heads": heads}
    modules = eraser_modules(methods)
    if _fitted_to_task(setup.methods, names):
        gendered, seed = task.kind.gendered, model.split_seeds(reading.block.seeds)[0]
        edited = {place for method in methods for place in places_of(method)}
        options = {place: gendered.options(task, seed, place) for place in gendered.places if place in edited}
        params["task"] = {"module": module_of(gendered), "roles": list(gendered.data), "places": options}
        modules.add(module_of(gendered))
    return Job(
        "fit_methods",
        list(fit),
        [setup.paths.methods(*fit), setup.paths.about_methods(*fit)],
        inputs | files,
        {"fit": params},
        sorted(modules),
        operations=operations(setup.encoders[model.encoder], TOKENS * setup.config["fitting"]["n"]),
    )


def _fitting_files(setup: Setup, encoder: str, names: list[str], task: TaskPlan | None) -> dict[str, object]:
    """The files that methods are fitted to: pairs of sentences, text and words, and the data of a task."""
    fitting = setup.config["fitting"]
    inputs: dict[str, object] = {
        "sentence_pairs": fitting["sentence_pairs"] or package_file("data/sentence_pairs.yaml")
    }
    if any("words" in sources(setup.methods[name]) for name in names):
        inputs |= fitting_files(fitting, setup.paths, setup.encoders[encoder])
    return inputs | (task.files(task.kind.gendered.data) if _fitted_to_task(setup.methods, names) else {})


def _fitted_to_task(methods: Mapping[str, object], names: list[str]) -> bool:
    return any("task" in sources(methods[name]) for name in names)


def _specifications(setup: Setup, encoder: str, names: list[str]) -> dict[str, object]:
    """Methods as fits take them, and what they are fitted to."""
    fitting = setup.config["fitting"]
    return {
        "methods": {name: resolved(setup.methods[name]) for name in names},
        "words": fitting_words(fitting, setup.encoders[encoder]),
        "contexts": fitting_contexts(fitting, setup.encoders[encoder]),
    }
