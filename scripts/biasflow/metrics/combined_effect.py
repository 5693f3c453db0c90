"""CEAT: the association test of words in context, combined over random draws of the contexts.

A contextual encoder gives a word another vector in each of its occurrences. Each draw picks one occurrence per word,
independently and uniformly, and takes the effect size of WEAT on these vectors,

    s(w) = mean over a in A of cos(w, a) - mean over b in B of cos(w, b)
    ES   = (mean over X of s - mean over Y of s) / std of s over X u Y,

and the effect sizes of all draws are combined by a random-effects model. Two things are read in two ways, and both
readings come from the same draws:

order     "weat"      the targets are X and Y, the attributes A and B (WEAT, and the released code of CEAT)
          "swapped"   the attributes are the targets and the other way round, as paper C describes its test
variance  "spread"    V = (std of s over X u Y)^2, what the released code takes: how far the words' associations lie
                      apart, which is not the sampling variance of ES
          "sampling"  V = 1/|X| + 1/|Y| + ES^2 / (2 (|X| + |Y|)), that of a standardised mean difference (Hedges 1981)

The draws use the same few words again and again, so they are no independent evidence: with 10,000 of them p < 0.05
holds for nearly any combined effect that is not 0.

Sources: Guo and Caliskan (2021, CEAT), DerSimonian and Laird (1986), Orgad et al. (2022, sec. 3.1: paper C)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm

from scripts.biasflow.base.errors import BiasflowError

ORDERS = ("weat", "swapped")
VARIANCES = ("spread", "sampling")
# The cosines are in single precision: associations that differ by less than this differ by rounding only.
ROUNDING = 1e-6
CHUNK_BYTES = 4 << 20  # vectors of the draws that are worked on together: what a processor's cache holds


@dataclass(frozen=True)
class CombinedEffect:
    """The combined effect size of all draws and its test against 0.

    effect_size: CES. standard_error: of CES. z = CES / SE; p_one_sided = P(Z > z), as released; p_two_sided =
    2 P(Z > |z|), as the article on CEAT writes. tau_squared: variance of the effect between draws beyond their own
    variances, at least 0. draws: N. mean and sd (ddof 1): of the effect sizes of the draws. Where there is no answer
    the numbers are NaN, draws is 0 and `reason` says why; otherwise `reason` is ""."""

    effect_size: float
    standard_error: float
    z: float
    p_one_sided: float
    p_two_sided: float
    tau_squared: float
    draws: int
    mean: float
    sd: float
    reason: str = ""


@dataclass(frozen=True)
class EffectDraws:
    """The draws in one order of roles: ES [N] and squared spread of s [N], for targets of `sizes` = (|X|, |Y|) words.

    Both are empty, and `reason` says why, where there are no effect sizes."""

    effects: np.ndarray
    spread: np.ndarray
    sizes: tuple[int, int]
    reason: str = ""

    def variances(self, variance: str) -> np.ndarray:
        """V of every draw, [N]; `variance` as in the module's docstring. BiasflowError for another one."""
        _choose("variance", variance, VARIANCES)
        if variance == "spread":
            return self.spread
        x, y = self.sizes
        return 1 / x + 1 / y + self.effects**2 / (2 * (x + y))

    def combined(self, variance: str = "spread") -> CombinedEffect:
        """The random-effects combination of the draws; NaN with the reason where there are none."""
        variances = self.variances(variance)
        return _undefined(self.reason) if self.reason else random_effects(self.effects, variances)


def ceat(
    X: Sequence[ArrayLike],
    Y: Sequence[ArrayLike],
    A: Sequence[ArrayLike],
    B: Sequence[ArrayLike],
    *,
    draws: int = 10_000,
    seed: int = 0,
    order: str = "weat",
    variance: str = "spread",
    ddof: int = 1,
) -> CombinedEffect:
    """Combined effect size of CEAT; X, Y, A, B: one array [occurrences, d] per word, occurrences may differ.

    Formulas and options as in the module's docstring; ddof is that of the std in ES and V (released: 1). Deterministic
    by `seed`. With one occurrence per word every draw is WEAT with this ddof. `draw_effects` gives all readings of the
    same draws at once, `ceat_rows` as rows of a table.

    A set of fewer than two words, a zero vector, or a draw in which all targets have the same association give NaN and
    a reason. Raises BiasflowError for an empty set, a word without occurrences, unequal dimensions, values that are not
    finite (naming set and word), or an option that is none."""
    _choose("order", order, ORDERS)
    _choose("variance", variance, VARIANCES)
    return draw_effects(X, Y, A, B, draws=draws, seed=seed, ddof=ddof)[order].combined(variance)


