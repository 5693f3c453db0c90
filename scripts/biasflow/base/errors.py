"""The exceptions that users see."""


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
