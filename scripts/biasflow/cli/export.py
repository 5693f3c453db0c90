"""The scores of a run for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from biasflow.cli.app import Run, app, scores_file


@app.command()
def export(
    run: Run,
    format_: Annotated[str, typer.Option("--format", help="csv, json (records) or parquet")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the file; RUN-scores.<suffix> if left out")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="this value of the column metric alone; may be repeated")
    ] = None,
) -> None:
    """Write the scores of a run for other programs, with label, group, neutral value and direction of each measure."""
    from biasflow.base.errors import BiasflowError, nearest
    from biasflow.results.export import FORMATS, described
    from biasflow.results.scores import read_scores

    if format_ not in FORMATS:
        raise BiasflowError(f"--format {format_}: no such format; {nearest(format_, FORMATS)}")
    path = scores_file(run)
    scores = described(read_scores(path))
    for name in metric or ():
        if name not in set(scores["metric"]):
            raise BiasflowError(
                f"--metric {name}: {path} has no such metric; {nearest(name, sorted(set(scores['metric'])))}"
            )
    scores = scores[scores["metric"].isin(metric)] if metric else scores
    suffix, write = FORMATS[format_]
    output = output or Path(f"{path.parent.name}-scores{suffix}")
    write(scores.reset_index(drop=True), output)
    typer.echo(f"{output}: {len(scores)} scores")
