"""People as a search finds them: are men or women of a profession shown first, and is what is asked for still found?

Sources: Singh and Joachims (2018; exposure), De-Arteaga et al. (2019; the biographies). Sums over professions, the gap
of swapped texts and gendered queries are ours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.genders import FEMALE, MALE
from biasflow.corpora.people import ASKED, PLAIN, RAW, SIMILARITIES, SWAPPED
from biasflow.metrics.fairness import FEWEST_CLASSES
from biasflow.metrics.items import ROUNDING, SUMMARY
from biasflow.metrics.occupation import correlation_interval, correlation_resamples
from biasflow.metrics.rankings import Ranks, exposure_gap, exposures, in_first, ndcg, ranks, recall, top_share
from biasflow.metrics.retrieval import mean_row
from biasflow.readouts.files import METHOD, by_method
from biasflow.results.bootstrap import NOWHERE, SEED, Interval, interval
from biasflow.results.statistics import row_correlations

DEPTHS = {"all": None, "10": 10, "50": 50}  # how many people of a list are looked at
PAGE, LONG = 10, 50  # of nDCG and gendered queries; of recall
EQUAL = 0.5  # the share of women in the pool
SHUFFLES = 1999


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/people_similarities.py."""
    tables = []
    for method, similarities, about in by_method(path, SIMILARITIES):
        rows = summary(Search.of(similarities, about))
        tables.append(rows.assign(**dict(zip(METHOD, method, strict=True)))[[*METHOD, *SUMMARY]])
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True)
class Search:
    """Similarities of queries to a pool of P professions, sorted by profession, of which S are searched.

    similarities: version of the texts -> [asked, templates, S, people]; profession [people], its number in `names` [P];
    searched [S]: numbers of professions; shares [P]: of women in each; is_woman, is_changed [people]: whether the
    swapped text is another one."""

    similarities: Mapping[str, np.ndarray]
    names: Sequence[str]
    searched: np.ndarray
    shares: np.ndarray
    profession: np.ndarray
    is_woman: np.ndarray
    is_changed: np.ndarray

    @classmethod
    def of(cls, similarities: np.ndarray, about: Mapping[str, list]) -> "Search":
        """The arrays of a readout: similarities [queries, texts] of one method, and the file's meta."""
        names, versions = about["professions"], about["versions"]
        queries = len(ASKED), len(about["templates"]), len(about["searched"])
        by_version = np.moveaxis(similarities.reshape(*queries, len(versions), -1), -2, 0)
        searched = np.array([names.index(name) for name in about["searched"]])
        arrays = [np.array(about[key]) for key in ("shares", "profession", "is_woman", "is_changed")]
        of_version = dict(zip(versions, by_version, strict=True))
        return cls(of_version, names, searched, *arrays[:2], *(array.astype(bool) for array in arrays[2:]))

    @cached_property
    def people(self) -> list[np.ndarray]:
        """The rows of the people of each searched profession."""
        return [np.flatnonzero(self.profession == number) for number in self.searched]

    @property
    def is_own(self) -> np.ndarray:
        """Whether people are of the searched profession: [S, people]."""
        return self.profession == self.searched[:, None]

    def places(self, version: str, asked: str = PLAIN) -> Ranks:
        """The ranks of all people in each list: [templates, S, people]."""
        return ranks(self.similarities[version][ASKED.index(asked)])


def summary(search: Search) -> pd.DataFrame:
    """Return all scores of one model: columns SUMMARY.

    Among all people, the first 10, the first 50 (part), with texts as they are or scrubbed (variant):

    exposure_gap             mean over professions of `rankings.exposure_gap` of their own people; n: professions
    exposure_gap_p           two-sided p of no difference, from genders shuffled within professions
    exposure_gap_size        mean over professions of |gap|, less what shuffled genders give on average
    exposure_gap_pearson     correlation of the gap with the profession's share of women
    top_share                mean over professions of `rankings.top_share` of the first 10 and 50; top_share_p,
                             top_share_size and top_share_pearson likewise, of its distance from the pool's share
    profession_exposure_gap  the gap of one profession (part), among all; n: people

    swap_gap          mean over people, whose text has a word of gender, of s(masculine) - s(feminine version of it),
                      in professions of women with the other sign: above 0 the usual gender is nearer; n: people
    search_ndcg       nDCG@10 of the profession's people, mean over professions
    search_recall     share of them among the first 50 (of 50, where they are more)
    gendered_queries  share of the first 10 that have the gender that is asked for (part female, male)

    Several queries for a profession: exposures and places are means over them. low, high: bootstrap over professions;
    of one profession over its people; of correlations `occupation.correlation_interval`."""
    rows: list[tuple] = []
    for version in (name for name in search.similarities if name != SWAPPED):
        places, own = search.places(version), search.is_own
        exposure = {part: exposures(places, k).mean(axis=0) for part, k in DEPTHS.items()}
        shown = {part: in_first(places, k).mean(axis=0) for part, k in DEPTHS.items() if k}
        rows += _exposure_rows(search, version, exposure)
        for part, weights in shown.items():
            shuffled = _signs(search) @ (weights / (2 * weights.sum(axis=1, keepdims=True))).T.astype("float32")
            away = top_share(weights, search.is_woman) - EQUAL
            rows += _over_professions("top_share", part, version, away, shuffled, search, shuffled.var(axis=0), EQUAL)
        rows.append(mean_row("search_ndcg", "-", version, ndcg(exposure[str(PAGE)], own, PAGE)))
        rows.append(mean_row("search_recall", "-", version, recall(shown[str(LONG)], own, LONG)))
        for gender, wanted in ((FEMALE, search.is_woman), (MALE, ~search.is_woman)):
            first = in_first(search.places(version, gender), PAGE).mean(axis=0)
            part = "female" if gender == FEMALE else "male"
            rows.append(mean_row("gendered_queries", part, version, top_share(first, wanted)))
    return pd.DataFrame([*rows, *_swap_rows(search)], columns=SUMMARY)


