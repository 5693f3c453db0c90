"""The picture of methods: its rows, marks and colours, and the legend, which names the marks that are drawn."""

from dataclasses import replace

import pytest

from biasflow.overview.helps import Change, MethodRow
from biasflow.overview.judgements import FARTHER, HELPS, NEARER, VIABLE
from biasflow.overview.pictures import methods_picture
from biasflow.registry import ERASERS, STRATEGIES
from biasflow.results.draws import beyond
from biasflow.results.figures import METHODS, colour_of

CHANGED = Change("GEST rate", 1.2, 0.9)


def row(
    name, farther=False, past=False, helped=False, setting=False, control="", left=0.5, lost=0.01, same_as="", **more
):
    shares = (
        (left, left - 0.1, left + 0.1),
        more.get("left_of", {"GEST rate": left}),
        "perplexity",
        (lost, lost - 0.02, lost + 0.01),
        {"perplexity": lost},
    )
    against = beyond(shares[0][0], [0.9, 1.0, 1.1, 1.0, 1.0], 1.0)
    of_control = control, against, more.get("weak_control", False)
    about = more.get("costs", (1, 1)), *of_control
    says = FARTHER if farther else HELPS if helped else NEARER
    return MethodRow(name, name, VIABLE, *shares, *about, [CHANGED._replace(says=says, past=past)], same_as, setting)


@pytest.mark.parametrize(
    ("more", "marks"),
    [
        (row("b", control="-"), set()),
        (row("b", control="-", helped=True), {"help, or loss, shown"}),
        (row("b", control="-", past=True), {"past neutral"}),
        (row("b", control="-", farther=True, past=True), {"score worse"}),  # the more serious mark alone
        (row("b", farther=True), {"no control"}),  # a square, whatever it does
        (row("a-random0", farther=True), {"control (random)"}),
        (row("b", control="-", left_of={"WEAT": 0.3, "GEST rate": 0.7}), {"one score"}),
        (row("setting 1", farther=True, setting=True), {"single setting"}),  # a small point, whatever it does
    ],
)
def test_the_legend_names_the_marks_that_are_drawn(more, marks):
    said = [text.get_text() for text in methods_picture([row("a", control="-"), more]).legends[0].get_texts()]
    rare = {"past neutral", "score worse", "no control", "control (random)", "single setting", "help, or loss, shown"}
    rare |= {"one score"}
    assert {mark for mark in rare if any(mark in text for text in said)} == marks


def test_a_method_is_a_row_with_its_control_and_what_is_known_against_it():
    rows = [
        row("free", left=0.2, past=True),  # without a control: below
        row("b", control="b-random0", weak_control=True, left=0.4, helped=True, same_as="free"),
        row("a", control="a-random0", left=0.3, lost=0.01),
        row("some", left=0.9, costs=(2, 4), left_of={"WEAT": 1.1, "GEST rate": 0.7}),
        row("b-random0", left=0.9),
        row("few", left=float("nan"), left_of={"WEAT": 0.1}),
    ]
    left, lost = methods_picture(rows).axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["b", "a", "free", "some", "few"]  # b helps
    texts = [text.get_text().replace("\n", " ") for text in left.texts]
    assert {"weak control; repeats free", "past neutral: GEST rate", "40 %", "(30 %)"} <= {
        *texts
    }  # help is shown of b alone
    assert {"2 of 4 costs", "some scores not run", "without GEST rate"} <= {*texts}
    assert any("no control" in text for text in texts)
    assert {"(90 %)", "(20 %)"} <= {*texts}
    (of_scores,) = (line.get_xdata() for line in left.lines if line.get_markersize() == 2.5)
    assert sorted(of_scores) == pytest.approx([70, 110])
    marks = {line.get_marker(): line for line in lost.lines if line.get_marker() != "None"}
    assert marks["|"].get_xdata()[0] == pytest.approx(1)
    means = [line for line in left.lines if line.get_marker() in "os" and line.get_markersize() == 6]
    filled = [line.get_markerfacecolor() != "#FFFFFF" for line in means]
    assert filled == [True, False, False, False]


def test_help_is_not_filled_where_the_whole_bias_may_be_left():
    sure, unsure = row("a", helped=True), row("b", helped=True)
    assert sure.leaves_less and not replace(unsure, left=(0.5, 0.1, 1.1)).leaves_less
    assert not replace(
        sure, against=beyond(0.5, [0.4, 0.6, 0.8, 1.0, 1.0], 1.0)
    ).leaves_less  # as a draw of its control
    assert not replace(sure, left_of={"WEAT": 0.5}).leaves_less  # it helps a score that does not judge


@pytest.mark.parametrize(("costs", "title"), [((1, 1), "perplexity"), ((1, 2), "worst cost")])
def test_the_only_cost_of_a_run_is_named(costs, title):
    assert title in methods_picture([row("a", costs=costs)]).axes[1].get_title()


def test_methods_which_are_not_ranked_have_one_colour_on_the_page():
    axes = methods_picture([row("hard-last"), row("mean-projection"), row("leace")]).axes[1]
    assert len({line.get_color() for line in axes.lines if line.get_marker() == "o"}) == 1


def test_a_method_has_the_colour_of_its_eraser_in_the_figures_of_papers():
    assert colour_of("hard-last") == colour_of("hard") != colour_of("leace")
    erasers = [name.replace("_", "-") for name in ERASERS if name != "random"]
    assert len({colour_of(name) for name in erasers}) == len(erasers)
    assert len({colour_of(name) for name in list(STRATEGIES)[:12]}) == 12
    assert colour_of("adversarial") == colour_of(STRATEGIES["adversarial"].label)  # as paper C's figures name it
    assert colour_of("mine") == colour_of("mine")


def test_more_strategies_than_colours_share_those_of_others(monkeypatch):
    for number in range(30):
        monkeypatch.setitem(STRATEGIES, f"mine {number}", replace(STRATEGIES["plain"], label=f"one of mine {number}"))
    assert {colour_of(f"mine {number}") for number in range(30)} == set(METHODS)
