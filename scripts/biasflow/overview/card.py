"""The model card of a model with a method in its weights: what was done, and what the run measured of it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError, nearest
from biasflow.corpora.hub import head_of_card
from biasflow.overview.about import Copy
from biasflow.overview.overview import plain_text
from biasflow.registry import GIVEN
from biasflow.results.draws import LEAST_DRAWS
from biasflow.results.matrix import without_samples
from biasflow.results.scores import NA, NONE

KEY = ["measure", "dataset"]
TAGS = ["biasflow", "gender-debiased"]
KEPT = ("license", "license_name", "license_link", "language", "library_name")  # what the card of the base says, too
# Beside a score in the card's model-index; `untouched` and base_* are of the base, beats and draws of random edits.
BESIDE = ("low", "high", "neutral", "untouched", "base_low", "base_high", "beats", "draws", "verdict")


def card(
    matrix: pd.DataFrame,
    encoder: str,
    method: str,
    *,
    base: Path,
    specification: Sequence[Mapping],
    task: str = NA,
    **about: object,
) -> str:
    """The text of README.md. matrix: of the run, with verdicts (`overview.verdicts`); base: the folder of the model;
    specification: of the method; task: on which a classifier that is given decided; about: run, changed, sentence
    (whether it is a sentence encoder), sha256, commit, the name of the new folder, and base_name, that of the base on
    the hub ("": it has none)."""
    strategy = NA if task == NA else GIVEN
    as_it_is = (matrix["encoder"] == encoder) & (matrix["task"] == task) & (matrix["strategy"] == strategy)
    rows = matrix[as_it_is & matrix["value"].notna()]
    before = rows[rows["method"] == NONE].set_index(KEY)[["low", "high"]].add_prefix("base_")
    rows = without_samples(rows[(rows["method"] == method) & (rows["setting"] == NA)]).join(before, on=KEY)
    # What reads that which was changed: the vector of a sentence, or the head.
    if task == NA:
        rows = rows[rows["measure"].map(Copy(part="sentence vectors" if about["sentence"] else "heads").changes)]
    if rows.empty:
        known = matrix.loc[(matrix["encoder"] == encoder) & matrix["value"].notna(), "method"].unique()
        raise BiasflowError(f"run {about['run']} has no score of {encoder} under {method}; {nearest(method, known)}")
    of_base = {key: value for key, value in head_of_card(base).items() if key in KEPT}
    listed = rows.fillna({"verdict": "", "disputed": "", "draws": 0, "beats": 0}).to_dict("records")
    kind = "sentence-similarity" if about["sentence"] else "fill-mask" if task == NA else "text-classification"
    fitted = (str(step.get("fitted_to", "words in context")) for step in specification)
    return plain_text(
        "card.md",
        metadata=_metadata(listed, kind, str(about["name"]), base_model=about["base_name"] or None, **of_base),
        rows=listed,
        enough=LEAST_DRAWS,
        method=method,
        base=base.name,
        licence=of_base.get("license", ""),
        about=", ".join(f"{step['eraser']} at {step['places']}" for step in specification),
        fitted=", ".join("the texts of the task" if name == "task" else name for name in dict.fromkeys(fitted)),
        **about,
    )


def _metadata(rows: Iterable[Mapping], kind: str, name: str, **about: object) -> str:
    """The head of a model card as the model hub reads it, in YAML. kind: the hub's name of what the model does."""
    from huggingface_hub import EvalResult, ModelCardData  # slow to load

    results = [
        EvalResult(
            task_type=kind,
            dataset_type=row["dataset"],
            dataset_name=row["dataset"],
            metric_type=row["measure"],
            metric_name=row["label"],
            metric_value=row["value"],
            metric_args={key: row[key] for key in BESIDE if pd.notna(row.get(key)) and row[key] != ""},
        )
        for row in rows
    ]
    return ModelCardData(model_name=name, eval_results=results, tags=TAGS, **about).to_yaml()
