"""A run as an RO-Crate."""

import typer

from biasflow.cli.app import Run, app, folder_of


@app.command()
def crate(run: Run) -> None:
    """Make the folder of a run an RO-Crate: who made what, of what, when (results/README.md)."""
    from biasflow.crate.write import write_crate

    typer.echo(write_crate(str(folder_of(run))))
