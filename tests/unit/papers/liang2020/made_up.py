"""A made-up run for the tests of the tables and figures of Liang, Dufter & Schütze (2020)."""

from collections.abc import Mapping

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.paper import load
from biasflow.papers.rows import read_printed
from biasflow.registry import METRICS
from biasflow.results.scores import tidy

PLACES = {"none": "", "hard": "all", "conceptor": "last", "densray": "all"}
REAL = {
    "occtmp": ["professions", "professions-article"],
    "weat": ["C6", "C7", "C8"],
    "seat": ["sent-weat6"],
    "perplexity": "wikitext-2",
    "glue": ["cola", "rte"],
}
EMBEDDED = {"occtmp": ["planted"], "weat": ["planted"], "seat": [], "perplexity": "planted", "glue": ["planted-nli"]}
OCCTMP = ("diff", "diff_variance", "signed_diff", "p_he", "p_she", "p_sum", "share_he", "share_pronoun")
ALL = ("occtmp", "association", "perplexity", "pseudo_perplexity", "glue", "gender_share")
GLUE_TASKS = ["cola", "sst2", "mrpc", "stsb", "rte", "wnli"]
TASKS = dict.fromkeys([*GLUE_TASKS, "planted-nli"], "glue")
PLAN = ["block", "encoder", "seed", "training", "method", "metric", "dataset", "status", "reason"]


def scores(*, encoder="tiny", sets=REAL, measures=ALL, layers=3, methods=tuple(PLACES)) -> pd.DataFrame:
    """The scores of one encoder. Values follow from the place in the list, so that no two cells are alike."""
    rows = []

    def add(metric, value, *, only=methods, step=0.01, **keys):
        for number, method in enumerate(only):
            rows.append({"encoder": encoder, "method": method, "metric": metric, "value": value + number * step} | keys)

    for name in sets["occtmp"] if "occtmp" in measures else []:
        for i, metric in enumerate(OCCTMP):
            add(f"occtmp_{metric}", 0.1 * (i + 1) + len(name) / 1000, dataset=name)
        for layer in range(layers):
            for metric in ("diff", "signed_diff"):
                place = {"only": ["densray-each"], "setting": f"layer[{layer}]"}
                add(f"occtmp_{metric}", 0.3 + layer / 10, dataset=name, **place)
    tests = [("weat", test, "target") for test in sets["weat"]] + [("seat", test, "cls") for test in sets["seat"]]
    for number, (kind, test, pooling) in enumerate(tests if "association" in measures else []):
        keys = {"dataset": test, "variant": pooling}
        add(f"{kind}_effect_size", 0.5 + number / 10, **keys)
        add(f"{kind}_p_value", 0.01 * (number + 1), **keys)
        add(f"{kind}_partitions", 12870, step=0, **keys)
        add(f"{kind}_exact", 1, step=0, **keys)
    fitted = [method if method == "none" else f"{method}-pretrained" for method in methods]
    for name, base, only in ((encoder, 9.0, methods), (f"{encoder}-mlm", 4.0, fitted)):
        model = {"encoder": name, "only": only, "dataset": sets["perplexity"]}
        for seed in ("1", "2", "3") if "perplexity" in measures else ():
            add("perplexity", base + int(seed) / 10, readout_seed=seed, n=1000, **model)
            add("perplexity", base + 1 + int(seed) / 10, readout_seed=seed, n=1000, variant="released", **model)
            for layer in range(layers):
                each = "densray-each" if name == encoder else "densray-each-pretrained"
                place = model | {"only": [each], "setting": f"layer[{layer}]", "readout_seed": seed, "n": 1000}
                add("perplexity", base + layer + int(seed) / 10, **place)
                add("perplexity", base + layer + 0.5 + int(seed) / 10, variant="released", **place)
        if "pseudo_perplexity" in measures:
            add("pseudo_perplexity", base - 1, **model)
    edited = [method for method in methods if method != "none"]
    for number, task in enumerate(sets["glue"] if "glue" in measures else []):
        for seed in ("1", "2"):
            model = {"task": task, "seed": seed, "head": "own", "dataset": "validation"}
            value = 0.5 + number / 10 + int(seed) / 50
            for metric in ("glue_score", "accuracy"):
                add(metric, value - 0.01, only=["none"], strategy="plain", **model)
                add(metric, value + 0.2, only=edited, strategy="plain", **model)
                for i, method in enumerate(edited):
                    add(metric, value + i / 100, only=[method], strategy=f"with-{method}", **model)
    for layer in range(layers) if "gender_share" in measures else ():
        keys = {"only": ["none"], "dataset": "words"}
        add("gender_share", 0.2 + layer / 10, part=f"layer[{layer}]", **keys)
        for head in range(2):
            part = f"layer[{layer}].attention.value[{head}]"
            add("gender_share", 0.1 * layer + 0.05 * head, part=part, **keys)
    frame = pd.DataFrame(rows)
    return tidy(frame.fillna(dict.fromkeys([column for column in frame if column not in ("value", "n")], "-")))


def run(frame: pd.DataFrame, *, places=PLACES, reasons=(), encoders=None, files=None, about=None) -> Run:
    """The run of these scores, whose plan has a cell that was run for each of them; encoders that are called as the
    printed ones are these.

    `reasons`: keys of cells that were not run, with their reason; `encoders`: of the paper, else those of the scores;
    `about`: method -> its attributes, where it has no eraser of its own name."""
    if encoders is None:
        encoders = sorted(set(frame["encoder"].str.removesuffix("-mlm")))
    attributes = {name: {"eraser": name, "places": place} for name, place in places.items() if name != "none"}
    attributes |= {"densray-each": {"eraser": "densray", "places": "each"}}
    for name, own in (about or {}).items():
        attributes[name] |= own
    names = [(name, "method", key, value) for name, about in attributes.items() for key, value in about.items()]
    printed = [(name, about) for name, about in load("liang2020").encoders.items() if name in encoders]
    names += [(name, "encoder", *each) for name, about in printed for each in about.items()]
    names += [(name, "task", "kind", kind) for name, kind in TASKS.items()]
    return Run(
        frame,
        plan_of(frame, reasons),
        pd.DataFrame(names, columns=["name", "kind", "attribute", "value"]),
        read_printed("liang2020"),
        files=files or {},
        options={"encoders": encoders, "methods": list(places), "inside_only": [], "chinese": []},
    )


def plan_of(frame: pd.DataFrame, reasons: list[Mapping[str, str]] = ()) -> pd.DataFrame:
    """A plan whose cells are those of the scores, and the cells of `reasons`, which were not run."""
    measured = {measure: name for name, metric in METRICS.items() for measure in metric.measures}
    measured["accuracy"] = "accuracy"  # a measure of occupations, too
    cells = pd.DataFrame({"encoder": frame["encoder"], "method": frame["method"], "dataset": frame["dataset"]})
    model = frame["task"] + "/" + frame["strategy"] + "/seed" + frame["seed"]
    cells["seed"] = frame["seed"]
    cells["training"] = model.where(frame["task"] != "-", "pretrained")
    known = frame["metric"].str.split("_").str[0].where(frame["metric"].str.match("occtmp|weat|seat"), frame["metric"])
    cells["metric"] = known.map(lambda name: measured.get(name, name))
    cells = cells.assign(block="liang2020", status="run", reason="").drop_duplicates()
    absent = pd.DataFrame([{"block": "liang2020", "status": "not run", **cell} for cell in reasons], columns=PLAN)
    absent["seed"] = absent["training"].str.extract(r"seed(\d+)$", expand=False).fillna("-")
    return pd.concat([cells, absent], ignore_index=True)[PLAN]
