"""Looks up the tasks of a configuration and their kinds. Every kind is a package with a plan of its own
(tasks/<kind>/plan.py)."""

import importlib
from collections.abc import Mapping

from biasflow.asking.matrix import Block
from biasflow.asking.tasks import Kind, TaskPlan
from biasflow.registry import PACKAGE, TASKS


def task_of(config: Mapping, name: str, blocks: tuple[Block, ...] = ()) -> TaskPlan:
    """A task of the configuration, by its name. blocks: those of the run, for data that depend on what is asked for."""
    return TaskPlan(config, name, kind_of(config["tasks"][name]["kind"]), blocks)


def kind_of(name: str) -> Kind:
    """A kind of task, as its package says it."""
    return importlib.import_module(plan_module(name)).KIND


def plan_module(kind: str) -> str:
    """The full name of the module that plans a kind of task."""
    return f"{PACKAGE}.{TASKS[kind].folder}.plan"
