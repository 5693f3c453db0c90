import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from biasflow.papers.dawkins2024.correlations import with_printed
from biasflow.papers.dawkins2024.figures import strength_distance, strength_fairness
from biasflow.papers.dawkins2024.rows import DURING, HEADS
from biasflow.papers.dawkins2024.table7 import table7
from biasflow.results.figures import save_figure
from tests.unit.papers.dawkins2024.made_up import (
    AUTHORS,
    BERT,
    NO_HEAD,
    NOTHING,
    PRINTED,
    inside_scores,
    nli_scores,
    of_levels,
    run_of,
    together,
)


@pytest.fixture(scope="module")
def planted():
    about = {"tiny": {"layers": "4"}}
    return run_of(inside_scores(), not_run=NO_HEAD, about=about)


@pytest.fixture(scope="module")
def one(planted):
    return strength_distance(planted)


def test_every_setting_is_drawn_with_its_published_value():
    run = run_of(inside_scores(sets=(AUTHORS,)), about={"tiny": BERT})
    block, one = table7(run), strength_distance(run)
    assert "published" in [text.get_text() for text in one.legends[0].get_texts()]
    for axes, measure in zip(one.axes, ("strength", "distance"), strict=True):
        points = [np.asarray(collection.get_offsets()) for collection in axes.collections]
        published, ours = points[0], np.concatenate(points[1:])
        assert ours[np.argsort(ours[:, 0]), 1].tolist() == block[measure].tolist()
        assert published[:, 1].tolist() == PRINTED[measure].tolist()
        assert len(set(ours[:, 0])) == 76
        assert axes.lines[0].get_ydata()[0] == block[measure].iloc[0]


def test_no_mark_of_the_paper_beside_another_encoder_or_other_stimuli(one):
    for figure in (one, strength_distance(run_of(inside_scores(), about={"tiny": BERT}))):
        assert all(np.isnan(np.asarray(axes.collections[0].get_offsets())[:, 1]).all() for axes in figure.axes)
        assert "published" not in [text.get_text() for text in figure.legends[0].get_texts()]


def test_text_is_legible_and_does_not_overlap(one):
    canvas = FigureCanvasAgg(one)
    canvas.draw()
    renderer = canvas.get_renderer()
    labels = one.axes[1].get_xticklabels()
    boxes = [label.get_window_extent(renderer) for label in labels]
    assert len(boxes) == 76
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
    texts = [*labels, *(text for axes in one.axes for text in axes.texts), *one.legends[0].get_texts()]
    assert min(text.get_fontsize() for text in texts) >= 7


def test_axes_say_what_they_show(one):
    assert [axes.get_ylabel().split()[0] for axes in one.axes] == ["Strength", "Distance"]
    assert "n_3, c_3, n_4, c_4" in one.axes[1].get_xlabel()  # an encoder of four layers
    assert [text.get_text() for text in one.axes[0].texts] == ["layer-4", "layer-3", "layer-3+attention"]
    of_unknown_depth = strength_distance(run_of(inside_scores()))
    assert "n_last, c_last" in of_unknown_depth.axes[1].get_xlabel()


def test_several_encoders_or_stimuli_have_a_row_each():
    run = run_of(inside_scores(sets=("planted", "authors")), not_run=NO_HEAD)
    assert len(strength_distance(run).axes) == 4


def test_without_scores_the_figure_says_why():
    (text,) = strength_distance(run_of(NOTHING, not_run=NO_HEAD)).texts
    assert "roberta" in text.get_text() and "no NSP head" in text.get_text()


@pytest.fixture(scope="module")
def fair():
    retrained = nli_scores(reading=HEADS["retrained"])
    return run_of(together(inside_scores(), nli_scores(shift=0.05), retrained))


def test_fairness_has_a_row_of_panels_for_ours_and_for_the_printed(fair):
    figure = strength_fairness(fair)
    assert len(figure.axes) == 4
    rows = with_printed(fair)
    main = rows[rows["interventions"] == HEADS["own"]]
    for axes, (encoder, measure) in zip(
        figure.axes, itertools.product(("tiny", "printed"), ("strength", "distance")), strict=True
    ):
        block = main[main["encoder"] == encoder]
        points = np.concatenate([np.asarray(collection.get_offsets()) for collection in axes.collections])
        expected = block[[measure, "fairness"]].to_numpy()
        assert np.array_equal(points[np.lexsort(points.T)], expected[np.lexsort(expected.T)])
        filled = sum((collection.get_facecolors()[:, 3] > 0).sum() for collection in axes.collections)
        assert filled == (block["viable"] == "yes").sum() == 22
    title = figure.axes[2].get_title(loc="left").splitlines()
    assert [line.split(":")[0] for line in title] == ["all", "viable"]
    assert "-0.038, n = 76" in title[0] and "-0.754, n = 22" in title[1]


def test_the_fairness_figure_stands_without_scores_of_our_own():
    assert len(strength_fairness(run_of(NOTHING, not_run=NO_HEAD)).axes) == 2


def test_further_readings_are_not_drawn_twice():
    some = of_levels("layer-12")
    scores = together(inside_scores(), nli_scores(), nli_scores(reading=DURING, settings=some))
    figure = strength_distance(run_of(scores, settings_in_training=some))
    assert sum(len(collection.get_offsets()) for collection in figure.axes[0].collections) == 2 * 76


@pytest.mark.parametrize("draw", [strength_distance, strength_fairness])
def test_the_same_bytes_again(fair, draw, tmp_path):
    for name in ("a", "b"):
        save_figure(draw(fair), tmp_path / f"{name}.svg", tmp_path / f"{name}.pdf")
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    ElementTree.parse(tmp_path / "a.svg")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert b"Date" not in (tmp_path / "a.pdf").read_bytes()
