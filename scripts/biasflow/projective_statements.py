"""What Dawkins et al. (2024, sec. 5) say on intrinsic bias, as statements that are counted in a table of 76 rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from scripts.biasflow.metrics.stereoset import SETTING
from scripts.biasflow.projective_tables import BLOCK, MEASURES, RUN
from scripts.biasflow.tables import PUBLISHED

BASE, DEBIAS, SENT, LAYER_12, LAYER_11, ATTENTION = LEVELS = (
    "base",
    "sentence-debias",
    "sent",
    "layer-12",
    "layer-11",
    "layer-11+attention",
)
_INTERVENTIONS = LEVELS[2:]  # the paper's own levels: neither Base nor the baseline
UNWEIGHTED_PLANE = "0,1"  # n = 0, c = 1: two dimensions without information weighting


@dataclass(frozen=True)
class Finding:
    """k of n cases are as the statement says; `exceptions` names the others."""

    holds: bool
    k: int
    n: int
    exceptions: str


@dataclass(frozen=True)
class Statement:
    id: str
    text: str
    count: Callable[[pd.DataFrame], Finding]


def _all_of(cases: dict[str, bool]) -> Finding:
    """The statement says that every case is true."""
    return _all_but(cases, expected=())


def _all_but(cases: dict[str, bool], expected: Iterable[str]) -> Finding:
    """The statement says that every case is true except `expected`, and that these are false."""
    exceptions = [name for name, true in cases.items() if not true]
    return Finding(
        set(exceptions) == set(expected), len(cases) - len(exceptions), len(cases), "; ".join(map(_name, exceptions))
    )


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


def findings(table: pd.DataFrame) -> dict[str, Finding]:
    """Every statement's count in one table of 76 rows: columns level, settings, strength, distance."""
    indexed = table.set_index(SETTING)[MEASURES].sort_index()
    return {statement.id: statement.count(indexed) for statement in STATEMENTS}


def statements(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The statements in our table 7 (`rows`), per encoder and stimuli set, and in the printed one (`published`).

    Columns: encoder, stimuli, id, statement, holds, k, n, exceptions, and the last four again `_published`.
    Encoders that were not run are left out."""
    printed = findings(published)
    table = []
    for key, block in rows[rows["status"] == RUN].groupby(BLOCK, sort=False):
        ours = findings(block)
        for statement in STATEMENTS:
            row = dict(zip(BLOCK, key, strict=True)) | {"id": statement.id, "statement": statement.text}
            row |= vars(ours[statement.id])
            row |= {name + PUBLISHED: value for name, value in vars(printed[statement.id]).items()}
            table.append(row)
    fields = list(Finding.__dataclass_fields__)
    columns = [*BLOCK, "id", "statement", *fields, *(field + PUBLISHED for field in fields)]
    return pd.DataFrame(table, columns=columns)