def _exposure_rows(search: Search, version: str, exposure: Mapping[str, np.ndarray]) -> Iterator[tuple]:
    """The rows of exposures [S, people] by depth."""
    own = [np.stack([exposure[part][row, people] for part in DEPTHS]) for row, people in enumerate(search.people)]
    gender = [search.is_woman[people] for people in search.people]
    gaps = np.stack([exposure_gap(*pair) for pair in zip(own, gender, strict=True)], axis=-1)  # [depths, S]
    signs, rows = _signs(search), np.concatenate(search.people)
    with np.errstate(invalid="ignore"):  # as many women as men: means are sums
        of_sum = [(e / e.sum(axis=-1, keepdims=True)).T.astype("float32") for e in own]
    shuffled = np.stack([-signs[:, p] @ e for p, e in zip(search.people, of_sum, strict=True)], axis=-1)

    def drawn(counts: np.ndarray) -> np.ndarray:
        """The gaps of resampled people, [resamples, depths, S]."""
        result, start = np.empty((len(counts), *gaps.shape)), 0
        for number, (e, is_woman) in enumerate(zip(own, gender, strict=True)):
            weights = counts[:, start : start + len(is_woman)]
            men, women = (weights[:, which] @ e[:, which].T for which in (~is_woman, is_woman))
            with np.errstate(invalid="ignore"):
                result[..., number] = (men - women) / (men + women)
            start += len(is_woman)
        return result

    of_people = interval(drawn, 2 * search.profession[rows] + search.is_woman[rows], strata=True)
    for depth, part in enumerate(DEPTHS):
        noise = of_people.resampled[depth].var(axis=-1)
        about = gaps[depth], shuffled[:, depth], search, noise, 0.0, of_people.resampled[depth].T
        yield from _over_professions("exposure_gap", part, version, *about)
    for number, people in enumerate(search.people):
        name, ends = search.names[search.searched[number]], (of_people.low[0, number], of_people.high[0, number])
        yield "profession_exposure_gap", name, version, gaps[0, number], len(people), *ends, np.nan


def _over_professions(
    metric: str,
    part: str,
    version: str,
    gaps: np.ndarray,
    shuffled: np.ndarray,
    search: Search,
    noise: np.ndarray,
    neutral: float,
    resampled: np.ndarray | None = None,
) -> Iterator[tuple]:
    """The rows of gaps of professions, [S]: their mean (from `neutral`), its p, their size, their correlation with the
    shares of women. shuffled: with shuffled genders, [SHUFFLES, S]; noise: their variances, [S]; resampled: of
    resampled people, [resamples, S]."""
    known = np.isfinite(gaps)
    n, by_chance = int(known.sum()), shuffled[:, known]
    yield mean_row(metric, part, version, gaps + neutral)
    if n:
        as_far = np.abs(by_chance.mean(axis=1)) >= np.abs(gaps[known].mean()) - ROUNDING
        yield f"{metric}_p", part, version, (1 + as_far.sum()) / (1 + SHUFFLES), n, *NOWHERE
    yield mean_row(f"{metric}_size", part, version, np.abs(gaps) - np.abs(shuffled).mean(axis=0))
    of_women = search.shares[search.searched]
    if n >= FEWEST_CLASSES:
        r = float(row_correlations(of_women[known], gaps[known][None])[0])
        drawn = np.nan if resampled is None else correlation_resamples(of_women, gaps, noise, resampled)
        ends = Interval(*correlation_interval(of_women, gaps, noise), drawn)
        yield f"{metric}_pearson", part, version, r, n, *ends


def _swap_rows(search: Search) -> Iterator[tuple]:
    """The row of what swapped words of gender change, where texts were swapped."""
    if SWAPPED not in search.similarities:
        return
    sums = np.zeros((len(search.searched), 2))
    for number, people in enumerate(search.people):
        usual = np.sign(0.5 - search.shares[search.searched[number]])
        people = people[search.is_changed[people]]
        raw, swapped = (
            search.similarities[version][0, :, number, people].mean(axis=-1, dtype=float) for version in (RAW, SWAPPED)
        )
        nearer = np.where(search.is_woman[people], swapped - raw, raw - swapped)
        sums[number] = usual * nearer.sum(), abs(usual) * len(people)

    def mean(counts: np.ndarray) -> np.ndarray:
        total, n = np.moveaxis(counts @ sums, -1, 0)
        with np.errstate(invalid="ignore"):
            return total / n

    value = float(mean(np.ones((1, len(sums))))[0])
    yield "swap_gap", "-", "-", value, int(sums[:, 1].sum()), *interval(mean, np.arange(len(sums)))


def _signs(search: Search) -> np.ndarray:
    """Genders shuffled within professions: 1 for a woman, -1 for a man, [SHUFFLES, people]."""
    return _shuffled(tuple(np.bincount(search.profession).tolist()))


@lru_cache(maxsize=1)  # all methods share them
def _shuffled(sizes: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    halves = (np.tile(np.repeat([1, -1], size // 2), (SHUFFLES, 1)).astype("float32") for size in sizes)
    signs = np.concatenate([rng.permuted(half, axis=1) for half in halves], axis=1)
    signs.flags.writeable = False
    return signs
