"""The scores of two runs."""

from pathlib import Path
from typing import Annotated

import typer

from biasflow.cli.app import Run, app, say, say_columns, scores_file

MOST_ROWS = 20  # that are said


@app.command()
def compare(
    first: Run,
    second: Run,
    csv: Annotated[Path | None, typer.Option(help="write every difference into this CSV file")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="where the picture of both is written, as .svg and .png (default: beside the second's folder)"
        ),
    ] = None,
) -> None:
    """Say which of two runs is more biased by which measures, and draw both.

    Then says which scores differ by more than their intervals, and which only one run has.

    A score without an interval differs if it is not the same. Ends with 0 if nothing differs, with 1 if something does,
    and with 2 if a run cannot be read, as diff does."""
    from biasflow.base.errors import MOST_NAMES, BiasflowError
    from biasflow.base.tabular import write_csv
    from biasflow.overview.pictures import save_picture, two_runs_picture
    from biasflow.overview.two_runs import not_compared, two_runs, verdicts
    from biasflow.results.differences import KINDS, differences, in_words
    from biasflow.results.scores import models_of_run, read_scores

    try:
        paths = [scores_file(run) for run in (first, second)]
        tables = [read_scores(path) for path in paths]
    except BiasflowError as error:
        say(f"biasflow: {error}", err=True)
        raise typer.Exit(2) from error
    for run, path in zip((first, second), paths, strict=True):
        models = list(models_of_run(path.parent).items())
        say_columns((f"{run}, {encoder}:", model) for encoder, model in models[:MOST_NAMES])
        if len(models) > MOST_NAMES:
            more = f"and {len(models) - MOST_NAMES} more encoders, see {path.parent / 'names.csv'}"
            say_columns([(f"{run}:", more)])
    rows = differences(*tables)
    beside = two_runs([path.parent for path in paths], tables)
    for line in verdicts(beside, (first, second)):
        say_columns([line])
    say_columns((row.name, row.in_words) for row in beside if row.more is not None)
    if lacking := not_compared(beside, tables):
        say_columns([("not compared:", "; ".join(f"{label} ({why})" for label, why in lacking.items()))])
    same = paths[0].samefile(paths[1])
    if beside and not same:
        folders = [path.parent for path in paths]
        place = picture or folders[1].with_name(f"{folders[1].name}-compared-with-{folders[0].name}")
        name = place.name.removesuffix(".svg").removesuffix(".png")
        files = [place.with_name(f"{name}{end}") for end in (".svg", ".png")]
        names = [folder.name for folder in folders]
        save_picture(two_runs_picture(beside, names if len({*names}) > 1 else (first, second)), *files)
        say_columns([("picture:", " and ".join(map(str, files)))])
    say_columns((row["what"], in_words(row)) for row in rows[:MOST_ROWS].to_dict("records"))
    if len(rows) > MOST_ROWS:
        say_columns([("and more:", f"{len(rows) - MOST_ROWS}; --csv FILE writes all")])
    if csv is not None:
        write_csv(rows, csv)
    counts = rows["what"].value_counts().items()
    said = {kind: f"{n} {kind.replace('differs', 'differ') if n > 1 else kind}" for kind, n in counts}
    summary = "; ".join(said[kind] for kind in KINDS if kind in said) or "no difference"
    if same:
        summary = "the same run, compared with itself"
    say_columns([("all scores:", f"{first} has {len(tables[0])}, {second} {len(tables[1])}: {summary}")])
    raise typer.Exit(int(bool(len(rows))))
