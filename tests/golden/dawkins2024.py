"""The golden tables of Dawkins et al. (2024) and of the planted bias, made of the scores with the new keys."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.tabular import read_text_csv
from biasflow.papers.dawkins2024.targets import TABLES as FUNCTIONS
from biasflow.papers.frames import Run
from biasflow.papers.judge import judge
from biasflow.papers.published import read_published
from biasflow.text.occupation_pairs import OccupationPairs, save_pairs
from biasflow.text.swap_agreement import compare
from tests.golden.keys import GRID, method_in_training, new_keys, read_old
from tests.unit.papers.dawkins2024.made_up import worded

HERE = Path(__file__).parent
INPUTS = HERE / "inputs"
BERT, ROBERTA, TINY, GONE = "bert", "roberta", "tiny", "gone"
STIMULI = ["stereoset-authors", "stereoset-swapped", "planted"]
NLI_REASONS = {(GONE, "nli_fairness"): "no weights", (TINY, "nli_fairness"): "too small"}
REASONS = {(ROBERTA, "strength"): "no NSP head", (GONE, "strength"): "no weights", **NLI_REASONS}
RELATIVE = {"viability": {"threshold": 0.03, "reading": "relative"}}
OPTIONS = {
    "method": GRID,
    "nli_encoders": None,
    "task": "nli",
    "seeds": [0, 1],
    "viability": {"threshold": 0.05, "reading": "absolute"},
    "tops": [0.05, 0.1, 1.0],
    "selection": "small",
}
PLAN = ["block", "encoder", "training", "method", "metric", "dataset", "status", "reason"]
NAMES = ["name", "kind", "attribute", "value"]
ABOUT = [(BERT, "encoder", "id", "google-bert/bert-base-uncased"), (TINY, "encoder", "layers", "4")]
ABOUT += [(name, "encoder", "layers", "12") for name in (ROBERTA, GONE)]
ABOUT += [("nli", "task", f"data.{part}", f"snli-{part}") for part in ("train", "test")]


@cache
def _scores_and_settings() -> tuple[pd.DataFrame, dict[str, str]]:
    """The stored scores, and method -> setting of what was active in a training.

    Two pre-trainings of one encoder are two encoders now: their means, which the tables showed, stand for them. Base
    cannot be active in a training, so its rows of that reading are left out."""
    old = read_old(HERE / "projective_scores.csv")
    during = old["strategy"] == "during_finetuning"
    names = (old["method"] + " " + old["setting"])[during & (old["method"] != "base")].unique()
    old = old[~(during & (old["method"] == "base"))]
    inside = old["task"] != "nli"
    keys = [column for column in old if column not in ("seed", "value")]
    means = old[inside].groupby(keys, sort=False)["value"].mean().reset_index().assign(seed="")
    scores = new_keys(pd.concat([old[~inside], means], ignore_index=True))
    return scores, {method_in_training(name): name for name in names}


@cache
def _files(folder: Path) -> Mapping[str, Mapping[str, Path]]:
    """The stored inputs as the files of a run; those that a run has one by one are written to the folder."""
    stimuli, read = {}, {}
    for name, own in read_text_csv(INPUTS / "stimuli.csv").groupby("stimuli"):
        stimuli[name] = folder / f"{name}.csv"
        own.drop(columns="stimuli").to_csv(stimuli[name], index=False)
    probabilities = pd.read_csv(INPUTS / "probabilities.csv", dtype={"triple": str}, keep_default_na=False)
    for (encoder, name), own in probabilities.groupby(["encoder", "stimuli"]):
        read[f"{encoder}/{name}"] = folder / f"{encoder}-{name}.parquet"
        untouched = own["level"] == "base"
        setting = (own["level"] + " " + own["settings"]).mask(untouched, "-")
        methods = untouched.map({True: "none", False: GRID})
        columns = ["method", "setting", "triple", "label", "swapped", "p"]
        own.assign(method=methods, setting=setting)[columns].to_parquet(read[f"{encoder}/{name}"], index=False)
    variance, training = {}, {}
    for encoder in (BERT, TINY):
        variance[encoder] = folder / f"{encoder}-variance.csv"
        pd.read_csv(INPUTS / f"explained_variance_{encoder}.csv").assign(method=GRID).to_csv(variance[encoder])
    for key, facts in json.loads((INPUTS / "finetuning.json").read_text(encoding="utf-8")).items():
        encoder, name, seed = key.split("/")
        strategy = name if name == "plain" else f"with-{name}"
        path = training[f"{encoder}/nli/{strategy}/seed{seed}"] = folder / f"{encoder}-{name}-{seed}.json"
        path.write_text(json.dumps(facts), encoding="utf-8")
    templates = tuple(("saw", f"thing {number}") for number in range(54))
    occupations = tuple(f"occupation {number}" for number in range(40))
    save_pairs(OccupationPairs(occupations, templates, ("man",), ("woman",), "the"), folder / "pairs.json")
    return {
        "stimuli": {name: stimuli[name] for name in STIMULI},
        "next_sentence": read,
        "stereoset-changes": {"stereoset-changes": INPUTS / "stereoset_changes.csv"},
        "explained_variance": variance,
        "sentence_pairs": {name: INPUTS / f"sentence_pairs_{name}.csv" for name in (BERT, TINY)},
        "training": training,
        "sources": {"nli": INPUTS / "nli_sources.csv"},
        "occupation_pairs": {"nli": folder / "pairs.json"},
    }


def _made(
    name: str,
    encoders: Sequence[str],
    reasons: Mapping[tuple[str, str], str],
    folder: Path,
    *,
    without_stimuli: str = "",
    **options: object,
) -> pd.DataFrame:
    """A table of the run of these encoders."""
    scores, settings = _scores_and_settings()
    plan = [("", encoder, "", GRID, metric, "", "not run", why) for (encoder, metric), why in reasons.items()]
    run = Run(
        scores[scores["encoder"].isin(encoders) & (scores["dataset"] != without_stimuli)],
        pd.DataFrame(plan, columns=PLAN),
        pd.DataFrame([*ABOUT, *((name, "method", "setting", each) for name, each in settings.items())], columns=NAMES),
        _published,
        _files(folder),
        OPTIONS | {"encoders": list(encoders), "during": list(settings)} | options,
    )
    return FUNCTIONS[name](run)


def _published(name: str) -> pd.DataFrame:
    """What is printed; the examples as if they were sentences of the stored stimuli."""
    table = read_published(GRID, name)
    return worded(table) if name == "tables1_3_4" else table


def _swaps(which: int, _: Path) -> pd.DataFrame:
    """With the stored list of what is set aside, not the project's."""
    return compare(read_text_csv(INPUTS / "swap_stimuli.csv"), read_text_csv(INPUTS / "set_aside.csv"))[which]


