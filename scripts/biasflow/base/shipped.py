"""Word lists and other data of the package. A job that reads a file through `shipped` runs again when it changes:
`base.code` finds these calls."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# The folder with Snakefile, rules, config, envs and profiles: a checkout, or, of an installed biasflow, in the package.
ROOT = PACKAGE.parents[1] if (PACKAGE.parents[1] / "Snakefile").is_file() else PACKAGE / "workflow"


def shipped(path: str) -> Path:
    """A file or folder of the package, by its path in the package; to be called with a plain string."""
    return PACKAGE / path


def of_workflow(path: str) -> str:
    """A file of the workflow as it is named from this folder: "config/mine.yaml" in a checkout, its whole path
    elsewhere."""
    return path if Path.cwd() == ROOT else os.fspath(ROOT / path)
