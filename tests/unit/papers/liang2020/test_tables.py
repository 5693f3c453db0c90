"""Tables and figures by encoder, method and place, printed values beside ours, and what was not run."""

import re

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.papers.liang2020 import figures, placed, tables
from biasflow.papers.make import make_paper
from biasflow.papers.paper import load
from biasflow.papers.rows import function_of
from biasflow.results.scores import concatenate
from tests.unit.papers.files import files_in
from tests.unit.papers.liang2020.made_up import PLACES, run, scores


@pytest.fixture(scope="module")
def tiny():
    return scores()


def with_value(frame, value, **keys):
    """`frame` with the value of the one row that has these keys replaced."""
    chosen = frame[[*keys]].eq(pd.Series(keys)).all(axis=1)
    assert chosen.sum() == 1
    return frame.assign(value=frame["value"].where(~chosen, value))


def test_an_exact_p_of_0_is_its_bound_before_and_after_correction():
    frame = with_value(scores(), 0, metric="weat_p_value", dataset="C6", method="none")
    row = tables.association(run(frame)).set_index(["method", "test"]).loc[("none", "C6")]
    assert (row["p_value"], row["p_value_bound"]) == (1 / 12870, "<")
    assert row["p_holm"] == pytest.approx(row["tests"] / 12870)


def test_a_test_without_p_is_none_of_those_that_are_corrected_for():
    frame = with_value(scores(), np.nan, metric="weat_p_value", dataset="C6", method="none")
    rows = tables.association(run(frame))
    rows = rows[rows["method"] == "none"]
    assert (rows["verdict"] == "not testable").sum() == 1 and set(rows["tests"]) == {len(rows) - 1}


@pytest.mark.parametrize("other", ["majority_p", "accuracy_change"])
def test_glue_shows_official_metrics_alone(other, tiny):
    """What else is scored of the same predictions would have rows of its own, and one metric would count as several."""
    of_glue = tiny[tiny["task"].isin(["cola", "rte"]) & (tiny["metric"] == "accuracy")]
    table = tables.glue(run(concatenate([tiny, of_glue.assign(metric=other)])))
    pd.testing.assert_frame_equal(table, tables.glue(run(tiny)))


def test_methods_are_compared_over_the_seeds_that_they_share(tiny):
    """Another paper may have asked for more seeds of the untouched encoder."""
    more = (tiny["task"] == "rte") & (tiny["seed"] == "2") & (tiny["method"] != "none")
    glue = tables.glue(run(tiny[~more])).set_index(["task", "method"])
    assert set(glue.loc["rte", "seeds"]) == {1} and set(glue.loc["cola", "seeds"]) == {2}


def test_two_values_for_a_cell_are_an_error(tiny):
    twice = concatenate([tiny, tiny[tiny["dataset"] == "professions"].assign(variant="later")])
    with pytest.raises(BiasflowError, match=r"encoder tiny.*method"):
        tables.occtmp(run(twice))


def test_methods_and_encoders_that_are_not_of_this_paper_do_not_matter(tiny):
    grid = tiny[tiny["method"] == "hard"].assign(method="dawkins2024", setting="sent 0")
    other = tiny[(tiny["method"] == "none") & (tiny["encoder"] == "tiny")].assign(encoder="other")
    random = tiny[(tiny["metric"] == "occtmp_diff") & (tiny["method"] == "none")].assign(strategy="random", seed="0")
    more = run(concatenate([tiny, grid, other, random]), encoders=["tiny"])
    text = load("liang2020")
    for target in text.tables.values():
        function = function_of(text, target)
        pd.testing.assert_frame_equal(function(more), function(run(tiny)))


def test_placements_and_options_of_one_eraser_stand_side_by_side():
    places = PLACES | {"mine": "all", "densray-last": "last", "densray-plain": "all"}
    densray = {"eraser": "densray"}
    about = {"mine": densray, "densray-last": densray, "densray-plain": densray | {"options": "normalize=false"}}
    made = run(scores(encoder="bert-base-uncased", methods=tuple(places)), places=places, about=about)
    table = tables.perplexity(made).set_index(["stage", "method"]).loc[placed.FINETUNED]
    assert table.index.tolist()[:7] == [*places]
    assert table.loc["densray-plain", placed.PLACEMENT].tolist() == ["densray (normalize=false)", "all"]
    # What is printed belongs to eraser and places, whatever the method is called.
    assert table.loc[["densray", "mine"], "batch_perplexity_published"].tolist() == [3.8058] * 2
    assert table.loc[["densray-last", "densray-plain"], "batch_perplexity_published"].isna().all()
    assert tables.occtmp(made).groupby("set")["method"].apply(list).tolist() == [[*places]] * 2


@pytest.fixture(scope="module")
def two():
    return concatenate([scores(layers=12), scores(encoder="b", layers=4)])


