"""Which cells the paper needs, as blocks of a matrix. Imports no pandas."""

from collections.abc import Mapping

_INSIDE = ["compression", "ceat"]


def blocks(options: Mapping[str, object], config: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Blocks of the fine-tuned encoders, of the pretrained ones (with heads on them, of occupation prediction), and of
    those never trained, of each task; none without encoders.

    options: encoders, task, strategies, coreference (a task; absent or null: none) with coreference_strategies, seeds
    (of fine-tunings and their splits), random_encoders (see `random_seeds`), methods (absent: none). The probes of
    pretrained encoders take the splits of `seeds`, the heads on them are trained on the data of all strategies.
    `config` is not needed."""
    if not options["encoders"]:
        return {}
    found = _of_task(options, options["task"], options["strategies"], ["fairness"], heads=["fairness"])
    if options.get("coreference"):
        of_documents = ["coreference", "winobias"]
        more = _of_task(options, options["coreference"], options["coreference_strategies"], of_documents, heads=[])
        found |= {f"coreference-{name}": block for name, block in more.items()}
    return {f"orgad2022-{name}": block for name, block in found.items() if block["seeds"]}


def _of_task(
    options: Mapping[str, object], task: str, strategies: list[str], outside: list[str], *, heads: list[str]
) -> dict[str, dict[str, object]]:
    """The blocks of a task; outside: metrics of its fine-tuned models, heads: those of heads on pretrained ones."""
    shared = {"encoders": options["encoders"], "task": task, "seeds": options["seeds"]}
    debiased = shared | {"strategies": strategies}
    methods = options.get("methods", ["none"])
    return {
        "finetuned": debiased | {"methods": methods, "metrics": [*outside, *_INSIDE, "training"]},
        "pretrained": debiased | {"trainings": ["pretrained"], "metrics": [*_INSIDE, *heads]},
        "random": shared | {"trainings": ["random"], "seeds": random_seeds(options), "metrics": _INSIDE},
    }


def random_seeds(options: Mapping[str, object]) -> list[int]:
    """The seeds of the encoders that were never trained: `random_encoders`, or all `seeds` where that is null."""
    seeds = options.get("random_encoders")
    return options["seeds"] if seeds is None else seeds
