"""A run as an RO-Crate."""

from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.cli.app import Run, app, say, where_made


@app.command()
def crate(run: Run) -> None:
    """Make the folder of a run an RO-Crate.

    It says who made what, of what, when (results/README.md)."""
    from biasflow.results.crate import write_crate

    here = Path.cwd()
    with where_made(run) as folder:
        if not here.samefile(Path.cwd()):
            raise BiasflowError(f"start biasflow in {Path.cwd()}, because the code there goes into the crate of {run}")
        for line in write_crate(str(folder)):
            say(line)
