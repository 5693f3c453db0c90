"""Why a file or a cell is there, or is not."""

from typing import Annotated

import typer

from biasflow.cli.app import Configfiles, Settings, app, configuration, say


@app.command()
def explain(
    words: Annotated[
        list[str],
        typer.Argument(metavar="TARGET|CELL", help="a file such as results/demo/scores.csv, or names: mine leace weat"),
    ],
    configfile: Configfiles = None,
    config: Settings = None,
) -> None:
    """Say which cells a file or a few names stand for, which jobs make them, from which files, and why a cell is not
    run."""
    from biasflow.plan.explained import explained
    from biasflow.plan.prepared import prepared

    for line in explained(prepared(*configuration(configfile, config)), words):
        say(line)
