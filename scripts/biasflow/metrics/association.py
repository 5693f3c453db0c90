"""Association tests: are the target words X closer to the attribute words A than the target words Y are?

    s(w) = mean over a in A of cos(w, a) - mean over b in B of cos(w, b)

The same test serves words (WEAT) and sentences (SEAT): each row of X, Y, A or B is the vector of either.

Sources: Caliskan et al. (2017, WEAT), May et al. (2019, SEAT), Liang et al. (2020, sec. 4.2.2)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError, check_choice
from biasflow.metrics.combined_effect import ceat as ceat  # CEAT, the test of words in context
from biasflow.readouts.files import METHOD, Axis, load_arrays
from biasflow.results.bootstrap import NOWHERE, RESAMPLED, Interval, weighted_mean
from biasflow.results.scores import REASONS
from biasflow.results.statistics import effect_jackknife

OTHER = "other-pooling"  # the part in rows of a pooling other than the encoder's
ALTERNATIVES = ("greater", "less", "two-sided")
TIES = ("strict", "inclusive")
EXACT_UP_TO, SAMPLES = 1_000_000, 100_000  # up to so many partitions all are counted; else so many random ones
# How tests of words are read (paper A's code), and tests of sentences (May et al. 2019).
READINGS = {"weat": {"ddof": 0, "ties": "strict"}, "seat": {"ddof": 1, "ties": "inclusive"}}
DEVIATIONS = ("population", "sample")  # standard deviations by ddof: the part in rows of the one that a kind has not
# Cosines are at most 1, so a smaller difference per word is rounding only.
ROUNDING = 1e-12
BLOCK = 10_000  # random partitions whose sums are made at once: a few megabytes


@dataclass(frozen=True)
class Association:
    """The result of one association test: effect size with its interval, and p value.

    effect_size: d, in standard deviations of s; spread: that standard deviation. statistic: sum over X of s - sum over
    Y of s. p_value: of the permutation test over `partitions` partitions of X u Y; exact: whether these are all.
    word_p_value: p of the same test in which all sentences about a word stay in one set. [low, high]: 95 % interval of
    the effect size, over the words of X and of Y; resampled: effect sizes of resamples (`effect_interval`).
    Where the test cannot be computed the numbers are NaN, partitions is 0 and `reason` says why; otherwise `reason`
    is ""."""

    effect_size: float = math.nan
    spread: float = math.nan
    statistic: float = math.nan
    p_value: float = math.nan
    exact: bool = False
    partitions: int = 0
    word_p_value: float = math.nan
    word_partitions: int = 0
    low: float = math.nan
    high: float = math.nan
    resampled: ArrayLike = field(default=math.nan, repr=False, compare=False)
    reason: str = ""


def associations(words: ArrayLike, A: ArrayLike, B: ArrayLike) -> np.ndarray:
    """Return the association s(w) of every word, in [-2, 2]: words [n, d], A [a, d], B [b, d] -> [n].

    The mean of cosines is the cosine with the mean of the unit vectors (times its length), so that no [n, a] matrix is
    made. A zero vector, which has no direction, gives NaN. Raises BiasflowError as `weat`."""
    words, A, B = _vectors(words=words, A=A, B=B).values()
    return _unit(words) @ (_unit(A).mean(axis=0) - _unit(B).mean(axis=0))


def weat(
    X: ArrayLike,
    Y: ArrayLike,
    A: ArrayLike,
    B: ArrayLike,
    *,
    ddof: int = 0,
    alternative: str = "greater",
    ties: str = "strict",
    exact_up_to: int = EXACT_UP_TO,
    samples: int = SAMPLES,
    seed: int = 0,
    about: Sequence[ArrayLike] | None = None,
) -> Association:
    """Test whether X is closer to A than Y is: effect size and p value; X, Y, A, B: [n, d], n may differ.

    d = (mean over X of s - mean over Y of s) / std of s over X u Y, with s as in the module's docstring. ddof=0 is
    paper A's WEAT (then |d| <= 2 for |X| = |Y|), ddof=1 that of SEAT. The paper prints the sums over X and Y in the
    numerator; the means are what its code and Caliskan et al. take.

    p = share of the partitions of X u Y into sets as large as X and Y whose difference of means lies above the observed
    one (alternative="greater"), below it ("less") or farther from 0 ("two-sided"). For |X| = |Y| this is the order of
    the paper's statistic, a difference of sums. ties="strict" counts > as Caliskan et al. and paper A do, so that an
    exact p can be 0, which is to say below 1 / partitions; ties="inclusive" counts >= as May et al. do: the observed
    partition is always among those counted, and p is at least 1 / partitions.
    The test is exact if there are at most `exact_up_to` partitions. Otherwise `samples` random ones are drawn, and
    p = (counted + 1) / (samples + 1): one partition is the observed one.

    about: for X and for Y the number of the word that each row is about, if several rows are sentences about one word
    (None: each row is a word). Such rows are not independent. So the interval draws words, and word_p_value is p of the
    words' mean associations: partitions of the words, with differences of the means over words.

    A set of fewer than two words, a zero vector, or equal s for all words of X u Y give NaN and a reason. Raises
    BiasflowError for an empty set, unequal dimensions, values that are not finite, or an option that is none."""
    options = {"ddof": ddof, "alternative": alternative, "ties": ties, "exact_up_to": exact_up_to, "samples": samples}
    sets = _vectors(X=X, Y=Y, A=A, B=B).values()
    return weat_of_each([vectors[None] for vectors in sets], **options, seed=seed, about=about)[0]


def weat_of_each(
    sets: Sequence[np.ndarray],
    *,
    ddof: int = 0,
    alternative: str = "greater",
    ties: str = "strict",
    about: Sequence[ArrayLike] | None = None,
    **partitions: int,
) -> list[Association]:
    """`weat` of the vectors under each of several methods; all see the same partitions, whose sums are made together.

    sets: X, Y, A and B, each [methods, n, d]; partitions: exact_up_to, samples, seed."""
    check_choice("association test: alternative", alternative, ALTERNATIVES)
    check_choice("association test: ties", ties, TIES)
    check_choice("association test: ddof", ddof, (0, 1))
    size, n = sets[0].shape[1], sets[0].shape[1] + sets[1].shape[1]
    tested, found = {}, {}
    for number, of_method in enumerate(zip(*sets, strict=True)):
        named = _vectors(**dict(zip("XYAB", of_method, strict=True)))
        reason = _untestable(named)
        if not reason:
            s = associations(np.concatenate([named["X"], named["Y"]]), named["A"], named["B"])
            reason = "every word of X and Y has the same association" if np.ptp(s) <= ROUNDING else ""
            tested |= {} if reason else {number: s}
        found[number] = Association(reason=reason)
    if tested:
        options = {"alternative": alternative, "ties": ties, **partitions}
        every_s = np.stack([*tested.values()])
        words, of_X = _words(about, size, n)
        of_items = p_values, total, exact = permutation_test(every_s, size, **options)
        means = np.stack([np.bincount(words, s) for s in every_s]) / np.bincount(words)
        of_words = of_items if means.shape == every_s.shape else permutation_test(means, of_X, **options)
        for number, s, p_value, word_p_value in zip(tested, every_s, p_values, of_words[0], strict=True):
            ends = effect_interval(s, size, ddof, words)
            found[number] = Association(
                effect_size=float((s[:size].mean() - s[size:].mean()) / s.std(ddof=ddof)),
                spread=float(s.std(ddof=ddof)),
                statistic=float(s[:size].sum() - s[size:].sum()),
                p_value=float(p_value),
                exact=exact,
                partitions=total,
                word_p_value=float(word_p_value),
                word_partitions=of_words[1],
                low=float(ends.low),
                high=float(ends.high),
                resampled=ends.resampled,
            )
    return [*found.values()]


def _words(about: Sequence[ArrayLike] | None, size: int, n: int) -> tuple[np.ndarray, int]:
    """The word of each of n rows, numbered from 0, those of X first; and how many words X has."""
    if about is None:
        return np.arange(n), size
    of_X, of_Y = (np.unique(np.asarray(numbers), return_inverse=True)[1] for numbers in about)
    if (len(of_X), len(of_Y)) != (size, n - size):
        raise BiasflowError(
            f"association test: words are given of {len(of_X)} and {len(of_Y)} rows; X and Y have {size} and {n - size}"
        )
    return np.concatenate([of_X, of_Y + of_X.max() + 1]), int(of_X.max()) + 1


def permutation_test(
    s: np.ndarray,
    size: int,
    *,
    alternative: str,
    ties: str,
    exact_up_to: int = EXACT_UP_TO,
    samples: int = SAMPLES,
    seed: int = 0,
) -> tuple[np.ndarray, int, bool]:
    """Return p [methods] of associations s [methods, n], whose first `size` columns belong to X; over how many
    partitions; whether these are all. Options: of `weat`."""
    n = s.shape[1]
    observed = s[:, :size].mean(axis=1) - s[:, size:].mean(axis=1)

    def counted(sums: np.ndarray, of_methods: slice = slice(None)) -> np.ndarray:
        """How many partitions of these sums over X, [partitions, methods], lie as far out as the observed ones."""
        differences = sums / size - (s[of_methods].sum(axis=1) - sums) / (n - size)
        return _counted(differences, observed[of_methods], alternative, ties)

    total = math.comb(n, size)
    if total <= exact_up_to:
        far = [counted(_all_sums(row, size)[:, None], slice(i, i + 1)) for i, row in enumerate(s)]
        return np.concatenate(far) / total, total, True
    drawn, far = random_partitions(n, size, samples, seed), np.zeros(len(s), dtype=int)
    for block in np.split(drawn, range(BLOCK, samples, BLOCK)):
        chosen = np.zeros((len(block), n))
        np.put_along_axis(chosen, block, 1.0, axis=1)
        far += counted(chosen @ s.T)
    return (far + 1) / (samples + 1), samples, False


def effect_interval(s: np.ndarray, size: int, ddof: int = 0, words: np.ndarray | None = None) -> Interval:
    """95 % interval (`effect_jackknife`) of the effect size d of associations s [n], whose first `size` belong to X,
    and effect sizes of bootstrap resamples.

    words [n]: the word that each is about, numbered from 0, those of X first (None: each is a word). A word is left out
    at a time, or drawn within its set, with all that is about it; the attributes stay. The interval says how much the
    effect depends on the choice of target words; the permutation test says whether there is one."""
    n = len(s)
    words = np.arange(n) if words is None else words
    of_X = np.arange(words.max() + 1) <= words[:size].max()
    scale = np.sqrt((n - ddof) / n)

    def effects(drawn: np.ndarray) -> np.ndarray:
        counts = drawn[:, words]
        difference = weighted_mean(counts[:, :size], s[:size]) - weighted_mean(counts[:, size:], s[size:])
        centred = s - s.mean()
        variance = weighted_mean(counts, centred**2) - weighted_mean(counts, centred) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            return scale * difference / np.sqrt(np.where(variance > ROUNDING**2, variance, np.nan))

    return effect_jackknife(effects, of_X, np.bincount(words), scale)


@lru_cache(maxsize=1)  # many tests of equal sizes share one draw
def random_partitions(n: int, size: int, samples: int, seed: int) -> np.ndarray:
    """Return random partitions of n words, [samples, size]: a row holds the positions (from 0, X before Y) put in X.

    Positions within a row are distinct; rows may repeat. The same arguments give the same array.
    BiasflowError without samples."""
    if samples < 1:
        raise BiasflowError(f"random partitions: samples is {samples}; draw at least one")
    positions = np.tile(np.arange(n, dtype=np.min_scalar_type(n - 1)), (samples, 1))
    drawn = np.random.default_rng(seed).permuted(positions, axis=1)[:, :size].copy()
    drawn.flags.writeable = False
    return drawn


def score(path: str | Path, *, kind: str | None = None) -> pd.DataFrame:
    """Return WEAT or SEAT under every method from a file of readouts/vectors.py: columns method, setting, metric, part,
    variant, value, n, low, high, resampled.

    kind: a key of READINGS; None: that of the file, "weat" for words and "seat" for sentences.
    Metrics <kind>_effect_size, _spread, _p_value, _partitions and _exact (1 or 0), and seat_word_p_value; part: "-", or
    OTHER; variant: the pooling; n: target words or sentences, but of a p the partitions, since a p of 0 is one below
    1 / n; low, high: of the effect size (`effect_interval`). A user's test also has <kind>_split_words: how many of its
    n words the vocabulary splits into pieces. Vectors that somebody gives also have <kind>_missing_words, how many of
    the n words have no vector, and effect size and spread with the other standard deviation (part: of DEVIATIONS).
    The table's attribute REASONS says why the test of a method has no value.
    Random partitions are drawn once, and summed for all methods together."""
    read = load_arrays(path)
    kind = read.meta["kind"] if kind is None else kind
    about = read.meta.get("about")
    about = None if about is None else [about[role] for role in "XY"]
    rows = _rows_of(read.arrays, "", kind, read.axis, about=about).assign(variant=read.meta["pooling"])
    attributes = rows.attrs
    others = [
        _rows_of(read.arrays, f"{name}.", kind, read.axis, about=about).assign(variant=name, part=OTHER)
        for name in read.meta.get("others", ())
    ]
    for counted in [name for name in ("split", "missing") if name in read.meta]:
        count = rows.drop_duplicates(METHOD).assign(metric=f"{kind}_{counted}_words", **NOWHERE._asdict())
        rows = pd.concat([rows, count.assign(value=float(read.meta[counted]), n=read.meta["words"])])
    if "missing" in read.meta:
        ddof = 1 - READINGS[kind]["ddof"]
        other = _rows_of(read.arrays, "", kind, read.axis, about=about, ddof=ddof)
        kept = other[other["metric"].isin([f"{kind}_effect_size", f"{kind}_spread"])]
        others.append(kept.assign(variant=read.meta["pooling"], part=DEVIATIONS[ddof]))
    table = pd.concat([rows.assign(part="-"), *others], ignore_index=True)
    table.attrs = attributes
    return table


def _rows_of(arrays: Mapping[str, np.ndarray], prefix: str, kind: str, axis: Axis, **options: object) -> pd.DataFrame:
    """The rows of the test whose four sets are the arrays with this prefix in their names; options: of `weat`, which
    replace those of the kind."""
    sets = [arrays[f"{prefix}{role}"] for role in "XYAB"]
    rows, reasons, targets = [], {}, sets[0].shape[1] + sets[1].shape[1]
    for method, result in zip(axis, weat_of_each(sets, **READINGS[kind] | options), strict=True):
        reasons |= {method[0]: result.reason} if result.reason else {}
        names = ("effect_size", "spread", "p_value", "partitions", "exact", *["word_p_value"] * (kind == "seat"))
        values = {name: float(getattr(result, name)) for name in names}
        ends = {"effect_size": (result.low, result.high, result.resampled)}
        # beside a p of 0, which is below 1 / partitions
        n = {"p_value": result.partitions, "word_p_value": result.word_partitions}
        rows += [
            (*method, f"{kind}_{name}", value, n.get(name, targets), *ends.get(name, NOWHERE))
            for name, value in values.items()
        ]
    table = pd.DataFrame(rows, columns=[*METHOD, "metric", "value", "n", "low", "high", RESAMPLED])
    table.attrs[REASONS] = reasons
    return table


def _vectors(**sets: ArrayLike) -> dict[str, np.ndarray]:
    """The sets as float64 [n, d] with the same d, or BiasflowError naming the set and the word (from 0)."""
    arrays = {name: np.asarray(vectors, dtype=float) for name, vectors in sets.items()}
    for name, vectors in arrays.items():
        if vectors.ndim != 2 or vectors.size == 0:
            raise BiasflowError(
                f"association test: set {name} has shape {vectors.shape}; give one vector a word, at least one word"
            )
        bad = ~np.isfinite(vectors).all(axis=1)
        if bad.any():
            raise BiasflowError(
                f"association test: set {name}, word {bad.argmax()}: NaN or infinite values; check the encoder"
            )
    dimensions = {name: vectors.shape[1] for name, vectors in arrays.items()}
    if len(set(dimensions.values())) > 1:
        listed = ", ".join(f"{name} {dimension}" for name, dimension in dimensions.items())
        raise BiasflowError(f"association test: unequal dimensions ({listed}); embed all sets with one encoder")
    return arrays


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Every row at length 1; NaN for a zero row."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        scaled = vectors / largest  # squares of very large or small values would leave the range of a float
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)


def _untestable(sets: dict[str, np.ndarray]) -> str:
    """Why the sets have no effect size, or ""."""
    for name, vectors in sets.items():
        if len(vectors) < 2:
            return f"set {name} has fewer than two words"
        zero = ~vectors.any(axis=1)
        if zero.any():
            return f"set {name}, word {zero.argmax()}: a zero vector has no cosine"
    return ""


def _all_sums(s: np.ndarray, size: int) -> np.ndarray:
    """The sums of all choices of `size` of the values: [n] -> [C(n, size)], without making the choices themselves.

    Value by value: a choice of k of the first i values either leaves out the i-th or adds it to a choice of k - 1."""
    sums = [np.zeros(1)] + [np.empty(0)] * size
    for i, value in enumerate(s, start=1):
        fewest = max(1, size - (len(s) - i))  # a smaller choice could no longer reach `size`
        for k in range(min(i, size), fewest - 1, -1):
            sums[k] = np.concatenate([sums[k], sums[k - 1] + value])
    return sums[size]


def _counted(differences: np.ndarray, observed: np.ndarray, alternative: str, ties: str) -> np.ndarray:
    """How many partitions lie at least as far out as the observed one (strict: farther): differences [partitions,
    methods], observed [methods] -> [methods]."""
    far = {"greater": lambda t: t, "less": lambda t: -t, "two-sided": np.abs}[alternative]
    if ties == "strict":
        return (far(differences) > far(observed) + ROUNDING).sum(axis=0)
    return (far(differences) >= far(observed) - ROUNDING).sum(axis=0)
