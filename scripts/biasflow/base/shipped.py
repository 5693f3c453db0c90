"""Word lists and other data of the package. A job that reads a file through `shipped` runs again when it changes:
`base.code` finds these calls."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]  # of a checkout


def shipped(path: str) -> Path:
    """A file or folder of the package, by its path in the package; to be called with a plain string."""
    return PACKAGE / path
