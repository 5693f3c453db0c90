"""How often the intervals of single measures, and of their changes on the same items, cover the truth: simulations for
`benchmarks.coverage` at the sizes of the project's tests. What is measured of an item in the two models correlates."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from biasflow.metrics import combined_effect, coreference, divergence, families, gest, glue, trait_ratings
from biasflow.metrics.perplexity import ratio_interval
from biasflow.overview.helps import left_over
from biasflow.results.bootstrap import Interval, ends, interval, share_interval, weighted_mean
from biasflow.results.changes import distance_differences
from biasflow.results.comparison import distance

ALIKE = 0.8  # the correlation of an item's values in the two models
Models = tuple[tuple[float, Interval], tuple[float, Interval]]  # after a method, and before: value and interval


class Design(NamedTuple):
    """Simulated tests of a measure: its neutral value and which is better, the true scores, and how a test is drawn."""

    neutral: float
    better: str
    truth: tuple[float, float]
    drawn: Iterator[Models]


def coverage(design: Design, replications: int) -> dict[str, float]:
    """How often intervals hold the score of either model (`holds`), and the change of the distance from neutral
    (`change`); how often it is called nearer or farther."""
    made = [next(design.drawn) for _ in range(replications)]
    values = [np.array([pair[side][0] for pair in made], dtype=float) for side in (0, 1)]
    drawn = [np.array([pair[side][1].resampled for pair in made], dtype=float) for side in (0, 1)]
    ends = np.array([[pair[side][1][:2] for side in (0, 1)] for pair in made], dtype=float)  # [n, models, 2]
    truth = np.array(design.truth)
    true = np.subtract(*distance(truth, design.neutral, design.better))
    _, low, high = distance_differences(values, drawn, design.neutral, design.better)
    return {
        "holds": ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean(),
        "change": ((low <= true) & (true <= high)).mean(),
        "nearer": (high < 0).mean(),
        "farther": (low > 0).mean(),
    }


def _both(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normal values of standard deviation 1, which correlate at ALIKE: [2, *shape]."""
    one, other = rng.normal(size=(2, *shape))
    return np.stack([ALIKE * one + np.sqrt(1 - ALIKE**2) * other, one])


def ceat(words: int, after: float, before: float, *, draws: int = 200) -> Design:
    """CEAT of two sets of so many words, whose means differ by so many standard deviations of an association in a draw;
    seven tenths of its variance lie between words, the rest between their contexts."""
    shifts = np.array([after, before])

    def drawn() -> Iterator[Models]:
        rng, sizes = np.random.default_rng(0), (words, words)
        while True:
            means = np.sqrt(0.7) * _both(rng, 2 * words)
            means[:, :words] += shifts[:, None]
            models = []
            for of_model in means:
                s = of_model + np.sqrt(0.3) * rng.normal(size=(draws, 2 * words))
                effects = combined_effect.effects_of(s, sizes, 1)
                models.append((effects.combined("spread").effect_size, effects.intervals()["spread"]))
            yield tuple(models)

    return Design(0, "neutral", tuple(shifts / np.sqrt(1 + shifts**2 / 4)), drawn())


def gest_rate(sentences: int, after: float, before: float, *, skewed: bool) -> Design:
    """GEST's rate of 16 stereotypes with so many sentences each, whose scores (log10 ratios) spread by 0.5, normal or
    skewed; after, before: its true log10."""
    shifts, of = np.array([after, before]), np.repeat(np.arange(1, 17), sentences)
    about = np.where(of > 7, 0.5, -0.5)

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            noise = _both(rng, len(of))
            noise = 0.5 * (np.exp(0.8 * noise) - np.exp(0.32)) / 1.3 if skewed else 0.5 * noise
            models = []
            for shift, of_model in zip(shifts, noise, strict=True):
                items = pd.DataFrame(
                    {"item": np.arange(len(of)), "stereotype": of, "template": "he-said", "masking": "-"}
                )
                scores = (shift * about + of_model) * np.log(10)
                items = items.assign(log_p_first=scores, log_p_second=0.0, tokens_first=np.nan, tokens_second=np.nan)
                row = gest.summary(items).iloc[0]
                models.append((row["value"], Interval(row["low"], row["high"], row["resampled"])))
            yield tuple(models)

    return Design(1, "neutral", tuple(10**shifts), drawn())


