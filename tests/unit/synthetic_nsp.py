"""Made-up stimuli, NSP probabilities and scores for the tests of paper B's tables and figures."""

import numpy as np
import pandas as pd

from scripts.biasflow.metrics.stereoset import LABELS, SETTING, score_settings
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.scores import concatenate, tidy

PRINTED = read_published("dawkins2024_table7")


def stimuli(triples):
    return pd.DataFrame(
        {
            "triple": triple,
            "label": label,
            "gender": "F",
            "context": f"context {triple}",
            "next_sentence": f"{label} {triple}",
            "swapped_context": f"swapped context {triple}",
            "swapped_next_sentence": f"swapped {label} {triple}",
        }
        for triple in triples
        for label in LABELS
    )


def probabilities(triples, *, settings=PRINTED[SETTING], seed=0):
    cells = stimuli(triples)[["triple", "label"]].merge(pd.DataFrame({"swapped": [False, True]}), how="cross")
    rows = settings.merge(cells, how="cross")
    return rows.assign(p=np.random.default_rng(seed).beta(0.3, 0.3, len(rows)))


def tidy_scores(probabilities, *, encoder="tiny", stimuli="planted", seed=""):
    scored = score_settings(probabilities).rename(columns={"level": "method", "settings": "setting"})
    return tidy(scored, paper="projective", task=stimuli, encoder=encoder, seed=seed)


def scores(*, triples=12, encoders=("tiny",), sets=("planted",), seeds=("",)):
    names = [f"t{i}" for i in range(triples)]
    return concatenate(
        tidy_scores(probabilities(names, seed=number), encoder=encoder, stimuli=stimuli_set, seed=seed)
        for number, (encoder, stimuli_set, seed) in enumerate(
            (e, s, seed) for e in encoders for s in sets for seed in seeds
        )
    )
