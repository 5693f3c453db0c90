import numpy as np
import pytest

from tests.unit.papers.orgad2022.made_up import FIGURES, run, scores, with_diverged

PARTS = ["before", "after", "compression", "training"]


def made(**options):
    return scores(**({"tests": (), "probes": (0,), "heads": (0, 1, 2), "parts": PARTS} | options))


@pytest.fixture(scope="module")
def tiny():
    return made()


def points_of(axes):
    found = [np.ma.getdata(collection.get_offsets()) for collection in axes.collections]
    return np.concatenate([offsets for offsets in found if len(offsets)])


def test_figure_3_has_a_point_per_model_and_a_box_per_retrained_encoder(tiny):
    before, after = FIGURES["figure3_scrubbed"](run(tiny)).axes
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
    assert points_of(FIGURES["figure3"](run(tiny)).axes[0])[-1].tolist() == pytest.approx(
        [9.2, 4.02]
    )  # tested on raw texts
    heights = [(box[:, 1].min(), box[:, 1].max()) for box in boxes]
    assert heights[0] == pytest.approx((1.5005, 1.5015))


def test_diverged_seeds_are_not_drawn(tiny):
    before, after = FIGURES["figure3"](run(with_diverged(tiny, "scrubbing", 5))).axes
    assert len(points_of(before)) == 11 and len(after.patches) == 11