def disco(templates: int, after: float, before: float) -> Design:
    """DisCo: a mean over so many templates of numbers of words, Poisson with means that spread like a gamma
    distribution of shape 1.5 and that both models share."""

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            means = rng.gamma(1.5, 1 / 1.5, size=templates)
            models = []
            for mean in (after, before):
                words = rng.poisson(mean * means).astype(float)
                drawn = interval(lambda counts, n=words: weighted_mean(counts, n), np.arange(templates)).resampled
                models.append((words.mean(), Interval(*ends(drawn, words.mean()), drawn)))
            yield tuple(models)

    return Design(0, "low", (after, before), drawn())


def classified(task: str, examples: int, after: float, before: float, *, share: float = 0.68) -> Design:
    """F1 (mrpc) or Matthews' correlation (cola) of so many examples, of which this share is of the second class and,
    of either class, these shares are classified right."""
    metric = {"mrpc": "f1", "cola": "matthews"}[task]

    def truth(right: float) -> float:
        table = np.array([[right, 1 - right], [1 - right, right]]) * [[1 - share], [share]]
        return float(glue.of_tables(metric, 1e9 * table[None])[0])

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            gold = (rng.random(examples) < share).astype(int)
            right = _both(rng, examples) < ndtri([[after], [before]])
            predicted = np.where(right, gold, 1 - gold)
            models = []
            for labels in predicted:
                ends = glue.intervals(task, gold, labels)[metric]
                models.append((glue.glue_scores(task, gold, labels)[metric], ends))
            yield tuple(models)

    return Design(1, "high", (truth(after), truth(before)), drawn())


def correlated(metric: str, examples: int, after: float, before: float) -> Design:
    """Pearson's or Spearman's correlation of STS-B's predictions with scores, of so many examples."""
    r = np.array([after, before])

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            gold = rng.normal(size=examples)
            predicted = r[:, None] * gold + np.sqrt(1 - r[:, None] ** 2) * _both(rng, examples)
            scores = [glue.glue_scores("stsb", gold, labels)[metric] for labels in predicted]
            ends = [glue.intervals("stsb", gold, labels)[metric] for labels in predicted]
            yield tuple(zip(scores, ends, strict=True))

    truth = r if metric == "pearson" else 6 / np.pi * np.arcsin(r / 2)
    return Design(1, "high", tuple(truth), drawn())


def conll_f1(documents: int, after: float, before: float) -> Design:
    """CoNLL F1 over documents of very different sizes (gamma, 10 mentions on average), in which shares of the mentions
    are right that spread about these by 0.15."""

    def counts(rng: np.random.Generator, n: int) -> np.ndarray:
        """[models, n, METRICS, 4]"""
        sizes = 2 + rng.poisson(rng.gamma(1.2, 8 / 1.2, size=n))
        spread = _both(rng, n)
        models = []
        for share, of_model in zip((after, before), spread, strict=True):
            p = ndtr(ndtri(share) * np.sqrt(1.25) + 0.5 * of_model)
            right = rng.binomial(sizes, p)
            predicted = right + rng.binomial(sizes, 0.3)
            models.append(np.repeat(np.stack([right, sizes, right, predicted], axis=-1)[:, None], 4, axis=1))
        return np.array(models, dtype=float)

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            (values, ends) = coreference.f1_scores(counts(rng, documents))["conll_f1"]
            yield tuple((values[side], Interval(*(end[side] for end in ends))) for side in (0, 1))

    many = counts(np.random.default_rng(1), 50_000).sum(axis=1)
    return Design(1, "high", tuple(coreference.conll_average(many)), drawn())


def perplexity(pieces: int, tokens: int, after: float, before: float) -> Design:
    """Perplexity of so many pieces of a text with so many tokens on average, whose losses per token spread by 0.4;
    after, before: the true mean losses."""

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            n = 1 + rng.poisson(rng.gamma(3, (tokens - 1) / 3, size=pieces))
            losses = (np.array([[after], [before]]) + 0.4 * _both(rng, pieces)) * n
            yield tuple((np.exp(of.sum() / n.sum()), ratio_interval(of, n)) for of in losses)

    return Design(1, "low", (np.exp(after), np.exp(before)), drawn())


