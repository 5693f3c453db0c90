"""The options of trainings, readouts and scores, taken from the configuration for one job."""

from collections.abc import Mapping

from scripts.biasflow.plan.cells import strategies_of_heads
from scripts.biasflow.registry import STRATEGIES, TASKS, module_of

NLI, GLUE, OCCUPATION = "nli", "glue", "occupation"


def training(config: Mapping, model, task: Mapping) -> dict[str, object]:
    """The keyword arguments of a task's train()."""
    found = {"strategy": model.strategy, "recipe": task["finetuning"], "seed": int(model.seed)}
    if task["kind"] == GLUE:
        found["name"] = glue_name(task)
    if task["kind"] == OCCUPATION:
        about = STRATEGIES.get(model.strategy, STRATEGIES["plain"])
        found |= {"strategy_module": about.module, "text": about.text}
    return found


def glue_name(task: Mapping) -> str:
    """The GLUE task whose columns and classes the data have: the embedded pairs have those of MNLI."""
    return "mnli" if task["data"] == "planted-nli" else task["data"]


def readout(config: Mapping, reading, about: Mapping | None, seeds: list[int]) -> dict[str, object]:
    """The keyword arguments of a readout's read(). about: the task whose data are read; seeds: those of its splits."""
    found = dict(reading.dataset.options)
    if reading.readout in ("predictions", "nli_heads"):
        found |= {"task": module_of(TASKS[about["kind"]]), "max_length": about["finetuning"]["max_length"]}
        found |= {"name": glue_name(about)} if about["kind"] == GLUE else {}
    if reading.readout == "probes":
        probe = config["metrics"]["compression"]
        found = {"split_seeds": seeds, "probe_seeds": probe["seeds"]}
        found |= {key: probe[key] for key in ("fractions", "epochs")}
    if reading.readout == "heads":
        found = {"text": reading.dataset.options["text"]} | _heads(reading, about, seeds)
    return found


def _heads(reading, about: Mapping, seeds: list[int]) -> dict[str, object]:
    fine_tuned = reading.model.task != "-"
    options = dict(about["heads" if fine_tuned else "frozen"])
    own = options.pop("seeds")
    if fine_tuned:
        return options | {"split_seeds": seeds, "head_seeds": own}
    strategies = [
        {"name": name, "module": STRATEGIES[name].module, "text": STRATEGIES[name].text}
        for name in strategies_of_heads(reading)
    ]
    return options | {"split_seeds": own, "strategies": strategies}
