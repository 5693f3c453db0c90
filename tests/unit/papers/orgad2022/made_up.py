"""A made-up run for the tests of the tables and figures of Orgad, Goldfarb-Tarrant & Belinkov (2022)."""

from itertools import product

import numpy as np
import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.paper import load
from biasflow.papers.rows import function_of, read_printed
from biasflow.results.scores import NA, tidy
from biasflow.stimuli.ceat_sets import WORDS, ceat_tests, words_of

TEXT = load("orgad2022")
TABLES, FIGURES = (
    {name: function_of(TEXT, target) for name, target in kind.items()} for kind in (TEXT.tables, TEXT.figures)
)

RATES = ("tpr", "fpr", "precision")
STRATEGIES = ["plain", "oversampling", "subsampling", "scrubbing"]
MODELS = ["none", "oversampling", "subsampling", "scrubbing"]  # as the tables call them
EXTRINSIC = [
    ("accuracy", NA),
    *[(f"{part}_gap_sum", NA) for part in ("tpr", "fpr", "precision")],
    *[(f"{part}_gap_pearson", v) for part in ("tpr", "fpr", "precision") for v in ("train", "test", "labour")],
    ("independence", NA),
    *[(metric, aggregate) for metric in ("separation", "sufficiency") for aggregate in ("absdiff", "sum")],
    ("sufficiency", "absdiff-order-free"),
    ("sufficiency", "sum-order-free"),
]
UNDEFINED = ["tpr", "fpr", "precision", "separation", "sufficiency"]
COMPRESSIONS = ["bits-best", "bits-last", "mixed-best", "mixed-last"]
DATA = ["released", "paper"]
CEAT = ["ceat_effect_size", "ceat_p_two_sided", "ceat_p_one_sided", "ceat_tau_squared"]
METRICS = ["fairness", "compression", "ceat"]
COREFERENCE = {"task": "coref", "strategies": ["plain", "anon", "ca", "anon+ca"]}
READINGS = ["released", "tokens"]
F1S = [(f"{name}_f1", NA, NA) for name in ("conll", "muc", "b_cubed", "ceafe", "lea")]
PAIRS = [  # metric, part, variant
    *[("f1_difference", part, NA) for part in ("all", "type1", "type2")],
    *[("conll_f1", side, NA) for side in ("pro", "anti")],
    *[(f"{rate}_gap_{how}", NA, reading) for reading in READINGS for rate in RATES for how in ("pearson", "sum")],
    *[("independence", NA, reading) for reading in READINGS],
    *[
        (metric, NA, f"{reading}-{how}")
        for reading in READINGS
        for metric in ("separation", "sufficiency")
        for how in ("absdiff", "sum")
    ],
    *[("sufficiency", NA, f"{reading}-{how}-order-free") for reading in READINGS for how in ("absdiff", "sum")],
]
ALL = ("before", "after", "frozen", "compression", "ceat", "training")
# Six seeds: the fewest with which a paired test over seeds can give p < 0.05.
SIX = (0, 5, 11, 26, 42, 46)


