"""Balancing: make women and men equally many for every label, by leaving rows out or by repeating some.

Source: Orgad et al. (2022, section 3) and their released code, draw by draw."""

import logging
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import WOMEN_FIRST

How = Literal["subsampling", "oversampling"]
Minority = Literal["resample", "keep-all"]


# Strategy -> whether `balance` drops or repeats rows, and how it repeats those of the smaller gender.
STRATEGIES: dict[str, tuple[How, Minority]] = {
    "oversampling": ("oversampling", "resample"),
    "oversampling-keep": ("oversampling", "keep-all"),
    "subsampling": ("subsampling", "resample"),
}


class TooFewError(BiasflowError):
    """A label that a part of a split lacks, at all or for one gender: `label`, and the `reason` without its name."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(f"{label}: {reason}; give more examples of it, or drop it.")
        self.label, self.reason = label, reason


def rows(
    name: str,
    train: np.ndarray,
    validation: np.ndarray,
    *,
    labels: Sequence[str],
    genders: Sequence[str],
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return both parts balanced, drawn one after the other from one random state with this seed. Rows of people who
    are neither women nor men come after them, as they are.

    A label with one gender in validation is left out of it (and logged); in training it is a TooFewError."""
    rng = np.random.RandomState(seed)
    how, minority = STRATEGIES[name]
    options = {"how": how, "minority": minority, "rng": rng}
    balanced = balance(labels, genders, train, part=part_of("train", seed), **options)
    validated = balance(labels, genders, validation, one_gender="leave-out", **options)
    others = ~np.isin(np.asarray(genders, dtype=object), WOMEN_FIRST)
    balanced, validated = (
        np.concatenate([drawn, part[others[part]]]) for drawn, part in ((balanced, train), (validated, validation))
    )
    labels = np.asarray(labels, dtype=object)
    absent = sorted(set(labels[validation]) - set(labels[validated]))
    if absent:
        logging.getLogger("biasflow").warning(
            "seed %d, %s: not in the validation part, which has one gender of them: %s", seed, name, ", ".join(absent)
        )
    return balanced, validated


def balance(
    labels: Sequence[str],
    genders: Sequence[str],
    rows: np.ndarray,
    *,
    how: How,
    rng: np.random.RandomState,
    minority: Minority = "resample",
    one_gender: Literal["error", "leave-out"] = "error",
    part: str = "a part",
    groups: Sequence[str] = WOMEN_FIRST,
) -> np.ndarray:
    """Return `rows` with equally many women and men for every label.

    labels, genders (F or M): of all rows; rows: of the part to be balanced; groups: two others, in place of women and
    men, of which alone rows are returned.
    how  "subsampling": of each gender min(women, men) are drawn without replacement.
         "oversampling": max(women, men); the larger group is permuted, the smaller one drawn WITH replacement.
    minority  of oversampling, for the smaller group (n rows) that becomes `size`. "resample" (released): `size` draws
         from it, so that each of its rows is lost with probability (1 - 1/n)^size, about exp(-size/n): 37 % where the
         groups are nearly equal. "keep-all": every row once, and size - n draws.
    rng  the draws change its state, as in the released code, where one state serves the training part and then the
         validation part. NumPy's legacy generator, whose draws with a seed are those of np.random.choice.
    one_gender  what to do with a label that lacks a gender in `rows`: it cannot be balanced.
    part        what `rows` are, for the message.

    Returns the rows by label (alphabetical), women before men. TooFewError names the label with one gender, the part
    and its counts."""
    codes, names = pd.factorize(np.asarray(labels, dtype=object)[rows], sort=True)
    gender = np.asarray(genders, dtype=object)[rows]
    blocks = []
    for code, name in enumerate(names):
        of_groups = [rows[(codes == code) & (gender == side)] for side in groups]
        counts = [len(group) for group in of_groups]
        if 0 in counts:
            if one_gender == "error":
                raise TooFewError(name, unbalanceable(*counts, part))
            continue
        size = min(counts) if how == "subsampling" else max(counts)
        blocks += [_drawn(group, size, rng, minority) for group in of_groups]
    return np.concatenate(blocks) if blocks else rows[:0]


def part_of(name: str, seed: int) -> str:
    """Return the name of a part of a split for messages."""
    return f"the {name} part of seed {seed}"


def unbalanceable(women: int, men: int, part: str) -> str:
    """Say why a label with these counts in `part` cannot be balanced."""
    return f"{women} women and {men} men in {part}, which is to be balanced"


def _drawn(group: np.ndarray, size: int, rng: np.random.RandomState, minority: Minority) -> np.ndarray:
    """`size` rows of a group."""
    if size > len(group) and minority == "keep-all":
        return np.concatenate([group, rng.choice(group, size=size - len(group), replace=True)])
    return rng.choice(group, size=size, replace=size > len(group))
