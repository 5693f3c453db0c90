import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from biasflow.base.errors import BiasflowError
from biasflow.papers.orgad2022.figures import figure3, figure5, figure7
from biasflow.papers.orgad2022.fits import table2
from biasflow.results.figures import save_figure
from biasflow.results.scores import concatenate
from tests.unit.papers.orgad2022.made_up import run, scores, with_diverged, with_value, without

ALL = [figure3, figure5, figure7]
ENCODER_PANELS = {figure3: 2, figure5: 18, figure7: 6}
PARTS = ["before", "after", "compression", "training"]


def made(**options):
    return scores(**({"tests": (), "probes": (0,), "heads": (0, 1, 2), "parts": PARTS} | options))


@pytest.fixture(scope="module")
def tiny():
    return made()


def points_of(axes):
    found = [np.ma.getdata(collection.get_offsets()) for collection in axes.collections]
    return np.concatenate([offsets for offsets in found if len(offsets)])


def line_of(axes):
    return next(line for line in axes.lines if line.get_linestyle() == "--")


@pytest.mark.parametrize("function", ALL)
def test_panels_per_encoder(function, tiny):
    assert len(function(run(tiny)).axes) == ENCODER_PANELS[function]
    both = function(run(concatenate([tiny, made(encoder="b", seeds=(0, 1))])))
    assert len(both.axes) == 2 * ENCODER_PANELS[function]
    named = {text.get_text() for axes in both.axes for text in axes.texts}
    assert {"tiny", "b"} <= named


def test_figure_3_has_a_point_per_model_and_a_box_per_retrained_encoder(tiny):
    before, after = figure3(run(tiny), tested="scrubbed").axes
    found = points_of(before)
    # Compression 3 + 2 s + j / 10; TPR gap (P) 0.5 + s + j / 100: the fifth measure of the maker.
    assert found.shape == (12, 2)
    assert found[[0, -1]].ravel().tolist() == pytest.approx([3, 0.5, 9.2, 3.52])
    # Three heads: the median is the second one, at the compression of the encoder.
    boxes = [patch.get_path().vertices for patch in after.patches]
    assert len(boxes) == 12
    assert {round(float(box[:, 0].min() + np.ptp(box[:, 0]) / 2), 3) for box in boxes} == {
        round(3 + 2 * s + j / 10, 3) for s in range(4) for j in range(3)
    }
    assert points_of(figure3(run(tiny)).axes[0])[-1].tolist() == pytest.approx([9.2, 4.02])  # tested on raw texts
    heights = [(box[:, 1].min(), box[:, 1].max()) for box in boxes]
    assert heights[0] == pytest.approx((1.5005, 1.5015))


def test_colours_and_shapes_tell_strategies_apart(tiny):
    figure = figure3(run(tiny))
    assert len(figure.legends[0].get_texts()) == 4
    colors = {tuple(collection.get_edgecolor()[0]) for collection in figure.axes[0].collections}
    assert len(colors) == 4
    shapes = {handle.get_marker() for handle in figure.legends[0].legend_handles}
    assert len(shapes) == 4


def test_lines_and_r_squared_are_those_of_table_2(tiny):
    table = table2(run(tiny)).query("encoder == 'tiny' and tested == 'scrubbed'")
    row = table[(table["measure"] == "TPR gap (P)") & (table["intrinsic_variant"] == "released-mixed-last")].iloc[0]
    for axes, stage in zip(figure3(run(tiny), tested="scrubbed").axes, ("before", "after"), strict=True):
        assert f"{row[stage]:.3f}" in axes.get_title(loc="left")
        assert f"n = {row[f'n_{stage}']}" in axes.get_title(loc="left")
    x, y = line_of(figure3(run(tiny), tested="scrubbed").axes[0]).get_data()
    assert x == pytest.approx([3, 9.2]) and np.diff(y)[0] / np.diff(x)[0] == pytest.approx(0.5, abs=0.02)