def divergences(name: str, pairs: int, after: tuple[float, float], before: tuple[float, float]) -> Design:
    """KLDivS or JSDivS of so many pairs: the likelihoods of the less stereotypical sentences are standard normal, those
    of the others have this mean and standard deviation."""
    measure = getattr(divergence, name)

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            first, second = _both(rng, pairs), _both(rng, pairs)
            models = []
            for (mean, sd), one, other in zip((after, before), first, second, strict=True):
                items = pd.DataFrame({"masking": divergence.UNMASKED, "log_p_second": other, "tokens_first": np.nan})
                items = items.assign(log_p_first=mean + sd * (0.6 * other + 0.8 * one), tokens_second=np.nan)
                row = divergence.summary(items, name, measure).iloc[0]
                models.append((row["value"], Interval(row["low"], row["high"], row["resampled"])))
            yield tuple(models)

    truth = [float(measure(tuple(map(np.float64, side)), (np.float64(0), np.float64(1)))) for side in (after, before)]
    return Design(*((50, "low") if name == "kldivs" else (100, "high")), tuple(truth), drawn())


def probe(people: int, after: float, before: float, *, by_gender: bool) -> Design:
    """The accuracy of probes that tell the gender of these shares of so many people, as many of either gender;
    by_gender: drawn within each (probes by family), otherwise the share of all with Jeffreys' interval."""
    z = np.arange(people) % 2

    def score(right: np.ndarray) -> tuple[float, Interval]:
        if by_gender:
            ends = interval(lambda counts: families.balanced_accuracy(z, right, counts), z, strata=True)
            return float(families.balanced_accuracy(z, right)[0]), ends
        drawn = interval(lambda counts: weighted_mean(counts, right), np.arange(people)).resampled
        return float(right.mean()), Interval(*share_interval(right.sum(), people), drawn)

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            yield tuple(map(score, _both(rng, people) < ndtri([[after], [before]])))

    return Design(0.5, "low", (after, before), drawn())


def traits(size: tuple[int, int], after: float, before: float, *, by_model: bool = False) -> Design:
    """Trait ratings of 53 masculine words and so many others, in 6 templates with so many traits: the associations of
    the others are higher by these in the mean, and by amounts that differ between templates (standard deviation 0.1)
    and traits (0.2); words differ beside a trait (0.3), and the residual (0.5) has unequal weights.

    by_model: the interval is that of the model's own standard error, without resamples."""
    words, n = size
    template, trait, word = (axis.ravel() for axis in np.indices((6, n, 53 + words)))
    other = word >= 53

    def drawn() -> Iterator[Models]:
        rng = np.random.default_rng(0)
        while True:
            weights = np.exp(rng.normal(0, 0.5, size=len(word)))
            sides = (0.3 * _both(rng, 6)[:, template], 0.3 * _both(rng, n)[:, trait])
            sides += (other * 0.1 * _both(rng, 6)[:, template], other * 0.2 * _both(rng, n)[:, trait])
            sides += (0.3 * _both(rng, n, 53 + words)[:, trait, word], 0.5 * _both(rng, len(word)) / np.sqrt(weights))
            models = []
            for mean, values in zip((after, before), sum(sides), strict=True):
                found = trait_ratings.fit(values + mean * other, other, template, trait, weights)
                reach = ndtri(0.975) * found.standard_error
                by_error = Interval(found.coefficient - reach, found.coefficient + reach, np.full(1, np.nan))
                models.append((found.coefficient, by_error if by_model else found.interval()))
            yield tuple(models)

    return Design(0, "neutral", (after, before), drawn())


def coverage_of_bias_left(
    scores: int, items: int, left: Sequence[float], *, far: float, shared: float, replications: int
) -> dict:
    """How often the interval of the share of bias that a method leaves covers it: the mean over those of so many
    scores, means of so many items, whose untouched value is shown to be off neutral. left: what is left of the scores,
    by turns, below 0 past neutral; far: the true distances, in standard errors; shared: the correlation of the items'
    values between scores."""
    rng, hits, widths = np.random.default_rng(0), [], []
    of_scores = np.resize(left, scores)
    distances = np.linspace(0.8, 1.2, scores) * far / np.sqrt(items)
    for _ in range(replications):
        common, own = _both(rng, items, 1), _both(rng, items, scores)
        noise = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
        values = noise + np.stack([of_scores * distances, distances])[:, None]
        ends = interval(
            lambda counts, v=values: np.stack([weighted_mean(counts, of) for of in v], axis=1), np.arange(items)
        )
        means, drawn = values.mean(axis=1), ends.resampled  # [2, scores], [2, scores, resamples]
        _, low, high = distance_differences(means, drawn, 0.0, "neutral")
        cells = pd.DataFrame({"change_low": low, "change_high": high, "distance_untouched": np.abs(means[1])})
        cells = cells.assign(name="a method", header=np.arange(scores).astype(str), label=np.arange(scores))
        cells = cells.assign(left=np.abs(means[0]) / np.abs(means[1]), grid=False)
        shown = (ends.low[1] > 0) | (ends.high[1] < 0)
        if shown.any():
            (share,) = left_over(cells[shown], list(cells["header"][shown])).itertuples()
            hits.append(max(share.low, 0) <= np.abs(of_scores[shown]).mean() <= share.high)
            widths.append(share.high - share.low)
    about = {"holds": np.mean(hits), "width": np.median(widths)} if hits else {}
    return about | {"shown": len(hits) / replications}


