"""What Liang, Dufter & Schütze (2020) say of OCCTMP, association tests and perplexity, counted in our scores and in the
printed values."""

from dataclasses import replace

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.liang2020.rows import DENSRAY, PLACEMENT, Placement, of_paper, printed_rows
from biasflow.papers.liang2020.tables import Readings, bias_rows, readings
from biasflow.papers.statements import Finding, Statements, all_of, most_of

STATEMENTS = Statements()
UNTOUCHED = Placement("", "")
HARD, HARD_LAST = Placement("hard", "all"), Placement("hard", "last")
CONCEPTOR, CONCEPTOR_ALL = Placement("conceptor", "last"), Placement("conceptor", "all")
_CHOSEN = {"DensRay": DENSRAY, "hard debiasing": HARD, "conceptors": CONCEPTOR}  # as the paper applies them
_PERPLEXITY, _EFFECT, _P = "batch_perplexity", "_effect_size", "_p_value"
_PRONOUN, _LEVEL = 0.7, 0.05
_POOR, _HARM = 2.0, 1.05  # times the untouched encoder's perplexity: our readings of "extremely poor" and "harm"
_OCCTMP, _TESTS, _PERFORMANCE, _SETUP = "OCCTMP", "Association Tests", "Model Performance", "Setup and Data"


def _value(table: pd.DataFrame, placement: Placement, column: str) -> float | None:
    """A value of a table; None where it has none."""
    if column not in table or placement not in table.index or pd.isna(table.loc[placement, column]):
        return None
    return float(table.loc[placement, column])


def _values(table: pd.DataFrame, suffix: str, *placements: Placement) -> pd.DataFrame:
    """The columns that end in `suffix`, named without it, that all of these placements have; a row for each."""
    columns = [column for column in table if column.endswith(suffix)]
    rows = table.reindex(pd.MultiIndex.from_tuples(placements))[columns].dropna(axis="columns")
    return rows.rename(columns=lambda column: column.removesuffix(suffix))


def _less(table: pd.DataFrame, column: str, below: Placement, above: Placement) -> Finding | None:
    """Is the value smaller under `below` than under `above`?"""
    low, high = (_value(table, placement, column) for placement in (below, above))
    if low is None or high is None:
        return None
    return all_of({column: low < high}, f"{low:.4g} against {high:.4g}")


