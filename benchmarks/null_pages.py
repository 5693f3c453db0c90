"""How often does a page say that a useless method helps? `python -m benchmarks.null_pages FILE.csv RUN...`

A run of config/nulls.yaml has, of every family of methods, a hundred random edits as settings of a method
`<family>-null` (controls with as many directions, which move vectors as far). A null page is made of some of them in
the place of methods, each with further ones as the draws of its control. Whatever helps on it helps by chance.

Of each run, family and number of methods: `named`, the share of pages that name a method which helps a score, from 400
resampled pages (helps_p of results.matrix, vectorised) and from 20 that the product itself makes (results.matrix and
overview.contents, with the most methods: `own_named`, `own_filled`); for each score, which of the real methods help
beside so many draws (`power`); and how often the interval for a further draw holds it (`held`)."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.tabular import write_csv
from biasflow.overview.contents import contents
from biasflow.registry import COST
from biasflow.results.comparison import DISTANCE_CHANGED, change, distance
from biasflow.results.draws import beyond
from biasflow.results.matrix import LEAST_HELP, matrix, of_measures
from biasflow.results.scores import MEASURE, NA, NONE, read_scores
from biasflow.results.statistics import holm

PAGES, OWN = 400, 20
METHODS, DRAWS = (1, 3, 8), (7, 39)
NULL = "-null"


def table(run: Path) -> pd.DataFrame:
    """The scores of bias of a run: those of the untouched model and of its edits, with the changes beside them."""
    scores = read_scores(run / "scores.csv")
    kept = []
    for (name, *reading), measure, of_measure in of_measures(scores):
        if measure.group == COST or of_measure.empty:
            continue
        changed = scores[(scores[MEASURE] == [name + DISTANCE_CHANGED, *reading]).all(axis=1)]
        for dataset, block in of_measure.groupby("dataset"):
            untouched = block[block["method"] == NONE]
            low, high = untouched["low"].iloc[0], untouched["high"].iloc[0]
            if low > measure.neutral or high < measure.neutral:
                kept += [block, changed[changed["dataset"] == dataset]]
    return pd.concat(kept)


def edits(scores: pd.DataFrame, family: str) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Of each biased score: the distances from neutral under all edits of a family, the p of their changes from the
    untouched model (1 where this is less than LEAST_HELP), and the untouched distance."""
    for (name, *reading), measure, of_measure in of_measures(scores):
        for dataset, block in of_measure.groupby("dataset"):
            changed = scores[(scores[MEASURE] == [name + DISTANCE_CHANGED, *reading]).all(axis=1)]
            changed, untouched = changed[changed["dataset"] == dataset], block[block["method"] == NONE]
            ideal, far = (
                (measure.neutral, measure.better),
                distance(untouched["value"].iloc[0], measure.neutral, measure.better),
            )
            of_family, p = block[block["method"] == family], []
            for setting, row in of_family.groupby("setting", sort=False):
                same = changed[(changed["method"] == family) & (changed["setting"] == setting)]
                p.append(change(row, untouched, *ideal, same, noisy=measure.noisy).p)
            distances = distance(of_family["value"], *ideal)
            yield distances, np.where(distances <= (1 - LEAST_HELP) * far, p, 1.0), far


def resampled(families: Sequence[list], methods: int, draws: int, rng: np.random.Generator) -> bool:
    """Whether a page of so many null methods of these families names one."""
    p = np.empty((2, len(families[0]), methods))
    for number in range(methods):
        of_scores = families[rng.integers(len(families))]
        order = rng.permutation(len(of_scores[0][0]))
        for score, (distances, change_p, far) in enumerate(of_scores):
            one = beyond(distances[order[0]], distances[order[1 : draws + 1]], far)
            p[:, score, number] = change_p[order[0]], one.p
    changes = np.array([holm(of_score) for of_score in p[0]])
    return bool((np.maximum(changes, holm(p[1].ravel()).reshape(p[1].shape)) <= 0.05).any())


def held(of_scores: list, draws: int, rng: np.random.Generator) -> float:
    """How often the interval for a further draw holds it, of the scores of a family on PAGES resampled pages."""
    inside = []
    for _ in range(PAGES):
        further, *others = rng.permutation(len(of_scores[0][0]))[: draws + 1]
        for distances, _, far in of_scores:
            one = beyond(distances[further], distances[others], far)
            inside.append(one.low <= distances[further] <= one.high)
    return float(np.mean(inside))


def own(
    scores: pd.DataFrame, untouched: pd.DataFrame, family: str, methods: int, draws: int, rng: np.random.Generator
) -> tuple[bool, bool]:
    """Whether the product's own page of so many null methods names one, and whether it fills its mark. untouched: all
    scores of the untouched model, of which a page says more than those of `scores`."""
    settings = scores.loc[scores["method"] == family, "setting"].unique()
    is_change = scores["metric"].str.endswith(DISTANCE_CHANGED)
    rows = [untouched]
    for number in range(methods):
        order = rng.permutation(settings)
        of_method = scores[(scores["method"] == family) & (scores["setting"] == order[0])]
        rows.append(of_method.assign(method=f"m{number}", setting=NA))
        names = {setting: f"draw{draw}" for draw, setting in enumerate(order[1 : draws + 1])}
        drawn = scores[(scores["method"] == family) & scores["setting"].isin(names) & ~is_change]
        rows.append(drawn.assign(method=f"m{number}-random-matched", setting=drawn["setting"].map(names)))
    page = pd.concat(rows, ignore_index=True)
    keys = ["encoder", "task", "strategy", "seed", "method", "dataset"]
    plan = page[keys].drop_duplicates().assign(metric="weat", status="run", reason="")
    (model,) = contents(matrix(page, plan), plan, page).models
    return bool(model.helpful), bool(model.lowering)


def rows(run: Path) -> Iterator[dict[str, object]]:
    """The rows of a run: see the module."""
    scores, rng, most = table(run), np.random.default_rng(0), (max(DRAWS), max(METHODS))
    names = [name for name in scores["method"].unique() if name.endswith(NULL)]
    untouched = read_scores(run / "scores.csv").query("method == @NONE")
    known = {name: [*edits(scores, name)] for name in names}
    for name, of_scores in known.items():
        for draws in (draws for draws in DRAWS if draws < len(of_scores[0][0]) / 2):
            real = [*edits(scores, name.removesuffix(NULL))]
            helped = [
                max(p[0], beyond(distances[0], drawn[:draws], far).p * len(of_scores)) <= 0.05
                for (distances, p, far), (drawn, *_) in zip(real, of_scores, strict=True)
                if len(distances)
            ]
            about = {"run": run.name, "family": name.removesuffix(NULL), "draws": draws, "scores": len(of_scores)}
            about["power"] = np.mean(helped) if helped else np.nan
            about["held"] = held(of_scores, draws, rng)
            for methods in METHODS:
                named = np.mean([resampled([of_scores], methods, draws, rng) for _ in range(PAGES)])
                own_pages = OWN if (draws, methods) == most else 0
                pages = [own(scores, untouched, name, methods, draws, rng) for _ in range(own_pages)]
                of_own = dict(zip(("own_named", "own_filled"), np.mean(pages, axis=0), strict=True)) if pages else {}
                yield about | {"methods": methods, "named": named} | of_own


if __name__ == "__main__":
    path, *runs = sys.argv[1:]
    write_csv(pd.DataFrame([row for run in runs for row in rows(Path(run))]), path)
