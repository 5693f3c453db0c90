"""Trait ratings: does a trait in sight make words for women, or neopronouns, likelier than words for men?

Association = ln P(word | the trait in sight) - ln P(word | the trait masked, too), where P of a word of several pieces
is the product of each piece's probability in its own place. A mixed model explains it by the group of the word,

    association ~ group + (1 | template) + (1 | trait),  residual variance ~ pseudo-perplexity of the sentence,

and the score of a pair of groups is the coefficient of the group. It is fitted as lme4 does it (Bates et al. 2015:
restricted likelihood, profiled over both ratios of standard deviations). (MixedLM of statsmodels knows no weights; on
rows times the square roots of weights it fits the same model, in seconds where this takes milliseconds.)

Source: Shrestha, Tay and Srinivasan (2025). Their code asks for every piece in every place (variant released) and takes
its R^2 at a perplexity of 1. The standard error of their model takes differences between groups that vary from trait to
trait, or template to template, for noise; so the intervals here draw traits and templates anew."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMININE, MASCULINE
from biasflow.corpora.trait_ratings import HIDDEN, NEO, SHOWN, WHOLE
from biasflow.metrics.items import SUMMARY, score_items
from biasflow.results.bootstrap import NOWHERE, Interval, ends, interval

SENTENCE = ["item", "template", "trait", "group"]
ITEM = [*SENTENCE, "masked", "piece", "log_p"]
METRICS = {FEMININE: "trait_ratings_feminine", NEO: "trait_ratings_neo"}  # of groups against masculine words
OWN, RELEASED = VARIANTS = ("own-places", "released")
TINY = np.finfo(float).tiny  # of which there is a logarithm


def associations(pieces: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each sentence: SENTENCE, the association of each of VARIANTS in nats, and its perplexity.

    pieces: columns ITEM, of corpora/trait_ratings.py as readouts/masked_words.py reads them. BiasflowError for a
    sentence that lacks one of its three readings."""
    by_reading = dict(list(pieces.groupby("masked", sort=False)))
    if {*by_reading} != {SHOWN, HIDDEN, WHOLE}:
        raise BiasflowError(f"trait ratings: readings {', '.join(by_reading)}: each of three is needed.")
    shown, hidden = (by_reading[name].set_index([*SENTENCE, "piece"])["log_p"] for name in (SHOWN, HIDDEN))
    raised = shown - hidden
    places = np.sqrt(raised.groupby(level=SENTENCE).transform("size")).round()
    in_own_place = raised.index.get_level_values("piece") % (places + 1) == 0
    by_variant = pd.DataFrame({OWN: raised.where(in_own_place, 0.0), RELEASED: raised})
    table = by_variant.groupby(level=SENTENCE, sort=False).sum()
    table["perplexity"] = np.exp(-by_reading[WHOLE].groupby(SENTENCE)["log_p"].mean())
    if raised.isna().any() or table.isna().any(axis=None):
        raise BiasflowError("trait ratings: a sentence lacks one of its readings.")
    return table.reset_index()


class Fit(NamedTuple):
    """The mixed model of one pair of groups.

    coefficient: of the second group against the first, in nats; standard_error: the model's own; variances: of
    templates, of traits, and of the residual of a row of mean weight; explained: the variance of the fitted values by
    group, over rows; of_templates, of_traits: by how much each of them moves the coefficient, each summing to 0."""

    coefficient: float
    standard_error: float
    variances: np.ndarray
    explained: float
    of_templates: np.ndarray
    of_traits: np.ndarray

    def interval(self) -> Interval:
        """The 95 % interval of the coefficient over templates and traits that are drawn anew, words staying the same:
        a bootstrap of the model's estimating equations, its variances staying the same, too."""
        moved = [
            interval(lambda counts, by=by: self.coefficient + counts @ by, np.arange(len(by)), seed=seed).resampled
            for seed, by in enumerate((self.of_templates, self.of_traits))
        ]
        drawn = sum(moved) - self.coefficient
        return Interval(*ends(drawn, self.coefficient), drawn)

    def marginal_r2(self, weight: float = 1.0) -> float:
        """The share of the variance that the groups explain (Nakagawa and Schielzeth 2013), with the residual variance
        of a row of mean weight, times `weight`."""
        templates, traits, residual = self.variances
        return self.explained / (self.explained + templates + traits + weight * residual)


