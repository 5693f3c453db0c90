"""The blocks of cells that Dawkins et al. (2024) needs, as a configuration asks for them. Imports no pandas."""

from collections.abc import Mapping

from biasflow.base.errors import BiasflowError
from biasflow.registry import WITH

_NAME = "dawkins2024"
_DOWNSTREAM = ["nli_fairness", "accuracy", "training"]


def encoders_of_nli(options: Mapping) -> list[str]:
    """The encoders that are fine-tuned: `nli_encoders`, or all; none where no task is named."""
    if options["task"] is None:
        return []
    return list(options["encoders"] if options["nli_encoders"] is None else options["nli_encoders"])


def blocks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """The blocks by name: Strength and Distance of the encoders, NLI of the fine-tuned ones, and NLI of those that are
    fine-tuned with a setting of the grid active (`during`).

    `options`: the key papers.dawkins2024 of `config`, complete. BiasflowError for a method that is not the whole grid,
    and for one in `during` that is not one setting of it: the paper's tables have a row per setting."""
    if _settings(config, options["method"]) != []:
        raise BiasflowError(
            f"config: key 'papers.{_NAME}.method': {options['method']!r} is not a grid with all of its settings; the "
            f"tables have a row for each, so define it as {{grid: {_NAME}}}"
        )
    for name in options["during"]:
        if len(_settings(config, name) or ()) != 1:
            raise BiasflowError(
                f"config: key 'papers.{_NAME}.during': {name!r} is not one setting of a grid; define it under methods, "
                f'such as {{grid: {_NAME}, settings: ["sent 0"]}}'
            )
    methods = ["none", options["method"]]
    inside = {"encoders": options["encoders"], "methods": methods, "metrics": ["strength"]}
    result = {f"{_NAME}-inside": inside | {"items": {"next_sentence": "stimuli"}}}  # examples are printed one by one
    nli = {
        "encoders": encoders_of_nli(options),
        "task": options["task"],
        "seeds": list(options["seeds"]),
        "metrics": _DOWNSTREAM,
    }
    result[f"{_NAME}-nli"] = nli | {"strategies": ["plain"], "methods": methods}
    result[f"{_NAME}-during"] = nli | {"strategies": [WITH + name for name in options["during"]], "methods": ["none"]}
    result = {name: block for name, block in result.items() if block["encoders"] and block.get("strategies", True)}
    if not result:
        raise BiasflowError(f"config: key 'papers.{_NAME}.encoders': no encoder is named; name one or leave it out")
    return result


def _settings(config: Mapping, name: str) -> list[str] | None:
    """The settings that a grid is limited to, [] if to none; None for a method that is no grid."""
    method = config["methods"].get(name)
    return list(method.get("settings") or []) if isinstance(method, Mapping) else None
