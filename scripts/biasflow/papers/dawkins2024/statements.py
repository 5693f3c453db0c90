"""What Dawkins et al. (2024, sec. 5) observe, as statements that are counted in a table of 76 rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from scripts.biasflow.papers.dawkins2024.downstream import weighting_pairs
from scripts.biasflow.papers.dawkins2024.rows import (
    AFTER,
    ATTENTION,
    BASE,
    BLOCK,
    LAYER_11,
    LAYER_12,
    LEVELS,
    MEASURES,
    PRINTED_SCORES,
    SENT,
    SETTING,
)
from scripts.biasflow.papers.dawkins2024.table7 import table7, viable_settings
from scripts.biasflow.papers.frames import RUN, Run
from scripts.biasflow.results.statistics import correlation
from scripts.biasflow.results.tables import PUBLISHED

_INTERVENTIONS = LEVELS[2:]  # the paper's own levels: neither Base nor the baseline
UNWEIGHTED_PLANE = "0,1"  # n = 0, c = 1: two dimensions without information weighting
_SIGNIFICANT = 0.05
_NONE_VIABLE = "no viable model"


@dataclass(frozen=True)
class Finding:
    """k of n cases are as the statement says; `exceptions` names the others, `detail` gives the numbers behind it."""

    holds: bool
    k: int
    n: int
    exceptions: str
    detail: str = ""


@dataclass(frozen=True)
class Statement:
    id: str
    text: str
    count: Callable[[pd.DataFrame], Finding]
    needs: tuple[str, ...] = tuple(MEASURES)  # columns without which it cannot be counted


def _all_of(cases: dict[str, bool], detail: str = "") -> Finding:
    """The statement says that every case is true."""
    return _all_but(cases, expected=(), detail=detail)


def _all_but(cases: dict[str, bool], expected: Iterable[str], detail: str = "") -> Finding:
    """The statement says that every case is true except `expected`, and that these are false."""
    exceptions = [name for name, true in cases.items() if not true]
    holds, k = set(exceptions) == set(expected), len(cases) - len(exceptions)
    return Finding(holds, k, len(cases), "; ".join(map(_name, exceptions)), detail)


def _name(case: str) -> str:
    return f"({case})" if case[:1] in "01*" else case


def _best(values: pd.Series) -> pd.Series:
    """The smallest value of each level, in the order of the levels."""
    return values.groupby(level="level").min().reindex(list(LEVELS))


def _below_base(table: pd.DataFrame, measure: str) -> Finding:
    base = table.loc[(BASE, ""), measure]
    return _all_of({f"{SENT} ({s})": bool(value < base) for s, value in table.loc[SENT, measure].items()})


def _not_below_base(table: pd.DataFrame, measure: str) -> Finding:
    base = table.loc[(BASE, ""), measure]
    return _all_of({f"{SENT} ({s})": bool(value >= base) for s, value in table.loc[SENT, measure].items()})


def _every_level_below_base(table: pd.DataFrame, measure: str) -> Finding:
    best = _best(table[measure])
    return _all_of({level: bool(best[level] < best[BASE]) for level in _INTERVENTIONS})


def _records(table: pd.DataFrame, measure: str) -> Finding:
    """A level sets a new best if its best setting beats all settings of all levels before it."""
    best = _best(table[measure])
    before = best.cummin().shift()
    return _all_of({level: bool(best[level] < before[level]) for level in (LAYER_12, LAYER_11, ATTENTION)})


def _steeper(table: pd.DataFrame) -> Finding:
    cases = {}
    for measure in MEASURES:
        gain = -_best(table[measure]).cummin().diff()
        cases[measure] = bool(gain[LAYER_11] > gain[LAYER_12])
    return _all_of(cases)


def _extensions(table: pd.DataFrame, measure: str, n_p: str) -> Finding:
    """Layer-12 models with the same n_p against the SENT model that they extend."""
    sent = table.loc[(SENT, n_p), measure]
    cases = {
        settings: bool(value < sent)
        for settings, value in table.loc[LAYER_12, measure].items()
        if settings.endswith(f",{n_p}")
    }
    return _all_but(cases, expected=[f"{UNWEIGHTED_PLANE},{n_p}"])


def _worst_plane(table: pd.DataFrame, measure: str) -> Finding:
    """Groups of layer-11 models that differ in (n_11, c_11) only: is the unweighted plane the worst of each?"""
    values = table.loc[LAYER_11, measure]
    rest = values.index.str[len(UNWEIGHTED_PLANE) + 1 :]
    cases = {}
    for other, group in values.groupby(rest):
        worst = group.index[group == group.max()]
        cases[f"*,*,{other}"] = list(worst) == [f"{UNWEIGHTED_PLANE},{other}"]
    return _all_of(cases)


def _attention(table: pd.DataFrame, measure: str) -> Finding:
    without, with_attention = table.loc[LAYER_11, measure], table.loc[ATTENTION, measure]
    cases = {settings: bool(with_attention[settings] < value) for settings, value in without.items()}
    return _all_but(cases, expected=[s for s in cases if s.startswith(UNWEIGHTED_PLANE)])


def _fairest(table: pd.DataFrame) -> pd.Series:
    """The best fairness among the viable models of each level, in the order of the levels; -1 where none is viable.

    -1 is below every fairness, so that a level without a viable model never sets a record."""
    viable = table.loc[table["viable"], "fairness"]
    return viable.groupby(level="level").max().reindex(list(LEVELS)).fillna(-1.0)


def _by_level(values: pd.Series) -> str:
    return "; ".join(f"{level} {_NONE_VIABLE if value < 0 else f'{value:.4f}'}" for level, value in values.items())


def _no_fairer_than_base(table: pd.DataFrame) -> Finding:
    base = table.loc[(BASE, ""), "fairness"]
    return _all_of({f"{SENT} ({s})": bool(value <= base) for s, value in table.loc[SENT, "fairness"].items()})


def _every_level_fairer(table: pd.DataFrame) -> Finding:
    best = _fairest(table)
    return _all_of({level: bool(best[level] > best[BASE]) for level in _INTERVENTIONS}, _by_level(best))


def _fairness_records(table: pd.DataFrame, levels: Iterable[str], *, new: bool) -> Finding:
    """Does each of `levels` (not) beat the viable models of all levels before it?"""
    best = _fairest(table)
    before = best.cummax().shift()
    return _all_of({level: bool(best[level] > before[level]) == new for level in levels}, _by_level(best))


def _fairness_steeper(table: pd.DataFrame) -> Finding:
    best = _fairest(table)
    gain = best.cummax().diff()
    return _all_of({"fairness": bool(gain[LAYER_11] > gain[LAYER_12])}, _by_level(best))


def _layer_11_against_base(table: pd.DataFrame) -> Finding:
    """The fairest viable layer-11 model improves parity, accuracy and fairness of Base."""
    columns = ["parity", "accuracy", "fairness"]
    viable = table.loc[LAYER_11][table.loc[LAYER_11, "viable"]]
    if viable.empty:
        return Finding(False, 0, len(columns), _NONE_VIABLE)
    base, settings = table.loc[(BASE, "")], viable["fairness"].idxmax()
    best = viable.loc[settings]
    numbers = ", ".join(f"{column} {base[column]:.4f} to {best[column]:.4f}" for column in columns)
    return _all_of({column: bool(best[column] > base[column]) for column in columns}, f"({settings}): {numbers}")


def _attention_unviable(table: pd.DataFrame) -> Finding:
    """Attention models that are fairer than every viable model without attention: are they unviable?"""
    before = _fairest(table).cummax().shift()[ATTENTION]
    with_attention = table.loc[ATTENTION]
    fairer = with_attention[with_attention["fairness"] > before]
    viable = int(with_attention["viable"].sum())
    detail = (
        f"{viable} of {len(with_attention)} viable with attention, {int(table.loc[LAYER_11, 'viable'].sum())} without"
    )
    return _all_of({settings: not kept for settings, kept in fairer["viable"].items()}, detail)


def _less_accurate_inside(table: pd.DataFrame) -> Finding:
    """Mean SNLI accuracy falls from Base to SENT, layer 12, layer 11 and attention."""
    means = table["snli_accuracy"].groupby(level="level").mean().reindex([BASE, *_INTERVENTIONS])
    return _all_of({level: bool(fall) for level, fall in (means.diff() < 0)[1:].items()}, _by_level(means))


def _weighting_keeps_accuracy(table: pd.DataFrame) -> Finding:
    pairs = weighting_pairs(table["snli_accuracy"])
    mean = (pairs["np1"] - pairs["np0"]).mean()
    cases = {
        f"{level} ({rest})" if rest else level: bool(row["np1"] > row["np0"]) for (level, rest), row in pairs.iterrows()
    }
    return _all_of(cases, f"mean increase {mean:.4f}")


def _layer_12_viable(table: pd.DataFrame, n_p: str, *, kept: bool) -> Finding:
    viable = table.loc[LAYER_12, "viable"]
    return _all_of({settings: value == kept for settings, value in viable.items() if settings.endswith(f",{n_p}")})


def _viable_are_weighted(table: pd.DataFrame, level: str) -> Finding:
    own = table.loc[level, "viable"]
    viable = own.index[own]
    # A level without a viable model shows nothing: the statement is not taken to hold.
    if viable.empty:
        return Finding(False, 0, 0, _NONE_VIABLE)
    return _all_of({settings: settings.endswith(",1") for settings in viable}, f"{len(viable)} of {len(own)} viable")


def _not_correlated(table: pd.DataFrame, measure: str) -> Finding:
    found = correlation(table[measure], table["fairness"], "spearman")
    if found.reason:
        return Finding(False, 0, 1, found.reason)
    return _all_of({measure: found.p >= _SIGNIFICANT}, f"rho {found.estimate:.4f}, p {found.p:.4f}, n {found.n}")


def _ingredients(table: pd.DataFrame) -> Finding:
    """Do n = 1 (places 0, 2, 4 of the settings) and c = 1 (places 1, 3) turn up in the best settings of the levels?"""
    values = table.loc[list(_INTERVENTIONS)]
    best = [settings for m in MEASURES for _, settings in values[m].groupby(level="level").idxmin()]
    best += [settings for _, settings in values.loc[values["viable"], "fairness"].groupby(level="level").idxmax()]
    places = [settings.split(",") for settings in best]
    cases = {"weighting": any("1" in s[::2] for s in places), "two dimensions": any("1" in s[1::2] for s in places)}
    return _all_of(cases)


def _both(identifier: str, text: str, count: Callable[..., Finding], **options: str) -> list[Statement]:
    """One statement per measure."""
    return [
        Statement(f"{identifier}-{m}", text.format(m.capitalize()), partial(count, measure=m, **options))
        for m in MEASURES
    ]


def _of_strength(identifier: str, text: str, count: Callable[..., Finding], **options: str) -> list[Statement]:
    """A statement on "intrinsic bias" by which the paper means Strength, and the same of Distance for comparison."""
    strength, distance = _both(identifier, text, count, **options)
    return [strength, replace(distance, text=f"{distance.text} (The paper means Strength.)")]


STATEMENTS = [
    Statement(
        "sent-distance",
        "At SENT, Distance is improved: every setting is below Base.",
        partial(_below_base, measure="distance"),
    ),
    Statement(
        "sent-strength",
        "At SENT, only Distance is improved: no setting has a Strength below Base.",
        partial(_not_below_base, measure="strength"),
    ),
    *_both("best-below-base", "The best {} of every level is below Base.", _every_level_below_base),
    *_both("new-best", "Layer 12, layer 11 and attention each set a new best {}.", _records),
    Statement("steeper-at-layer-11", "Adding layer 11 gains more on both measures than adding layer 12 did.", _steeper),
    *(
        statement
        for n_p in "01"
        for statement in _of_strength(
            f"layer-12-extends-sent-{n_p}",
            f"Of the 4 layer-12 extensions of SENT with n_p = {n_p}, all reduce {{}} except (n_12 = 0, c_12 = 1).",
            _extensions,
            n_p=n_p,
        )
    ),
    *_of_strength(
        "layer-11-plane-worst",
        "Among layer-11 models that are otherwise equal, (n_11 = 0, c_11 = 1) has the worst {} (8 groups of 4).",
        _worst_plane,
    ),
    *_of_strength(
        "attention-improves",
        "Attention debiasing reduces the {} of every layer-11 model except exactly the 8 with (n_11 = 0, c_11 = 1).",
        _attention,
    ),
]
_OF_NLI = [
    Statement(
        "sent-fairness",
        "At SENT, only Distance is improved: no setting has a fairness above Base.",
        _no_fairer_than_base,
    ),
    Statement(
        "best-above-base-fairness", "The best viable fairness of every level is above Base.", _every_level_fairer
    ),
    Statement(
        "new-best-fairness",
        "Layer 12 and layer 11 each set a new best fairness among viable models.",
        partial(_fairness_records, levels=(LAYER_12, LAYER_11), new=True),
    ),
    Statement(
        "steeper-at-layer-11-fairness",
        "Adding layer 11 gains more viable fairness than adding layer 12 did.",
        _fairness_steeper,
    ),
    Statement(
        "layer-11-against-base",
        "The fairest viable layer-11 model has a higher parity, accuracy and fairness than Base (paper: 0.098 to 0.81, "
        "0.38 to 0.80, 0.038 to 0.65).",
        _layer_11_against_base,
    ),
    Statement(
        "attention-no-new-best-fairness",
        "Attention debiasing sets no new best fairness among viable models.",
        partial(_fairness_records, levels=(ATTENTION,), new=False),
    ),
    Statement(
        "attention-loses-viable",
        "The attention models that are fairer than the best viable model without attention are not viable.",
        _attention_unviable,
    ),
    Statement(
        "accuracy-cost",
        "Mean SNLI accuracy falls with every step inside: SENT, layer 12, layer 11, attention.",
        _less_accurate_inside,
    ),
    Statement(
        "weighting-keeps-accuracy",
        "In all 37 pairs of models that differ in n_p only, n_p = 1 improves SNLI accuracy.",
        _weighting_keeps_accuracy,
    ),
    Statement(
        "layer-12-weighted-viable",
        "At layer 12, all 4 models with n_p = 1 are viable.",
        partial(_layer_12_viable, n_p="1", kept=True),
    ),
    Statement(
        "layer-12-unweighted-unviable",
        "At layer 12, all 4 models with n_p = 0 are unviable.",
        partial(_layer_12_viable, n_p="0", kept=False),
    ),
    *(
        Statement(
            f"viable-weighted-{level}",
            f"All viable models of level {level} have n_p = 1.",
            partial(_viable_are_weighted, level=level),
        )
        for level in (LAYER_11, ATTENTION)
    ),
]
_OF_BOTH = [
    *_of_strength(
        "not-correlated", "{} is not correlated with fairness (Spearman over 76 models, p >= 0.05).", _not_correlated
    ),
    Statement(
        "ingredients",
        "Information weighting and two-dimensional subspaces both turn up in the best settings of the levels.",
        _ingredients,
    ),
]
STATEMENTS += [replace(statement, needs=tuple(PRINTED_SCORES)) for statement in _OF_NLI]
STATEMENTS += [replace(statement, needs=(*MEASURES, *PRINTED_SCORES)) for statement in _OF_BOTH]


def findings(table: pd.DataFrame, **viability: float | str) -> dict[str, Finding]:
    """Every statement's count in one table of 76 rows: level, settings, and the columns that the statements need.

    A statement whose columns are absent or empty is left out. Viable is judged here: `viability` is threshold and
    reading."""
    filled = [c for c in (*MEASURES, *PRINTED_SCORES) if c in table and table[c].notna().any()]
    indexed = table.set_index(SETTING)[filled]
    if "snli_accuracy" in filled:
        indexed["viable"] = viable_settings(table, **viability)
    indexed = indexed.sort_index()
    return {statement.id: statement.count(indexed) for statement in STATEMENTS if set(statement.needs) <= set(filled)}


def statements(run: Run) -> pd.DataFrame:
    """The statements in our table 7, per encoder and stimuli set, and in the printed one.

    Columns: encoder, stimuli, id, statement, holds, k, n, exceptions, detail, and the last five again `_published`.
    Only the main reading of the interventions counts. Left out are encoders that were not run, and of the others the
    statements on scores that they lack."""
    rows, viability = table7(run), run.options["viability"]
    printed = findings(run.published("table7"), **viability)
    table = []
    counted = (rows["interventions"] == AFTER) & ((rows["status"] == RUN) | (rows["nli_status"] == RUN))
    for key, block in rows[counted].groupby(BLOCK, sort=False):
        ours = findings(block, **viability)
        for statement in STATEMENTS:
            if statement.id in ours:
                row = dict(zip(BLOCK, key, strict=True)) | {"id": statement.id, "statement": statement.text}
                row |= vars(ours[statement.id])
                row |= {name + PUBLISHED: value for name, value in vars(printed[statement.id]).items()}
                table.append(row)
    fields = list(Finding.__dataclass_fields__)
    columns = [*BLOCK, "id", "statement", *fields, *(field + PUBLISHED for field in fields)]
    return pd.DataFrame(table, columns=columns)
