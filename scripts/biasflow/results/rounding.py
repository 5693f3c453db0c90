"""Arithmetic on printed numbers: each stands for every value that rounds to it."""

from dataclasses import dataclass

DECIMALS = 4  # that most tables print
EQUAL = 1e-9  # printed decimals are not exact in floating point


@dataclass(frozen=True)
class Range:
    """A value as computed from printed digits, and the bounds of what it may be before rounding."""

    value: float
    low: float
    high: float

    def meets(self, other: "Range") -> bool:
        return self.low <= other.high + EQUAL and other.low <= self.high + EQUAL


def around(value: float, reach: float = 0) -> Range:
    """value -/+ reach; without reach the value alone."""
    return Range(value, value - reach, value + reach)


def rounded(value: float, decimals: int = DECIMALS) -> Range:
    """Everything that prints as `value` with so many decimals: value -/+ half a unit of the last one."""
    return around(value, 0.5 * 10**-decimals)
