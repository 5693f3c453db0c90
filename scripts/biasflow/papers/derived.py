"""What calibrations and papers need beside the configuration: encoders and tasks whose bias is known, how these are
called, and a measure that is judged by them. Imports no pandas."""

from collections.abc import Mapping
from dataclasses import dataclass

from biasflow.base.errors import BiasflowError
from biasflow.encoders.configured import PLANTED
from biasflow.registry import COST, Measure


def judged_encoders(paper: str, options: Mapping) -> list[str]:
    """The encoders on which a paper with these options judges measures; only `planted` and `calibrated` have any."""
    if paper == "planted":
        return [*planted_encoders(options)]
    return [options["encoder"], *calibrated_encoders(options)] if paper == "calibrated" else []


def derived_encoders(config: Mapping) -> dict[str, dict]:
    """The encoders that papers need beside those of the configuration: one per planted bias and seed, and those that
    paper A trains on before it measures perplexity."""
    papers, encoders = config["papers"], {}
    if "planted" in papers:
        keys = {**papers["planted"]["encoder"], "source": "pretrain"}
        for name, (bias, seed) in planted_encoders(papers["planted"]).items():
            encoders[name] = {**keys, "bias": bias, "seed": seed}
    if "calibrated" in papers:
        options = papers["calibrated"]
        keys = {"source": "continued", "from": options["encoder"], "recipe": "planted"}
        names = ("text", "examples", "labour", "learning_rate", "max_length", "placebo")
        keys |= {key: options[key] for key in names if key in options}
        for name, (dose, seed) in calibrated_encoders(options).items():
            encoders[name] = {**keys, "dose": dose, "seed": seed}
    if papers.get("liang2020", {}).get("finetuned_perplexity"):
        options = config["metrics"]["perplexity"]
        for name in papers["liang2020"]["encoders"]:
            keys = {"source": "continued", "from": name, "recipe": "masked_lm", "seed": 0}
            encoders[f"{name}-mlm"] = {**keys, "text": options["text"], "max_length": options["max_length"]}
    return encoders


def derived_tasks(config: Mapping) -> dict[str, dict]:
    """The tasks that papers need beside those of the configuration: each of papers.planted.tasks on data of each amount
    of bias. BiasflowError, naming the key, for data that no bias is planted in."""
    planted, tasks = config["papers"].get("planted"), {}
    for name, about in planted["tasks"].items() if planted else ():
        if not str(about.get("data")).startswith(PLANTED):
            raise BiasflowError(
                f"config: key 'papers.planted.tasks.{name}.data': no bias is planted in them; leave it out"
            )
        for bias in planted["task_bias"]:
            tasks[calibration_task(name, bias)] = {**about, "planted": {**about["planted"], "bias": bias}}
    return tasks


def calibration_name(bias: float, seed: int) -> str:
    return f"planted-bias{bias:g}-seed{seed}"


def calibration_task(task: str, bias: float) -> str:
    return f"planted-{task}-bias{bias:g}"


def planted_encoders(options: Mapping) -> dict[str, tuple[float, int]]:
    """The encoders of papers.planted: name -> bias and seed."""
    return {calibration_name(bias, seed): (bias, seed) for bias in options["bias"] for seed in options["seeds"]}


def calibrated_encoders(options: Mapping) -> dict[str, tuple[float, int]]:
    """The encoders of papers.calibrated with a planted dose: name -> dose and seed."""
    pairs = [(dose, seed) for dose in options["doses"] for seed in options["seeds"]]
    signs = {True: "minus", False: ""}  # a hyphen before the number would be read as no sign
    return {f"calibrated-dose-{signs[dose < 0]}{abs(dose):g}-seed{seed}": (dose, seed) for dose, seed in pairs}


ENCODER = ""  # in place of a kind of task: the encoder as it was pre-trained


@dataclass(frozen=True)
class Judged:
    """A measure of the encoders themselves, or of models that are trained on a task; data: the task whose texts it is
    read on where the encoder is not trained on them."""

    measure: Measure
    metric: str
    task: str = ENCODER
    data: str = ""

    @property
    def name(self) -> str:
        """Its name in tables and figures."""
        label = self.measure.label
        return f"{label} ({self.task})" if self.task else f"{label} ({self.data}, before)" if self.data else label

    @property
    def sign(self) -> int:
        """The direction of its change with more bias: up (1), down (-1), or none (0), for a measure of quality."""
        if self.measure.group == COST:
            return 0
        return -1 if self.measure.better == "high" else 1
