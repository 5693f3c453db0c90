"""Looks up the tasks of a configuration and their kinds. Every kind is a package with a plan of its own
(tasks/<kind>/plan.py)."""

import importlib
from collections.abc import Mapping

from biasflow.base.paths import Paths
from biasflow.matrix import Block
from biasflow.registry import PACKAGE, PAPERS, TASKS
from biasflow.tasks.kinds import Kind, TaskPlan


def task_of(config: Mapping, name: str, blocks: tuple[Block, ...] = ()) -> TaskPlan:
    """A task of the configuration, by its name. blocks: those of the run, for data that depend on what is asked for."""
    about = config["tasks"][name]
    paths, of_paper = Paths(config["run"], config["files"]), name in tasks_of_papers(config)
    return TaskPlan(name, about, kind_of(about["kind"]), paths, of_paper, blocks)


def tasks_of_papers(config: Mapping) -> list[str]:
    """The names of the tasks that papers of the run take."""
    papers = config["papers"].items()
    named = [options.get(key) or [] for paper, options in papers if paper in PAPERS for key in PAPERS[paper].tasks]
    return [task for names in named for task in ([names] if isinstance(names, str) else names)]


def kind_of(name: str) -> Kind:
    """Return a kind of task, as its package describes it."""
    return importlib.import_module(plan_module(name)).KIND


def plan_module(kind: str) -> str:
    """The full name of the module that plans a kind of task."""
    return f"{PACKAGE}.{TASKS[kind].folder}.plan"
