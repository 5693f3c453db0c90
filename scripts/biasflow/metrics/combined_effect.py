"""CEAT: the association test of words in context, combined over random draws of the contexts.

A contextual encoder gives a word another vector in each of its occurrences. Each draw picks one occurrence per word,
independently and uniformly, and takes the effect size of WEAT on these vectors,

    s(w) = mean over a in A of cos(w, a) - mean over b in B of cos(w, b)
    ES   = (mean over X of s - mean over Y of s) / std of s over X u Y,

and the effect sizes of all draws are combined by a random-effects model. Two things are read in two ways, and both
readings come from the same draws:

order     "concepts"  the targets are X and Y (careers and families, sciences and arts, occupations), the attributes A
                      and B (names, gendered words): as paper C describes its test, and the released code of CEAT for
                      C7 and C8
          "genders"   the other way round: the released code of CEAT, and WEAT, for C6
variance  "spread"    V = (std of s over X u Y)^2, what the released code takes: how far the words' associations lie
                      apart, which is not the sampling variance of ES
          "sampling"  V = 1/|X| + 1/|Y| + ES^2 / (2 (|X| + |Y|)), that of a standardised mean difference (Hedges 1981)

The draws use the same few words again and again, so they are no independent evidence: with 10,000 of them p < 0.05
holds for nearly any combined effect that is not 0.

Sources: Guo and Caliskan (2021, CEAT), DerSimonian and Laird (1986), Orgad et al. (2022, sec. 3.1: paper C)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtr  # scipy.stats would take a second to load

from biasflow.base.errors import check_choice
from biasflow.readouts.cosines import drawn_cosines
from biasflow.readouts.files import METHOD, by_method
from biasflow.results.bootstrap import NOWHERE, RESAMPLED, Interval, weighted_mean
from biasflow.results.statistics import effect_jackknife

ORDERS = ("concepts", "genders")
VARIANCES = ("spread", "sampling")
METRICS = ("effect_size", "p_two_sided", "p_one_sided", "tau_squared")
# The cosines are in single precision: associations that differ by less than this differ by rounding only.
ROUNDING = 1e-6
LEAST = 2  # words of a set: one alone has no spread
# Of the interval: resamples of the target words, and draws of which the effect is combined for each of them.
RESAMPLES, INTERVAL_DRAWS = 1000, 500


class CombinedEffect(NamedTuple):
    """The effect size of CEAT, combined over all draws of contexts, and its test against 0.

    effect_size: CES. With z = CES / SE: p_one_sided = P(Z > z), as released; p_two_sided = 2 P(Z > |z|), as the article
    on CEAT writes. tau_squared: variance of the effect between draws beyond their own variances, at least 0. draws: N.
    If it cannot be computed, the numbers are NaN and draws is 0."""

    effect_size: float = math.nan
    p_one_sided: float = math.nan
    p_two_sided: float = math.nan
    tau_squared: float = math.nan
    draws: int = 0


@dataclass(frozen=True)
class EffectDraws:
    """The effect sizes of N draws of contexts, in one order of roles.

    s: associations [N, |X| + |Y|] of the targets; effects: effect sizes [N]; spread: squared spread of s [N] with ddof;
    sizes: (|X|, |Y|). If there are no effect sizes, the three arrays are empty."""

    s: np.ndarray
    effects: np.ndarray
    spread: np.ndarray
    sizes: tuple[int, int]
    ddof: int

    def variances(self, variance: str) -> np.ndarray:
        """Return the variance V of every draw, [N], in a reading of the module's docstring."""
        return _variances(variance, self.effects, self.spread, self.sizes)

    def intervals(self) -> dict[str, Interval]:
        """Return reading of the variance -> 95 % jackknife interval of the combined effect over the target words
        (`statistics.effect_jackknife`), or NOWHERE.

        A word is left out, or drawn within its set, in all of the first INTERVAL_DRAWS draws: more draws of the same
        contexts would not make it narrower, since words differ more than draws do."""
        if not len(self.effects):
            return dict.fromkeys(VARIANCES, NOWHERE)
        s, (x, y) = self.s[:INTERVAL_DRAWS].T, self.sizes  # [words, draws]
        s, scale = s - s.mean(axis=0), np.sqrt((x + y - self.ddof) / (x + y))

        def of_resamples(counts: np.ndarray) -> np.ndarray:
            """The combined effect in each resample, by VARIANCES: counts [resamples, words] -> [resamples, 2]."""
            of_x, of_y = weighted_mean(counts[:, :x], s[:x]), weighted_mean(counts[:, x:], s[x:])
            spread = (weighted_mean(counts, s**2) - weighted_mean(counts, s) ** 2) / scale**2
            spread = np.where(spread > ROUNDING**2, spread, np.nan)  # every drawn word has the same association
            effects = (of_x - of_y) / np.sqrt(spread)
            return np.stack(
                [_combined(effects, _variances(variance, effects, spread, self.sizes))[0] for variance in VARIANCES],
                axis=-1,
            )

        low, high, resampled = effect_jackknife(of_resamples, np.arange(x + y) < x, np.ones(x + y), scale, RESAMPLES)
        of_all = [self.combined(variance).effect_size for variance in VARIANCES]
        low, high = np.minimum(low, of_all), np.maximum(high, of_all)
        return dict(zip(VARIANCES, map(Interval, low, high, resampled), strict=True))

    def combined(self, variance: str = "spread") -> CombinedEffect:
        """Combine the draws by `random_effects` with `variances(variance)`; NaN without draws."""
        return random_effects(self.effects, self.variances(variance)) if len(self.effects) else CombinedEffect()


