"""The blocks that a configuration asks for: those of its papers, then those of `ask`, with every name checked."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from biasflow.base.errors import BiasflowError
from biasflow.plan.methods import not_in_training
from biasflow.plan.names import require
from biasflow.registry import METRICS, PAPERS, STRATEGIES, WITH, module_of

FINETUNED, PRETRAINED, RANDOM = "finetuned", "pretrained", "random"
PART = "+"  # between the name of a block and the number of what was added to it: no name has it
_EMPTY = {"task": None, "trainings": None, "metrics": [], "items": {}, "limit": None}
DEFAULTS = _EMPTY | {"strategies": ["plain"], "seeds": [0], "methods": ["none"]}


@dataclass(frozen=True)
class Block:
    """A named part of the matrix: encoders (fine-tuned on a task, if one is named) x methods x metrics.

    items: readouts that a paper prints item by item, each with its datasets (plan.datasets); under all methods of the
    block, whichever other block scores them. group: blocks whose methods are fitted by one job: those
    of a paper. key: where it stands in the configuration, for errors. limit: of the items that are read (plan.datasets
    says of which)."""

    name: str
    key: str
    encoders: tuple[str, ...]
    task: str | None
    trainings: tuple[str, ...]
    strategies: tuple[str, ...]
    seeds: tuple[int, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    items: tuple[tuple[str, str], ...] = ()
    group: str = ""
    limit: int | None = None

    @property
    def asked(self) -> str:
        """Its name in the configuration, also of what was added to it (plan.asked)."""
        return self.name.partition(PART)[0]

    @property
    def is_of_paper(self) -> bool:
        return self.key.startswith("papers.")


def blocks_of(config: Mapping) -> list[Block]:
    """All blocks, papers first. BiasflowError for a name that is unknown."""
    found: dict[str, Block] = {}
    for name in config["ask"]:
        if name in PAPERS:
            raise BiasflowError(f"config: key 'ask.{name}': that is the name of a paper; choose another")
    for paper, options in config["papers"].items():
        module = importlib.import_module(f"{module_of(PAPERS[paper])}.blocks")
        for name, keys in module.blocks(options, config).items():
            found[name] = _block(name, f"papers.{paper}", paper, keys, config)
    for name, keys in config["ask"].items():
        if name in found:
            raise BiasflowError(f"config: key 'ask.{name}': a paper has a block of this name; choose another")
        found[name] = _block(name, f"ask.{name}", name, keys, config)
    return list(found.values())


def _block(name: str, key: str, group: str, keys: Mapping, config: Mapping) -> Block:
    keys = {**DEFAULTS, **keys}
    trainings = keys["trainings"] or [FINETUNED if keys["task"] else PRETRAINED]
    block = Block(
        name,
        key,
        tuple(keys["encoders"]),
        keys["task"],
        tuple(trainings),
        tuple(keys["strategies"]),
        tuple(keys["seeds"]),
        tuple(keys["methods"]),
        tuple(keys["metrics"]),
        tuple(keys["items"].items()),
        group,
        keys["limit"],
    )
    _check(block, config)
    return block


def _check(block: Block, config: Mapping) -> None:
    for part, names, known in (
        ("encoders", block.encoders, config["encoders"]),
        ("task", [block.task] if block.task else [], config["tasks"]),
        ("methods", block.methods, config["methods"]),
        ("metrics", block.metrics, METRICS),
    ):
        for name in names:
            require(name, known, f"{block.key}.{part}", "tasks" if part == "task" else part)
    if FINETUNED in block.trainings and not block.task:
        raise BiasflowError(f"config: key '{block.key}.task': fine-tuned models are asked for, but no task is named")
    if not block.task:
        ignored = ["strategies"] if RANDOM in block.trainings else ["strategies", "seeds"]
        for part in ignored:
            if list(getattr(block, part)) != DEFAULTS[part]:
                raise BiasflowError(
                    f"config: key '{block.key}.{part}': no task is named, so that nothing is fine-tuned; "
                    f"name one (task), or leave {part} out"
                )
    else:
        kind = config["tasks"][block.task]["kind"]
        for name in block.strategies:
            if name.startswith(WITH):
                method = name.removeprefix(WITH)
                require(method, config["methods"], f"{block.key}.strategies", "methods")
                if reason := not_in_training(config["methods"][method]):
                    raise BiasflowError(f"config: key '{block.key}.strategies': {name}: methods.{method} {reason}")
            else:
                require(name, STRATEGIES, f"{block.key}.strategies", "strategies")
                if STRATEGIES[name].kinds and kind not in STRATEGIES[name].kinds:
                    raise BiasflowError(
                        f"config: key '{block.key}.strategies': {name} is not there for tasks of kind {kind} "
                        f"({block.task}); it is for {', '.join(STRATEGIES[name].kinds)}"
                    )
