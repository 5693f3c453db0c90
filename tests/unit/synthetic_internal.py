"""Made-up scores for the tests of paper C's tables and figures."""

import numpy as np
import pandas as pd

from scripts.biasflow.results.scores import tidy

STRATEGIES = ["none", "oversampling", "subsampling", "scrubbing"]
EXTRINSIC = [
    ("accuracy", ""),
    *[(f"{part}_gap_sum", "") for part in ("tpr", "fpr", "precision")],
    *[(f"{part}_gap_pearson", v) for part in ("tpr", "fpr", "precision") for v in ("train", "test", "labour")],
    ("independence", ""),
    *[(metric, aggregate) for metric in ("separation", "sufficiency") for aggregate in ("absdiff", "sum")],
    ("sufficiency", "absdiff-order-free"),
    ("sufficiency", "sum-order-free"),
]
COUNTS = [("undefined_cells", name) for name in ("tpr", "fpr", "precision", "separation", "sufficiency")]
COMPRESSIONS = ["bits-best", "bits-last", "mixed-best", "mixed-last"]
ALL = ("before", "after", "frozen", "compression", "ceat", "finetuning")
# Six seeds: the fewest with which a paired test over seeds can give p < 0.05.
SIX = (0, 5, 11, 26, 42, 46)


def settings_of(strategy):
    return ["scrubbed", "raw"] if strategy == "scrubbing" else ["raw"]


def scores(
    *,
    encoder="tiny",
    seeds=(0, 5, 11),
    heads=(0, 1),
    probes=(0, 1),
    tests=("C6", "C7"),
    parts=ALL,
    strategies=STRATEGIES,
):
    """The scores of one encoder.

    Measure i of strategy s with the j-th seed is (i + 1) / 10 + s + j / 100, a head k adds k / 1000, the raw test
    input of scrubbing 0.5, stage after 1, stage frozen 2. Compression is 2 s + j / 10 + 3 (probe k: + k / 100; raw
    input of scrubbing + 0.5; bits variants 1 lower; controls 1), the effect size of CEAT s / 10 + j / 100, its p 0.01
    for s < 2 and 0.2 otherwise. Random encoders: compression 20 + j / 10, pre-trained ones: 30 + j / 10."""
    rows = []

    def add(**keys):
        rows.append({"setting": "", "strategy": "", "head_seed": "", "variant": ""} | keys)

    for s, strategy in enumerate(strategies):
        for j, seed in enumerate(seeds):
            common = {"strategy": strategy, "seed": str(seed)}
            for setting in settings_of(strategy):
                raw = 0.5 * (strategy == "scrubbing" and setting == "raw")
                shift = s + j / 100 + raw
                for stage, base, own in (("before", 0, [""]), ("after", 1, heads), ("frozen", 2, [""])):
                    for k, head in enumerate(own) if stage in parts else ():
                        keys = common | {"task": "occupation", "stage": stage, "setting": setting}
                        keys["head_seed"] = str(head)
                        for i, (metric, variant) in enumerate(EXTRINSIC):
                            value = (i + 1) / 10 + shift + base + k / 1000
                            add(metric=metric, variant=variant, value=value, **keys)
                        for i, (metric, variant) in enumerate(COUNTS):
                            add(metric=metric, variant=variant, value=i, **keys)
                        add(metric="test_size", value=100, **keys)
                if "compression" in parts:
                    add_probe(add, 2 * s + j / 10 + 3 + raw, probes, setting, stage="finetuned", **common)
            for test in tests if "ceat" in parts else ():
                add_ceat(add, test, s / 10 + j / 100, 0.01 if s < 2 else 0.2, stage="finetuned", **common)
            if "finetuning" in parts:
                keys = common | {"task": "finetuning:occupation", "stage": "finetuned"}
                for metric, value in (("validation_accuracy", 0.8), ("majority_share", 0.3), ("diverged", 0)):
                    add(metric=metric, value=value, **keys)
    for j, seed in enumerate(seeds):
        for stage, base in (("random", 20), ("pretrained", 30)):
            if "compression" in parts:
                for setting in ("raw", "scrubbed"):
                    shift = 0.5 * (setting == "scrubbed")
                    add_probe(add, base + j / 10 - shift, probes, setting, stage=stage, seed=str(seed))
            for test in tests if "ceat" in parts else ():
                add_ceat(add, test, base / 100, 0.001, stage=stage, seed=str(seed))
    return tidy(pd.DataFrame(rows), paper="internal", encoder=encoder, method="")


def add_probe(add, value, probes, setting, **keys):
    for k, probe in enumerate(probes):
        keys = keys | {"task": "probe", "setting": setting, "head_seed": str(probe)}
        for variant in COMPRESSIONS:
            lower = 1 if variant.startswith("bits") else 0
            add(metric="compression", variant=variant, value=value + k / 100 - lower, **keys)
            add(metric="control_compression", variant=variant, value=1, **keys)
        for variant in ("best", "last"):
            add(metric="probe_accuracy", variant=variant, value=0.9, **keys)


def add_ceat(add, test, effect, p, **keys):
    for variant in ("weat-spread", "swapped-spread", "weat-sampling", "swapped-sampling"):
        own = {"effect_size": effect, "p_two_sided": p, "p_one_sided": p / 2, "tau_squared": 0.1, "draws": 1000}
        for metric, value in own.items():
            add(task=f"ceat:{test}", metric=metric, variant=variant, value=value, **keys)


def chosen(frame, **keys):
    """Which rows have these keys; a callable as value is asked about the column."""
    matches = [wanted(frame[key]) if callable(wanted) else frame[key] == wanted for key, wanted in keys.items()]
    return np.logical_and.reduce(matches)


def with_value(frame, value, **keys):
    """`frame` with the values of the rows with these keys replaced, by a number or by what a function makes of them."""
    rows = chosen(frame, **keys)
    assert rows.any()
    new = value(frame) if callable(value) else value
    return frame.assign(value=frame["value"].where(~rows, new))


def without(frame, **keys):
    rows = chosen(frame, **keys)
    assert rows.any()
    return frame[~rows].reset_index(drop=True)


def with_diverged(frame, strategy, *seeds):
    return with_value(
        frame, 1.0, metric="diverged", strategy=strategy, seed=lambda column: column.isin([str(seed) for seed in seeds])
    )
