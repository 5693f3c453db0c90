"""What a run is planned from: the configuration with all defaults, and what lies on disk. Both describe its encoders,
methods and tasks; every kind of task is a package with a plan of its own (tasks/<kind>/plan.py)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from biasflow.base.by_name import module_named
from biasflow.base.paths import Paths, package_file
from biasflow.encoders.configured import Encoder
from biasflow.encoders.described import Description
from biasflow.matrix import Block
from biasflow.plan.asked import Part
from biasflow.registry import GIVEN, PACKAGE, PAPERS, TASKS
from biasflow.tasks.kinds import Kind, TaskPlan


@dataclass(frozen=True)
class Facts:
    """What files and earlier runs say about a configuration. described: local encoder -> what its folder says; missing:
    encoder -> why it, or the local one that it continues, cannot be had; absent: file of a task's data -> why it cannot
    be had; asked: in which parts blocks were asked for by earlier runs (plan.asked); no_documents: continued encoder ->
    why it is trained without the next-sentence head that the configuration asks for."""

    described: Mapping[str, Description] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[Part, ...] = ()
    no_documents: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """The configuration with all defaults (plan.configuration), and the facts read from files."""

    config: Mapping
    facts: Facts = field(default_factory=Facts)

    @cached_property
    def paths(self) -> Paths:
        return Paths(self.config["run"], self.config["files"])

    @cached_property
    def encoders(self) -> dict[str, Encoder]:
        return {name: self.encoder(name) for name in self.config["encoders"]}

    def encoder(self, name: str) -> Encoder:
        """An encoder, with what is known of it and of those that it is continued from."""
        about, no_documents = self.config["encoders"][name], self.facts.no_documents.get(name, "")
        if no_documents:
            about = {**about, "next_sentence": False}
        described = self.facts.described.get(name)
        folder = _folder(about["path"], self.config["mirror"]) if about["source"] == "local" else None
        return Encoder(
            name,
            about,
            continues=self.encoder(about["from"]) if about["source"] == "continued" else None,
            folder=described.folder if described else folder,
            described=described,
            missing=self.facts.missing.get(name, ""),
            no_documents=no_documents,
        )

    @property
    def methods(self) -> Mapping[str, object]:
        """All methods by name, as plan.methods takes them."""
        return self.config["methods"]

    def task(self, name: str, blocks: tuple[Block, ...] = ()) -> TaskPlan:
        """The task of this name. blocks: those of the run, for data that depend on what is asked for."""
        about, of_paper = self.config["tasks"][name], name in tasks_of_papers(self.config)
        kind, asking = kind_of(about["kind"]), [b for b in self.config["ask"].values() if b.get("task") == name]
        if kind.of:
            kind = kind.of(about, {strategy for block in asking for strategy in block.get("strategies") or ()})
        given = [name for block in asking if GIVEN in (block.get("strategies") or ()) for name in block["encoders"]]
        classifiers = {name: self.encoder(name) for name in given if name in self.facts.described}
        return TaskPlan(name, about, kind, self.paths, of_paper, blocks, classifiers)


def _folder(path: str, mirror: str | None) -> Path | None:
    """The folder of a local encoder; None if its path names the mirror and there is no mirror."""
    if "{mirror}" in path and mirror is None:
        return None
    return Path(path.replace("{mirror}", str(mirror)).replace("{package}", package_file("")))


def tasks_of_papers(config: Mapping) -> list[str]:
    """The names of the tasks that papers of the run take."""
    papers = config["papers"].items()
    named = [options.get(key) or [] for paper, options in papers if paper in PAPERS for key in PAPERS[paper].tasks]
    return [task for names in named for task in ([names] if isinstance(names, str) else names)]


def kind_of(name: str) -> Kind:
    """Return a kind of task, as its package describes it."""
    return module_named(plan_module(name)).KIND


def plan_module(kind: str) -> str:
    """The full name of the module that plans a kind of task."""
    return f"{PACKAGE}.{TASKS[kind].plan}"