def fit(values: np.ndarray, is_second: np.ndarray, template: np.ndarray, trait: np.ndarray, weights: np.ndarray) -> Fit:
    """Fit value ~ group + (1 | template) + (1 | trait), residual variance ~ 1 / weight, by restricted likelihood.

    All [rows]: values; whether a row is of the second group; the numbers of its template and its trait, from 0."""
    weights = weights / weights.mean()
    rows = pd.DataFrame({"template": template, "trait": trait, "second": is_second, "weight": weights})
    # Rows of one template, trait and group have the same expectation: their sums say all of them but the squares.
    cells = rows.assign(sum=weights * values).groupby(["template", "trait", "second"]).sum().reset_index()
    w, fixed = cells["weight"].to_numpy(), np.column_stack([np.ones(len(cells)), cells["second"]])
    sizes = template.max() + 1, trait.max() + 1
    random = np.hstack([np.eye(n)[cells[name]] for n, name in zip(sizes, ("template", "trait"), strict=True)])
    both = np.column_stack([fixed, cells["sum"] / w])
    gram, crossed, squares = random.T * w @ random, random.T * w @ both, both.T * w @ both
    squares[2, 2] = weights @ values**2
    freedom = len(values) - 2

    def solved(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """lme4's penalised least squares at these ratios to the residual standard deviation: the Cholesky factor of the
        random effects, their scale, and the sums of squares and products of (1, group, value) that they leave."""
        scale = np.repeat(ratios, sizes)[:, None]
        lower = cholesky(scale * gram * scale.T + np.eye(len(scale)), lower=True)
        half = solve_triangular(lower, scale * crossed, lower=True)
        return lower, scale, squares - half.T @ half

    def residual(left: np.ndarray) -> float:
        return max(left[2, 2] - left[2, :2] @ np.linalg.solve(left[:2, :2], left[:2, 2]), TINY)

    def deviance(ratios: np.ndarray) -> float:
        lower, _, left = solved(ratios)
        return 2 * np.log(np.diag(lower)).sum() + np.log(np.linalg.det(left[:2, :2])) + freedom * np.log(residual(left))

    ratios = minimize(deviance, [1.0, 1.0], bounds=[(0, None)] * 2).x
    lower, scale, left = solved(ratios)
    inverse, sigma2 = np.linalg.inv(left[:2, :2]), residual(left) / freedom
    beta = inverse @ left[:2, 2]
    projected = fixed.T - solve_triangular(lower, scale * crossed[:, :2], lower=True).T @ solve_triangular(
        lower, scale * random.T, lower=True
    )
    moved = (inverse @ projected)[1] * w * (both[:, 2] - fixed @ beta)
    return Fit(
        coefficient=float(beta[1]),
        standard_error=float(np.sqrt(sigma2 * inverse[1, 1])),
        variances=sigma2 * np.append(ratios**2, 1.0),
        explained=float(beta[1] ** 2 * np.var(is_second, ddof=1)),
        of_templates=np.bincount(cells["template"], moved),
        of_traits=np.bincount(cells["trait"], moved),
    )


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/masked_words.py about the sentences of
    corpora/trait_ratings.py."""
    return score_items(path, ITEM, summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return all scores of one model: columns metric, part (the pair of groups), variant (VARIANTS), value, n (traits),
    low, high (over templates and traits).

    METRICS: the coefficient of the group against masculine words, in nats: above 0, traits raise words of
    the group more; trait_ratings_r2: the marginal R^2. NaN for a group without a sentence. items: as `associations`."""
    table = associations(items)
    weights, rows = 1 / table["perplexity"], []
    for group, metric in METRICS.items():
        pair = f"{group}-{MASCULINE}"
        of_pair = table[table["group"].isin([MASCULINE, group])]
        template, trait = (pd.factorize(of_pair[name], sort=True)[0] for name in ("template", "trait"))
        is_second, n = (of_pair["group"] == group).to_numpy(), of_pair["trait"].nunique()
        w = weights[of_pair.index].to_numpy()
        for variant in VARIANTS:
            value, r2, drawn = np.nan, np.nan, NOWHERE
            if 0 < is_second.sum() < len(of_pair) - 1:
                of_group = fit(of_pair[variant].to_numpy(), is_second, template, trait, w)
                value, drawn = of_group.coefficient, of_group.interval()
                r2 = of_group.marginal_r2(w.mean() if variant == RELEASED else 1.0)
            rows.append((metric, pair, variant, value, n, *drawn))
            rows.append(("trait_ratings_r2", pair, variant, r2, n, *NOWHERE))
    return pd.DataFrame(rows, columns=SUMMARY)
