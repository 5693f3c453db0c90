"""The golden tables of Liang, Dufter & Schütze (2020): what makes each, from the stored scores with the new keys."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pandas as pd

from biasflow.papers.frames import NOT_ASKED, Run
from biasflow.papers.liang2020.targets import TABLES as FUNCTIONS
from biasflow.papers.published import read_published
from biasflow.results.scores import concatenate
from tests.golden.keys import fitted_before_training, new_keys, read_old

HERE = Path(__file__).parent
BASE, MULTILINGUAL, TINY, MOVED = "bert-base-uncased", "bert-base-multilingual-cased", "tiny", "moved"
GONE = {"bert-large-uncased": "no weights", "gone": "too large"}
NOT_RUN = [  # metric, training and dataset of cells, and why encoders that lack them were not run
    ("occtmp", "pretrained", "professions", NOT_ASKED),
    ("occtmp", "pretrained", "chinese-professions", "no Chinese words"),
    ("weat", "pretrained", "C6", NOT_ASKED),
    ("seat", "pretrained", "sent-weat6", "no sentences"),
    ("pseudo_perplexity", "pretrained", "wikitext-2", "too slow"),
    ("strength", "pretrained", "planted", "no NSP head"),
    ("accuracy", "cola/plain/seed1", "validation", "no files of GLUE"),
    ("nli_fairness", "nli/plain/seed1", "occupation-pairs", "no NLI data"),
]
# The encoder `moved` was run with DensRay in its last layer, which is a method of its own now.
PLAN = ["block", "encoder", "training", "method", "metric", "dataset", "status", "reason"]
PAPER_METHODS = ["none", "hard", "conceptor", "densray"]
NAMES = {
    "method": {
        "hard": {"eraser": "hard", "places": "all"},
        "conceptor": {"eraser": "conceptor", "places": "last"},
        "densray": {"eraser": "densray", "places": "all"},
        "densray-last": {"eraser": "densray", "places": "last"},
    },
    "task": {
        "cola": {"kind": "glue", "data": "cola"},
        "rte": {"kind": "glue", "data": "rte"},
        "planted-nli": {"kind": "glue", "data": "planted-nli"},
        "nli": {"kind": "nli"},
    },
}
VARIANTS = {
    "": ([BASE, MULTILINGUAL, MOVED, TINY, *GONE], True),
    "-planted": ([TINY], False),
    "-few": ([MOVED], False),
}


@cache
def scores() -> pd.DataFrame:
    """The stored scores; methods on an encoder after masked-LM training are those fitted before it."""
    old = read_old(HERE / "densray_scores.csv")
    moved = (old["encoder"] == MOVED) & (old["method"] == "densray") & (old["setting"] == "last")
    new = new_keys(old.assign(method=old["method"].mask(moved, "densray-last")))
    share = new[new["metric"] == "occtmp_share_he"]  # the stored scores have none of this metric: its values stand in
    new = concatenate([new, share.assign(metric="occtmp_share_pronoun")])
    return fitted_before_training(new, new["encoder"].str.endswith("-mlm"))


def run(encoders: list[str], *, reasons: bool) -> Run:
    """The run of these encoders, with the reasons for what it lacks, or without any."""
    names = [
        (name, kind, attribute, value)
        for kind, things in NAMES.items()
        for name, attributes in things.items()
        for attribute, value in attributes.items()
    ]
    cells = [
        ("liang2020", encoder, training, method, metric, dataset, "not run", GONE.get(encoder, reason))
        for encoder in encoders
        for metric, training, dataset, reason in NOT_RUN
        for method in (["none", "hard", "densray-last"] if encoder == MOVED else PAPER_METHODS)
        if reasons
    ]
    own = scores()["encoder"].str.removesuffix("-mlm").isin(encoders)
    return Run(
        scores()[own].reset_index(drop=True),
        pd.DataFrame(cells, columns=PLAN),
        pd.DataFrame(names, columns=["name", "kind", "attribute", "value"]),
        partial(read_published, "liang2020"),
        options={"encoders": encoders, "methods": list(NAMES["method"]), "inside_only": []},
    )


def _made(name: str, encoders: list[str], reasons: bool, _: Path) -> pd.DataFrame:
    return FUNCTIONS[name](run(encoders, reasons=reasons))


TABLES: dict[str, Callable[[Path], pd.DataFrame]] = {
    f"densray_{name}{variant}": partial(_made, name, encoders, reasons)
    for name in FUNCTIONS
    for variant, (encoders, reasons) in VARIANTS.items()
}
