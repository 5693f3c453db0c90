"""The scores of two or more runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biasflow.cli.app import Runs, app, say, say_columns, scores_file

if TYPE_CHECKING:  # the command line starts without pandas
    import pandas as pd

MOST_ROWS = 20  # that are said


@app.command()
def compare(
    runs: Runs,
    csv: Annotated[Path | None, typer.Option(help="of two runs: write every difference into this CSV file")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="where the picture of all is written, as .svg and .png (default: beside the last one's folder)"
        ),
    ] = None,
) -> None:
    """Say which of two or more runs is more biased by which measures, and draw all.

    Of two runs it then says which scores differ by more than their intervals, and which only one run has.

    A score without an interval differs if it is not the same. Ends with 0 if nothing differs, with 1 if something does,
    and with 2 if a run cannot be read, as diff does."""
    from biasflow.base.errors import MOST_NAMES, BiasflowError
    from biasflow.overview.beside import bases, not_compared, of_runs, trained, verdicts
    from biasflow.overview.pictures import beside_picture, save_picture
    from biasflow.results.scores import attributes_of_run, models_of_run, read_scores

    try:
        if len(runs) < 2:
            raise BiasflowError("name two runs or more")
        if len(runs) > 2 and csv is not None:
            raise BiasflowError("--csv has the differences of two runs; name two, or leave it out")
        paths = [scores_file(run) for run in runs]
        same = len({path.resolve() for path in paths}) < len(paths)
        if same and len(runs) > 2:
            raise BiasflowError("a run is named twice; name each once")
        tables = [read_scores(path) for path in paths]
    except BiasflowError as error:
        say(f"biasflow: {error}", err=True)
        raise typer.Exit(2) from error
    for run, path in zip(runs, paths, strict=True):
        models = list(models_of_run(path.parent).items())
        say_columns((f"{run}, {encoder}:", model) for encoder, model in models[:MOST_NAMES])
        if len(models) > MOST_NAMES:
            more = f"and {len(models) - MOST_NAMES} more encoders, see {path.parent / 'names.csv'}"
            say_columns([(f"{run}:", more)])
    names = [path.parent.name for path in paths]
    names = names if len({*names}) == len(names) else list(runs)
    beside = [] if same else of_runs(names, [path.parent for path in paths], tables)
    if not same:
        for line in verdicts(beside, names):
            say_columns([line])
        encoders = {name: attributes_of_run(path.parent) for name, path in zip(names, paths, strict=True)}
        for one in trained(beside, bases(encoders)):
            say_columns([(f"{one.name}, made from {one.base}:", one.in_short)])
            say_columns((f"  {name}:", change.in_words) for name, change in one.changes.items())
    of_pairs = [(row, pair) for row in beside for pair in row.pairs if pair.more]
    say_columns(
        (row.name if len(runs) == 2 else f"{row.name}, {pair.first} and {pair.second}", row.in_words(pair))
        for row, pair in of_pairs[:MOST_ROWS]
    )
    if len(of_pairs) > MOST_ROWS:
        say_columns([("and more:", f"{len(of_pairs) - MOST_ROWS} pairs, see the picture")])
    if not same and (lacking := not_compared(beside, tables)):
        say_columns([("not compared:", "; ".join(f"{label} ({why})" for label, why in lacking.items()))])
    if beside:
        folders = [path.parent for path in paths]
        place = picture or folders[-1].with_name(f"{folders[-1].name}-compared-with-{'-'.join(names[:-1])[:100]}")
        name = place.name.removesuffix(".svg").removesuffix(".png")
        files = [place.with_name(f"{name}{end}") for end in (".svg", ".png")]
        save_picture(beside_picture(beside, names), *files)
        say_columns([("picture:", " and ".join(map(str, files)))])
    if len(runs) == 2:
        raise typer.Exit(_differences(runs, tables, csv, same=same))
    raise typer.Exit(int(bool(of_pairs)))


def _differences(runs: Sequence[str], tables: Sequence[pd.DataFrame], csv: Path | None, *, same: bool) -> int:
    """Say in which scores two runs differ, whatever they measure: 1 if in any, otherwise 0."""
    from biasflow.base.tabular import write_csv
    from biasflow.results.differences import KINDS, differences, in_words

    rows = differences(*tables)
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
    first, second = runs
    say_columns([("all scores:", f"{first} has {len(tables[0])}, {second} {len(tables[1])}: {summary}")])
    return int(bool(len(rows)))
