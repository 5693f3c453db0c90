"""Does a measure follow the bias that was planted, from which dose on, and how much of it is noise? Measures of others
are judged as ours are."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product, takewhile

import numpy as np
import pandas as pd
from scipy import stats

from biasflow.base.errors import BiasflowError
from biasflow.papers.frames import Run
from biasflow.registry import INSIDE
from biasflow.results.bootstrap import LEAST
from biasflow.results.evidence import LEVEL, SEES
from biasflow.results.given import VALUE
from biasflow.results.statistics import false_discovery_rates, row_correlations

RESAMPLES = 4999
Z, ROUNDING = stats.norm.ppf(0.975), 1e-12
# By the sign of a measure, which with more bias goes up, down, or neither.
ALTERNATIVE = {1: "greater", -1: "less", 0: "two-sided"}
SHARES = ("share_dose", "share_seed", "share_items")
STATISTICS = ("spearman", "low", "high", "p", "q", "p_full", "smallest_dose", *SHARES)
DOES_NOT, TOO_FEW = "does not see the planted bias", "too few seeds to say"


def permutation_p(low: np.ndarray, high: np.ndarray, sign: int = 1) -> float:
    """Exact p of the permutation test that mean(high) - mean(low) is so large by chance (sign 1), so small (-1), or so
    far from 0 (0), over all ways to deal the values into groups of these sizes: five against five can reach 1/252."""
    if min(len(low), len(high)) < 2:
        return 1.0  # one value shows no spread: nothing can be said
    return float(_permuted((high, low), _difference, "independent", sign, n_resamples=np.inf).pvalue)


def _difference(high: np.ndarray, low: np.ndarray, axis: int = -1) -> np.ndarray:
    return high.mean(axis=axis) - low.mean(axis=axis)


def _permuted(values: Sequence[np.ndarray], statistic: Callable, kind: str, sign: int, n_resamples: float = RESAMPLES):
    """Scipy's permutation test of a statistic that takes many permutations at once, one-sided by the sign."""
    options = {"alternative": ALTERNATIVE[sign], "rng": np.random.default_rng(0), "vectorized": True}
    return stats.permutation_test(tuple(values), statistic, permutation_type=kind, n_resamples=n_resamples, **options)


def least_p(low: int, high: int, sign: int = 1) -> float:
    """Return the smallest p that groups of these sizes can reach."""
    return permutation_p(np.zeros(low), np.ones(high), abs(sign))


def rank_correlation(groups: dict[float, np.ndarray], sign: int = 1) -> dict[str, float]:
    """Return Spearman's correlation of dose and value (spearman), its 95 % interval (low, high), and p; groups: dose ->
    values of the seeds.

    p: of the permutation test over all values, one-sided by the sign.

    The interval is that of Fisher's z = artanh r with the variance (1 + r^2 / 2) / (n - 3) of n values (Bonett and
    Wright 2000). NaN for fewer than LEAST values, or where all are equal."""
    values = np.concatenate(list(groups.values()))
    if np.ptp(values) == 0:
        return dict.fromkeys(("spearman", "low", "high", "p"), np.nan)
    doses = np.repeat(list(groups), [len(group) for group in groups.values()])
    p = _permuted([values], lambda drawn, axis: row_correlations(doses, drawn, "spearman"), "pairings", sign).pvalue
    estimate = float(stats.spearmanr(doses, values).statistic)
    low, high = spearman_interval(estimate, len(values))
    return {"spearman": estimate, "low": low, "high": high, "p": float(p)}


