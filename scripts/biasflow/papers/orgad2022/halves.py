"""The two halves of the paper, occupation prediction and coreference resolution, and the measures of either: their
labels in tables, and their keys in the table of scores.

All tables and figures are made by the same code from a half: its options, the rows of the table of scores that are its
own, and its measures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


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
RELEASED = "released"  # the reading of the probe's data that the printed values stand beside
READINGS = ("mixed-last", "bits-best", "bits-last", "mixed-best")  # units and checkpoint, the printed ones first


def compression(data: Iterable[str], reading: str) -> list[Measure]:
    """Compression in units and checkpoint of `reading`, as "mixed-last", with all data."""
    return [Measure("Compression", COMPRESSION_VALUE, f"{name}-{reading}") for name in data]


def mixed(data: str) -> Measure:
    """Compression as released and printed, with this data."""
    return compression([data], "mixed-last")[0]


def bits(data: str) -> Measure:
    """Compression in consistent units, at the best epoch."""
    return compression([data], "bits-best")[0]


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
FAIRNESS, WINOBIAS, COMPRESSION, CEAT = "fairness", "winobias", "compression", "ceat"  # metrics of the registry


@dataclass(frozen=True, eq=False)  # compared by identity, so that properties can be cached
class Half:
    """One task of the paper, and its measures.

    kind             of the registry's TASKS
    label            what messages call it
    task, encoders, strategies  the paper's options that name the task, its encoders and its strategies
    texts            end of a dataset's name, after the task's -> the text that it is ("raw" where there is one only)
    performance      metric of the registry -> measures of how well the task is done; the first is printed
    extrinsic        measures of bias on the task itself, as printed; `variants`: other readings
    extrinsic_by     the metric of the registry that gives them
    probe_data       whose labels the probe codes; the printed values stand beside the first
    printed_in       stage -> the paper's table
    readings         of the predictions, which variants begin with"""

    kind: str
    label: str
    task: str
    encoders: str
    strategies: str
    texts: Mapping[str, str]
    performance: Mapping[str, Sequence[Measure]]
    extrinsic: Sequence[Measure]
    variants: Sequence[Measure]
    extrinsic_by: str
    probe_data: Sequence[str]
    printed_in: Mapping[str, str]
    readings: Sequence[str] = ()

    @cached_property
    def in_overview(self) -> list[Measure]:
        """The measures of bias that the paper's table 1 has."""
        return [self.extrinsic[0], *(measure for measure in self.extrinsic if measure.label in _OVERVIEW)]

    @cached_property
    def panels(self) -> list[list[Measure]]:
        """The measures in the figure of all: rows of correlations, sums and information measures, after a row of all
        others."""
        rows = [[measure for measure in self.extrinsic if _row(measure) == row] for row in range(4)]
        return [row for row in rows if row]

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
        coded = [compression(self.probe_data, reading) for reading in READINGS]
        task = [measure for measures in self.performance.values() for measure in measures]
        others = [*(measure for other in coded[1:] for measure in other), *task, *self.variants]
        return [*coded[0], *self.printed, *(measure for measure in others if measure not in self.printed)]

    @cached_property
    def labels(self) -> dict[tuple[str, str], str]:
        """Key -> label of all measures."""
        return {measure.key: measure.label for measure in self.measures}

    @cached_property
    def inputs(self) -> list[str]:
        """The texts that models are tested and probed on; tables name them where there are several."""
        return [*dict.fromkeys(self.texts.values())]

    def metric_of(self, key: tuple[str, str]) -> str:
        """Return the metric of the registry that provides the measure with this key."""
        if key[0] == COMPRESSION_VALUE:
            return COMPRESSION
        return next(
            metric for metric, measures in self.scored_by.items() if key in {measure.key for measure in measures}
        )

    def undefined(self, measure: Measure) -> tuple[str, str]:
        """The key of the cells that are 0/0 in a measure of bias."""
        readings = [reading for reading in self.readings if measure.variant.startswith(reading)]
        return UNDEFINED, " ".join([*readings, measure.metric.split("_")[0]])


def _named(*parts: str) -> str:
    """The variant that has these parts."""
    return "-".join(filter(None, parts))