def test_a_row_of_panels_per_encoder_with_every_layer_and_both_lines(two):
    axes = figures.occtmp_by_layer(run(two)).axes
    assert len(axes) == 4
    diff, signed = axes[2:]  # encoder "tiny"
    points = next(line for line in diff.lines if len(line.get_xdata()) == 12)
    # The maker gives layer i the value 0.3 + i / 10.
    assert points.get_xdata().tolist() == list(range(12))
    assert points.get_ydata() == pytest.approx(0.3 + np.arange(12) / 10)
    dashed = {line.get_ydata()[0] for line in diff.lines if line.get_linestyle() == "--"}
    assert dashed == {0.111}
    level = [line.get_ydata()[0] for line in diff.lines if len(line.get_xdata()) == 2]
    assert sorted(level) == pytest.approx([0.111, 0.141])  # none, all layers
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["0", "1", "2", "3"]
    assert any(line.get_ydata()[0] == 0 for line in signed.lines)


def test_the_untouched_encoder_is_needed(two):
    without = two[~((two["encoder"] == "b") & (two["method"] == "none"))]
    with pytest.raises(BiasflowError, match=r"encoder b.*none"):
        figures.occtmp_by_layer(run(without))


def test_heat_maps_of_heads_and_outputs(two):
    heads, outputs, tiny_heads, tiny_outputs, *bars = figures.gender_shares(run(two)).axes
    assert len(bars) == 1
    mesh = tiny_heads.collections[0].get_array()
    # The maker gives layer i and head k the value i / 10 + k / 20, and the output 0.2 + i / 10.
    assert mesh.shape == (12, 2) and mesh[11, 1] == pytest.approx(1.15) and mesh[0, 0] == 0
    assert np.asarray(tiny_outputs.collections[0].get_array())[:, 0] == pytest.approx(0.2 + np.arange(12) / 10)
    assert heads.collections[0].get_array().shape == (4, 2)
    assert {panel.collections[0].get_clim() for panel in (heads, outputs, tiny_heads, tiny_outputs)} == {(0, 1.3)}
    assert [text.get_text() for text in outputs.texts] == ["0.20", "0.30", "0.40", "0.50"]


def tokens(page):
    """(text, score, background) of every coloured token."""
    found = re.findall(r'<span([^>]*title="([^"]*)"[^>]*)>([^<]*)</span>', page)
    return [(text, float(score), re.search('background: ([^";]*)', about)[1]) for about, score, text in found]


def write_pieces(pieces, path, cut=()):
    """What the readout writes of one method."""
    frame = pd.DataFrame(pieces, columns=["sentence", "piece", "score"])
    about = {"method": "densray", "setting": "-", "place": "layer[3]", "truncated": frame["sentence"].isin(cut)}
    write_parquet(frame.assign(**about), path)


def test_the_page_reads_the_pieces_of_every_encoder_and_sorts_the_sentences(tmp_path):
    for name, shift in (("tiny", 0.0), ("b", 5.0)):
        pieces = [(0, "she", 0.9 + shift), (0, "NA", 0.1 + shift), (7, "he", -0.9 + shift), (7, "##s", shift)]
        write_pieces(pieces, tmp_path / f"{name}.parquet")
    files = {"token_scores": {name: tmp_path / f"{name}.parquet" for name in ("tiny", "b")}}
    html = figures.sentences(run(scores(measures=["occtmp"]), files=files), "A caption.")
    found = [(text, score) for text, score, _ in tokens(html)]
    assert found[:4] == [("he", -0.9), ("##s", 0.0), ("she", 0.9), ("NA", 0.1)]
    assert found[4:] == [(text, score + 5) for text, score in found[:4]]
    assert (
        "<h2>tiny, densray, layer[3]</h2>" in html
        and "<h2>b, densray, layer[3]</h2>" in html
        and "<p>A caption.</p>" in html
    )
    # Every encoder has a scale of its own.
    colours = [colour for *_, colour in tokens(html)]
    assert colours[:4] == colours[4:]


def test_a_score_that_is_not_finite_is_named(tmp_path):
    files = {"token_scores": {"tiny": tmp_path / "tiny.parquet"}}
    write_pieces([(0, "she", 0.9), (0, "NA", np.nan)], files["token_scores"]["tiny"])
    with pytest.raises(BiasflowError, match=r"tiny, densray, layer\[3\]: a score is not finite"):
        figures.sentences(run(scores(measures=["occtmp"]), files=files), "")


def test_the_whole_paper_is_made_where_one_of_its_encoders_was_not_run(tmp_path):
    write_pieces([(0, "she", 0.5)], tmp_path / "tokens.parquet")
    files = {"token_scores": {"tiny": tmp_path / "tokens.parquet"}}
    text = load("liang2020")
    made = files_in(text, tmp_path)
    make_paper(text, run(scores(layers=1), files=files, encoders=["tiny", "gone"]), made)
    assert len(made) > 5 and all(file.stat().st_size > 100 for paths in made.values() for file in paths)
