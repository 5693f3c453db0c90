import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.dawkins2024 import figures
from scripts.biasflow.papers.dawkins2024.correlations import with_printed
from scripts.biasflow.papers.dawkins2024.tables import table7
from scripts.biasflow.results.scores import concatenate
from tests.unit.synthetic_nli import nli_scores
from tests.unit.synthetic_nsp import PRINTED, scores


@pytest.fixture(scope="module")
def rows():
    return table7(scores(sets=("planted", "authors")), PRINTED, not_run={"roberta": "no NSP head"})


@pytest.fixture(scope="module")
def one(rows):
    return figures.strength_distance(rows[rows["stimuli"] == "planted"])


def calibration():
    return pd.DataFrame(
        {"measure": measure, "bias": bias, "seed": seed, "value": bias + seed / 10}
        for measure in ("strength", "distance", "stereotype_score", "weat")
        for bias in (0, 0.5, 1)
        for seed in (1, 2)
    )


def test_every_setting_is_drawn_with_its_published_value(one, rows):
    block = rows[rows["stimuli"] == "planted"]
    for axes, measure in zip(one.axes, ("strength", "distance"), strict=True):
        points = [np.asarray(collection.get_offsets()) for collection in axes.collections]
        published, ours = points[0], np.concatenate(points[1:])
        assert ours[np.argsort(ours[:, 0]), 1].tolist() == block[measure].tolist()
        assert published[:, 1].tolist() == PRINTED[measure].tolist()
        assert len(set(ours[:, 0])) == 76
        assert axes.lines[0].get_ydata()[0] == block[measure].iloc[0]


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
    assert "n_11" in one.axes[1].get_xlabel()


def test_one_block_at_a_time(rows):
    for wrong in (rows, rows[rows["status"] != "run"]):
        with pytest.raises(BiasflowError):
            figures.strength_distance(wrong)


def test_the_grid_has_a_row_per_encoder_and_stimuli_that_was_run(rows):
    assert len(figures.strength_distance_grid(rows).axes) == 4
    with pytest.raises(BiasflowError):
        figures.strength_distance_grid(rows[rows["status"] != "run"])


@pytest.fixture(scope="module")
def fair_rows():
    frames = [scores(), nli_scores(shift=0.05), nli_scores(stage="after")]
    return with_printed(table7(concatenate(frames), PRINTED), PRINTED)


def test_fairness_has_a_row_of_panels_for_ours_and_for_the_printed(fair_rows):
    figure = figures.strength_fairness(fair_rows)
    assert len(figure.axes) == 4
    main = fair_rows[fair_rows["interventions"] == "after fine-tuning"]
    for axes, (encoder, measure) in zip(
        figure.axes, itertools.product(("tiny", "printed"), ("strength", "distance")), strict=True
    ):
        block = main[main["encoder"] == encoder]
        points = np.concatenate([np.asarray(collection.get_offsets()) for collection in axes.collections])
        expected = block[[measure, "fairness"]].to_numpy()
        assert np.array_equal(points[np.lexsort(points.T)], expected[np.lexsort(expected.T)])
        filled = sum((collection.get_facecolors()[:, 3] > 0).sum() for collection in axes.collections)
        assert filled == (block["viable"] == "yes").sum() == 22
    assert "-0.038" in figure.axes[2].get_title(loc="left")


def test_the_fairness_figure_stands_without_scores_of_our_own(fair_rows):
    printed = fair_rows[fair_rows["encoder"] == "printed"]
    assert len(figures.strength_fairness(printed).axes) == 2
    with pytest.raises(BiasflowError):
        figures.strength_fairness(printed.head(0))


def test_further_readings_are_not_drawn_twice():
    frames = [scores(), nli_scores(), nli_scores(strategy="during_finetuning")]
    figure = figures.strength_distance(table7(concatenate(frames), PRINTED))
    assert sum(len(collection.get_offsets()) for collection in figure.axes[0].collections) == 2 * 76


def test_calibration_has_a_panel_per_measure():
    figure = figures.planted_calibration(calibration())
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["strength", "distance", "stereotype score", "weat"]
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([0.15, 0.65, 1.15])
    for wrong in (calibration().drop(columns="bias"), calibration().head(0)):
        with pytest.raises(BiasflowError):
            figures.planted_calibration(wrong)


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: figures.strength_distance_grid(r),
        lambda r: figures.planted_calibration(calibration()),
        lambda r: figures.strength_fairness(with_printed(r, PRINTED)),
    ],
)
def test_the_same_bytes_again(rows, draw, tmp_path):
    for name in ("a", "b"):
        figures.save_figure(draw(rows), tmp_path / f"{name}.svg", tmp_path / f"{name}.pdf")
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    ElementTree.parse(tmp_path / "a.svg")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert b"Date" not in (tmp_path / "a.pdf").read_bytes()
