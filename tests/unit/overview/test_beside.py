"""Runs beside each other: what is said of seeds, and what is drawn."""

from itertools import combinations

import pandas as pd
import pytest

from biasflow.overview.beside import bases, not_compared, of_runs, trained, verdicts
from biasflow.overview.pictures import beside_picture
from biasflow.results.scores import tidy, write_scores

NAMES = ("one", "two")


def crows_pairs(folder, value: float, seeds: int = 1):
    """The scores of a run whose encoders differ in their seeds alone, and its folder."""
    about = {"metric": "crows_pairs_score", "part": "all", "variant": "exact", "method": "none"}
    rows = [
        {**about, "encoder": f"bert{seed}", "value": value, "low": value - 0.05, "high": value + 0.05, "n": 262}
        | {"dataset": dataset}
        for seed in range(seeds)
        for dataset in (
            "crows-pairs-gender-limit100",
            "crows-pairs-gender",
        )  # a sample beside all counts no second time
    ]
    folder.mkdir()
    scores = tidy(pd.DataFrame(rows))
    write_scores(scores, folder / "scores.csv")
    names = [
        f"bert{seed},encoder,{attribute}" for seed in range(seeds) for attribute in ("source,pretrain", f"seed,{seed}")
    ]
    (folder / "names.csv").write_text("name,kind,attribute,value\n" + "\n".join(names) + "\n")
    return folder, scores


@pytest.mark.parametrize("seeds", [1, 3])
def test_that_no_other_seed_was_tried_is_said_with_what_one_moved_elsewhere(tmp_path, seeds):
    runs = [crows_pairs(tmp_path / "one", 0.75, seeds), crows_pairs(tmp_path / "two", 0.5)]
    (row,) = of_runs(NAMES, *zip(*runs, strict=True))
    (pair,), sides = row.pairs, row.sides
    assert pair.more == "one" and [side.shown for side in sides.values()] == [True, False]
    assert sides["one"].place == pytest.approx(0.5)  # half of the way from 0.5 to 1
    said = dict(verdicts([row], NAMES))
    assert "CrowS-Pairs" in said["one is more biased by:"] and "two is more biased by:" not in said
    assert ("seeds:" in said) == (seeds == 1)
    if seeds == 1:
        assert "0.02 (splade-tiny)" in said["seeds:"] and "items alone" in said["seeds:"]


def test_a_score_that_the_page_of_a_run_does_not_trust_is_marked_in_words_and_picture(tmp_path):
    runs = [crows_pairs(tmp_path / "one", 0.75), crows_pairs(tmp_path / "two", 0.5)]
    (tmp_path / "two" / "encoders.csv").write_text("encoder,masked_lm_head,sha256\nbert0,yes,\n")
    (row,) = rows = of_runs(NAMES, *zip(*runs, strict=True))
    assert [side.less_evidence for side in row.sides.values()] == [
        False,
        True,
    ]  # the other run does not say that it has a head
    assert verdicts(rows, NAMES)[0][1] == "CrowS-Pairs (less evidence)"
    legend = [text.get_text() for text in beside_picture(rows, NAMES).legends[0].get_texts()]
    assert any("less evidence" in text for text in legend)


def test_the_picture_has_both_runs_and_says_which_is_more_biased(tmp_path):
    runs = [crows_pairs(tmp_path / "one", 0.75), crows_pairs(tmp_path / "two", 0.5)]
    figure = beside_picture(of_runs(NAMES, *zip(*runs, strict=True)), NAMES)
    (axes,) = figure.axes
    marks = {line.get_marker(): line.get_xdata()[0] for line in axes.lines if line.get_marker() != "None"}
    assert marks == pytest.approx({"o": 0.5, "s": 0.0})
    assert [text.get_text() for text in axes.texts] == ["0.75 more", "0.50"]
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["one", "two"]


def test_what_is_not_compared_is_named(tmp_path):
    (one, first), (two, second) = crows_pairs(tmp_path / "one", 0.75), crows_pairs(tmp_path / "two", 0.5)
    seat = {"metric": "seat_effect_size", "part": "-", "variant": "cls", "method": "none", "encoder": "bert0", "n": 128}
    more = [tidy(pd.DataFrame([{**seat, "dataset": name, "value": 1.2}])) for name in ("sent-weat6", "sent-weat6-mean")]
    tables = [pd.concat(pair) for pair in zip((first, second), more, strict=True)]
    assert not_compared(of_runs(NAMES, (one, two), (first, second)), (first, second)) == {}
    assert not_compared(of_runs(NAMES, (one, two), tables), tables) == {"SEAT": "of other models, data or vectors"}
    assert not_compared(of_runs(NAMES, (one, two), (tables[0], second)), (tables[0], second)) == {
        "SEAT": "in one run alone"
    }


def test_several_runs_are_compared_two_by_two_and_corrected_over_all_pairs(tmp_path):
    values = {"one": 0.75, "two": 0.5, "three": 0.52}
    runs = [crows_pairs(tmp_path / name, value) for name, value in values.items()]
    (row,) = rows = of_runs([*values], *zip(*runs, strict=True))
    assert [pair[:2] for pair in row.pairs] == [*combinations(values, 2)]
    assert [pair.more for pair in row.pairs] == ["one", "one", ""]
    said = dict(verdicts(rows, [*values]))
    assert {"one is more biased than two by:", "one is more biased than three by:"} <= {*said}
    (axes,) = beside_picture(rows, [*values]).axes
    assert [text.get_text() for text in axes.texts] == ["0.75 more", "0.50", "0.52"]


@pytest.mark.parametrize("names", [("tuned", "base", "other"), ("other", "base", "tuned")])
@pytest.mark.parametrize(
    ("value", "shown", "change"), [(0.5, "less biased", -0.25), (0.9, "more biased", 0.15), (0.76, "", 0.01)]
)
def test_what_training_did_is_the_change_of_the_distance_from_neutral(tmp_path, names, value, shown, change):
    """From 0.75, whichever run is named first."""
    values = {name: {"tuned": value, "base": 0.75, "other": 0.9}[name] for name in names}
    runs = [crows_pairs(tmp_path / name, value) for name, value in values.items()]
    (one,) = trained(of_runs([*values], *zip(*runs, strict=True)), {"tuned": "base"})
    of = one.changes["CrowS-Pairs"]
    assert (of.before, of.after, of.shown) == (0.75, value, shown)
    assert of.by == pytest.approx(change) and of.low < of.by < of.high
    assert (one.in_short == "no change shown for 1 of 1 measures") == (not shown)
    assert one.in_short.startswith(shown)


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("bert", "one"),
        ("owner/bert", "one"),
        ("other/bert", ""),
        ("folder/of/mine", "two"),
        ("elsewhere", ""),
        ("", ""),
    ],
)
def test_the_base_of_an_encoder_is_found_by_name_id_or_folder(base, found):
    encoders = {"one": {"source": "hub", "id": "owner/bert"}, "two": {"path": "/the/folder/of/Mine"}}
    assert bases(encoders | {"tuned": {"base": base}}) == ({"tuned": found} if found else {})
