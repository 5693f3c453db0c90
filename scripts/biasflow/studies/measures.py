"""A measure that is judged by encoders and models whose bias is known. Imports no pandas."""

from dataclasses import dataclass

from biasflow.registry import COST, Measure

ENCODER = ""  # in place of a kind of task: the encoder as it was pre-trained


@dataclass(frozen=True)
class Judged:
    """A measure of the encoders themselves, or of models that are trained on a task; data: the task whose texts it is
    read on where the encoder is not trained on them."""

    measure: Measure
    metric: str
    task: str = ENCODER
    data: str = ""

    @property
    def name(self) -> str:
        """Its name in tables and figures."""
        label = self.measure.label
        return f"{label} ({self.task})" if self.task else f"{label} ({self.data}, before)" if self.data else label

    @property
    def sign(self) -> int:
        """The direction of its change with more bias: up (1), down (-1), or none (0), for a measure of quality."""
        if self.measure.group == COST:
            return 0
        return -1 if self.measure.better == "high" else 1
