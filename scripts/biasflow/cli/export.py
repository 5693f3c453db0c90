"""The scores of a run for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from biasflow.cli.app import Run, app, say, scores_file

EVERY_EVAL_EVER = "every-eval-ever"  # an open format: https://github.com/evaleval/every_eval_ever


@app.command()
def export(
    run: Run,
    format_: Annotated[str, typer.Option("--format", help="csv, json (records), parquet or every-eval-ever")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="the file, or the folder of every-eval-ever; RUN-scores.<suffix> if left out"
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="this value of the column metric alone; may be repeated")
    ] = None,
) -> None:
    """Write the scores of a run for other programs.

    Each has label, group, neutral value and direction of its measure."""
    from biasflow.base.errors import BiasflowError, nearest
    from biasflow.results.export import FORMATS, described
    from biasflow.results.scores import read_scores

    known = [*FORMATS, EVERY_EVAL_EVER]
    if format_ not in known:
        raise BiasflowError(f"--format {format_}: no such format; {nearest(format_, known)}")
    path = scores_file(run)
    scores = described(read_scores(path))
    for name in metric or ():
        if name not in set(scores["metric"]):
            raise BiasflowError(
                f"--metric {name}: {path} has no such metric; {nearest(name, sorted(set(scores['metric'])))}"
            )
    scores = scores[scores["metric"].isin(metric)] if metric else scores
    name = path.resolve().parent.name
    if format_ == EVERY_EVAL_EVER:
        from biasflow.base.tabular import read_text_csv
        from biasflow.results.export import write_records

        output = output or Path(f"{name}-{EVERY_EVAL_EVER}")
        names, written = read_text_csv(path.parent / "names.csv"), path.stat().st_mtime
        n = write_records(scores, output, run=name, names=names, written=written)
    else:
        suffix, write = FORMATS[format_]
        n, output = len(scores), output or Path(f"{name}-scores{suffix}")
        write(scores.reset_index(drop=True), output)
    say(f"{output}: {n} scores")
