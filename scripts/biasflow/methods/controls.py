"""The names of controls: a method with random directions in the place of those that it takes out."""

import re

# Suffixes of a method's name: as many random directions, or, matched, so many that vectors move as far. A number behind
# it is that of a single draw; without one they are all draws, a setting each.
RANDOM, MATCHED = "-random", "-matched"
# The first: the method of the eraser of that name.
CONTROL = re.compile(rf"random|(?P<of>.+){RANDOM}(?P<matched>{MATCHED})?\d*")


def control_of(name: str) -> str | None:
    """Return the method of which the method `name` is a control (random directions in its place); "" if of no method in
    particular, None if it is no control."""
    control = CONTROL.fullmatch(name)
    return control and (control["of"] or "")


def is_matched(name: str) -> bool:
    """Whether the method of this name is a control that moves vectors as far as its method does."""
    control = CONTROL.fullmatch(name)
    return bool(control and control["matched"])


def draw_name(seed: int) -> str:
    """The setting of a control that is one of its draws."""
    return f"draw{seed}"
