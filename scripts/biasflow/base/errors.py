"""The exceptions that users see."""

import difflib
from collections.abc import Collection

FAILED = "failed: "  # how the reason of a cell begins that an error left empty


def printable(text: str) -> str:
    """A text in which nothing moves a cursor, changes a colour or ends a line: names in other people's files may hold
    such characters. They are shown as Python writes them, such as \\x1b."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class BiasflowError(Exception):
    """An error that a user can mend: one line that names the file, key, row or model and says what to do. Details are
    its notes, which stand in the log."""

    def __init__(self, message: str):
        super().__init__(printable(message))


class AbsentError(BiasflowError):
    """Something that a cell of the matrix needs is missing, which only its job could find out.

    The cell ends with this reason and the run goes on. Of an item it says why this is left out, in the same words for
    what is the same, and `here` what it is in this case. In a job that measures no cell (a training, a download) it is
    an error like any other."""

    def __init__(self, message: str, here: str = ""):
        super().__init__(message)
        if here:
            self.add_note(printable(here))


def headline(error: Exception) -> str:
    """Return an error in one line: a BiasflowError as it is; type and whole text of any other."""
    if isinstance(error, BiasflowError):
        return str(error)
    return printable(" ".join(f"{type(error).__name__}: {error}".split()))


def check_choice(name: str, value: object, known: Collection) -> None:
    """Raise BiasflowError that names the key (`name`) and the choices, unless the value is one of them."""
    if value not in known:
        raise BiasflowError(f"{name} is {value!r}; it can be {', '.join(map(str, known))}")


MOST_NAMES = 10  # that a message lists
CLOSE = 0.6  # the likeness above which a name may have been meant


def nearest(name: str, known: Collection[str]) -> str:
    """Return the end of a message: the known name that may have been meant, or all known names (of many the ten most
    like it); "" if none is known. Upper and lower case are alike. Of two names as near the one with the same letters
    counts more: laece is leace."""
    meant = name.lower()

    def likeness(other: str) -> tuple[float, bool]:
        return difflib.SequenceMatcher(None, other.lower(), meant).ratio(), sorted(other.lower()) == sorted(meant)

    ordered = sorted(known, key=likeness, reverse=True)
    if ordered and likeness(ordered[0])[0] >= CLOSE:
        return f"did you mean {ordered[0]!r}?"
    listed = known if len(known) <= MOST_NAMES else ordered[:MOST_NAMES]
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return f"there are: {', '.join(listed)}{more}" if known else ""
