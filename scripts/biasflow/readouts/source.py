"""What every readout is made of: a model, the methods fitted to it, and a dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.methods.fitted import Fitted, carried, load


@dataclass(frozen=True)
class Source:
    """The inputs of one readout.

    model_folder: config.json, weights and tokenizer of the model; training: "pretrained", "random/seed0" or
    "<task>/<strategy>/seed<n>". methods: the names to read under, in order, "none" among them if it is wanted;
    methods_file: what was fitted to the model (None where no method needs fitting); draws: the most of a control's that
    are read (registry.Readout; None: all). dataset: its name; data: its files
    by role. device: "cpu" or "cuda". work: a folder for what a killed readout goes on from, where it is one that
    does."""

    model_folder: Path
    methods: tuple[str, ...]
    dataset: str
    data: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    methods_file: Path | None = None
    draws: int | None = None
    training: str = "pretrained"
    device: str = "cpu"
    work: Path | None = None

    def file(self, role: str) -> Path:
        """The one file of that role."""
        (path,) = self.data[role]
        return path


def load_for(source: Source) -> Fitted:
    """The methods that a readout's model is read under: those asked for, or the one that it carries.

    BiasflowError for any other method on a model that was trained with one: it is never read without it."""
    fitted = carried(source.model_folder)
    if fitted is None:
        return load(source.methods_file, source.methods).with_draws(source.draws)
    (name,) = fitted.methods
    others = [method for method in source.methods if method != name]
    if others or not source.methods:
        raise BiasflowError(
            f"{source.model_folder}: the model was trained with method {name} active and is read with it alone, "
            f"not with {others[0] if others else 'no method'}; ask for {name}."
        )
    return fitted