def _gaps(reading: str = "", *, shares: str) -> list[Measure]:
    """The nine measures of bias that both halves have, in a reading of the predictions ("" where there is but one);
    shares: the variant of the correlations."""
    rates = {"tpr": "TPR", "fpr": "FPR", "precision": "Precision"}
    pairs = (
        (
            Measure(f"{name} gap (P)", f"{rate}_gap_pearson", shares),
            Measure(f"{name} gap (S)", f"{rate}_gap_sum", reading),
        )
        for rate, name in rates.items()
    )
    return [
        *(measure for pair in pairs for measure in pair),
        Measure("Independence gap (S)", "independence", reading),
        Measure("Separation gap (S)", "separation", _named(reading, "absdiff")),
        Measure("Sufficiency gap (S)", "sufficiency", _named(reading, "absdiff")),
    ]


def _other_distances(reading: str = "") -> list[Measure]:
    """Separation and sufficiency by other sums, and free of the order of labels."""
    return [
        Measure("Separation gap (S)", "separation", _named(reading, "sum")),
        *(
            Measure("Sufficiency gap (S)", "sufficiency", _named(reading, how))
            for how in ("sum", "absdiff-order-free", "sum-order-free")
        ),
    ]


def _row(measure: Measure) -> int:
    """The row of `Half.panels` that a measure is in."""
    kinds = ("_gap_pearson",), ("_gap_sum",), ("independence", "separation", "sufficiency")
    return next((row for row, ends in enumerate(kinds, 1) if measure.metric.endswith(ends)), 0)


_OVERVIEW = ("FPR gap (S)", "Separation gap (S)", "Sufficiency gap (S)")  # and the first
_BIOS = _gaps(shares="train")
TPR_GAP, *_ = _BIOS
PEARSON = [measure for measure in _BIOS if measure.variant == "train"]
OCCUPATION = Half(
    kind="occupation",
    label="occupation prediction",
    task="task",
    encoders="encoders",
    strategies="strategies",
    texts={RAW: RAW, SCRUBBED: SCRUBBED},
    performance={FAIRNESS: [Measure("Accuracy", "accuracy")]},
    extrinsic=_BIOS,
    variants=[
        *(measure._replace(variant=shares) for measure in PEARSON for shares in ("test", "labour")),
        *_other_distances(),
    ],
    extrinsic_by=FAIRNESS,
    probe_data=(RELEASED, "same-seed", "paper"),
    printed_in={BEFORE: "3", AFTER: "4", FROZEN: "5"},
)

_F1S = {"muc_f1": "MUC", "b_cubed_f1": "B-cubed", "ceafe_f1": "CEAFe", "lea_f1": "LEA"}
F1_DIFFERENCE = Measure("F1 diff (pro - anti)", "f1_difference", "all")
_SIDES, _WHOM = ("pro", "anti"), ("right", "other", "both", "none")  # whom the pronoun is with
_TOKENS = "tokens"  # the other reading of who stands with the pronoun
COREFERENCE = Half(
    kind="coreference",
    label="coreference resolution",
    task="coreference",
    encoders="coreference_encoders",
    strategies="coreference_strategies",
    texts=dict.fromkeys(("test", "winobias", "professions"), RAW),
    performance={
        "coreference": [Measure("F1", "conll_f1"), *(Measure(f"F1, {name}", key) for key, name in _F1S.items())],
        WINOBIAS: [
            *(Measure("F1 of one side", "conll_f1", side) for side in _SIDES),
            *(Measure("Pronoun with", "pronoun_accuracy", f"{side} {whom}") for side in _SIDES for whom in _WHOM),
        ],
    },
    extrinsic=[F1_DIFFERENCE, *_gaps(RELEASED, shares=RELEASED)],
    variants=[
        *(F1_DIFFERENCE._replace(variant=kind) for kind in ("type1", "type2")),
        *_gaps(_TOKENS, shares=_TOKENS),
        *_other_distances(RELEASED),
        *_other_distances(_TOKENS),
    ],
    extrinsic_by=WINOBIAS,
    probe_data=(RELEASED, "paper"),
    printed_in={BEFORE: "7", AFTER: "8"},
    readings=(RELEASED, _TOKENS),
)
