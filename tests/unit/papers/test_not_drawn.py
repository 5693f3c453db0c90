"""Figures without anything to draw are known before the first job."""

from biasflow.asking.matrix import Cell, Model
from biasflow.papers.paper import PaperText, Target

ONE = [{"option": "extra"}, {"metric": "occtmp", "methods": ["densray-each"]}]


def lacking(options, *cells):
    text = PaperText("a2000", "T", "C", {}, {"one": Target("One.", needs=ONE), "two": Target("Two.")}, {}, {})
    return text.not_drawn(options, cells)


def cell(method="densray-each", **about):
    return Cell("block", Model("bert"), method, "occtmp", "professions", **about)


def test_a_need_is_an_option_or_a_cell_that_runs():
    assert lacking({"extra": True}, cell()) == {}
    assert lacking({}, cell()) == {"a2000_one": "not asked for: the key papers.a2000.extra is not set"}
    assert lacking({"extra": 1}, cell("none")) == {"a2000_one": "not asked for: occtmp under densray-each"}
    absent = cell(status="not run", reason="encoders.bert has no masked-LM head")
    assert lacking({"extra": 1}, absent) == {"a2000_one": "not run: encoders.bert has no masked-LM head"}
    assert lacking({"extra": 1}, absent, cell()) == {}
