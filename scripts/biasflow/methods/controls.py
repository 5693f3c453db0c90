"""The names of controls: a method with random directions in the place of those that it takes out, or fitted to genders
that say nothing of a person."""

import re

# Suffixes of a method's name: as many random directions, or, matched, so many that vectors move as far; or the method
# itself, fitted to a task whose genders are permuted within each class. A number behind it is that of a single draw;
# without one they are all draws, a setting each.
RANDOM, MATCHED, PERMUTED = "-random", "-matched", "-permuted"
# The first: the method of the eraser of that name.
CONTROL = re.compile(rf"random|(?P<of>.+)({RANDOM}(?P<matched>{MATCHED})?|(?P<permuted>{PERMUTED}))\d*")


def control_of(name: str) -> str | None:
    """Return the method of which the method `name` is a control; "" if of no method in particular, None if it is no
    control."""
    control = CONTROL.fullmatch(name)
    return control and (control["of"] or "")


def is_matched(name: str) -> bool:
    """Whether the method of this name is a control that moves vectors as far as its method does."""
    control = CONTROL.fullmatch(name)
    return bool(control and control["matched"])


def draw_name(seed: int) -> str:
    """The setting of a control that is one of its draws."""
    return f"draw{seed}"


def is_permuted(name: str) -> bool:
    """Whether the method of this name is a control that is fitted to genders permuted within each class."""
    control = CONTROL.fullmatch(name)
    return bool(control and control["permuted"])
