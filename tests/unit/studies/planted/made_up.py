"""A run of made-up scores: what every measure says is known."""

from collections.abc import Callable, Mapping

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.results.scores import tidy
from biasflow.studies.measures import Judged
from biasflow.studies.planted.plan import LAST_LAYER, calibration_name, calibration_task, judged, met

KINDS = {"jobs": "occupation", "who": "coreference", "pairs": "nli"}
OPTIONS = {
    "encoder": {"layers": 3},
    "bias": [0.0, 0.5, 1.0],
    "seeds": [0, 1, 2, 3, 4],
    "task_bias": [0.0, 0.5, 1.0],
    "methods": ["leace"],
    "tasks": {name: {"kind": kind} for name, kind in KINDS.items()},
}
Said = Callable[[Judged, float, float, int, str], float]


def run_of(said: Said, options: Mapping = OPTIONS, **files: Mapping) -> Run:
    """said(measure, bias, task_bias, seed, method), task_bias 0 for an encoder, is what a measure says of a model."""
    rows = []
    for one in judged({name: about["kind"] for name, about in options["tasks"].items()}):
        for task_bias in options["task_bias"] if one.task else [0]:
            for bias in met(options, task_bias) if one.task else options["bias"]:
                methods = (
                    ["none", *options["methods"]] if bias == 1 and task_bias == (1 if one.task else 0) else ["none"]
                )
                for seed in options["seeds"]:
                    rows += [
                        {
                            "encoder": calibration_name(bias, seed),
                            "task": calibration_task(one.task, task_bias) if one.task else "-",
                            "strategy": "plain" if one.task else "-",
                            "seed": str(seed) if one.task else "-",
                            "method": method,
                            "dataset": f"{calibration_task(one.data, 0)}-raw" if one.data else "planted",
                            "metric": one.metric,
                            "part": one.measure.part.replace(LAST_LAYER, "layer[2]"),
                            "variant": one.measure.variant,
                            "value": said(one, bias, task_bias, seed, method),
                        }
                        for method in methods
                    ]
    scores = tidy(pd.DataFrame(rows))
    return Run(scores, pd.DataFrame(), pd.DataFrame(), files=files, options=options)