def texts_of(strategy):
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
    input of scrubbing + 0.5; bits variants 1 lower, the paper's data 0.25 lower; controls 1; 1,000 labels are coded of
    released data and 200 of the paper's), the effect size of CEAT s / 10 + j / 100, its p 0.01
    for s < 2 and 0.2 otherwise. Random encoders: compression 20 + j / 10, pre-trained ones: 30 + j / 10."""
    rows = []
    for s, strategy in enumerate(strategies):
        for j, seed in enumerate(seeds):
            model = {"task": "bios", "strategy": strategy, "seed": str(seed)}
            for text in texts_of(strategy):
                raw = 0.5 * (strategy == "scrubbing" and text == "raw")
                keys = {"dataset": f"bios-{text}", "split_seed": str(seed)}
                stages = {
                    "before": [model | {"head": "own"}],
                    "after": [model | {"head": "retrained", "head_seed": str(head)} for head in heads],
                    "frozen": [{"head": f"frozen-{strategy}", "head_seed": str(seed)}],
                }
                for base, (stage, own) in enumerate(stages.items()):
                    for k, head in enumerate(own) if stage in parts else ():
                        rows += _extrinsic(keys | head, s + j / 100 + raw + base + k / 1000)
                if "compression" in parts:
                    rows += _compression(model | keys, 2 * s + j / 10 + 3 + raw, probes)
            if "ceat" in parts:
                rows += _ceat(model, tests, s / 10 + j / 100, 0.01 if s < 2 else 0.2)
            if "training" in parts:
                facts = {"validation_accuracy": 0.8, "majority_share": 0.3, "diverged": 0, "truncated": s}
                rows += [model | {"dataset": "train", "metric": metric, "value": facts[metric]} for metric in facts]
    for j, seed in enumerate(seeds):
        for random, base in ((True, 20), (False, 30)):
            model = {"strategy": "random", "seed": str(seed)} if random else {}
            if "compression" in parts:
                for text in ("raw", "scrubbed"):
                    keys = model | {"dataset": f"bios-{text}", "split_seed": str(seed)}
                    # The pretrained encoder has no seed: its probes with released data are the same in all splits.
                    data = DATA if random or j == 0 else ["paper"]
                    rows += _compression(keys, base + j / 10 - 0.5 * (text == "scrubbed"), probes, data)
            if "ceat" in parts and (random or j == 0):
                rows += _ceat(model, tests, base / 100, 0.001)
    frame = pd.DataFrame(rows)
    keys = [column for column in frame if column not in ("value", "n")]
    return tidy(frame.fillna(dict.fromkeys(keys, NA)), encoder=encoder, method="none")


def coreference_scores(
    *, encoder="tiny", seeds=(0, 5, 11), heads=(0, 1), orders=(0, 1), tests=("C6",), parts=ALL, strategies=None
):
    """The scores of coreference of one encoder, as `scores`: F1 i of strategy s is i / 10 + s + j / 100, measure i of
    the pairs (i + 1) / 10 + s + j / 100; compression is 2 s + j / 10 + 3."""
    rows = []
    for s, strategy in enumerate(strategies or COREFERENCE["strategies"]):
        for j, seed in enumerate(seeds):
            model = {"task": "coref", "strategy": strategy, "seed": str(seed)}
            stages = {
                "before": [model | {"head": "own"}],
                "after": [model | {"head": "retrained", "head_seed": str(head)} for head in heads],
            }
            for base, (stage, own) in enumerate(stages.items()):
                for k, head in enumerate(own) if stage in parts else ():
                    value = s + j / 100 + base + k / 1000
                    rows += _of_documents(head | {"dataset": "coref-test"}, F1S, value - 0.1)
                    rows += _of_documents(head | {"dataset": "coref-winobias"}, PAIRS, value)
                    rows += _undefined(head | {"dataset": "coref-winobias"}, READINGS)
            if "compression" in parts:
                rows += _of_professions(model, 2 * s + j / 10 + 3, orders, [seed])
            if "ceat" in parts:
                rows += _ceat(model, tests, s / 10 + j / 100, 0.01 if s < 2 else 0.2)
            if "training" in parts:
                rows += [model | {"dataset": "train", "metric": "truncated", "value": s}]
    for j, seed in enumerate(seeds):
        if "compression" in parts:
            rows += _of_professions({"strategy": "random", "seed": str(seed)}, 20 + j / 10, orders, [seed])
    if "compression" in parts:
        rows += _of_professions({}, 30, orders, seeds)  # no seed of its own: the orders of all
    frame = pd.DataFrame(rows)
    keys = [column for column in frame if column not in ("value", "n")]
    return tidy(frame.fillna(dict.fromkeys(keys, NA)), encoder=encoder, method="none")


def _of_documents(keys, measures, value):
    rows = [
        {"metric": m, "part": p, "variant": v, "value": (i + 1) / 10 + value} for i, (m, p, v) in enumerate(measures)
    ]
    return [keys | row for row in rows]


def _undefined(keys, readings):
    return [
        keys | {"metric": "undefined_cells", "part": part, "variant": reading, "value": i + 10 * r}
        for r, reading in enumerate(readings)
        for i, part in enumerate(UNDEFINED)
    ]


def _of_professions(keys, value, orders, seeds):
    """Compression of one order of the model's seed, released, and of several."""
    model = keys | {"dataset": "coref-professions"}
    rows = _compression(model | {"split_seed": NA}, value, seeds, ["released"])
    return rows + _compression(model | {"split_seed": NA}, value, orders, ["paper"])


def _extrinsic(keys, value):
    rows = [{"metric": m, "variant": v, "value": (i + 1) / 10 + value} for i, (m, v) in enumerate(EXTRINSIC)]
    rows += [{"metric": "undefined_cells", "part": part, "value": i} for i, part in enumerate(UNDEFINED)]
    return [keys | row for row in rows]


