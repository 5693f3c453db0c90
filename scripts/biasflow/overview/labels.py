"""Labels beside the points of a drawing, such that no label covers another or a point."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin

LETTER, LINE = 6.9, 14  # the room that a letter and a line take in pixels, at a font of 11 pixels
MARK = 7  # half the side of the square that a point takes
LONGEST = 30  # letters of a label
DISTANCES = (10, 16, 24, 34, 46, 60, 76, 94, 114, 136, 160, 190)  # of a label's nearest side from its point
DIRECTIONS = sorted(
    (number * pi / 8 for number in range(16)), key=lambda angle: round(abs(sin(angle)), 6)
)  # beside first
NEAR = DISTANCES[0]  # up to which distance a label needs no line to its point

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Label:
    """Where the text of a point begins (its baseline), and the line to its point (x1, y1, x2, y2) if it is away."""

    point: str
    text: str
    x: float
    y: float
    leader: Box | None


def labels(points: Sequence[tuple[str, float, float]], bars: Iterable[Box], frame: Box) -> list[Label]:
    """A label for each of the points (name, x, y), in their order, as near to its point as there is room.

    No label overlaps another or the mark of any point, and all lie in the frame; of places that are about equally near,
    the one that crosses the fewest `bars` and is not nearer to other points. A label that is not beside its point, or
    is nearer to another one, has a line to it. A point for whose label there is no room has none. Names of more than
    LONGEST letters are cut."""
    marks = [(x - MARK, y - MARK, x + MARK, y + MARK) for _, x, y in points]
    bars, taken, placed = list(bars), list(marks), []
    for name, x, y in points:
        text = name if len(name) <= LONGEST else name[: LONGEST - 1] + "\u2026"
        free = [
            (distance + 4 * sum(_overlap(box, bar) for bar in bars) + 8 * _rivals(box, (x, y), points), box, distance)
            for distance in DISTANCES
            for box in _around(x, y, len(text) * LETTER, distance)
            if _inside(box, frame) and not any(_overlap(box, other) for other in taken)
        ]
        if not free:
            continue
        _, box, distance = min(free, key=lambda place: place[0])
        taken.append(box)
        end = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
        beside = distance <= NEAR and not _rivals(box, (x, y), points)
        leader = None if beside else tuple(round(part, 1) for part in (x, y, *end))
        placed.append(Label(name, text, round(box[0] + 1, 1), round(box[3] - 3, 1), leader))
    return placed


def _around(x: float, y: float, width: float, distance: float) -> Iterable[Box]:
    """Boxes of a label around a point: in each direction the nearest edge or corner is `distance` away."""
    for angle in DIRECTIONS:
        across, up = cos(angle), sin(angle)
        centre_x = x + across * distance + (width / 2) * max(-1.0, min(1.0, 2 * across))
        centre_y = y - up * distance - (LINE / 2) * max(-1.0, min(1.0, 2 * up))
        yield centre_x - width / 2, centre_y - LINE / 2, centre_x + width / 2, centre_y + LINE / 2


def _rivals(box: Box, point: tuple[float, float], points: Sequence[tuple[str, float, float]]) -> int:
    """How many points are nearer to a box than its own."""
    distance = _apart(box, *point)
    return sum(_apart(box, x, y) < distance for _, x, y in points)


def _apart(box: Box, x: float, y: float) -> float:
    """How far a point is from a box."""
    return hypot(max(box[0] - x, 0, x - box[2]), max(box[1] - y, 0, y - box[3]))


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _inside(a: Box, b: Box) -> bool:
    return a[0] >= b[0] and a[1] >= b[1] and a[2] <= b[2] and a[3] <= b[3]
