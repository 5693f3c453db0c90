import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from biasflow.papers.statements import Finding, Statements, all_of, most_of, together


@given(st.dictionaries(st.text("abc", min_size=1), st.booleans()))
def test_all_and_most(cases):
    every, most = all_of(cases), most_of(cases)
    assert every.holds == all(cases.values()) and most.holds == (2 * sum(cases.values()) > len(cases))
    assert (every.k, every.n) == (most.k, most.n) == (sum(cases.values()), len(cases))
    assert every.exceptions.split(", ") == ([name for name, true in cases.items() if not true] or [""])


def test_several_tables_hold_together():
    found = together({"a": Finding(True, 2, 2, "", "x"), "b": Finding(False, 1, 2, "c7")})
    assert found == Finding(False, 3, 4, "b: c7", "a: x")


def test_a_statement_for_each_option_is_counted_where_a_table_has_what_it_needs():
    known = Statements()

    @known.says("above-{Column}", "section", "{Column} is above 1.", Column=["One", "Two"])
    def count(table, Column):
        return all_of({"it": (table[Column] > 1).all()}) if Column in table else None

    assert [(each.id, each.text) for each in known.known] == [
        ("above-one", "One is above 1."),
        ("above-two", "Two is above 1."),
    ]
    one, both = pd.DataFrame({"One": [2]}), pd.DataFrame({"One": [0], "Two": [3]})
    assert known.findings({"one": one}) == {"above-one": Finding(True, 1, 1, "")}
    assert known.findings({"one": one, "both": both}) == {
        "above-one": Finding(False, 1, 2, "both: it"),
        "above-two": Finding(True, 1, 1, ""),
    }


def test_exceptions_that_are_expected_are_no_failure_and_those_that_do_not_occur_are_named():
    cases = {"a": True, "b": False}
    assert all_of(cases, "x", but=["b"]) == Finding(True, 1, 2, "b", "x")
    assert all_of(cases | {"c": True}, but=["b", "c"], between="; ") == Finding(False, 2, 3, "b", "no exception: c")


def test_an_option_may_say_one_thing_and_be_another_and_ours_stand_beside_the_printed():
    known = Statements()

    @known.says("rises-{it}", "s", "{it} rises.", needs=["x", "y"], asides={"Y": "(Ours.)"}, it={"X": "x", "Y": "y"})
    def count(table, it):
        return all_of({it: table[it].is_monotonic_increasing})

    assert [each.text for each in known.known] == ["X rises.", "Y rises. (Ours.)"]
    assert known.findings({"lacks": pd.DataFrame({"x": [1]})}) == {}
    ours = known.findings({"ours": pd.DataFrame({"x": [1, 2], "y": [2, 1]})})
    table = known.beside({("e",): ours, ("none",): {}}, {"rises-x": ours["rises-x"]}, ["encoder"])
    assert table[["encoder", "id", "holds", "holds_published"]].astype(object).values.tolist() == [
        ["e", "rises-x", True, True],
        ["e", "rises-y", False, pd.NA],
        ["none", "rises-x", pd.NA, True],
    ]
    assert table["exceptions_published"].tolist() == ["", "", ""]
