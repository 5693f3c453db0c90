"""What a run is planned from, made once: the configuration with all defaults, and what lies on disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from biasflow.base.paths import Paths
from biasflow.encoders.configured import Encoder
from biasflow.matrix import Block
from biasflow.plan.facts import Facts, encoder_of
from biasflow.plan.tasks import task_of
from biasflow.tasks.kinds import TaskPlan


@dataclass(frozen=True)
class Setup:
    """The configuration with all defaults (plan.configuration), the facts read from files, and what both describe: the
    encoders, methods and tasks of the run."""

    config: Mapping
    facts: Facts = field(default_factory=Facts)

    @cached_property
    def paths(self) -> Paths:
        return Paths(self.config["run"], self.config["files"])

    @cached_property
    def encoders(self) -> dict[str, Encoder]:
        return {name: encoder_of(self.config, name, self.facts) for name in self.config["encoders"]}

    @property
    def methods(self) -> Mapping[str, object]:
        """All methods by name, as plan.methods takes them."""
        return self.config["methods"]

    def task(self, name: str, blocks: tuple[Block, ...] = ()) -> TaskPlan:
        """Return the task of this name. blocks: those of the run, for data that depend on what is asked for."""
        return task_of(self.config, name, blocks)