def ceat_rows(
    X: Sequence[ArrayLike],
    Y: Sequence[ArrayLike],
    A: Sequence[ArrayLike],
    B: Sequence[ArrayLike],
    *,
    draws: int = 10_000,
    seed: int = 0,
    ddof: int = 1,
) -> pd.DataFrame:
    """All readings of one test as rows metric, variant, value; variant: "<order>-<variance>", the default first.

    metric: effect_size, p_two_sided, p_one_sided, tau_squared and draws of `CombinedEffect`; value is NaN where there
    is no answer. Arguments and errors as `ceat`."""
    metrics = ("effect_size", "p_two_sided", "p_one_sided", "tau_squared", "draws")
    drawn = draw_effects(X, Y, A, B, draws=draws, seed=seed, ddof=ddof)
    rows = []
    for order in ORDERS:
        for variance in VARIANCES:
            effect = drawn[order].combined(variance)
            rows += [(metric, f"{order}-{variance}", float(getattr(effect, metric))) for metric in metrics]
    return pd.DataFrame(rows, columns=["metric", "variant", "value"])


def draw_effects(
    X: Sequence[ArrayLike],
    Y: Sequence[ArrayLike],
    A: Sequence[ArrayLike],
    B: Sequence[ArrayLike],
    *,
    draws: int = 10_000,
    seed: int = 0,
    ddof: int = 1,
) -> dict[str, EffectDraws]:
    """The effect sizes of all draws in both orders of roles, from the same drawn occurrences: order -> EffectDraws.

    Arguments and errors as `ceat`. The vectors are not copied: only those of some hundred draws, in single precision,
    are in memory beside them. They need not be of unit length."""
    if draws < 1 or int(draws) != draws:
        raise BiasflowError(f"CEAT: draws is {draws!r}; give a whole number, at least 1")
    if ddof not in (0, 1):
        raise BiasflowError(f"CEAT: ddof is {ddof!r}; it can be 1 (released) or 0 (WEAT)")
    sets = _checked({"X": X, "Y": Y, "A": A, "B": B})
    sizes = {name: len(words) for name, words in sets.items()}
    targets = {"weat": (sizes["X"], sizes["Y"]), "swapped": (sizes["A"], sizes["B"])}
    lengths = {name: _lengths(name, words) for name, words in sets.items()}
    reason = _untestable(lengths)
    if reason:
        return {order: EffectDraws(np.empty(0), np.empty(0), targets[order], reason) for order in ORDERS}

    associations = _drawn_associations(
        [word for words in sets.values() for word in words],
        [1 / length for words in lengths.values() for length in words],
        _contrasts(sizes),
        np.random.default_rng(seed),
        draws,
    )
    first_attribute = sum(targets["weat"])
    columns = {"weat": associations[0, :, :first_attribute], "swapped": associations[1, :, first_attribute:]}
    return {order: _effects(s, targets[order], ddof) for order, s in columns.items()}


def random_effects(effects: ArrayLike, variances: ArrayLike) -> CombinedEffect:
    """Random-effects combination of N effects with their variances V > 0 (DerSimonian and Laird 1986): [N], [N].

        w = 1 / V,  m = sum w ES / sum w,  Q = sum w (ES - m)^2,  c = sum w - sum w^2 / sum w
        tau^2 = max(0, (Q - (N - 1)) / c),  w* = 1 / (V + tau^2)
        CES = sum w* ES / sum w*,  SE = 1 / sqrt(sum w*),  z = CES / SE

    One effect alone has tau^2 = 0 and no sd (NaN). Raises BiasflowError for no effects, unequal lengths, values that
    are not finite, or a variance that is not above 0."""
    effects, variances = np.asarray(effects, dtype=float), np.asarray(variances, dtype=float)
    if effects.ndim != 1 or effects.shape != variances.shape or not len(effects):
        raise BiasflowError(
            f"random effects: effects of shape {effects.shape}, variances of shape {variances.shape}; give one "
            "variance for each effect, at least one"
        )
    for name, values in (("effect", effects), ("variance", variances)):
        wrong = ~np.isfinite(values) | ((values <= 0) if name == "variance" else False)
        if wrong.any():
            row = wrong.argmax()
            raise BiasflowError(f"random effects: {name} {row} (from 0) is {values[row]}; it has no weight")
    weights = 1 / variances
    total = weights.sum()
    q = (weights * (effects - (weights * effects).sum() / total) ** 2).sum()
    c = total - (weights**2).sum() / total
    tau_squared = max(0.0, (q - (len(effects) - 1)) / c) if len(effects) > 1 else 0.0
    weights = 1 / (variances + tau_squared)
    combined = (weights * effects).sum() / weights.sum()
    error = 1 / np.sqrt(weights.sum())
    z = combined / error
    return CombinedEffect(
        effect_size=float(combined),
        standard_error=float(error),
        z=float(z),
        p_one_sided=float(norm.sf(z)),
        p_two_sided=float(2 * norm.sf(abs(z))),
        tau_squared=float(tau_squared),
        draws=len(effects),
        mean=float(effects.mean()),
        sd=float(effects.std(ddof=1)) if len(effects) > 1 else float("nan"),
    )


