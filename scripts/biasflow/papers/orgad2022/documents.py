"""The documents of the coreference task, and baselines without a model."""

import pandas as pd

from biasflow.papers.frames import NOT_ASKED, RUN, Run, status
from biasflow.papers.orgad2022.halves import BEFORE, COREFERENCE, F1_DIFFERENCE
from biasflow.papers.orgad2022.items import read_item
from biasflow.papers.orgad2022.selection import select

_SOURCES = ["part", "source", "documents", "words", "clusters", "mentions", "singletons", "repeated", "dropped"]
_PREDICTED = ["part", "predictor", "metric", "value"]


def data_coreference(run: Run) -> pd.DataFrame:
    """Return a row for each file of documents that the task read, or one row with the reason why it was not run."""
    if not _were_read(run):
        chosen = select(run, COREFERENCE)
        reasons = dict.fromkeys(chosen.reason(encoder, BEFORE) for encoder in chosen.encoders)
        return pd.DataFrame({"status": [status("; ".join(reasons) or NOT_ASKED)]})
    return read_item(run, "sources", _SOURCES, COREFERENCE)[_SOURCES].assign(status=RUN)


def baselines(run: Run) -> pd.DataFrame:
    """Return the scores of predictors without training on test documents and pairs: model (their name), metric, variant
    and mean, in the units of our scores; empty if the task was not run.

    The F1 difference of a predictor is that of its F1 on both sides of the pairs, or stands in the file as it is (of
    the best predictor that there can be)."""
    columns = ["model", "metric", "variant", "mean"]
    if not _were_read(run):
        return pd.DataFrame(columns=columns)
    documents, pairs = (
        read_item(run, role, _PREDICTED, COREFERENCE).rename(columns={"predictor": "model", "value": "mean"})
        for role in ("baseline", "pairs_baseline")
    )
    of_sides = pairs[pairs["metric"] == COREFERENCE.printed[0].metric]
    sides = of_sides.pivot(index="model", columns="part", values="mean")
    known = pairs[pairs["metric"] == F1_DIFFERENCE.metric].set_index("model")["mean"]
    differences = known.combine_first(100 * (sides["pro"] - sides["anti"])).rename("mean").reset_index()
    metric, variant = F1_DIFFERENCE.key
    tables = [
        documents[documents["part"] == "test"].assign(variant=""),
        differences.assign(metric=metric, variant=variant),
    ]
    return pd.concat(tables, ignore_index=True)[columns]


def _were_read(run: Run) -> bool:
    return run.options.get(COREFERENCE.task) in run.files.get("baseline", {})
