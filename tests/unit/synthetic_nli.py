"""Made-up NLI scores for the tests of paper B's tables and figures: the printed ones, shifted."""

import pandas as pd

from scripts.biasflow.papers.dawkins2024.downstream import SCORES
from scripts.biasflow.results.scores import tidy
from tests.unit.synthetic_nsp import PRINTED


def nli_scores(
    *, encoder="tiny", seed="0", strategy="after_finetuning", stage="before", shift=0.0, snli=0.0, settings=PRINTED
):
    """`shift` is added to every score but SNLI accuracy, `snli` to that."""
    frames = []
    for column, (metric, variant) in SCORES.items():
        values = settings[column.removesuffix("_templates")] + (snli if column == "snli_accuracy" else shift)
        keys = {"method": settings["level"], "setting": settings["settings"], "metric": metric, "variant": variant}
        frames.append(pd.DataFrame(keys | {"value": values.clip(0, 1)}))
    share = frames[0].assign(metric="nli_share", variant="neutral", value=0.4)  # scored, but in no table
    keys = {
        "paper": "projective",
        "task": "nli",
        "encoder": encoder,
        "seed": seed,
        "strategy": strategy,
        "stage": stage,
    }
    return tidy(pd.concat([*frames, share]), **keys)
