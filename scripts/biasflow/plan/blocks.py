"""The blocks that a configuration asks for: first those of its papers, then those of `ask`. Every name in them is
checked."""

import difflib
import importlib
from collections.abc import Mapping

from biasflow.base.errors import BiasflowError
from biasflow.base.names import require
from biasflow.matrix import FINETUNED, PRETRAINED, RANDOM, Block
from biasflow.papers.paper import load
from biasflow.plan.methods import not_in_training
from biasflow.registry import METRICS, PAPERS, STRATEGIES, WITH

DEFAULTS = {"task": None, "trainings": None, "metrics": [], "items": {}, "limit": None}
DEFAULTS |= {"strategies": ["plain"], "seeds": [0], "methods": ["none"]}


def blocks_of(config: Mapping) -> list[Block]:
    """Return all blocks that a configuration asks for, those of papers first. BiasflowError for an unknown name."""
    blocks: dict[str, Block] = {}
    for name in config["ask"]:
        if name in PAPERS:
            raise BiasflowError(f"config: key 'ask.{name}': that is the name of a paper; choose another")
    for paper, options in config["papers"].items():
        for name, keys in _of_paper(paper, options, config).items():
            blocks[name] = _block(name, f"papers.{paper}", paper, keys, config)
    for name, keys in config["ask"].items():
        if name in blocks:
            raise BiasflowError(f"config: key 'ask.{name}': a paper has a block of this name; choose another")
        blocks[name] = _block(name, f"ask.{name}", name, keys, config)
    return list(blocks.values())


def _of_paper(paper: str, options: Mapping, config: Mapping) -> dict[str, Mapping]:
    """The blocks of a paper by name: those that its paper.yaml asks for, or that a module of its own computes."""
    text = load(paper, options.get("folder"))
    computed = text.computed_blocks
    return (importlib.import_module(computed) if computed else text).blocks(options, config)


def _block(name: str, key: str, group: str, keys: Mapping, config: Mapping) -> Block:
    keys = {**DEFAULTS, **keys}
    trainings = keys["trainings"] or [FINETUNED if keys["task"] else PRETRAINED]
    lists = {part: keys[part] for part in ("encoders", "strategies", "seeds", "methods", "metrics")}
    lists |= {"trainings": trainings, "items": keys["items"].items()}
    parts = {part: tuple(values) for part, values in lists.items()}
    block = Block(name, key, task=keys["task"], group=group, limit=keys["limit"], **parts)
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
            hint = _metric_of(name) if part == "metrics" else ""
            require(name, known, f"{block.key}.{part}", "tasks" if part == "task" else part, hint)
    if FINETUNED in block.trainings and not block.task:
        raise BiasflowError(
            f"config: key '{block.key}.task': fine-tuned models are asked for, but no task is named; add the key task"
        )
    if not block.task:
        ignored = ["strategies"] if RANDOM in block.trainings else ["strategies", "seeds"]
        for part in ignored:
            if list(getattr(block, part)) != DEFAULTS[part]:
                raise BiasflowError(
                    f"config: key '{block.key}.{part}': no task is named, so nothing is fine-tuned; "
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
                        f"config: key '{block.key}.strategies': {name} is not available for tasks of kind {kind} "
                        f"({block.task}); it is for {', '.join(STRATEGIES[name].kinds)}"
                    )


def _metric_of(name: str) -> str:
    """Which metric has a measure of this name, or of one like it; "" where a metric is meant."""
    metrics_by_measure: dict[str, list[str]] = {}
    for metric, entry in METRICS.items():
        for measure in entry.measures:
            metrics_by_measure.setdefault(measure, []).append(metric)
    if name not in metrics_by_measure and difflib.get_close_matches(name, METRICS, n=1):
        return ""
    measures = difflib.get_close_matches(name, metrics_by_measure, n=1)
    metrics = " and of ".join(metrics_by_measure[measures[0]]) if measures else ""
    return metrics and f"{measures[0]} is a measure of the metric {metrics}: ask for that"
