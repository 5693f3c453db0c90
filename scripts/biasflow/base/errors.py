"""The one exception that users see."""


class BiasflowError(Exception):
    """Something a user can mend: one line that names the file, key, row or model and says what to do; lines below it
    may go into details."""


def headline(error: Exception) -> str:
    """An error in one line: the first of ours, everything with its type of any other."""
    if isinstance(error, BiasflowError):
        return str(error).partition("\n")[0]
    return " ".join(f"{type(error).__name__}: {error}".split())