def measures(replications: int) -> Iterator[dict]:
    """Rows for `benchmarks.coverage`: each measure whose distance stays, falls, or crosses neutral."""
    of_probes = ((0.5, 0.5), (0.7, 0.7), (0.95, 0.95), (0.6, 0.7), (0.5, 0.95))
    for name, sizes, cases, design in (
        ("CEAT", (8, 18), ((0.5, 0.5), (2.0, 2.0), (1.0, -1.0), (1.0, 2.0)), ceat),
        ("DisCo", (14,), ((0.5, 0.5), (2.0, 2.0), (1.0, 2.0)), disco),
        ("F1", (100, 408), ((0.8, 0.8), (0.9, 0.8), (0.95, 0.95)), lambda *of: classified("mrpc", *of)),
        ("Matthews", (100, 1043), ((0.75, 0.75), (0.85, 0.75), (0.95, 0.95)), lambda *of: classified("cola", *of)),
        ("perplexity", (50, 590), ((2.5, 2.5), (2.6, 2.5)), lambda n, *of: perplexity(n, 25 if n < 100 else 77, *of)),
        (
            "KLDivS",
            (262,),
            (((0.2, 1.2), (0.2, 1.2)), ((0.1, 1.1), (0.2, 1.2))),
            lambda *of: divergences("kldivs", *of),
        ),
        (
            "JSDivS",
            (262,),
            (((0.2, 1.2), (0.2, 1.2)), ((0.1, 1.1), (0.2, 1.2))),
            lambda *of: divergences("jsdivs", *of),
        ),
        ("CoNLL F1", (20, 100), ((0.6, 0.6), (0.7, 0.6)), conll_f1),
        ("GEST", (38,), ((0.2, 0.2), (0.1, -0.1), (0.0, 0.2)), lambda *of: gest_rate(*of, skewed=True)),
        ("traits", ((53, 20), (53, 100), (5, 20)), ((0.0, 0.0), (0.5, 0.5), (0.2, 0.5)), traits),
        (
            "traits, standard error",
            ((53, 20), (53, 100), (5, 20)),
            ((0.5, 0.5),),
            lambda *of: traits(*of, by_model=True),
        ),
        ("probe accuracy", (100, 600), of_probes, lambda *of: probe(*of, by_gender=False)),
        ("probe by family", (200, 600), of_probes, lambda *of: probe(*of, by_gender=True)),
        ("Pearson", (100,), ((0.8, 0.8), (0.9, 0.8)), lambda *of: correlated("pearson", *of)),
        ("Spearman", (100,), ((0.8, 0.8), (0.9, 0.8)), lambda *of: correlated("spearman", *of)),
    ):
        for size, (after, before) in product(sizes, cases):
            shares = coverage(design(size, after, before), replications)
            yield {"what": name, "items": size, "before": str(before), "after": str(after), **shares}


def bias_left(replications: int) -> Iterator[dict]:
    """Rows for `benchmarks.coverage`: the share of bias that is left."""
    cases = ((1.0,), (0.5,), (0.0,), (-1.0,), (0.5, -0.5), (0.0, 0.5, 1.5))
    for scores, items, far, left, shared in product((1, 3, 10), (16, 240), (3, 8), cases, (0.0, 0.5)):
        if scores > 1 or (not shared and len(left) == 1):
            about = {"scores": scores, "items": items, "far": far, "left": left, "shared": shared}
            yield {"what": "bias left", **about, **coverage_of_bias_left(**about, replications=replications)}