_ALL, _SCORED = [BERT, ROBERTA, TINY, GONE], [BERT, ROBERTA, TINY]
TABLES: dict[str, Callable[[Path], pd.DataFrame]] = {
    **{f"projective_table{number}": partial(_made, f"table{number}", [BERT, TINY], {}) for number in (1, 2, 3, 4)},
    **{f"projective_table{number}": partial(_made, f"table{number}", _ALL, REASONS) for number in (5, 6, 7)},
    **{f"projective_table{n}-relative": partial(_made, f"table{n}", [ROBERTA], {}, **RELATIVE) for n in (5, 7)},
    **{f"projective_table{n}-without-nli": partial(_made, f"table{n}", [TINY], {}) for n in (5, 6, 7)},
    "projective_rank_agreement": partial(_made, "rank_agreement", _SCORED, {}),
    "projective_statements": partial(_made, "statements", _SCORED, {}),
    "projective_statements-relative": partial(_made, "statements", [BERT], {}, **RELATIVE),
    "projective_statements-without-nli": partial(_made, "statements", [TINY], {}),
    "projective_correlations": partial(_made, "correlations", _SCORED, {}, without_stimuli="stereoset-authors"),
    "projective_correlations-printed": partial(_made, "correlations", [TINY], {}, **RELATIVE),
    "projective_nli_intervals": partial(_made, "nli_intervals", _SCORED, {}),
    "projective_subspaces": partial(_made, "subspaces", [BERT, TINY, GONE], REASONS),
    "projective_swap_agreement": partial(_swaps, 1),
    "projective_swap_disagreements": partial(_swaps, 0),
    "projective_finetuning": partial(_made, "finetuning", [BERT, TINY, GONE], REASONS),
    "projective_audit": partial(_made, "audit", [], {}),
}

# Planted bias

MEASURES = {
    "Strength": ("strength", "top=10%", "-"),
    "Strength, all triples": ("strength", "top=100%", "-"),
    "Distance": ("distance", "top=10%", "-"),
    "Stereotype Score": ("stereotype_score", "-", "original"),
    "Stereotype Score, both genders": ("stereotype_score", "-", "both"),
    "she-he log-odds: correlation with the planted": ("log_odds_r", "-", "-"),
    "she-he log-odds: slope on the planted": ("log_odds_slope", "-", "-"),
}


def _calibration(_: Path) -> pd.DataFrame:
    """What the table said when it had these measures and columns alone."""
    scores = new_keys(read_old(HERE / "planted_scores.csv"))
    scores[["bias", "seed"]] = scores["encoder"].str.extract(r"bias([\d.]+)-seed(\d+)").astype(float)
    keys = ["metric", "part", "variant"]
    named = pd.DataFrame([(name, *key) for name, key in MEASURES.items()], columns=["measure", *keys])
    values = named.merge(scores[scores["method"] == "none"], on=keys).assign(sign=1, error=np.nan, group="inside")
    found = judge(values).drop(columns="p").rename(columns={"p_full": "p"})
    means = [column for column in found if column.startswith(("mean_", "sd_"))]
    return found[["measure", "seeds", *means, "spearman", "p", "verdict"]]


TABLES["planted_calibration"] = _calibration
