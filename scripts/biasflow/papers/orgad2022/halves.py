"""The two halves of the paper, occupation prediction and coreference resolution, and the measures of either: their
labels in tables, and their keys in the table of scores.

All tables and figures are made by the same code from a half: its options, the rows of the table of scores that are its
own, and its measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import yaml

from biasflow.base.shipped import shipped
from biasflow.papers.frames import Run


class Measure(NamedTuple):
    """A measure as the tables call it, and its metric and variant ("" where it has none; else its variant and part in
    the table of scores)."""

    label: str
    metric: str
    variant: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Its metric and variant."""
        return self.metric, self.variant

    @property
    def column(self) -> str:
        """Its column in a table of points: "tpr_gap_pearson train", "independence"."""
        return f"{self.metric} {self.variant}".strip()


COMPRESSION_VALUE, CONTROL_VALUE = "compression", "control_compression"
READINGS = ("mixed-last", "bits-best", "bits-last", "mixed-best")  # units and checkpoint, the printed ones first


def compression(data: str, reading: str) -> Measure:
    """Compression in units and checkpoint of `reading`, as "mixed-last", with this data."""
    return Measure("Compression", COMPRESSION_VALUE, f"{data}-{reading}")


mixed = partial(compression, reading="mixed-last")  # as released and printed
bits = partial(compression, reading="bits-best")  # in consistent units, at the best epoch


def control(data: str) -> Measure:
    """Compression of random labels, in the reading of `bits`."""
    return Measure("Compression of random labels", CONTROL_VALUE, bits(data).variant)


def data_of(variant: str) -> str:
    """The data of a variant of compression."""
    return variant.rsplit("-", 2)[0]


UNDEFINED = "undefined_cells"  # its part is the start of the name of the measures that it counts for
CEAT_EFFECT, CEAT_P = "ceat_effect_size", "ceat_p_two_sided"
CEAT_METRICS = (CEAT_EFFECT, CEAT_P, "ceat_p_one_sided", "ceat_tau_squared")
CEAT_VARIANT = "concepts-spread"  # roles as the paper describes them, variance of the released CEAT code
CEAT_MEASURE = Measure("CEAT", CEAT_EFFECT, CEAT_VARIANT)
CEAT_PRINTED = "C6"  # the test of the printed values


RAW, SCRUBBED = "raw", "scrubbed"
# Fine-tuned encoders with their own head, with retrained ones, and by themselves; heads on the encoder before
# fine-tuning, and this encoder by itself, or never trained.
BEFORE, AFTER, FINETUNED = "before", "after", "finetuned"
FROZEN, PRETRAINED, RANDOM = "frozen", "pretrained", "random"
COMPRESSION, CEAT = "compression", "ceat"  # metrics of the registry


@dataclass(frozen=True, eq=False)  # compared by identity, so that properties can be cached
class Half:
    """One task of the paper, and its measures: halves.yaml says what its fields are."""

    kind: str
    label: str
    task: str
    data: Mapping[str, str]
    encoders: str
    strategies: str
    texts: Mapping[str, str]
    performance: Mapping[str, Sequence[Measure]]
    extrinsic: Sequence[Measure]
    variants: Sequence[Measure]
    extrinsic_by: str
    probe_data: Sequence[str]
    printed_in: Mapping[str, str]
    in_overview: Sequence[Measure]
    panels: Sequence[Sequence[Measure]]
    readings: Sequence[str] = ()

    @cached_property
    def bias(self) -> list[Measure]:
        """All measures of bias on the task itself."""
        return [*self.extrinsic, *self.variants]

    @cached_property
    def scored_by(self) -> dict[str, list[Measure]]:
        """Metric of the registry -> the measures of the task itself that it provides."""
        result = {metric: [*measures] for metric, measures in self.performance.items()}
        result[self.extrinsic_by] = [*result.get(self.extrinsic_by, []), *self.bias]
        return result

    @cached_property
    def printed(self) -> list[Measure]:
        """The printed measures of the task itself."""
        return [next(iter(self.performance.values()))[0], *self.extrinsic]

    @cached_property
    def measures(self) -> list[Measure]:
        """All measures of the half, in the order of the tables."""
        coded = [[compression(data, reading) for data in self.probe_data] for reading in READINGS]
        task = [measure for measures in self.performance.values() for measure in measures]
        others = [*(measure for other in coded[1:] for measure in other), *task, *self.variants]
        return [*coded[0], *self.printed, *(measure for measure in others if measure not in self.printed)]

    @cached_property
    def inputs(self) -> list[str]:
        """The texts that models are tested and probed on; tables name them where there are several."""
        return [*dict.fromkeys(self.texts.values())]

    def metric_of(self, key: tuple[str, str]) -> str:
        """Return the metric of the registry that provides the measure with this key."""
        if key[0] == COMPRESSION_VALUE:
            return COMPRESSION
        return next(name for name, of_metric in self.scored_by.items() if key in [one.key for one in of_metric])

    def undefined(self, measure: Measure) -> tuple[str, str]:
        """The key of the cells that are 0/0 in a measure of bias."""
        readings = [reading for reading in self.readings if measure.variant.startswith(reading)]
        return UNDEFINED, " ".join([*readings, measure.metric.split("_")[0]])


def _half(about: Mapping) -> Half:
    """A half as halves.yaml describes it."""
    measures = {key: [Measure(*each) for each in about[key]] for key in ("extrinsic", "variants")}
    measures["performance"] = {key: [Measure(*each) for each in of_key] for key, of_key in about["performance"].items()}
    by_label = {measure.label: measure for measure in measures["extrinsic"]}
    measures["in_overview"] = [by_label[label] for label in about["in_overview"]]
    measures["panels"] = [[by_label[label] for label in row] for row in about["panels"]]
    return Half(**about | measures)


OCCUPATION, COREFERENCE = map(
    _half, yaml.safe_load(shipped("papers/orgad2022/halves.yaml").read_text("utf-8")).values()
)
HALVES = {half.kind: half for half in (OCCUPATION, COREFERENCE)}
F1_DIFFERENCE = COREFERENCE.extrinsic[0]
PEARSON = [measure for measure in OCCUPATION.extrinsic if measure.variant == "train"]


def other_data(run: Run) -> Mapping[str, str]:
    """Why numbers are not comparable: a task has other data than the paper's, or CEAT contexts from another text."""
    text = run.options["ceat_text"] or "the run's own text"
    contexts = "" if "reddit" in text.lower() else f"other data: printed of Reddit comments, here {text}"
    return {"contexts": contexts} | {name: _other(run, half.task, **half.data) for name, half in HALVES.items()}


def _other(run: Run, task: str, attribute: str, known: str, ending: str) -> str:
    name = run.options.get(task)
    if name is None:
        return ""
    task_data = run.attributes("task", attribute).get(name) or run.attributes("task", "data").get(name, "")
    return "" if task_data.endswith(ending) else f"other data: printed of {known}, here {task_data}"
