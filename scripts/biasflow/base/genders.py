"""The two genders of the data, in every spelling that files and tables have, in the order of their numbers, 0 and 1;
and the pairs of groups that are compared, of which they are the first.

The order is part of what is drawn, counted and printed: where women come first, it is WOMEN_FIRST."""

from collections.abc import Sequence

MALE, FEMALE = GENDERS = ("M", "F")  # of people
MASCULINE, FEMININE = OF_WORDS = ("masculine", "feminine")  # of words and pronouns
SPELT_OUT = ("male", "female")  # of people, in files of others
WOMEN_FIRST = GENDERS[::-1]


def pairs_of(groups: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of groups between which gaps are read: each group with all before it, so (F, M), (X, M), (X, F)
    of M, F, X. A gap is the rate of the first of a pair minus that of the second."""
    return [(group, other) for place, group in enumerate(groups) for other in groups[:place]]


def pair_name(pair: Sequence[object]) -> str:
    """Return what a pair of groups is called in files and tables, as "X-M"."""
    return "-".join(map(str, pair))
