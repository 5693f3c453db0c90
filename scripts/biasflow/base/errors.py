"""The exceptions that users see."""

import difflib
from collections.abc import Collection


class BiasflowError(Exception):
    """Something a user can mend: one line that names the file, key, row or model and says what to do; lines below it
    may go into details."""


class AbsentError(BiasflowError):
    """What a cell of the matrix needs is not there, and only its job could know: it ends with this reason, and the run
    goes on. Where no cell is measured (a training, a download) it is an error like any other."""


def headline(error: Exception) -> str:
    """An error in one line: the first of ours, everything with its type of any other."""
    if isinstance(error, BiasflowError):
        return str(error).partition("\n")[0]
    return " ".join(f"{type(error).__name__}: {error}".split())


def check_choice(name: str, value: object, known: Collection) -> None:
    """BiasflowError that gives `name` and the choices unless the value is one of them."""
    if value not in known:
        raise BiasflowError(f"{name} is {value!r}; it can be {', '.join(map(str, known))}")


def nearest(name: str, known: Collection[str]) -> str:
    """Which of the known names may have been meant, or which there are, as the end of a message; "" for none."""
    if close := difflib.get_close_matches(name, known, n=1):
        return f"did you mean {close[0]!r}?"
    return f"there are: {', '.join(known)}" if known else ""
