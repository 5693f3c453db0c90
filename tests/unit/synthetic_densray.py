"""Made-up scores for the tests of paper A's tables and figures."""

import numpy as np
import pandas as pd

from scripts.biasflow.papers.dawkins2024.downstream import SCORES
from scripts.biasflow.results.scores import tidy

PLACES = {"none": "", "hard": "all", "conceptor": "last", "densray": "all"}
REAL = {
    "occtmp": ["professions", "professions-article"],
    "association": [("C6", "target"), ("C7", "target"), ("C8", "target"), ("sent-weat6", "cls")],
    "perplexity": "wikitext-2",
    "glue": ["cola", "rte"],
}
EMBEDDED = {
    "occtmp": ["planted"],
    "association": [("planted", "target")],
    "perplexity": "planted",
    "glue": ["planted-nli"],
}
ALL = ("occtmp", "association", "perplexity", "pseudo_perplexity", "glue", "intrinsic", "nli", "gender_share")


def scores(*, encoder="tiny", sets=REAL, measures=ALL, layers=3, places=None):
    """The scores of one encoder. Values follow from the place in the list, so that no two cells are alike."""
    places = PLACES if places is None else places
    rows = []

    def add(task, metric, value, *, methods=None, **keys):
        for number, (method, setting) in enumerate((methods or places).items()):
            row = {"task": task, "method": method, "setting": setting, "metric": metric, "value": value + number / 100}
            rows.append({"strategy": "", "seed": "", "stage": "", "variant": ""} | row | keys)

    for name in sets["occtmp"] if "occtmp" in measures else []:
        for i, metric in enumerate(("diff", "diff_variance", "signed_diff", "p_he", "p_she", "p_sum", "share_he")):
            add(f"occtmp:{name}", metric, 0.1 * (i + 1) + len(name) / 1000)
        for layer in range(layers):
            for metric in ("diff", "signed_diff"):
                value = 0.3 + layer / 10
                add(f"occtmp:{name}", metric, value, methods={"densray": f"layer[{layer}]"})
    for number, (test, pooling) in enumerate(sets["association"] if "association" in measures else []):
        add(f"association:{test}", "effect_size", 0.5 + number / 10, variant=pooling)
        add(f"association:{test}", "p_value", 0.01 * (number + 1), variant=pooling)
        add(f"association:{test}", "partitions", 12870, variant=pooling)
        add(f"association:{test}", "exact", 1, variant=pooling)
    text = f"perplexity:{sets['perplexity']}"
    for stage, base in (("pretrained", 9.0), ("finetuned", 4.0)):
        for seed in ("1", "2", "3") if "perplexity" in measures else ():
            add(text, "perplexity", base + int(seed) / 10, stage=stage, seed=seed)
            add(text, "batch_perplexity", base + 1 + int(seed) / 10, stage=stage, seed=seed, variant="released")
            add(text, "tokens", 1000, stage=stage, seed=seed)
        if "pseudo_perplexity" in measures:
            add(text, "pseudo_perplexity", base - 1, stage=stage)
    for number, task in enumerate(sets["glue"] if "glue" in measures else []):
        for strategy in ("in_training", "at_evaluation"):
            for seed in ("1", "2"):
                value = 0.5 + number / 10 + int(seed) / 50 + 0.2 * (strategy == "at_evaluation")
                methods = {name: place for name, place in places.items() if name != "none"}
                for metric in ("score", "accuracy"):
                    add(f"glue:{task}", metric, value, methods=methods, strategy=strategy, seed=seed)
                    if strategy == "in_training":
                        add(f"glue:{task}", metric, value - 0.01, methods={"none": ""}, seed=seed)
    if "intrinsic" in measures:
        for metric, variant in (("strength", "top=10%"), ("distance", "top=10%"), ("strength", "top=20%")):
            add("planted", metric, 0.4 if variant == "top=10%" else 0.9, variant=variant)
        add("planted", "stereotype_score", 0.6, variant="original")
        add("planted", "language_model_score", 0.7, variant="both")
    for seed in ("1", "2") if "nli" in measures else ():
        for number, (metric, variant) in enumerate(SCORES.values()):
            value = 0.1 * number + int(seed) / 50
            add("nli", metric, value, variant=variant, seed=seed, strategy="at_evaluation")
    for layer in range(layers) if "gender_share" in measures else ():
        add("gender_share", "gender_share", 0.2 + layer / 10, methods={"none": f"layer[{layer}]"})
        for head in range(2):
            place = {"none": f"layer[{layer}].attention.value"}
            add("gender_share", "gender_share", 0.1 * layer + 0.05 * head, methods=place, variant=str(head))
    for row in rows:  # counts and flags do not depend on the method
        if row["metric"] in ("partitions", "exact", "tokens"):
            row["value"] = np.floor(row["value"])
    return tidy(pd.DataFrame(rows), paper="densray", encoder=encoder)
