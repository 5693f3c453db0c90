"""What the paper measures: labels of the tables, and where each measure stands in the one table of scores."""

from typing import NamedTuple

import pandas as pd


class Measure(NamedTuple):
    """A measure as the tables call it, and its metric and variant ("" where it has none)."""

    label: str
    metric: str
    variant: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.metric, self.variant

    @property
    def column(self) -> str:
        """Its column in a table of points: "tpr_gap_pearson train", "independence"."""
        return f"{self.metric} {self.variant}".strip()


COMPRESSION_VALUE, CONTROL_VALUE = "compression", "control_compression"
RELEASED, *_ = DATA = (
    "released",
    "same-seed",
    "paper",
)  # whose labels are coded; the printed values stand beside RELEASED


def compression(reading: str) -> list[Measure]:
    """Compression in units and checkpoint of `reading`, as "mixed-last", with all data."""
    return [Measure("Compression", COMPRESSION_VALUE, f"{data}-{reading}") for data in DATA]


def mixed(data: str) -> Measure:
    """As released and printed, but for the data."""
    return compression("mixed-last")[DATA.index(data)]


def bits(data: str) -> Measure:
    """In consistent units, of the best epoch."""
    return compression("bits-best")[DATA.index(data)]


def control(data: str) -> Measure:
    """Of random labels, as `bits`."""
    return Measure("Compression of random labels", CONTROL_VALUE, bits(data).variant)


def data_of(variant: str) -> str:
    """The data of a variant of compression."""
    return variant.rsplit("-", 2)[0]


ACCURACY = Measure("Accuracy", "accuracy")
_GAPS = {"tpr": "TPR", "fpr": "FPR", "precision": "Precision"}
# As printed: nine measures of bias on the task itself.
EXTRINSIC = [
    *(
        measure
        for part, name in _GAPS.items()
        for measure in (
            Measure(f"{name} gap (P)", f"{part}_gap_pearson", "train"),
            Measure(f"{name} gap (S)", f"{part}_gap_sum"),
        )
    ),
    Measure("Independence gap (S)", "independence"),
    Measure("Separation gap (S)", "separation", "absdiff"),
    Measure("Sufficiency gap (S)", "sufficiency", "absdiff"),
]
BY_LABEL = {measure.label: measure for measure in EXTRINSIC}
PEARSON = [measure for measure in EXTRINSIC if measure.variant == "train"]
# Other readings of the same measures: a run may leave these out, for every model alike.
VARIANTS = [
    *(measure._replace(variant=shares) for measure in PEARSON for shares in ("test", "labour")),
    Measure("Separation gap (S)", "separation", "sum"),
    Measure("Sufficiency gap (S)", "sufficiency", "sum"),
    Measure("Sufficiency gap (S)", "sufficiency", "absdiff-order-free"),
    Measure("Sufficiency gap (S)", "sufficiency", "sum-order-free"),
]
MEASURES = [  # as in the tables
    *compression("mixed-last"),
    ACCURACY,
    *EXTRINSIC,
    *(measure for reading in ("bits-best", "bits-last", "mixed-best") for measure in compression(reading)),
    *VARIANTS,
]
_LABELS = {measure.key: measure.label for measure in MEASURES}
UNDEFINED = "undefined_cells"  # its part is the start of the name of the measures that it counts for
CEAT_EFFECT, CEAT_P = "ceat_effect_size", "ceat_p_two_sided"
CEAT_METRICS = (CEAT_EFFECT, CEAT_P, "ceat_p_one_sided", "ceat_tau_squared")
CEAT_VARIANT = "concepts-spread"  # roles as the paper describes them, variance of the released CEAT code
CEAT_MEASURE = Measure("CEAT", CEAT_EFFECT, CEAT_VARIANT)
CEAT_PRINTED = "C6"  # the test of the printed values


def with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The table of metrics and variants with the `key` of each measure and its label, "" without one, as `measure`."""
    keys = list(zip(table["metric"], table["variant"], strict=True))
    return table.assign(key=keys, measure=[_LABELS.get(key, "") for key in keys])
