import pandas as pd
import pytest

from scripts.biasflow.projective_statements import STATEMENTS, findings, statements
from scripts.biasflow.projective_tables import table7
from tests.unit.synthetic_nsp import PRINTED, scores


@pytest.fixture
def printed():
    return findings(PRINTED)


@pytest.mark.parametrize(
    ("name", "holds", "k", "n"),
    [
        ("sent-distance", True, 2, 2),
        ("sent-strength", True, 2, 2),
        ("best-below-base-strength", False, 3, 4),  # the best at SENT, 0.3077, is above Base, 0.3069
        ("best-below-base-distance", True, 4, 4),
        ("new-best-strength", True, 3, 3),
        ("new-best-distance", True, 3, 3),
        ("steeper-at-layer-11", True, 2, 2),
        ("layer-12-extends-sent-0-strength", True, 3, 4),
        ("layer-12-extends-sent-1-strength", True, 3, 4),
        ("layer-11-plane-worst-strength", True, 8, 8),
        ("attention-improves-strength", True, 24, 32),
    ],
)
def test_the_paper_in_its_own_table_7(printed, name, holds, k, n):
    found = printed[name]
    assert (found.holds, found.k, found.n) == (holds, k, n)


def test_exceptions_are_named(printed):
    assert printed["layer-12-extends-sent-0-strength"].exceptions == "(0,1,0)"
    assert printed["layer-12-extends-sent-1-strength"].exceptions == "(0,1,1)"
    attention = printed["attention-improves-strength"].exceptions.split("; ")
    assert len(attention) == 8 and all(settings.startswith("(0,1,") for settings in attention)
    assert printed["best-below-base-strength"].exceptions == "sent"


def changed(level, settings, measure, value):
    table = PRINTED.copy()
    table.loc[(table["level"] == level) & (table["settings"] == settings), measure] = value
    return findings(table)


def test_counts_follow_the_table():
    one_worse = changed("layer-11+attention", "0,0,0,0,0", "strength", 0.9)["attention-improves-strength"]
    assert (one_worse.holds, one_worse.k) == (False, 23)
    one_better = changed("layer-11+attention", "0,1,0,0,0", "strength", 0.1)["attention-improves-strength"]
    assert (one_better.holds, one_better.k) == (False, 25)
    tie = changed("layer-11", "1,0,0,0,0", "strength", 0.2688)["layer-11-plane-worst-strength"]
    assert (tie.holds, tie.k, tie.exceptions) == (False, 7, "(*,*,0,0,0)")
    # A record must beat every level before it, not only the last one.
    base = changed("base", "", "strength", 0.2)
    assert base["new-best-strength"].exceptions == "layer-12; layer-11"
    assert base["sent-strength"].holds and base["best-below-base-strength"].k == 1


def test_the_order_of_rows_does_not_matter(printed):
    shuffled = findings(PRINTED.sample(frac=1, random_state=0))
    assert {name: (f.holds, f.k, f.n) for name, f in shuffled.items()} == {
        name: (f.holds, f.k, f.n) for name, f in printed.items()
    }


def test_ours_stand_beside_the_printed_ones():
    rows = table7(scores(encoders=("one", "two")), PRINTED, not_run={"three": "no NSP head"})
    table = statements(rows, PRINTED)
    assert table.groupby(["encoder", "stimuli"]).size().to_dict() == {
        ("one", "planted"): len(STATEMENTS),
        ("two", "planted"): len(STATEMENTS),
    }
    row = table.query("encoder == 'one' and id == 'attention-improves-strength'").iloc[0]
    assert (row["k_published"], row["n_published"], row["holds_published"]) == (24, 32, True)
    block = rows.query("encoder == 'one'").set_index(["level", "settings"])["strength"]
    assert row["k"] == (block["layer-11+attention"] < block["layer-11"]).sum()
    assert pd.api.types.is_bool_dtype(table["holds"])


def test_no_encoder_run_leaves_an_empty_table_with_its_columns():
    rows = table7(scores().head(0), PRINTED, not_run={"three": "no NSP head"})
    table = statements(rows, PRINTED)
    assert table.empty and "k_published" in table
