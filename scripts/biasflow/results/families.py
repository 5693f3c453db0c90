"""Which encoders are the same but for the seed of their pre-training."""

import pandas as pd


def families(names: pd.DataFrame) -> dict[str, str]:
    """Encoder -> the first one that has all of its attributes but `seed`; itself, where it has no seed.

    names: names.csv, columns name, kind, attribute, value."""
    first: dict[frozenset, str] = {}
    first_of_family = {}
    for name, rows in names[names["kind"] == "encoder"].groupby("name", sort=False):
        about = dict(zip(rows["attribute"], rows["value"], strict=True))
        alike = frozenset((about | {"seed": ""}).items()) if "seed" in about else frozenset({name})
        first_of_family[name] = first.setdefault(alike, name)
    return first_of_family