def _compression(keys, value, probes, of_data=DATA):
    rows = []
    for (k, probe), data, reading in product(enumerate(probes), of_data, COMPRESSIONS):
        lower = (reading.startswith("bits")) + 0.25 * (data == "paper")
        shared = {"variant": f"{data}-{reading}", "n": 200 if data == "paper" else 1000, "readout_seed": str(probe)}
        # The split of released data is that of the probe's seed.
        shared["split_seed"] = keys["split_seed"] if data == "paper" else NA
        own = {"metric": "compression", "value": value + k / 100 - lower}
        control = {"metric": "control_compression", "value": 1}
        rows += [keys | shared | row for row in (own, control)]
    return rows


def _ceat(keys, tests, effect, p):
    values = dict(zip(CEAT, (effect, p, p / 2, 0.1), strict=True))
    return [
        keys | {"dataset": test, "readout_seed": "0", "metric": metric, "variant": variant, "value": value, "n": 1000}
        for test in tests
        for variant in ("concepts-spread", "genders-spread", "concepts-sampling", "genders-sampling")
        for metric, value in values.items()
    ]


def item_files(folder):
    """The files of a run that are not scores: of words, of biographies and of their sources, few rows of each."""
    top = [("all", 0, 1, "F", 1, "women"), ("all", 0, 1, "M", 1, "dj"), ("nurse", 0, 1, "M", 1, "chief")]
    frames = {
        "top_words": pd.DataFrame(top, columns=["part", "seed", "iteration", "gender", "rank", "word"]).assign(
            accuracy=0.7, majority_share=0.5, converged=True
        ),
        "gender_accuracy": pd.DataFrame(
            [("raw", "all", 0, 50, 0.9, 0.5, True)],
            columns=["version", "part", "seed", "n", "accuracy", "majority_share", "converged"],
        ),
        "scrubbed_examples": pd.DataFrame(
            [("F", "nurse", "raw", "She paints."), ("F", "nurse", "pronouns", "_ paints.")],
            columns=["gender", "profession", "version", "text"],
        ),
        "professions": pd.DataFrame(
            [("nurse", 90, 10, 0.9, 0.88, True, ""), ("dj", 1, 3, 0.25, None, False, "1 woman")],
            columns=["profession", "women", "men", "share_of_women", "labour_share", "kept", "reason"],
        ),
        "sources": pd.DataFrame({"source": ["planted, bias 1"], "biographies": [100]}),
        "ceat_counts": pd.DataFrame({"word": words_of(ceat_tests(["C6"]).values())}).assign(
            found=20, used=9, wanted=9, text="wikitext-2"
        ),
    }
    keys = dict.fromkeys(frames, "bios") | {"ceat_counts": "roberta-base"}
    for role, frame in frames.items():
        frame.to_csv(folder / f"{role}.csv", index=False)
    return {role: {key: folder / f"{role}.csv"} for role, key in keys.items()} | {"ceat_words": {"ceat": WORDS}}


def run(frame, *, not_run=None, files=None, **options):
    """The run that has these scores: of the encoders in them, and of `not_run` (encoder -> reason). Encoders that are
    called as the printed ones are these."""
    found, not_run = [*dict.fromkeys(frame["encoder"])], not_run or {}
    cells = [(name, "bios/plain/seed0", metric, reason) for name, reason in not_run.items() for metric in METRICS]
    plan = pd.DataFrame(cells, columns=["encoder", "training", "metric", "reason"])
    encoders = [*found, *not_run]
    printed = [(name, about) for name, about in TEXT.encoders.items() if name in encoders]
    names = [(name, "encoder", *each) for name, about in printed for each in {"source": "hub", **about}.items()]
    default = {"task": "bios", "strategies": STRATEGIES, "seeds": [*SIX, *range(1, 5)]}
    return Run(
        frame,
        plan.assign(block="orgad2022", method="none", dataset=NA, status="not run"),
        pd.DataFrame(names, columns=["name", "kind", "attribute", "value"]),
        read_printed("orgad2022"),
        files=files or {},
        options=default | {"encoders": encoders} | options,
    )


def chosen(frame, **keys):
    """Which rows have these keys; a callable as value is asked about the column."""
    matches = [wanted(frame[key]) if callable(wanted) else frame[key] == wanted for key, wanted in keys.items()]
    return np.logical_and.reduce(matches)


def with_value(frame, value, **keys):
    """`frame` with the values of the rows with these keys replaced."""
    rows = chosen(frame, **keys)
    assert rows.any()
    return frame.assign(value=frame["value"].where(~rows, value))


def without(frame, **keys):
    rows = chosen(frame, **keys)
    assert rows.any()
    return frame[~rows].reset_index(drop=True)


def with_diverged(frame, strategy, *seeds):
    names = [str(seed) for seed in seeds]
    return with_value(frame, 1.0, metric="diverged", strategy=strategy, seed=lambda column: column.isin(names))
