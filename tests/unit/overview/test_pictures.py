"""The legend of the picture of methods names the marks that are drawn."""

import pytest

from biasflow.overview.helps import Change, MethodRow
from biasflow.overview.judgements import VIABLE
from biasflow.overview.pictures import methods_picture

CHANGED = [Change("GEST rate", 1.2, 0.9)]


def row(name, farther=(), past=(), grid=False):
    return MethodRow(name, name, VIABLE, (0.5, 0.4, 0.6), "perplexity", (0.01, 0.0, 0.02), [], farther, past, grid)


@pytest.mark.parametrize(
    ("more", "marks"),
    [
        (row("b"), set()),
        (row("b", past=CHANGED), {"past neutral"}),
        (row("b", farther=CHANGED, past=CHANGED), {"score worse"}),  # the more serious mark alone
        (row("a-random0", farther=CHANGED), {"control"}),
        (row("setting 1", farther=CHANGED, grid=True), {"settings"}),  # a small point, whatever it does
    ],
)
def test_the_legend_names_the_marks_that_are_drawn(more, marks):
    said = [text.get_text() for text in methods_picture([row("a"), more]).legends[0].get_texts()]
    rare = ("past neutral", "score worse", "control", "settings")
    assert {mark for mark in rare if any(mark in text for text in said)} == marks