def trend_within_seeds(table: np.ndarray, doses: Sequence[float], sign: int = 1) -> tuple[float, float]:
    """Return the mean over seeds of Spearman's correlation of dose and value, and its permutation p; table [seeds,
    doses].

    Where the models of a seed share their text, only their order within the seed says something of the dose: p permutes
    the values within seeds, one-sided by the sign (Page's trend test, 1963, whose L is linear in this mean). A seed
    whose values are all equal counts as 0; NaN for fewer than two seeds."""
    if len(table) < 2:
        return np.nan, np.nan

    def mean_correlation(*columns: np.ndarray, axis: int = -1) -> np.ndarray:
        of_seeds = row_correlations(np.asarray(doses, dtype=float), np.stack(columns, axis=-1), "spearman")
        return np.nan_to_num(of_seeds).mean(axis=axis).round(10)  # equal ones are ties

    result = _permuted(table.T, mean_correlation, "samples", sign)
    return float(result.statistic), float(result.pvalue)


def by_seed(block: pd.DataFrame) -> pd.DataFrame:
    """The values of a measure [seeds, amounts of bias], of the seeds that have one at every amount where any has."""
    return block.pivot(index="seed", columns="bias", values="value").dropna(axis=1, how="all").dropna()


def spearman_interval(r: float, n: int) -> tuple[float, float]:
    """The interval of `rank_correlation`."""
    if n < LEAST:
        return np.nan, np.nan
    r = np.clip(r, -1 + ROUNDING, 1 - ROUNDING)  # whose z is finite
    half = Z * np.sqrt((1 + r**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(r) + half * np.array([-1, 1]))
    return float(low), float(high)


def smallest_dose(rising: Sequence[float], differs: Callable[[float], bool]) -> float:
    """The smallest dose such that it and all larger ones differ from the lowest (`differs`); NaN for none. Tested from
    the largest dose down to the first that does not differ, so the chance of any false one stays that of one test."""
    return min(takewhile(differs, reversed(rising)), default=np.nan)


def variance_shares(groups: Sequence[np.ndarray], errors: np.ndarray) -> dict[str, float]:
    """SHARES: of the variance of a value those that lie between doses, between seeds of a dose, and in the draw of the
    items.

    Of one-way random effects, dose = max(0, (MS between - MS within) / n0) and seed = MS within, with n0 = (N - sum
    n_i^2 / N) / (k - 1) (Searle, Casella and McCulloch 1992, sec. 3.6); items = mean of `errors`, the squared standard
    errors over items, where there are any. The seeds share their items, so what items and seeds do together is in both:
    the share of the doses, a reliability, is rather too small. NaN for fewer than two seeds, or no variance."""
    sizes, means = np.array([len(group) for group in groups]), np.array([group.mean() for group in groups])
    n = sizes.sum()
    items = np.nanmean(errors) if np.isfinite(errors).any() else np.nan
    if n <= len(groups):
        return dict.fromkeys(SHARES, np.nan)
    seed = sum(((group - group.mean()) ** 2).sum() for group in groups) / (n - len(groups))
    between = (sizes * (means - (sizes * means).sum() / n) ** 2).sum() / (len(groups) - 1)
    dose = max(0.0, (between - seed) * (len(groups) - 1) / (n - (sizes**2).sum() / n))
    total = dose + seed + np.nan_to_num(items)
    return {name: part / total if total else np.nan for name, part in zip(SHARES, (dose, seed, items), strict=True)}


def item_variance(scores: pd.DataFrame) -> pd.Series:
    """The variance that the items of each score leave in it: that of its 95 % interval, NaN where it has none."""
    return ((scores["high"] - scores["low"]) / (2 * Z)) ** 2


def with_doses(rows: pd.DataFrame, doses: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """The rows of encoders with the columns bias and seed; doses: encoder -> both."""
    pairs = pd.DataFrame([doses[name] for name in rows["encoder"]], columns=["bias", "seed"], index=rows.index)
    return rows.assign(bias=pairs["bias"], seed=pairs["seed"])


Values = Mapping[float, np.ndarray]  # amount of bias, rising -> the defined values of the seeds


def judge(
    values: pd.DataFrame, judged: Callable[[pd.DataFrame, Values, int], Mapping], by: Sequence[str] = ("measure",)
) -> pd.DataFrame:
    """Return a row per measure (or more keys: `by`): its values by planted bias, and whether it follows the bias.

    `values`: columns measure, group, sign, bias, seed, value, error, with two amounts of bias or more. mean_bias_*,
    sd_bias_*; what `judged` makes of the rows whose values are defined, the same by bias, and the sign, such as
    `between_models`; q: its p adjusted over all rows (Benjamini and Hochberg 1995). Values that are not defined are
    left out and counted in `undefined`. BiasflowError for a measure with one amount of bias only."""
    rows = []
    for keys, block in values.groupby([*by], sort=False):
        defined, amounts = block.dropna(subset="value"), sorted(block["bias"].unique())
        groups = {bias: defined.loc[defined["bias"] == bias, "value"].to_numpy() for bias in amounts}
        if len(groups) < 2:
            raise BiasflowError(f"measure {', '.join(keys)}: one amount of bias only; give two or more")
        row = {**dict(zip(by, keys, strict=True)), "group": block["group"].iloc[0], "seeds": block["seed"].nunique()}
        row["undefined"] = len(block) - len(defined)
        for bias, group in groups.items():
            row |= {f"mean_bias_{bias:g}": pd.Series(group).mean(), f"sd_bias_{bias:g}": pd.Series(group).std()}
        rows.append(row | judged(defined, groups, int(block["sign"].iloc[0])))
    table = pd.DataFrame(rows)
    return table.assign(q=false_discovery_rates(table["p"]))


def between_models(defined: pd.DataFrame, groups: Values, sign: int) -> dict[str, float | str]:
    """STATISTICS and the verdict of models each of which has a text of its own.

    spearman with low, high and p (`rank_correlation`); p_full: `permutation_p` of the highest against the lowest bias;
    smallest_dose: the smallest that differs from the lowest at 5 % (`permutation_p`), as all larger ones do; SHARES. A
    measure sees the bias if p_full <= 0.05; with so few seeds that no outcome could reach 0.05 the verdict is that
    there are too few."""
    nothing = dict.fromkeys(STATISTICS, np.nan) | {"verdict": TOO_FEW}
    low, *_, high = groups.values()
    if not are_enough(groups, sign):
        return nothing
    groups, p_full = {bias: group for bias, group in groups.items() if len(group)}, permutation_p(low, high, sign)
    smallest = smallest_dose([*groups][1:], lambda bias: permutation_p(low, groups[bias], sign) <= LEVEL)
    return (
        nothing
        | rank_correlation(groups, sign)
        | {"p_full": p_full, "smallest_dose": smallest}
        | variance_shares([*groups.values()], defined["error"].to_numpy())
        | {"verdict": SEES if p_full <= LEVEL else DOES_NOT}
    )


def are_enough(groups: Values, sign: int) -> bool:
    """Whether a test of the highest against the lowest bias could reach 0.05 at all."""
    low, *_, high = map(len, groups.values())
    return bool(low and high) and least_p(low, high, sign) <= LEVEL


SIGNS = {"up": 1, "down": -1}


def given_values(run: Run, doses: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """Return a row per measure of the key `given` and encoder: measure (its name, marked as given), group, sign,
    encoder, value (the mean of its items), error, the variance that the items leave in the value (NaN for one), and of
    `with_doses` bias and seed.

    The run's option "given" says where a measure goes with more bias, its file "<measure>/<encoder>" has the items."""
    rows = []
    for (name, direction), encoder in product(run.options.get("given", {}).items(), doses):
        values = pd.read_csv(run.files["given"][f"{name}/{encoder}"])[VALUE]
        error = values.var() / len(values)  # NaN of a single value
        rows.append((f"{name} (given)", INSIDE, SIGNS[direction], encoder, values.mean(), error))
    rows = pd.DataFrame(rows, columns=["measure", "group", "sign", "encoder", "value", "error"])
    return with_doses(rows, doses)
