"""What the judgement of the measures needs of a run, and which measures are judged: every measure that an encoder of
the embedded corpus can have. Encoders of known bias, and models that were trained on data of known bias, untouched and,
where both biases are largest, under methods. Imports no pandas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.names import Faults, require
from biasflow.base.shipped import shipped
from biasflow.encoders.configured import PLANTED, Encoder
from biasflow.registry import METRICS, Measure
from biasflow.studies.measures import ENCODER, Judged

PROBED = "compression"  # of a pre-trained encoder it needs a task's texts
LAST_LAYER = "layer[-1]"  # a part, whatever the number of layers
_FILE = yaml.load(shipped("studies/planted/measures.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
FAMILIES = _FILE["families"] | {ENCODER: _FILE["families"].pop("encoder")}
# Beside those that stand in the matrix: family, metric and what the matrix would say of it.
BESIDE = [(about.pop("family"), about.pop("metric"), Measure(**about)) for about in _FILE["beside"]]


def calibration_name(bias: float, seed: int) -> str:
    return f"planted-bias{bias:g}-seed{seed}"


def calibration_task(task: str, bias: float) -> str:
    return f"planted-{task}-bias{bias:g}"


def planted_encoders(options: Mapping) -> dict[str, tuple[float, int]]:
    """The encoders of the study: name -> bias and seed."""
    return {calibration_name(bias, seed): (bias, seed) for bias in options["bias"] for seed in options["seeds"]}


def encoders(options: Mapping, config: Mapping) -> dict[str, dict]:
    """The same as the configuration has encoders."""
    keys = {**options["encoder"], "source": "pretrain"}
    return {name: {**keys, "bias": bias, "seed": seed} for name, (bias, seed) in planted_encoders(options).items()}


def tasks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """Each task of the options on data of each amount of bias. BiasflowError, naming the key, for data that no bias is
    planted in."""
    result = {}
    for name, about in options["tasks"].items():
        if not str(about.get("data")).startswith(PLANTED):
            raise BiasflowError(
                f"config: key 'papers.planted.tasks.{name}.data': no bias is planted in them; leave it out"
            )
        for bias in options["task_bias"]:
            result[calibration_task(name, bias)] = {**about, "planted": {**about["planted"], "bias": bias}}
    return result


def judged_encoders(options: Mapping) -> list[str]:
    """The encoders on which measures are judged."""
    return [*planted_encoders(options)]


def faults(options: Mapping, config: Mapping) -> Faults:
    """What is wrong with the options."""
    if PLANTED not in Encoder("", options["encoder"]).corpora:
        only = "bias can be planted in the corpus `planted` only; leave corpus out, or write planted"
        yield "papers.planted.encoder.corpus", only


def judged(kinds: Mapping[str, str]) -> Iterator[Judged]:
    """All measures of the encoders, then those of the models that are trained on each task (its name -> its kind)."""
    for family in FAMILIES[ENCODER]:
        yield from (Judged(measure, metric) for metric, measure in _of(family))
    for task, kind in kinds.items():
        if PROBED in FAMILIES[kind]:
            yield from (Judged(measure, metric, data=task) for metric, measure in _of(PROBED))
    for task, kind in kinds.items():
        for family in FAMILIES[kind]:
            yield from (Judged(measure, metric, task) for metric, measure in _of(family))


def _of(family: str) -> list[tuple[str, Measure]]:
    """The measures of a family; an NLI task has no GLUE score but its accuracy."""
    beside = [(metric, measure) for name, metric, measure in BESIDE if name == family]
    measures = [*METRICS[family].measures.items(), *beside]
    return [(metric, measure) for metric, measure in measures if metric != "glue_score"]


def ends(options: Mapping) -> tuple[float, float]:
    """The smallest and the largest bias of pre-training."""
    return min(options["bias"]), max(options["bias"])


def met(options: Mapping, task_bias: float) -> Sequence[float]:
    """The biases of pre-training whose encoders are trained on data with `task_bias`: either end is met by both."""
    return ends(options) if task_bias in ends(options) else [task_bias]


def blocks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """The blocks of the encoders, and for each task one per bias of its data and seed: an encoder is trained with the
    seed that it was pre-trained with. What is measured under methods as well is a block of its own (`-erased`).

    `options`: the key papers.planted of `config`, complete. BiasflowError, naming the key, for amounts of bias that do
    not meet, and for kinds of task of which nothing is judged."""
    _check(options)
    doses, seeds, tasks = options["bias"], options["seeds"], options["tasks"]
    result = dict(_with_methods(options, "planted", product(doses, seeds), metrics=FAMILIES[ENCODER]))
    for name, about in tasks.items():
        metrics = FAMILIES[about["kind"]]
        if PROBED in metrics:
            keys = {"task": calibration_task(name, min(options["task_bias"])), "trainings": ["pretrained"]}
            keys |= {"seeds": seeds[:1], "metrics": [PROBED]}
            result |= _with_methods(options, f"planted-{name}-pretrained", product(doses, seeds), **keys)
        for task_bias, seed in product(options["task_bias"], seeds):
            keys = {"task": calibration_task(name, task_bias), "seeds": [seed], "metrics": metrics}
            models = product(met(options, task_bias), [seed])
            erased = task_bias == ends(options)[1]
            result |= _with_methods(options, f"{keys['task']}-seed{seed}", models, erased, **keys)
    return result


def _with_methods(
    options: Mapping, name: str, models: Iterable[tuple[float, int]], erased: bool = True, **keys: object
) -> dict[str, dict]:
    """A block of the encoders with these doses and seeds; those of the largest dose, under methods, in one of their
    own."""
    result: dict[str, dict] = {}
    for bias, seed in models:
        under = erased and bias == ends(options)[1]
        methods = ["none", *options["methods"]] if under else ["none"]
        block = result.setdefault(name + "-erased" * under, {"encoders": [], "methods": methods, **keys})
        block["encoders"].append(calibration_name(bias, seed))
    return result


def _check(options: Mapping) -> None:
    doses, met_by = set(options["bias"]), set(options["task_bias"])
    if options["tasks"] and not set(ends(options)) <= met_by <= doses:
        low, high = ends(options)
        raise BiasflowError(
            f"config: key 'papers.planted.task_bias': it must hold {low:g} and {high:g}, the ends of `bias`, "
            "and amounts of that alone"
        )
    for name, about in options["tasks"].items():
        require(about["kind"], FAMILIES, f"papers.planted.tasks.{name}.kind", "kinds of task whose measures are judged")
