"""Whether the blocks of Dawkins et al. (2024) can be asked for. Imports no pandas."""

from collections.abc import Mapping

from biasflow.base.errors import BiasflowError
from biasflow.papers.paper import load

_NAME = "dawkins2024"


def blocks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """The blocks that paper.yaml asks for. BiasflowError for a method that is not the whole grid, and for one in
    `during` that is not one setting of it: the paper's tables have a row per setting.

    `options`: the key papers.dawkins2024 of `config`, complete."""
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
    return load(_NAME).blocks(options, config)


def _settings(config: Mapping, name: str) -> list[str] | None:
    """The settings that a grid is limited to, [] if to none; None for a method that is no grid."""
    method = config["methods"].get(name)
    return list(method.get("settings") or []) if isinstance(method, Mapping) else None