def test_figure_5_has_nine_measures_before_and_after_on_one_axis(tiny):
    axes = figure5(run(tiny)).axes
    names = [panel.get_ylabel() for panel in axes[::2]]
    assert len(set(names)) == 9 and names[0] == "TPR gap (P)" and names[8] == "Sufficiency gap (S)"
    assert all(left.get_ylim() == right.get_ylim() for left, right in zip(axes[::2], axes[1::2], strict=True))
    assert len(points_of(axes[0])) == 12 and len(points_of(axes[1])) == 36


def test_figure_7_has_labour_statistics_and_says_what_the_data_shares_give(tiny):
    keys = {"variant": "labour", "head": "own", "strategy": "plain", "seed": "0", "metric": "tpr_gap_pearson"}
    marked = run(with_value(tiny, 2.5, **keys))
    axes = figure7(marked).axes
    assert points_of(axes[0])[0].tolist() == pytest.approx([3, 2.5]) and "labour" in axes[0].get_ylabel()
    main, reference = axes[0].get_title(loc="left").split("\n")
    other = figure5(marked).axes[0].get_title(loc="left")
    assert other.split("R\u00b2 = ")[1][:5] in reference and other.split("R\u00b2 = ")[1][:5] not in main


def test_diverged_seeds_are_not_drawn(tiny):
    before, after = figure3(run(with_diverged(tiny, "scrubbing", 5))).axes
    assert len(points_of(before)) == 11 and len(after.patches) == 11


def test_a_stage_that_was_not_run_says_so():
    before, after = figure3(run(made(parts=["before", "compression"]))).axes
    assert len(points_of(before)) == 12 and [text.get_text() for text in after.texts] == ["no scores"]


@pytest.mark.parametrize("count", [1, 2])
def test_few_seeds_are_drawn_too(count):
    few = made(seeds=range(count), heads=(0,), strategies=["plain"])
    figure = figure3(run(few))
    FigureCanvasAgg(figure).draw()
    assert f"too few models\nfor a line ({count})" in figure.axes[0].get_title(loc="left")


@pytest.mark.parametrize("count", [1, 4])
def test_titles_of_panels_beside_each_other_do_not_touch(count):
    figure = figure7(run(made(seeds=range(count), heads=(0,))))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    titles = [axes._left_title.get_window_extent(canvas.get_renderer()) for axes in figure.axes]
    assert len(titles) == 6 and all(a.x1 < b.x0 for a, b in itertools.pairwise(titles))


def test_the_same_scores_give_the_same_bytes(tiny, tmp_path):
    for name in ("a", "b"):
        save_figure(figure7(run(tiny)), tmp_path / f"{name}.svg", tmp_path / f"{name}.pdf")
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def text_of(figure):
    assert not figure.axes
    return " ".join(figure.texts[0].get_text().split())


def test_a_figure_without_a_point_says_why(tiny):
    undefined = run(tiny.assign(value=tiny["value"].mask(tiny["metric"].str.endswith("_pearson"))))
    for function in (figure3, figure7):
        assert "tiny: " in text_of(function(undefined))
    assert figure5(undefined).axes  # other measures are defined
    lacks = {("bios/plain/seed0", "compression"): "no probe"}
    unprobed = run(made(parts=["before", "after"]), lacks=lacks, not_run={"gone": "no weights"})
    for function in ALL:
        assert text_of(function(unprobed)) == "tiny: no probe; gone: no weights"
    assert "tiny: " in text_of(figure7(run(without(tiny, variant="labour"))))


def test_a_hole_is_an_error(tiny):
    hole = without(tiny, strategy="oversampling", head="retrained", seed="5", head_seed="1")
    with pytest.raises(BiasflowError, match="encoder tiny, strategy oversampling"):
        figure3(run(hole))


def test_no_line_and_no_r_squared_through_few_models(tiny):
    """Two strategies, three seeds: 6 models, and 18 heads on them, which are no further models."""
    few = replace(run(tiny), options={**run(tiny).options, "strategies": ["plain", "scrubbing"]})
    for axes in figure3(few).axes:
        assert axes.get_title(loc="left").endswith("too few models\nfor a line (6)")
        assert [line for line in axes.lines if line.get_linestyle() == "--"] == []
    assert any(line.get_linestyle() == "--" for line in figure3(run(tiny)).axes[0].lines)  # 12 models
