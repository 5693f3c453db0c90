"""A small matrix, plan and table of scores, as a run would have them."""

import pandas as pd

from biasflow.overview.about import About, Training
from biasflow.overview.glossary import glossary
from biasflow.results.matrix import matrix
from biasflow.results.scores import concatenate, tidy

VALUES = {  # method -> strength, perplexity
    "none": (2.0, 10.0),
    "zeta": (1.0, 10.4),
    "alpha": (0.5, 20.0),
    "beta": (3.0, 9.0),
    "gamma": (1.5, 10.0),
}


def scores(encoder="bert", **more):
    rows = []
    for method, (strength, perplexity) in (VALUES | more).items():
        rows += [
            {"method": method, "metric": "strength", "part": "top=10%", "value": strength, "n": 40}
            | {"low": strength - 0.2, "high": strength + 0.2},
            {
                "method": method,
                "metric": "distance",
                "part": "top=10%",
                "value": strength / 10,
                "low": min(0.01, strength / 10),
                "high": 0.4,
            },
            {"method": method, "metric": "perplexity", "part": "-", "value": perplexity, "n": 9}
            | {"low": perplexity - 0.01, "high": perplexity + 0.01},
        ]
    shares = [
        {"method": "none", "metric": "gender_share", "part": f"layer[{layer}]{head}", "value": value}
        for layer, head, value in (
            (0, "", 0.1),
            (0, ".attention.value[0]", 0.2),
            (1, "", 0.4),
            (1, ".attention.value[0]", 0.3),
        )
    ]
    return tidy(pd.DataFrame([*rows, *shares]), encoder=encoder, dataset="data")


def fine_tuned(encoder="bert"):
    rows = [
        {"strategy": strategy, "head": head, "seed": str(seed), "method": method, "metric": metric, "variant": variant}
        | {"value": value + seed / 100}
        for strategy, method, value in (
            ("plain", "none", 0.8),
            ("plain", "alpha", 0.5),
            ("scrubbing", "none", 0.6),
            ("with-alpha", "alpha", 0.7),
        )
        for head in ("own", "retrained")
        for seed in range(3)
        for metric, variant in (("accuracy", "-"), ("tpr_gap_pearson", "train"))
    ]
    return tidy(pd.DataFrame(rows), encoder=encoder, task="bios", dataset="bios-raw")


def plan(scored):
    keys = ["encoder", "task", "strategy", "seed", "method", "dataset"]
    run = scored[keys].drop_duplicates().assign(metric="strength", status="run", reason="")
    absent = run.iloc[:1].assign(metric="seat", dataset="-", status="not run", reason="metrics.seat: no <data> & such")
    return pd.concat([run, absent], ignore_index=True)


def run_of(scored):
    """(matrix, plan, scores) of these scores."""
    planned = plan(scored)
    return matrix(scored, planned), planned, scored


def run():
    """The run of an encoder, before and after fine-tuning."""
    return run_of(concatenate([scores(), fine_tuned()]))


CONTROL = [("leace-random-matched", f"draw{seed}", 0.3 + seed / 1000) for seed in range(7)]


def with_less_evidence(perplexity=10.0):
    """On an encoder with a head: a GEST rate, which followed a planted bias there, and Winogender, which did not."""
    rows = [
        {"method": method, "setting": setting, "metric": metric, "part": part, "variant": variant, "value": value}
        | {"low": value - half, "high": value + half, "n": 300}
        for method, setting, shift in (("none", "-", 0.3), ("leace", "-", 0.1), *CONTROL)
        for metric, part, variant, value, half in (
            ("gest_stereotype_rate", "all", "base10", 1 + shift, 0.05),
            ("winogender_r", "occupation", "bls", shift, 0.05),
            ("perplexity", "-", "-", perplexity, 1.0),
        )
    ]
    scored = tidy(pd.DataFrame(rows), encoder="bert", dataset="gest")
    return *run_of(scored), {}, {"bert": "head"}


FAR = [("leace-random-matched", f"draw{seed}", 1.2 + seed / 1000) for seed in range(7)]


def helped(*measures):
    """The scores of an encoder on which LEACE helps these, and of a cost."""
    rows = [
        {"method": method, "setting": setting, "metric": metric, "part": part, "variant": variant, "dataset": dataset}
        | {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 300}
        for method, setting, bias in (("none", "-", 1.2), ("leace", "-", 0.3), *FAR)
        for metric, part, variant, dataset, value in (
            *((*measure, bias) for measure in measures),
            *((f"{metric}_distance_change", *of, bias - 1.2) for metric, *of in measures if method != "none"),
            ("perplexity", "-", "-", "data", 10.0),
        )
    ]
    return tidy(pd.DataFrame(rows), encoder="bert")


WEAT = ("weat_effect_size", "-", "target", "C6")
SEAT = ("seat_effect_size", "-", "mean", "sent-weat6-mean")
STRENGTH = ("strength", "top=10%", "-", "data")


def words(matrix):
    """The glossary of a matrix; its methods are LEACE in the last layer."""
    methods = [name for name in matrix["method"].unique() if name != "none" and "random" not in name]
    rows = [
        (name, "method", key, value) for name in methods for key, value in (("eraser", "leace"), ("places", "last"))
    ]
    return glossary(matrix, pd.DataFrame(rows, columns=["name", "kind", "attribute", "value"]))


def about_them(encoders):
    """What is known of these encoders."""
    training = Training("bios", 3, {"train": (280, 300), "validation": (60, 60), "test": None, "cut": (0, 0)})
    row = {"architecture": "BertModel <small>", "layers": "2", "width": "128", "parameters": "4416698", "sha256": ""}
    row |= {
        "masked_lm_head": "ours",
        "next_sentence_head": "no",
        "head_loss_before": "9.1",
        "head_loss_after": "3.2",
        "sentence_vector": "",
    }
    return {name: About("", "local: path <small>", "", row, [], [training]) for name in encoders}
