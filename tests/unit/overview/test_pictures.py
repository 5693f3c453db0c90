"""The legend of the picture of methods names the marks that are drawn."""

import pytest

from biasflow.overview.helps import Change, MethodRow
from biasflow.overview.judgements import VIABLE
from biasflow.overview.pictures import methods_picture
from biasflow.registry import ERASERS
from biasflow.results.figures import colour_of

CHANGED = [Change("GEST rate", 1.2, 0.9)]


def row(name, farther=(), past=(), helped=(), setting=False):
    shares = (0.5, 0.4, 0.6), "perplexity", (0.01, 0.0, 0.02)
    return MethodRow(name, name, VIABLE, *shares, "", helped, farther, past, setting)


@pytest.mark.parametrize(
    ("more", "marks"),
    [
        (row("b"), set()),
        (row("b", helped=CHANGED), {"helps"}),
        (row("b", past=CHANGED), {"past neutral"}),
        (row("b", farther=CHANGED, past=CHANGED), {"score worse"}),  # the more serious mark alone
        (row("a-random0", farther=CHANGED), {"control"}),
        (row("setting 1", farther=CHANGED, setting=True), {"single setting"}),  # a small point, whatever it does
    ],
)
def test_the_legend_names_the_marks_that_are_drawn(more, marks):
    said = [text.get_text() for text in methods_picture([row("a"), more]).legends[0].get_texts()]
    rare = ("past neutral", "score worse", "control", "single setting", "helps")
    assert {mark for mark in rare if any(mark in text for text in said)} == marks


def test_a_method_has_one_colour_in_every_figure():
    """Of its eraser, whatever stands beside it; a control has that of its method."""
    for rows in ([row("leace"), row("hard")], [row("hard-last"), row("mean-projection"), row("leace")]):
        (axes,) = methods_picture(rows).axes
        drawn = {text.get_text(): text.get_color() for text in axes.texts}
        assert drawn == {one.name: colour_of(one.name) for one in rows}
    assert colour_of("hard-last") == colour_of("hard") != colour_of("leace")
    erasers = [name.replace("_", "-") for name in ERASERS if name != "random"]
    assert len({colour_of(name) for name in erasers}) == len(erasers)
    assert colour_of("mine") == colour_of("mine")
