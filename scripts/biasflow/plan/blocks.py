"""The blocks that a configuration asks for: first those of its papers, then those of `ask`. Every name in them is
checked."""

import difflib
from collections.abc import Mapping

from biasflow.base.names import Faults, refuse, require
from biasflow.matrix import FINETUNED, PRETRAINED, RANDOM, Block
from biasflow.papers.paper import brought, load
from biasflow.plan.methods import not_in_training
from biasflow.plan.setup import Setup
from biasflow.registry import DECIDED, GIVEN, METRICS, PAPERS, STRATEGIES, WITH

DEFAULTS = {"task": None, "trainings": None, "metrics": [], "items": {}, "limit": None}
DEFAULTS |= {"strategies": ["plain"], "seeds": [0], "methods": ["none"]}


def blocks_of(config: Mapping) -> list[Block]:
    """Return all blocks that a configuration asks for, those of papers first. BiasflowError for an unknown name."""
    blocks: dict[str, Block] = {}
    for paper, options in config["papers"].items():
        for name, keys in _of_paper(paper, options, config).items():
            blocks[name] = _block(name, f"papers.{paper}", paper, {"limit": config["limit"], **keys}, config)
    refuse((f"ask.{name}", "that is the name of a paper; choose another") for name in config["ask"] if name in PAPERS)
    of_paper = "a paper has a block of this name; choose another"
    refuse((f"ask.{name}", of_paper) for name in config["ask"] if name in blocks)
    blocks |= {name: _block(name, f"ask.{name}", name, keys, config) for name, keys in config["ask"].items()}
    return list(blocks.values())


def _of_paper(paper: str, options: Mapping, config: Mapping) -> dict[str, Mapping]:
    """The blocks of a paper by name: those that its paper.yaml asks for, or that a module of its own computes."""
    text, computed = load(paper, options.get("folder")), brought(paper, "blocks", options, config)
    return text.blocks(options, config) if computed is None else computed


def _block(name: str, key: str, group: str, keys: Mapping, config: Mapping) -> Block:
    keys = {**DEFAULTS, **keys}
    trainings = keys["trainings"] or [FINETUNED if keys["task"] else PRETRAINED]
    lists = {part: keys[part] for part in ("encoders", "strategies", "seeds", "methods", "metrics")}
    lists |= {"trainings": trainings, "items": keys["items"].items()}
    parts = {part: tuple(values) for part, values in lists.items()}
    block = Block(name, key, task=keys["task"], group=group, limit=keys["limit"], **parts)
    refuse(_unfitting(block, config))
    return block


def _unfitting(block: Block, config: Mapping) -> Faults:
    for part, names, known in (
        ("encoders", block.encoders, config["encoders"]),
        ("task", [block.task] if block.task else [], config["tasks"]),
        ("methods", block.methods, config["methods"]),
        ("metrics", block.metrics, METRICS),
    ):
        for name in names:
            hint = _metric_of(name) if part == "metrics" else ""
            require(name, known, f"{block.key}.{part}", "tasks" if part == "task" else part, hint)
    if block.task:
        yield from _unfitting_strategies(block, config)
        return
    if FINETUNED in block.trainings:
        yield f"{block.key}.task", "fine-tuned models are asked for, but no task is named; add the key task"
    for part in ["strategies"] if RANDOM in block.trainings else ["strategies", "seeds"]:
        if list(getattr(block, part)) != DEFAULTS[part]:
            nothing = "no task is named, so nothing is fine-tuned"
            yield f"{block.key}.{part}", f"{nothing}; name one (task), or leave {part} out"


def _unfitting_strategies(block: Block, config: Mapping) -> Faults:
    kind, key = Setup(config).task(block.task).kind, f"{block.key}.strategies"
    if GIVEN in block.strategies and block.seeds != (0,):
        yield f"{block.key}.seeds", f"a classifier that is {GIVEN} is not trained, so it has no seed; leave seeds out"
    for name in block.encoders if GIVEN in block.strategies else ():
        if config["encoders"][name]["source"] in ("pretrain", "continued"):
            yield f"{block.key}.encoders", f"encoders.{name} is made by this run, and no classifier that is {GIVEN}"
    for name in block.strategies:
        if DECIDED in kind.has and name != GIVEN:
            other = f"tasks.{block.task} tests a classifier that is {GIVEN}; name another task, with the same files"
            yield key, f"{name} trains a classifier, and {other}"
        if name.startswith(WITH):
            method = name.removeprefix(WITH)
            require(method, config["methods"], key, "methods")
            if reason := not_in_training(config["methods"][method]):
                yield key, f"{name}: methods.{method} {reason}"
            continue
        require(name, STRATEGIES, key, "strategies")
        if lacking := [need for need in STRATEGIES[name].needs if need not in kind.has]:
            yield key, f"{name} needs {' and '.join(lacking)}, which tasks.{block.task} has not; leave it out"


def _metric_of(name: str) -> str:
    """Which metric has a measure of this name, or of one like it; "" where a metric is meant."""
    known = [measure for entry in METRICS.values() for measure in entry.measures]
    measure = next(iter(difflib.get_close_matches(name, known, n=1)), None)
    if measure is None or (measure != name and difflib.get_close_matches(name, METRICS, n=1)):
        return ""
    metrics = " and of ".join(metric for metric, entry in METRICS.items() if measure in entry.measures)
    return f"{measure} is a measure of the metric {metrics}: ask for that"