def _checked(sets: Mapping[str, Sequence[ArrayLike]]) -> dict[str, list[np.ndarray]]:
    """The sets as lists of arrays [occurrences, d] with one d; BiasflowError names the set and the word (from 0)."""
    arrays = {name: [np.asarray(word) for word in words] for name, words in sets.items()}
    dimension = None
    for name, words in arrays.items():
        if not words:
            raise BiasflowError(f"CEAT: set {name} has no word; give one array of vectors for each word")
        for number, word in enumerate(words):
            if word.ndim != 2 or not word.size:
                raise BiasflowError(
                    f"CEAT: set {name}, word {number}: shape {word.shape}; give [occurrences, d] with at least one "
                    "occurrence, or leave the word out"
                )
            dimension = dimension or word.shape[1]
            if word.shape[1] != dimension:
                raise BiasflowError(
                    f"CEAT: set {name}, word {number}: {word.shape[1]} dimensions, others have {dimension}; embed all "
                    "words with one encoder"
                )
    return arrays


def _lengths(name: str, words: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The length of every vector, word by word; BiasflowError for one that is not finite."""
    found = []
    for number, word in enumerate(words):
        # Squares of very long or very short vectors leave the range of single precision.
        length = np.sqrt(np.einsum("nd,nd->n", word, word, dtype=np.float64))
        if not np.isfinite(length).all():
            raise BiasflowError(f"CEAT: set {name}, word {number}: NaN or infinite values; check the encoder")
        found.append(length)
    return found


def _untestable(lengths: Mapping[str, Sequence[np.ndarray]]) -> str:
    """Why the sets have no effect size, or ""."""
    for name, words in lengths.items():
        if len(words) < 2:
            return f"set {name} has fewer than two words"
        for number, length in enumerate(words):
            if not length.all():
                return f"set {name}, word {number}: a zero vector has no cosine"
    return ""


def _contrasts(sizes: Mapping[str, int]) -> np.ndarray:
    """Weights [2, words] that make the mean over A less that over B, and the mean over X less that over Y."""
    x, y, a, b = (sizes[name] for name in "XYAB")
    of_attributes = np.repeat([0, 1 / a, -1 / b], [x + y, a, b])
    of_targets = np.repeat([1 / x, -1 / y, 0], [x, y, a + b])
    return np.stack([of_attributes, of_targets])


def _drawn_associations(
    words: Sequence[np.ndarray],
    scales: Sequence[np.ndarray],
    contrasts: np.ndarray,
    rng: np.random.Generator,
    draws: int,
) -> np.ndarray:
    """cos-weighted contrasts of one random occurrence per word: [contrasts, draws, words].

    Entry [c, i, w] is sum over v of contrasts[c, v] cos(w, v): a difference of mean cosines is one product with the
    difference of the mean unit vectors, so that no matrix of cosines is made. `scales` are 1 / length."""
    dimension = words[0].shape[1]
    chosen = rng.integers(0, [len(word) for word in words], size=(draws, len(words)))
    scale = np.stack([scales[w][chosen[:, w]] for w in range(len(words))], axis=1)
    chunk = max(1, CHUNK_BYTES // (4 * len(words) * dimension))
    found = np.empty((len(contrasts), draws, len(words)))
    vectors = np.empty((chunk, len(words), dimension), dtype=np.float32)
    for start in range(0, draws, chunk):
        rows, scaled = chosen[start : start + chunk], scale[start : start + chunk]
        drawn = vectors[: len(rows)]
        for w, word in enumerate(words):
            drawn[:, w] = word[rows[:, w]]
        means = (contrasts * scaled[:, None]).astype(np.float32) @ drawn
        found[:, start : start + chunk] = (drawn @ means.transpose(0, 2, 1) * scaled[..., None]).transpose(2, 0, 1)
    return found


def _effects(s: np.ndarray, sizes: tuple[int, int], ddof: int) -> EffectDraws:
    """ES and squared spread of every draw from the associations of its targets, s [draws, |X| + |Y|]."""
    equal = np.ptp(s, axis=1) <= ROUNDING
    if equal.any():
        reason = f"in {equal.sum()} of {len(s)} draws every target word has the same association"
        return EffectDraws(np.empty(0), np.empty(0), sizes, reason)
    std = s.std(axis=1, ddof=ddof)
    effects = (s[:, : sizes[0]].mean(axis=1) - s[:, sizes[0] :].mean(axis=1)) / std
    return EffectDraws(effects, std**2, sizes)


def _undefined(reason: str) -> CombinedEffect:
    numbers = [float("nan")] * 6
    return CombinedEffect(*numbers, draws=0, mean=float("nan"), sd=float("nan"), reason=reason)


def _choose(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise BiasflowError(f"CEAT: {option} is {value!r}; it can be {', '.join(known)}")
