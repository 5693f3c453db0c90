"""The measures of the paper: their labels in tables, and their keys in the table of scores."""

from collections.abc import Iterable
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
