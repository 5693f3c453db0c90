"""What Dawkins et al. (2024, sec. 5) observe, as statements that are counted in a table of 76 rows."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

import pandas as pd

from biasflow.papers.dawkins2024.correlations import ALL, LEAST, VIABLE
from biasflow.papers.dawkins2024.downstream import weighting_pairs
from biasflow.papers.dawkins2024.rows import (
    AFTER,
    ATTENTION,
    BASE,
    BLOCK,
    LAYER_11,
    LAYER_12,
    LEVELS,
    MEASURES,
    OWN_LEVELS,
    PRINTED_SCORES,
    SENT,
    SETTING,
    model_name,
)
from biasflow.papers.dawkins2024.table7 import table7, viable_settings
from biasflow.papers.frames import RUN, Run
from biasflow.papers.statements import Finding, Statements, all_of
from biasflow.results.statistics import correlation

UNWEIGHTED_PLANE = "0,1"  # n = 0, c = 1: two dimensions without information weighting
SIGNIFICANT = 0.05
SECTION = "5"
_NONE_VIABLE = "no viable model"
_BOTH = {name.capitalize(): name for name in MEASURES}  # in the text -> column
_MEANT = {"Distance": "(The paper means Strength.)"}  # where it says "intrinsic bias"; Distance is for comparison

STATEMENTS = Statements()  # counted in the rows of table 7, indexed by level and settings


def _says(identifier: str, text: str, *, needs: Collection[str] = MEASURES, **options) -> Callable:
    return STATEMENTS.says(identifier, SECTION, text, needs=needs, **options)


_says_of_nli = partial(_says, needs=PRINTED_SCORES)
_says_of_both = partial(_says, needs=[*MEASURES, *PRINTED_SCORES])


def _all_of(cases: Mapping[str, bool] | pd.Series, detail: str = "", *, but: Collection[str] = ()) -> Finding:
    """`all_of` of cases that may be settings, whose names hold commas."""
    shown = {name: f"({name})" if name[:1] in "01*" else name for name, _ in cases.items()}
    named = {shown[name]: true for name, true in cases.items()}
    return all_of(named, detail, but=[shown[name] for name in but], between="; ")


def _sent(table: pd.DataFrame, column: str) -> pd.Series:
    """The values at SENT by the names of the models."""
    return table.loc[SENT, column].rename(partial(model_name, SENT))


def _best(table: pd.DataFrame, measures: str | list[str]) -> pd.Series | pd.DataFrame:
    """The smallest value of each level, in the order of the levels."""
    return table[measures].groupby(level="level").min().reindex(LEVELS)


def _fairest(table: pd.DataFrame) -> pd.Series:
    """The best fairness among the viable models of each level, in the order of the levels; -1 where none is viable.

    -1 is below every fairness, so that a level without a viable model never sets a record."""
    return table.loc[table["viable"], "fairness"].groupby(level="level").max().reindex(LEVELS).fillna(-1.0)


def _by_level(values: pd.Series) -> str:
    return "; ".join(f"{level} {_NONE_VIABLE if value < 0 else f'{value:.4f}'}" for level, value in values.items())


def _with(values: pd.Series, n_p: str) -> pd.Series:
    """The settings with this n_p, which is the last of them."""
    return values[values.index.str.endswith(f",{n_p}")]


@_says("sent-distance", "At SENT, Distance is improved: every setting is below Base.")
def _sent_distance(table: pd.DataFrame) -> Finding:
    return _all_of(_sent(table, "distance") < table.loc[(BASE, ""), "distance"])


@_says("sent-strength", "At SENT, only Distance is improved: no setting has a Strength below Base.")
def _sent_strength(table: pd.DataFrame) -> Finding:
    return _all_of(_sent(table, "strength") >= table.loc[(BASE, ""), "strength"])


@_says("best-below-base-{measure}", "The best {measure} of every level is below Base.", measure=_BOTH)
def _every_level_below_base(table: pd.DataFrame, measure: str) -> Finding:
    best = _best(table, measure)
    return _all_of(best[OWN_LEVELS] < best[BASE])


@_says("new-best-{measure}", "Layer 12, layer 11 and attention each set a new best {measure}.", measure=_BOTH)
def _records(table: pd.DataFrame, measure: str) -> Finding:
    """A level sets a new best if its best setting beats all settings of all levels before it."""
    best = _best(table, measure)
    return _all_of((best < best.cummin().shift())[[LAYER_12, LAYER_11, ATTENTION]])


@_says("steeper-at-layer-11", "Adding layer 11 gains more on both measures than adding layer 12 did.")
def _steeper(table: pd.DataFrame) -> Finding:
    changes = _best(table, MEASURES).cummin().diff()
    return _all_of(changes.loc[LAYER_11] < changes.loc[LAYER_12])


@_says(
    "layer-12-extends-sent-{n_p}-{measure}",
    "Of the 4 layer-12 extensions of SENT with n_p = {n_p}, all reduce {measure} except (n_12 = 0, c_12 = 1).",
    asides=_MEANT,
    n_p="01",
    measure=_BOTH,
)
def _extensions(table: pd.DataFrame, n_p: str, measure: str) -> Finding:
    """Layer-12 models with the same n_p against the SENT model that they extend."""
    values = _with(table.loc[LAYER_12, measure], n_p)
    return _all_of(values < table.loc[(SENT, n_p), measure], but=[f"{UNWEIGHTED_PLANE},{n_p}"])


@_says(
    "layer-11-plane-worst-{measure}",
    "Among layer-11 models that are otherwise equal, (n_11 = 0, c_11 = 1) has the worst {measure} (8 groups of 4).",
    asides=_MEANT,
    measure=_BOTH,
)
def _worst_plane(table: pd.DataFrame, measure: str) -> Finding:
    """Groups of layer-11 models that differ in (n_11, c_11) only: is the unweighted plane the worst of each?"""
    values = table.loc[LAYER_11, measure]
    groups = values.groupby(values.index.str[len(UNWEIGHTED_PLANE) + 1 :])
    worst = {rest: group.index[group == group.max()] for rest, group in groups}
    return _all_of({f"*,*,{rest}": list(names) == [f"{UNWEIGHTED_PLANE},{rest}"] for rest, names in worst.items()})


@_says(
    "attention-improves-{measure}",
    "Attention debiasing reduces the {measure} of every layer-11 model except exactly the 8 with (n_11 = 0, c_11 = 1).",
    asides=_MEANT,
    measure=_BOTH,
)
def _attention(table: pd.DataFrame, measure: str) -> Finding:
    improved = table.loc[ATTENTION, measure] < table.loc[LAYER_11, measure]
    return _all_of(improved, but=[settings for settings in improved.index if settings.startswith(UNWEIGHTED_PLANE)])


@_says_of_nli("sent-fairness", "At SENT, only Distance is improved: no setting has a fairness above Base.")
def _no_fairer_than_base(table: pd.DataFrame) -> Finding:
    return _all_of(_sent(table, "fairness") <= table.loc[(BASE, ""), "fairness"])


@_says_of_nli("best-above-base-fairness", "The best viable fairness of every level is above Base.")
def _every_level_fairer(table: pd.DataFrame) -> Finding:
    best = _fairest(table)
    return _all_of(best[OWN_LEVELS] > best[BASE], _by_level(best))


@_says_of_nli("new-best-fairness", "Layer 12 and layer 11 each set a new best fairness among viable models.")
def _fairness_records(table: pd.DataFrame) -> Finding:
    """Does each level beat the viable models of all levels before it?"""
    best = _fairest(table)
    return _all_of((best > best.cummax().shift())[[LAYER_12, LAYER_11]], _by_level(best))


@_says_of_nli("steeper-at-layer-11-fairness", "Adding layer 11 gains more viable fairness than adding layer 12 did.")
def _fairness_steeper(table: pd.DataFrame) -> Finding:
    best = _fairest(table)
    gain = best.cummax().diff()
    return _all_of({"fairness": gain[LAYER_11] > gain[LAYER_12]}, _by_level(best))


@_says_of_nli(
    "layer-11-against-base",
    "The fairest viable layer-11 model has a higher parity, accuracy and fairness than Base (paper: 0.098 to 0.81, "
    "0.38 to 0.80, 0.038 to 0.65).",
)
def _layer_11_against_base(table: pd.DataFrame) -> Finding:
    columns = ["parity", "accuracy", "fairness"]
    viable = table.loc[LAYER_11][table.loc[LAYER_11, "viable"]]
    if viable.empty:
        return Finding(False, 0, len(columns), _NONE_VIABLE)
    base, settings = table.loc[(BASE, "")], viable["fairness"].idxmax()
    best = viable.loc[settings]
    numbers = ", ".join(f"{column} {base[column]:.4f} to {best[column]:.4f}" for column in columns)
    return _all_of(best[columns] > base[columns], f"({settings}): {numbers}")


@_says_of_nli("attention-no-new-best-fairness", "Attention debiasing sets no new best fairness among viable models.")
def _no_fairness_record(table: pd.DataFrame) -> Finding:
    best = _fairest(table)
    return _all_of((best <= best.cummax().shift())[[ATTENTION]], _by_level(best))


@_says_of_nli(
    "attention-loses-viable",
    "The attention models that are fairer than the best viable model without attention are not viable.",
)
def _attention_unviable(table: pd.DataFrame) -> Finding:
    attention, without = table.loc[ATTENTION], table.loc[LAYER_11, "viable"]
    fairer = attention[attention["fairness"] > _fairest(table).cummax().shift()[ATTENTION]]
    viable = f"{attention['viable'].sum()} of {len(attention)} viable with attention, {without.sum()} without"
    return _all_of(~fairer["viable"], viable)


@_says_of_nli("accuracy-cost", "Mean SNLI accuracy falls with every step inside: SENT, layer 12, layer 11, attention.")
def _less_accurate_inside(table: pd.DataFrame) -> Finding:
    means = table["snli_accuracy"].groupby(level="level").mean().reindex([BASE, *OWN_LEVELS])
    return _all_of(means.diff()[1:] < 0, _by_level(means))


@_says_of_nli(
    "weighting-keeps-accuracy", "In all 37 pairs of models that differ in n_p only, n_p = 1 improves SNLI accuracy."
)
def _weighting_keeps_accuracy(table: pd.DataFrame) -> Finding:
    pairs = weighting_pairs(table["snli_accuracy"])
    gains = (pairs["np1"] - pairs["np0"]).set_axis([model_name(*model) for model in pairs.index])
    return _all_of(gains > 0, f"mean increase {gains.mean():.4f}")


@_says_of_nli("layer-12-weighted-viable", "At layer 12, all 4 models with n_p = 1 are viable.")
def _weighted_viable(table: pd.DataFrame) -> Finding:
    return _all_of(_with(table.loc[LAYER_12, "viable"], "1"))


@_says_of_nli("layer-12-unweighted-unviable", "At layer 12, all 4 models with n_p = 0 are unviable.")
def _unweighted_unviable(table: pd.DataFrame) -> Finding:
    return _all_of(~_with(table.loc[LAYER_12, "viable"], "0"))


@_says_of_nli(
    "viable-weighted-{level}", "All viable models of level {level} have n_p = 1.", level=[LAYER_11, ATTENTION]
)
def _viable_are_weighted(table: pd.DataFrame, level: str) -> Finding:
    flags = table.loc[level, "viable"]
    viable = flags.index[flags]
    # A level without a viable model shows nothing: the statement is not taken to hold.
    if viable.empty:
        return Finding(False, 0, 0, _NONE_VIABLE)
    return _all_of({settings: settings.endswith(",1") for settings in viable}, f"{len(viable)} of {len(flags)} viable")


@_says_of_both(
    "not-correlated-{measure}",
    "{measure} is not correlated with fairness (Spearman over 76 models, p >= 0.05).",
    asides=_MEANT,
    measure=_BOTH,
)
def _not_correlated(table: pd.DataFrame, measure: str) -> Finding:
    return _uncorrelated({measure: table}, measure)


@_says_of_both(
    "not-correlated-viable-{measure}",
    "{measure} is not correlated with fairness among the viable models alone (p >= 0.05; the paper counts all models).",
    measure=_BOTH,
)
def _not_correlated_viable(table: pd.DataFrame, measure: str) -> Finding:
    return _uncorrelated({measure: table[table["viable"]]}, measure)


@_says_of_both(
    "not-correlated-{models}-by-level-{measure}",
    "Of {models} models {measure} is not correlated with fairness within any level (p >= 0.05; levels with 3 or more "
    "models; the paper counts all levels together).",
    models=[ALL, VIABLE],
    measure=_BOTH,
)
def _not_correlated_within(table: pd.DataFrame, models: str, measure: str) -> Finding:
    counted = table if models == ALL else table[table["viable"]]
    levels = {level: of_level for level, of_level in counted.groupby(level="level") if len(of_level) >= LEAST}
    return _uncorrelated({level: levels[level] for level in LEVELS if level in levels}, measure)


def shown_p(p: float) -> str:
    """Return p with four decimals, or as a power of ten if it is smaller."""
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.0e}"


def _uncorrelated(groups: Mapping[str, pd.DataFrame], measure: str) -> Finding:
    """In how many groups of models, by name, the measure is not correlated with fairness."""
    results = {name: correlation(group[measure], group["fairness"]) for name, group in groups.items()}
    if not results:
        return Finding(False, 0, 0, _NONE_VIABLE)
    if unknown := [f"{name}: {result.reason}" for name, result in results.items() if result.reason]:
        return Finding(False, 0, len(results), "; ".join(unknown))
    details = [
        f"{f'{name} ' if len(results) > 1 else ''}rho {result.estimate:.4f}, p {shown_p(result.p)}, n {result.n}"
        for name, result in results.items()
    ]
    return _all_of({name: result.p >= SIGNIFICANT for name, result in results.items()}, "; ".join(details))


@_says_of_both(
    "ingredients",
    "Information weighting and two-dimensional subspaces both turn up in the best settings of the levels.",
)
def _ingredients(table: pd.DataFrame) -> Finding:
    """Do n = 1 (places 0, 2, 4 of the settings) and c = 1 (places 1, 3) turn up in the best settings of the levels?"""
    values = table.loc[OWN_LEVELS]
    best = [values[measure].groupby(level="level").idxmin() for measure in MEASURES]
    best.append(values.loc[values["viable"], "fairness"].groupby(level="level").idxmax())
    places = [settings.split(",") for _, settings in pd.concat(best)]
    return _all_of(
        {"weighting": any("1" in s[::2] for s in places), "two dimensions": any("1" in s[1::2] for s in places)}
    )


def findings(table: pd.DataFrame, **viability: float | str) -> dict[str, Finding]:
    """Return the finding of every statement in one table of 76 rows: level, settings, and the columns that the
    statements need.

    A statement whose columns are absent or empty is left out. Viable is judged here: `viability` is threshold and
    reading."""
    filled = [column for column in [*MEASURES, *PRINTED_SCORES] if column in table and table[column].notna().any()]
    indexed = table.set_index(SETTING)[filled]
    if "snli_accuracy" in filled:
        indexed["viable"] = viable_settings(table, **viability)
    indexed = indexed.sort_index()
    return STATEMENTS.findings({"table 7": indexed})


def statements(run: Run) -> pd.DataFrame:
    """The statements in our table 7, per encoder and stimuli set, and in the printed one.

    Columns: encoder, stimuli, id, statement, holds, k, n, exceptions, detail, and the last five again `_published`.
    Only the main reading of the interventions counts. Left out are encoders that were not run, and of the others the
    statements on scores that they lack."""
    rows, viability = table7(run), run.options["viability"]
    counted = (rows["interventions"] == AFTER) & ((rows["status"] == RUN) | (rows["nli_status"] == RUN))
    ours = {key: findings(block, **viability) for key, block in rows[counted].groupby(BLOCK, sort=False)}
    table = STATEMENTS.beside(ours, findings(run.published("table7"), **viability), BLOCK)
    return table[table["holds"].notna()].drop(columns="section").reset_index(drop=True)
