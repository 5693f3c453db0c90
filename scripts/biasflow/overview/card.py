"""The model card of a model with a method in its weights: what was done, and what the run measured of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import yaml

from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.files import read_text
from biasflow.overview.maps import head_of
from biasflow.overview.overview import plain_text
from biasflow.results.matrix import without_samples
from biasflow.results.scores import NA

COUNTS = ("draws", "beats")


def card(
    matrix: pd.DataFrame, encoder: str, method: str, *, base: Path, specification: Sequence[Mapping], **about: object
) -> str:
    """The text of README.md. matrix: of the run, with verdicts (`overview.verdicts`); base: the folder of the model;
    specification: of the method; about: run, changed, sentence (whether it is a sentence encoder), sha256, commit,
    the name of the new folder, and base_name, that of the base on the hub ("": it has none)."""
    rows = matrix[(matrix["encoder"] == encoder) & (matrix["task"] == NA) & matrix["value"].notna()]
    rows = without_samples(rows[(rows["method"] == method) & (rows["setting"] == NA)])
    of_vectors = rows["measure"].map(head_of).eq("none")  # a head with another first layer leaves them as they were
    rows = rows[of_vectors if about["sentence"] else ~of_vectors]
    if rows.empty:
        known = matrix.loc[(matrix["encoder"] == encoder) & matrix["value"].notna(), "method"].unique()
        raise BiasflowError(f"run {about['run']} has no score of {encoder} under {method}; {nearest(method, known)}")
    whole = rows.fillna({"verdict": ""} | dict.fromkeys(COUNTS, 0)).astype(dict.fromkeys(COUNTS, int))
    return plain_text(
        "card.md",
        rows=whole.to_dict("records"),
        method=method,
        base=base.name,
        licence=_front_matter(base / "README.md").get("license", ""),
        about=", ".join(f"{step['eraser']} at {step['places']}" for step in specification),
        fitted=", ".join(dict.fromkeys(str(step.get("fitted_to", "words in context")) for step in specification)),
        **about,
    )


def _front_matter(readme: Path) -> dict:
    """What the head of a model card says; nothing where there is none."""
    parts = read_text(readme).split("---\n", 2) if readme.is_file() else []
    try:
        known = yaml.load(parts[1], Loader=yaml.CSafeLoader) if len(parts) == 3 and not parts[0].strip() else {}
    except yaml.YAMLError:
        known = {}
    return known if isinstance(known, dict) else {}
