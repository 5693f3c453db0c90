"""Which cells the paper needs, as blocks of a matrix. Imports no pandas."""

from collections.abc import Mapping

_INSIDE = ["compression", "ceat"]


def blocks(options: Mapping[str, object], config: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return the blocks of each task: fine-tuned encoders, pretrained ones (for occupation prediction with heads on
    them) and untrained ones; no block without encoders.

    options: encoders, task, strategies, coreference (a task; absent or null: none) with coreference_encoders (see
    `named_encoders`) and coreference_strategies, seeds (of fine-tunings and their splits), random_encoders (see
    `random_seeds`), methods (absent: none). The probes of pretrained encoders take the splits of `seeds`, the heads on
    them are trained on the data of all strategies. `config` is not needed."""
    result = _of_task(options, "task", "encoders", "strategies", ["fairness"], heads=["fairness"])
    if options.get("coreference"):
        keys = ("coreference", "coreference_encoders", "coreference_strategies")
        more = _of_task(options, *keys, ["coreference", "winobias"], heads=[])
        result |= {f"coreference-{name}": block for name, block in more.items()}
    return {f"orgad2022-{name}": block for name, block in result.items() if block["encoders"] and block["seeds"]}


def _of_task(
    options: Mapping[str, object], task: str, encoders: str, strategies: str, outside: list[str], *, heads: list[str]
) -> dict[str, dict[str, object]]:
    """The blocks of a task, which an option names, as others do its encoders and strategies; outside: metrics of its
    fine-tuned models, heads: those of heads on pretrained ones."""
    shared = {"encoders": named_encoders(options, encoders), "task": options[task], "seeds": options["seeds"]}
    debiased = shared | {"strategies": options[strategies]}
    methods = options.get("methods", ["none"])
    return {
        "finetuned": debiased | {"methods": methods, "metrics": [*outside, *_INSIDE, "training"]},
        "pretrained": debiased | {"trainings": ["pretrained"], "metrics": [*_INSIDE, *heads]},
        "random": shared | {"trainings": ["random"], "seeds": random_seeds(options), "metrics": _INSIDE},
    }


def named_encoders(options: Mapping[str, object], key: str) -> list[str]:
    """Return the encoders that an option names; all `encoders` if it is absent or null."""
    names = options.get(key)
    return options["encoders"] if names is None else names


def random_seeds(options: Mapping[str, object]) -> list[int]:
    """Return the seeds of the untrained encoders: `random_encoders`, or all `seeds` if that is null."""
    seeds = options.get("random_encoders")
    return options["seeds"] if seeds is None else seeds