def score(path: str | Path) -> pd.DataFrame:
    """Return CEAT under every method, in all readings, from a file of `readouts.associations`.

    Columns method, setting, metric (ceat_effect_size, ceat_p_two_sided, ceat_p_one_sided, ceat_tau_squared; ceat_words,
    how many words have contexts, of n that the test has; of a user's test ceat_split_words, how many of these n the
    vocabulary splits into pieces), variant
    ("<order>-<variance>"), value (NaN where there is no answer), n (draws; 0 where there is no answer), low, high
    and resampled (of the effect size: `EffectDraws.intervals`). BiasflowError names a file that is no such readout."""
    tables, words = [], []
    for method, cosines, meta in by_method(path, "cosines"):
        keys = dict(zip(METHOD, method, strict=True))
        sizes = tuple(meta["sizes"][role] for role in "XYAB")
        tables.append(ceat_rows(draw_effects(cosines, sizes)).assign(**keys))
        of_test = meta.get("words", sum(sizes))
        words.append({**keys, "metric": "words", "variant": "-", "value": sum(sizes), "n": of_test})
        if "split" in meta:
            words.append({**words[-1], "metric": "split_words", "value": meta["split"]})
    rows = pd.concat([*tables, pd.DataFrame(words)], ignore_index=True)
    return rows.assign(metric="ceat_" + rows["metric"])


def ceat(
    X: Sequence[ArrayLike],
    Y: Sequence[ArrayLike],
    A: Sequence[ArrayLike],
    B: Sequence[ArrayLike],
    *,
    draws: int = 10_000,
    seed: int = 0,
    order: str = "concepts",
    variance: str = "spread",
    ddof: int = 1,
) -> CombinedEffect:
    """Combined effect size of CEAT; X, Y, A, B: one array [occurrences, d] per word, occurrences may differ.

    Formulas and options as in the module's docstring; ddof is that of the std in ES and V (released: 1). Deterministic
    by `seed`. With one occurrence per word every draw is WEAT with this ddof. `draw_effects` gives all readings of the
    same draws at once.

    A set of fewer than two words, a drawn zero vector, or a draw in which all targets have the same association give
    NaN. Raises BiasflowError for an empty set, a word without occurrences, unequal dimensions, values that
    are not finite (naming set and word), or an option that is none."""
    check_choice("CEAT: order", order, ORDERS)
    check_choice("CEAT: variance", variance, VARIANCES)
    cosines = drawn_cosines(X, Y, A, B, draws=draws, seed=seed)
    return draw_effects(cosines, tuple(map(len, (X, Y, A, B))), ddof=ddof)[order].combined(variance)


