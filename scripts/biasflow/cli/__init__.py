"""The command `biasflow`: measures an encoder, and answers questions about runs. A command imports what it needs when
it is called, so that help and short answers come at once."""

import os
import sys
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import PACKAGE
from biasflow.cli import check, check_scorer, compare, debias, explain, export, init, list, measure  # noqa: F401
from biasflow.cli.app import app, as_options

__all__ = ["app", "main"]
HERE = Path("scripts")  # of a checkout, beside its Snakefile


def main() -> None:
    """Run the command, that of the checkout in this folder if there is one; an error of ours ends it with one line and
    code 1, as does a file that cannot be read or written (`compare`: with code 2)."""
    _use_this_checkout()
    try:
        app(as_options(sys.argv[1:]), prog_name="biasflow")
        return
    except BiasflowError as error:
        said = str(error)
    except OSError as error:
        named = error.filename2 or error.filename  # of a renaming the second
        said = f"{named}: " * bool(named) + f"{error.strerror or error}; name another file"
    print(f"biasflow: {said}", file=sys.stderr)
    sys.exit(2 if "compare" in sys.argv[1:2] else 1)


def _use_this_checkout() -> None:
    """Several checkouts may share an environment, in which one of them is installed; Snakemake would run the one in
    whose folder it is started, and so does the command."""
    local = HERE / "biasflow"
    elsewhere = Path("Snakefile").is_file() and local.is_dir() and not local.samefile(PACKAGE)
    if elsewhere and str(HERE.resolve()) not in sys.path:
        path = os.pathsep.join(filter(None, [str(HERE.resolve()), os.environ.get("PYTHONPATH")]))
        os.execve(sys.executable, [sys.executable, "-m", "biasflow", *sys.argv[1:]], os.environ | {"PYTHONPATH": path})
