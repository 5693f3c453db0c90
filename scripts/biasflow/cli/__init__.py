"""The command `biasflow`: what is asked of runs beside making them. A command imports what it needs when it is called,
so that help and short answers come at once."""

import sys
from typing import Annotated

import typer

from biasflow.base.errors import BiasflowError, headline

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
Run = Annotated[str, typer.Argument(help="the name of a run, or its folder, such as results/demo")]


@app.callback()
def biasflow() -> None:
    """Ask something about the runs in this folder. Runs themselves are made with snakemake."""


@app.command()
def check(run: Run) -> None:
    """Compare every result of a run with its record, with the plan, and with what it was made of.

    Writes a line for each file that is wrong, and ends with 1 if there are any."""
    from biasflow.cli.check import check_run

    faults, summary = check_run(run)
    for fault in faults:
        typer.echo(fault)
    typer.echo(summary, err=bool(faults))
    raise typer.Exit(bool(faults))


def main() -> None:
    """Run the command; an error of ours ends it with one line and code 1."""
    try:
        app(prog_name="biasflow")
    except BiasflowError as error:
        sys.exit(f"biasflow: {headline(error)}")
