"""Word lists and the like that come with the project. Who reads one through `shipped` is run again when it changes:
`base.code` finds these calls."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def shipped(path: str) -> Path:
    """A file or folder of the project, by its path from the project's root; to be called with a plain string."""
    return ROOT / path
