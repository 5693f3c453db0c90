"""Labels of points: none covers another, a mark, or lies outside of the frame."""

import itertools

import hypothesis.strategies as st
from hypothesis import given, settings

from biasflow.overview.labels import LETTER, LINE, MARK, labels

FRAME = (60.0, 10.0, 700.0, 350.0)
POINTS = st.lists(st.tuples(st.text("abc -", max_size=40), st.floats(65, 690), st.floats(15, 345)), max_size=15)


def boxes(placed):
    return [(at.x - 1, at.y + 3 - LINE, at.x - 1 + len(at.text) * LETTER, at.y + 3) for at in placed]


def apart(a, b):
    slack = 0.2  # what is written is rounded
    return a[2] <= b[0] + slack or b[2] <= a[0] + slack or a[3] <= b[1] + slack or b[3] <= a[1] + slack


@given(POINTS)
@settings(deadline=None, max_examples=60)
def test_no_label_covers_anything(points):
    placed = boxes(labels(points, [], FRAME))
    marks = [(x - MARK, y - MARK, x + MARK, y + MARK) for _, x, y in points]
    for a, b in [*itertools.combinations(placed, 2), *itertools.product(placed, marks)]:
        assert apart(a, b)
    for box in placed:
        assert (
            FRAME[0] - 0.2 <= box[0]
            and FRAME[1] - 0.2 <= box[1]
            and box[2] <= FRAME[2] + 0.2
            and box[3] <= FRAME[3] + 0.2
        )


def test_a_label_that_is_nearer_to_another_point_has_a_line_to_its_own():
    placed = labels([("one", 300.0, 200.0), ("two", 308.0, 200.0), ("three", 304.0, 208.0)], [], FRAME)
    points = {"one": (300.0, 200.0), "two": (308.0, 200.0), "three": (304.0, 208.0)}
    for label, box in zip(placed, boxes(placed), strict=True):
        nearest = min(points, key=lambda name: apart_from(box, *points[name]))
        assert label.leader or nearest == label.point


def apart_from(box, x, y):
    return max(box[0] - x, 0, x - box[2]) ** 2 + max(box[1] - y, 0, y - box[3]) ** 2
