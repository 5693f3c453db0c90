"""Why a file or a cell is there, or is not."""

from typing import Annotated

import typer

from biasflow.cli.app import Configfiles, Settings, app, configuration, say


@app.command()
def explain(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET|CELL", help="a file (results/demo/scores.csv), or names: planted-bert leace weat"
        ),
    ],
    configfile: Configfiles = None,
    config: Settings = None,
) -> None:
    """Say which jobs make a file or a cell, or why none does.

    Names of one cell are those of encoder, task, strategy, seed, method, metric or measure, dataset, block: biasflow
    explain --configfile config/mine.yaml mine.yaml -- mine leace weat, after `biasflow measure`."""
    from biasflow.plan.compiled import prepared
    from biasflow.plan.explained import explained

    for line in explained(prepared(*configuration(configfile, config)), words):
        say(line)
