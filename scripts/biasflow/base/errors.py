"""The one exception that is meant for the user's eyes."""


class BiasflowError(Exception):
    """An error that a user can mend: its message is one line: which key, file, row or model, and what to do."""
