"""What methods change in a score on the same items, from the resamples of all scores of a run.

Scores of the same items are resampled alike (results.bootstrap). So the change of a score has an interval of its own:
resample by resample, a method minus the untouched model. Of two unrelated scores the interval of a difference would be
many times as wide, and where a method moves a score past neutral it would be too narrow."""

import logging
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from biasflow.base.files import sha256
from biasflow.base.records import contents, digest_of
from biasflow.registry import Measure
from biasflow.results.bootstrap import RESAMPLED, ends
from biasflow.results.comparison import CHANGED, DISTANCE_CHANGED, distance, distances
from biasflow.results.draws import is_draw
from biasflow.results.matrix import PLAIN, by_rows
from biasflow.results.scores import KEYS, MEASURE, NA, NONE, concatenate, tidy

log = logging.getLogger(__name__)

ITEMS = "items"  # the column that says on which items a score was measured (`digest_of_items`)
COLUMNS = [*KEYS, "value", "n", ITEMS, RESAMPLED]
_SAME = [key for key in KEYS if key not in ("strategy", "seed", "method", "setting")]  # of a method and what it changes
Score = Mapping[Hashable, Any]  # a row of COLUMNS


class Pair(NamedTuple):
    """Two scores of which the second is subtracted from the first; key: the one whose keys the difference has."""

    key: Score
    first: Score
    second: Score


def digest_of_items(
    files: Mapping[str, Sequence[Path]], chosen_by: Mapping[str, object], left_out: Collection[str]
) -> str:
    """What is equal for scores of the same items in the same order, and of no others: of the contents of the files that
    they come from (by role), of the options that choose them, and of the names of those that were left out."""
    digests = {role: [sha256(file) for path in paths for file in contents(path)] for role, paths in files.items()}
    return digest_of([digests, dict(chosen_by), sorted(left_out)])


def resampled_measures(
    rows: pd.DataFrame, measures: Collection[Sequence[str]], items: str, **keys: object
) -> pd.DataFrame:
    """The scores of some measures (metric, part, variant) with their resamples, without draws of controls: COLUMNS.

    rows: of a metric, with the column RESAMPLED where it has any; items: `digest_of_items`; keys: those that the rows
    do not know."""
    rows = rows.assign(
        **{RESAMPLED: np.nan, "n": np.nan, **dict.fromkeys(KEYS, NA), **dict(rows.items()), ITEMS: items, **keys}
    )
    of_measure = pd.MultiIndex.from_frame(rows[MEASURE]).isin([tuple(names) for names in measures])
    of_measure &= rows[RESAMPLED].map(np.ndim).eq(1) & ~is_draw(rows)
    return rows.loc[of_measure, COLUMNS].astype(dict.fromkeys(KEYS, str))


def changes(drawn: pd.DataFrame) -> pd.DataFrame:
    """Scores of which the metric ends in

    CHANGED           the score under a method minus that of the untouched model
    DISTANCE_CHANGED  the distance from neutral under a method minus that of the untouched model

    each with the 95 % interval of the same resamples. drawn: scores with theirs (COLUMNS). A score of other items, or
    of another number of resamples (correlations have fewer), is compared with none, and the log says so; nor is one
    that does not say what its items are (of an older version)."""
    tables, measures, drawn = [], by_rows(), drawn.reindex(columns=COLUMNS)
    for (*names, _), of_measure in drawn.groupby([*MEASURE, drawn[RESAMPLED].map(len)]):
        scores, measure = of_measure.to_dict("records"), measures[tuple(names)]
        touched = _on_same_items(_with_untouched(scores))
        tables += [_differences(touched, CHANGED), _differences(touched, DISTANCE_CHANGED, measure)]
    return concatenate(tables)


def are_changes(metrics: pd.Series) -> pd.Series:
    """Which metrics of scores are changes, by name: of a measure, with one of the endings. (vector_change is none.)"""
    endings = (CHANGED, DISTANCE_CHANGED, "_distance_against_control")  # the last in runs before 1.0
    return metrics.isin({f"{name}{ending}" for name, _, _ in by_rows() for ending in endings})


def _with_untouched(scores: Sequence[Score]) -> Iterator[Pair]:
    """Each score of a method, or of another training, beside that of the untouched model: of its seed, or without."""
    untouched = {_same(score, score["seed"]): score for score in scores if _is_untouched(score)}
    for score in scores:
        other = untouched.get(_same(score, score["seed"]), untouched.get(_same(score, NA)))
        if other is not None and not _is_untouched(score):
            yield Pair(score, score, other)


def _is_untouched(score: Score) -> bool:
    return score["method"] == NONE and score["strategy"] in PLAIN


def _same(score: Score, *keys: str) -> tuple[str, ...]:
    return (*(score[key] for key in _SAME), *keys)


def _on_same_items(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs of which both scores are of the same items; the log tells how many others there are."""
    pairs = list(pairs)
    same = [pair for pair in pairs if on_same_items(pair.first, pair.second)]
    if len(same) < len(pairs):
        about = "%s of %s: %d of %d scores are of other items than those they would be compared with, so they are not"
        log.warning(about, pairs[0].key["metric"], pairs[0].key["encoder"], len(pairs) - len(same), len(pairs))
    return same


def on_same_items(first: Score, second: Score) -> bool:
    """Whether two scores are known to be of the same items, so that their resamples stand beside each other."""
    return first["n"] == second["n"] and isinstance(first[ITEMS], str) and first[ITEMS] == second[ITEMS]


def _differences(pairs: Sequence[Pair], suffix: str, of: Measure | None = None) -> pd.DataFrame:
    """The differences of the scores of pairs, or of the distances `of` a measure from neutral, with their intervals: as
    scores."""
    if not pairs:
        return pd.DataFrame()
    values, drawn = (
        [np.array([getattr(pair, side)[column] for pair in pairs]) for side in ("first", "second")]
        for column in ("value", RESAMPLED)
    )
    if of:
        value, low, high = distance_differences(values, drawn, of.neutral, of.better)
    else:
        value, low, high = _difference(values, drawn)
    keys = pd.DataFrame([pair.key for pair in pairs])[[*KEYS, "n"]]
    return tidy(keys.assign(metric=keys["metric"] + suffix, value=value, low=low, high=high).dropna(subset="value"))


def distance_differences(
    values: Sequence[np.ndarray], drawn: Sequence[np.ndarray], neutral: float, better: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distance of scores from neutral minus that of others, and its 95 % interval: value, low, high, each [n].

    values, drawn: of the first and of the others: [n], and their resamples [n, resamples]. A score whose own resamples
    lie around neutral may be neutral, though the distances of most resamples are above 0. So the interval reaches to
    where its distance would be 0; without this it missed the difference in 15 % of simulations. Where "high" is better
    no score lies beyond neutral, so a distance is linear in the score, and the interval that of the scores' change."""
    may_be_neutral = [
        (distances(value, *ends(resampled.T, value), neutral, better)[1] == 0) & (better != "high")
        for value, resampled in zip(values, drawn, strict=True)
    ]
    values, drawn = ([distance(side, neutral, better) for side in sides] for sides in (values, drawn))
    value, low, high = _difference(values, drawn)
    low = np.where(may_be_neutral[0], np.minimum(low, ends(-drawn[1].T, -values[1])[0]), low)
    high = np.where(may_be_neutral[1], np.maximum(high, ends(drawn[0].T, values[0])[1]), high)
    return value, low, high


def _difference(values: Sequence[np.ndarray], drawn: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore"):  # infinite perplexities
        value, resampled = values[0] - values[1], drawn[0] - drawn[1]
    return value, *ends(resampled.T, value)