def _by_placement(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The rows that have these columns, named by their placement."""
    rows = table.reindex(columns=list(columns)).dropna()
    return rows.set_axis([f"{eraser} {places}".strip() or "untouched" for eraser, places in rows.index])


@STATEMENTS.says(
    "he-on-average", _OCCTMP, "In most experiments he is more probable than she. (Means over the occupations.)"
)
def _he_on_average(table: pd.DataFrame) -> Finding | None:
    values = _by_placement(table, "occtmp_p_he", "occtmp_p_she")
    pairs = values.itertuples(name=None)
    detail = ", ".join(f"{name} {he:.3f} and {she:.3f}" for name, he, she in pairs)
    return most_of(dict(values["occtmp_p_he"] > values["occtmp_p_she"]), detail) if len(values) else None


@STATEMENTS.says(
    "he-in-most-templates", _OCCTMP, "In most experiments he is more probable than she in most of the templates."
)
def _he_in_most_templates(table: pd.DataFrame) -> Finding | None:
    shares = _by_placement(table, "occtmp_share_he")["occtmp_share_he"]
    detail = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    return most_of(dict(shares > 0.5), detail) if len(shares) else None


@STATEMENTS.says(
    "sum-in-most-templates", _OCCTMP, "In most templates he and she together are more probable than 0.7 (untouched)."
)
def _sum_in_most_templates(table: pd.DataFrame) -> Finding | None:
    share = _value(table, UNTOUCHED, "occtmp_share_pronoun")
    return None if share is None else all_of({"share": share > 0.5}, f"share of the templates {share:.3f}")


@STATEMENTS.says(
    "sum-on-average", _OCCTMP, "He and she together are more probable than 0.7. (The mean over occupations, untouched.)"
)
def _sum_on_average(table: pd.DataFrame) -> Finding | None:
    mean = _value(table, UNTOUCHED, "occtmp_p_sum")
    return None if mean is None else all_of({"mean": mean > _PRONOUN}, f"mean {mean:.3f}")


@STATEMENTS.says(
    "less-occtmp-{method}",
    f"title; {_OCCTMP}",
    "Gender bias is reduced: OCCTMP's diff is smaller under {method} than untouched.",
    method=_CHOSEN,
)
def _less_occtmp(table: pd.DataFrame, method: Placement) -> Finding | None:
    return _less(table, "occtmp_diff", method, UNTOUCHED)


@STATEMENTS.says(
    "less-association-{method}",
    f"title; {_TESTS}",
    "Gender bias is reduced: under {method} the effect size of every test is closer to zero than untouched.",
    method=_CHOSEN,
)
def _less_association(table: pd.DataFrame, method: Placement) -> Finding | None:
    return _closer(table, method, UNTOUCHED)


@STATEMENTS.says(
    "not-rejected-{method}",
    _TESTS,
    "Under {method} no test rejects that there is no gender bias (p at least 0.05, not corrected).",
    method=_CHOSEN,
)
def _not_rejected(table: pd.DataFrame, method: Placement) -> Finding | None:
    p_values = _values(table, _P, method)
    if p_values.empty:
        return None
    p = p_values.iloc[0]
    return all_of(dict(p >= _LEVEL), ", ".join(f"{test} {value:.3g}" for test, value in p.items()))


@STATEMENTS.says(
    "hard-all-occtmp",
    _SETUP,
    "Hard debiasing in all layers yields better results than in the last layer only: OCCTMP's diff is smaller.",
)
def _hard_all_occtmp(table: pd.DataFrame) -> Finding | None:
    return _less(table, "occtmp_diff", HARD, HARD_LAST)


@STATEMENTS.says(
    "hard-all-association",
    _SETUP,
    "Hard debiasing in all layers yields better results than in the last layer only: most effect sizes are closer to "
    "zero.",
)
def _hard_all_association(table: pd.DataFrame) -> Finding | None:
    return _closer(table, HARD, HARD_LAST, most=True)


@STATEMENTS.says(
    "conceptor-all-perplexity",
    _SETUP,
    "With the conceptor in all layers perplexity is extremely poor. (Read as at least twice that of the untouched "
    "encoder, and higher than under any other method.)",
)
def _conceptor_all(table: pd.DataFrame) -> Finding | None:
    perplexity, untouched = (_value(table, placement, _PERPLEXITY) for placement in (CONCEPTOR_ALL, UNTOUCHED))
    if perplexity is None or untouched is None:
        return None
    others = _by_placement(table.drop(index=[CONCEPTOR_ALL]), _PERPLEXITY)[_PERPLEXITY]
    cases = {"twice that of the untouched encoder": perplexity >= _POOR * untouched, **dict(others < perplexity)}
    return all_of(cases, f"{perplexity:.4g}; untouched {untouched:.4g}; highest of the others {others.max():.4g}")


@STATEMENTS.says(
    "conceptor-last-perplexity",
    _SETUP,
    "With the conceptor in the last layer only, perplexity is lower than with it in all layers.",
)
def _conceptor_last(table: pd.DataFrame) -> Finding | None:
    return _less(table, _PERPLEXITY, CONCEPTOR, CONCEPTOR_ALL)


@STATEMENTS.says(
    "perplexity-kept-{method}",
    _PERFORMANCE,
    "Debiasing does not harm the language model: with {method} perplexity is at most 5 % above that of the untouched "
    "encoder. (The 5 % are ours.)",
    method=_CHOSEN,
)
def _perplexity_kept(table: pd.DataFrame, method: Placement) -> Finding | None:
    perplexity, untouched = (_value(table, placement, _PERPLEXITY) for placement in (method, UNTOUCHED))
    if perplexity is None or untouched is None:
        return None
    return all_of({"perplexity": perplexity <= _HARM * untouched}, f"{untouched:.4f} to {perplexity:.4f}")


def _closer(table: pd.DataFrame, near: Placement, far: Placement, *, most: bool = False) -> Finding | None:
    """Are the effect sizes of all tests (or most) closer to zero under `near` than under `far`?"""
    effects = _values(table, _EFFECT, near, far)
    if effects.empty:
        return None
    detail = ", ".join(f"{test} {effects.loc[near, test]:.3g} against {effects.loc[far, test]:.3g}" for test in effects)
    closer = effects.loc[near].abs() < effects.loc[far].abs()
    return (most_of if most else all_of)(dict(closer), detail)


def statements(run: Run) -> pd.DataFrame:
    """The statements in our scores, per encoder, and in the printed values, of all encoders that have them together.

    Columns: encoder, id, section, statement, holds, k, n, exceptions, detail, and the last five again `_published`.
    Sets and readings are those of the main table; perplexity is the released form. Left out are encoders that were not
    run, and statements on what was neither run nor printed; an empty half was not."""
    ours = of_paper(run)
    papers = readings(replace(ours, scores=ours.scores.head(0)))  # those of the paper come first
    printed = STATEMENTS.findings(_tables(printed_rows(run), papers))
    findings = {
        (name,): STATEMENTS.findings({name: table}) for name, table in _tables(ours.inside, readings(ours)).items()
    }
    return STATEMENTS.beside(findings, printed, ["encoder"])


def _tables(rows: pd.DataFrame, shown: Readings) -> dict[str, pd.DataFrame]:
    """Encoder -> a row per placement, a column per measure of the main table; of perplexity means over mask seeds."""
    shown_rows = bias_rows(rows, shown)
    wide = shown_rows.pivot_table(index=["encoder", *PLACEMENT], columns="metric", values="value")
    return {name: block.droplevel("encoder") for name, block in wide.groupby(level="encoder")}
