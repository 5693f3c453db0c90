"""The sentences of a set of occupations with both pronouns, one row each. Imports no torch."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.genders import OF_WORDS
from biasflow.stimuli.densray_sets import read_occupation_set

UNIT = ("item",)  # whose rows a limited sample keeps together


def items(
    occupations: str | Path | None = None,
    *,
    name: str,
    template: str | None = None,
    pronouns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """What a user's log-probabilities are joined to: both pronouns in the sentence of every occupation, the feminine
    ones after the masculine ones. Columns set (its name), item (the occupation), sentence (with [MASK]), word, gender.

    Arguments and errors as of `read_occupation_set`."""
    occupation_set = read_occupation_set(name, occupations, template=template, pronouns=pronouns)
    table = pd.DataFrame({"set": name, "item": occupation_set.occupations, "sentence": occupation_set.sentences})
    pairs = zip(occupation_set.pronouns, OF_WORDS, strict=True)
    return pd.concat([table.assign(word=word, gender=gender) for word, gender in pairs], ignore_index=True)
