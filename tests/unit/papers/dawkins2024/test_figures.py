import itertools

import numpy as np
import pytest

from biasflow.papers.dawkins2024.figures import strength_distance, strength_fairness
from biasflow.papers.dawkins2024.grid import HEADS
from biasflow.papers.dawkins2024.tables import table7
from biasflow.papers.dawkins2024.text import with_printed
from tests.unit.papers.dawkins2024.made_up import (
    AUTHORS,
    BERT,
    PRINTED,
    inside_scores,
    nli_scores,
    run_of,
    together,
)


def test_every_setting_is_drawn_with_its_published_value():
    run = run_of(inside_scores(sets=(AUTHORS,)), about={"tiny": BERT})
    block = table7(run)
    for axes, measure in zip(strength_distance(run).axes, ("strength", "distance"), strict=True):
        published, *ours = (np.asarray(collection.get_offsets()) for collection in axes.collections)
        ours = np.concatenate(ours)
        assert ours[np.argsort(ours[:, 0]), 1].tolist() == block[measure].tolist()
        assert published[:, 1].tolist() == PRINTED[measure].tolist()


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
