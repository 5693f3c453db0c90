"""Which cells the paper needs, as blocks of a matrix. Imports no pandas."""

from collections.abc import Mapping

_INSIDE = ["compression", "ceat"]


def blocks(options: Mapping[str, object], config: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Blocks of the fine-tuned encoders, of the pretrained ones with heads on them, and of those never trained; none
    without encoders.

    options: encoders, task, strategies, seeds (of fine-tunings and their splits), random_encoders (see `random_seeds`),
    methods (absent: none). The probes of pretrained encoders take the splits of `seeds`, the heads on them are trained
    on the data of all strategies. `config` is not needed."""
    if not options["encoders"]:
        return {}
    shared = {key: options[key] for key in ("encoders", "task", "seeds")}
    debiased = shared | {"strategies": options["strategies"]}
    methods = options.get("methods", ["none"])
    found = {
        "finetuned": debiased | {"methods": methods, "metrics": ["fairness", *_INSIDE, "training"]},
        "pretrained": debiased | {"trainings": ["pretrained"], "metrics": [*_INSIDE, "fairness"]},
        "random": shared | {"trainings": ["random"], "seeds": random_seeds(options), "metrics": _INSIDE},
    }
    return {f"orgad2022-{name}": block for name, block in found.items() if block["seeds"]}


def random_seeds(options: Mapping[str, object]) -> list[int]:
    """The seeds of the encoders that were never trained: `random_encoders`, or all `seeds` where that is null."""
    seeds = options.get("random_encoders")
    return options["seeds"] if seeds is None else seeds
