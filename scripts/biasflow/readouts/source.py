"""What every readout is made of: a model, the methods fitted to it, and a dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """The inputs of one readout.

    model_folder: config.json, weights and tokenizer of the model; training: "pretrained", "random/seed0" or
    "<task>/<strategy>/seed<n>". methods: the names to read under, in order, "none" among them if it is wanted;
    methods_file: what was fitted to the model (None where no method needs fitting). dataset: its name; data: its files
    by role. device: "cpu" or "cuda". work: a folder for what a killed readout goes on from, where it is one that
    does."""

    model_folder: Path
    methods: tuple[str, ...]
    dataset: str
    data: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    methods_file: Path | None = None
    training: str = "pretrained"
    device: str = "cpu"
    work: Path | None = None

    def file(self, role: str) -> Path:
        """The one file of that role."""
        (path,) = self.data[role]
        return path