def ceat_rows(drawn: dict[str, EffectDraws]) -> pd.DataFrame:
    """All readings of one test as rows metric, variant ("<order>-<variance>", the default first), value, n, low, high,
    resampled.

    drawn: of `draw_effects`. metric: those of METRICS; n: how many draws were combined; value is NaN, and n is 0, where
    there is no answer."""
    rows = []
    for order in ORDERS:
        for variance, ends in drawn[order].intervals().items():
            effect, name = drawn[order].combined(variance), f"{order}-{variance}"
            for metric in METRICS:
                metric_ends = ends if metric == "effect_size" else NOWHERE
                rows.append((metric, name, float(getattr(effect, metric)), effect.draws, *metric_ends))
    return pd.DataFrame(rows, columns=["metric", "variant", "value", "n", "low", "high", RESAMPLED])


def draw_effects(cosines: ArrayLike, sizes: tuple[int, int, int, int], *, ddof: int = 1) -> dict[str, EffectDraws]:
    """The effect sizes of all draws in both orders of roles: order -> EffectDraws.

    cosines  [draws, |X| + |Y|, |A| + |B|] of `readouts.cosines.drawn_cosines`
    sizes    |X|, |Y|, |A|, |B|
    ddof     of the standard deviation in ES and V (released: 1)"""
    cosines = np.asarray(cosines)
    x, y, a, b = sizes
    if min(sizes) < LEAST:
        cosines = np.full_like(cosines, np.nan)
    of_targets = cosines[..., :a].mean(axis=2, dtype=float) - cosines[..., a:].mean(axis=2, dtype=float)
    of_attributes = cosines[:, :x].mean(axis=1, dtype=float) - cosines[:, x:].mean(axis=1, dtype=float)
    return {"concepts": effects_of(of_targets, (x, y), ddof), "genders": effects_of(of_attributes, (a, b), ddof)}


def random_effects(effects: ArrayLike, variances: ArrayLike) -> CombinedEffect:
    """Random-effects combination of N effects with their variances V > 0 (DerSimonian and Laird 1986): [N], [N].

        w = 1 / V,  m = sum w ES / sum w,  Q = sum w (ES - m)^2,  c = sum w - sum w^2 / sum w
        tau^2 = max(0, (Q - (N - 1)) / c),  w* = 1 / (V + tau^2)
        CES = sum w* ES / sum w*,  SE = 1 / sqrt(sum w*),  z = CES / SE

    One effect alone has tau^2 = 0."""
    effects, variances = np.asarray(effects, dtype=float), np.asarray(variances, dtype=float)
    combined, error, tau_squared = _combined(effects, variances)
    z = combined / error
    return CombinedEffect(*map(float, (combined, ndtr(-z), 2 * ndtr(-abs(z)), tau_squared)), draws=len(effects))


def effects_of(s: np.ndarray, sizes: tuple[int, int], ddof: int) -> EffectDraws:
    """ES and squared spread of every draw from the associations of its targets, s [draws, |X| + |Y|]. None at all if in
    some draw a word has no cosine (a zero vector), or every target word the same association."""
    if not (np.ptp(s, axis=1) > ROUNDING).all():
        s = s[:0]
    std = s.std(axis=1, ddof=ddof)
    effects = (s[:, : sizes[0]].mean(axis=1) - s[:, sizes[0] :].mean(axis=1)) / std
    return EffectDraws(s, effects, std**2, sizes, ddof)


def _variances(variance: str, effects: np.ndarray, spread: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """V of effects [...], as the module's docstring says."""
    x, y = sizes
    return spread if variance == "spread" else 1 / x + 1 / y + effects**2 / (2 * (x + y))


def _combined(effects: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CES, SE and tau^2 of `random_effects` of effects and variances [..., N]: each [...]."""
    weights, n = 1 / variances, effects.shape[-1]
    total = weights.sum(axis=-1, keepdims=True)
    mean = (weights * effects).sum(axis=-1, keepdims=True) / total
    q = (weights * (effects - mean) ** 2).sum(axis=-1, keepdims=True)
    c = total - (weights**2).sum(axis=-1, keepdims=True) / total
    tau_squared = np.maximum(0.0, (q - (n - 1)) / c) if n > 1 else np.zeros_like(total)
    weights = 1 / (variances + tau_squared)
    sums = weights.sum(axis=-1)
    return (weights * effects).sum(axis=-1) / sums, 1 / np.sqrt(sums), tau_squared[..., 0]
