"""Made-up runs of paper B: scores of every printed setting, what was not run, and the options of the paper."""

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from biasflow.metrics.stereoset import LABELS
from biasflow.papers.dawkins2024.examples import digest
from biasflow.papers.dawkins2024.grid import (
    BASE,
    CONTROLS,
    DURING,
    HEADS,
    MEASURES,
    SCORES,
    SETTING,
    key_of,
    printed_table,
)
from biasflow.papers.frames import Run
from biasflow.papers.paper import load
from biasflow.papers.rows import read_printed
from biasflow.results.scores import COLUMNS, KEYS, NA, NONE, tidy

NUMBERS = read_printed("dawkins2024")
PRINTED = printed_table(NUMBERS, 7, SETTING)
GRID = "dawkins2024"
TOPS = {0.05: "top=5%", 0.1: "top=10%", 0.2: "top=20%", 1.0: "top=100%"}
OPTIONS = {
    "method": GRID,
    "nli_encoders": None,
    "task": "nli",
    "seeds": [0],
    "during": [],
    "viability": {"threshold": 0.05, "reading": "absolute"},
    "tops": list(TOPS),
}
_OTHER_SIDE = dict(zip(LABELS, (LABELS[1], LABELS[0], LABELS[2]), strict=True))  # of the swapped triple
NOTHING = pd.DataFrame(columns=COLUMNS)
BERT = load("dawkins2024").encoders["bert-base-uncased"]  # attributes of the paper's encoder
AUTHORS = "stereoset-authors"
NO_HEAD = {("roberta", "strength"): "no NSP head"}


def of_levels(*levels: str) -> pd.DataFrame:
    """The printed rows of some levels."""
    return PRINTED[PRINTED["level"].isin(levels)]


def stimuli(triples: Sequence[str]) -> pd.DataFrame:
    """Triples and their swapped copies, sentences that say what they are."""
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


def worded(examples: pd.DataFrame) -> pd.DataFrame:
    """The printed examples as if they were of `stimuli`, in triples that are named by their context_id."""
    texts = {}
    for row in stimuli(examples["context_id"].unique()).to_dict("records"):
        texts[row["triple"], row["label"], False] = row["context"], row["next_sentence"]
        texts[row["triple"], _OTHER_SIDE[row["label"]], True] = row["swapped_context"], row["swapped_next_sentence"]
    keys = zip(examples["context_id"], examples["label"], examples["swapped"], strict=True)
    return examples.assign(digest=[digest(*texts[key]) for key in keys])


def method_of(level: str, settings: str) -> dict[str, str]:
    """The keys of a setting of the grid."""
    if level == BASE:
        return {"method": NONE, "setting": NA}
    return {"method": GRID, "setting": f"{level} {settings}".strip()}


def name_of(level: str, settings: str) -> str:
    """A method that is this setting alone: "layer-12 0,1,0" -> "layer-12-0-1-0"."""
    return f"{level} {settings}".strip().replace(" ", "-").replace(",", "-")


def inside_scores(
    *, encoders: Sequence[str] = ("tiny",), sets: Sequence[str] = ("planted",), settings: pd.DataFrame = PRINTED
) -> pd.DataFrame:
    """Scores on stimuli of every setting, other ones for each encoder and set."""
    keys = [(measure, part, NA) for measure in MEASURES for part in TOPS.values()]
    keys += [key_of(measure) for measure in CONTROLS]
    rows = []
    for encoder in encoders:
        for stimuli in sets:
            values = np.random.default_rng(zlib.crc32(f"{encoder}{stimuli}".encode())).random(
                (len(settings), len(keys))
            )
            for setting, own in zip(settings[SETTING].itertuples(index=False), values, strict=True):
                for (metric, part, variant), value in zip(keys, own, strict=True):
                    where = {"encoder": encoder, "dataset": stimuli, **method_of(*setting)}
                    rows.append(where | {"metric": metric, "part": part, "variant": variant, "value": value})
    return tidy(pd.DataFrame(rows))


def nli_scores(
    *,
    encoder: str = "tiny",
    seed: str = "0",
    reading: str = "after fine-tuning",
    shift: float = 0.0,
    snli: float = 0.0,
    settings: pd.DataFrame = PRINTED,
) -> pd.DataFrame:
    """The printed NLI scores: `shift` is added to all but SNLI accuracy, `snli` to that. Also the shares of classes,
    which are in no table, and facts of the training, which have no head."""
    heads = {name: head for head, name in HEADS.items()}
    rows = []
    for row in settings.to_dict("records"):
        setting = (row["level"], row["settings"])
        model = {"strategy": "plain", "head": heads.get(reading, "own"), **method_of(*setting)}
        if reading == DURING:
            model |= {"strategy": f"with-{name_of(*setting)}", "method": name_of(*setting), "setting": NA}
        for column, (metric, dataset, variant) in SCORES.items():
            value = row[column.removesuffix("_templates")] + (snli if column == "snli_accuracy" else shift)
            where = {"metric": metric, "dataset": dataset, "variant": variant, "part": NA}
            rows.append(model | where | {"value": min(max(value, 0.0), 1.0)})
        share = {"metric": "nli_share", "dataset": "occupation-pairs", "part": "neutral", "variant": NA}
        rows.append(model | share | {"value": 0.4})
    epoch = {"strategy": "plain", "head": NA, "method": NONE, "setting": NA, "metric": "validation_accuracy"}
    rows.append(epoch | {"dataset": "validation", "part": NA, "variant": NA, "value": 0.9})
    table = pd.DataFrame(rows if reading in heads else rows[:-1])
    return tidy(table, encoder=encoder, task="nli", seed=seed)


def together(*frames: pd.DataFrame) -> pd.DataFrame:
    """All scores in one table; what several fine-tunings say alike is kept once."""
    return pd.concat(frames, ignore_index=True).drop_duplicates(KEYS, ignore_index=True)


def run_of(
    scores: pd.DataFrame,
    *,
    encoders: Sequence[str] | None = None,
    not_run: Mapping[tuple[str, str], str] | None = None,
    settings_in_training: pd.DataFrame | None = None,
    files: Mapping | None = None,
    about: Mapping[str, Mapping[str, str]] | None = None,
    **options: object,
) -> Run:
    """A run of these scores. encoders: those asked for, all that have scores if None; not_run: (encoder, metric) ->
    reason; settings_in_training: the settings that are methods of `during`; about: encoder -> its attributes."""
    columns = ["block", "encoder", "training", "method", "metric", "dataset", "status", "reason"]
    not_run = not_run or {}
    plan = [(GRID, encoder, NA, GRID, metric, NA, "not run", why) for (encoder, metric), why in not_run.items()]
    alone = [] if settings_in_training is None else settings_in_training[SETTING].itertuples(index=False, name=None)
    named = {name_of(*setting): " ".join(setting).strip() for setting in alone}
    names = [(name, "method", "setting", setting) for name, setting in named.items()]
    names += [("nli", "task", f"data.{part}", f"snli-{part}") for part in ("train", "test")]
    names += [(name, "encoder", *each) for name, its in (about or {}).items() for each in its.items()]
    known = list(dict.fromkeys(scores["encoder"])) if encoders is None else list(encoders)
    asked = {"encoders": list(dict.fromkeys([*known, *(name for name, _ in not_run)])), "during": list(named)}
    return Run(
        scores,
        pd.DataFrame(plan, columns=columns),
        pd.DataFrame(names, columns=["name", "kind", "attribute", "value"]),
        NUMBERS,
        files or {},
        OPTIONS | asked | options,
    )
