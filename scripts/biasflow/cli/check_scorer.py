"""Check somebody's code for a measure against the numbers that were printed of published models."""

from pathlib import Path
from typing import Annotated

import typer

from biasflow.base.errors import BiasflowError
from biasflow.base.records import RESULTS
from biasflow.cli.app import app, say

NUMBERS, YOURS = "numbers.csv", "yours"
ABOUT = ["ours_encoder", "row", "measure", "variant", "unit", "printed"]
SHOWN = 20  # numbers that differ, of which there is a line each


@app.command("check-scorer")
def check_scorer(
    folder: Annotated[Path, typer.Argument(help="a new folder, or one that this command has written")],
    run: Annotated[str, typer.Option(help="the finished run of config/conformance.yaml")] = "conformance",
) -> None:
    """Check your own code for a measure by the numbers that others printed.

    First writes FOLDER: the scores that published models gave to every item (a folder a model), and numbers.csv, the
    numbers that were printed of them. Fill its column `yours` with what your code makes of the items, and call it
    again: it says which of your numbers differ, and ends with 1 if any does."""
    if not (folder / NUMBERS).is_file():
        if folder.exists():
            raise BiasflowError(f"{folder} is there, but has no {NUMBERS}; name a new folder")
        models, numbers = write_items(Path(RESULTS, run), folder)
        say(
            f"{folder}: items of {models} models; fill the column {YOURS} of {NUMBERS} ({numbers} numbers), then repeat"
        )
        return
    agree, lines, empty = compared(folder / NUMBERS)
    for line in lines[:SHOWN]:
        say(line)
    say(f"{agree} of {agree + len(lines)} numbers agree with the printed ones; {empty} have no value in {YOURS}")
    raise typer.Exit(bool(lines))


def write_items(run: Path, folder: Path) -> tuple[int, int]:
    """Write the items and the printed numbers that are reproduced from them; return how many models and numbers."""
    from biasflow.base.tabular import read_parquet, read_text_csv, write_csv
    from biasflow.papers.ledger import REPRODUCED

    if not (run / "ledger.csv").is_file():
        raise BiasflowError(
            f"there is no {run}/ledger.csv; first: snakemake --cores 2 --configfile config/conformance.yaml"
        )
    ledger = read_text_csv(run / "ledger.csv")
    files = {path: path.relative_to(run / "readouts") for path in sorted(run.glob("readouts/**/*.parquet"))}
    models = {place.parts[0] for place in files.values()}
    known = (ledger["status"] == REPRODUCED) & ledger["ours_encoder"].isin(models)
    numbers = ledger.loc[known, ABOUT].rename(columns={"ours_encoder": "model"}).assign(**{YOURS: ""})
    for path, place in files.items():
        (folder / place.parts[0]).mkdir(parents=True, exist_ok=True)
        write_csv(read_parquet(path), folder / place.parts[0] / f"{place.stem}.csv")
    write_csv(numbers, folder / NUMBERS)  # last: without it the folder is not whole
    return len(models), len(numbers)


def compared(path: Path) -> tuple[int, list[str], int]:
    """How many numbers agree, a line for each that differs, and how many are empty. BiasflowError for a column or a
    value that is none."""
    import pandas as pd

    from biasflow.base.tabular import read_text_csv
    from biasflow.papers.ledger import REPRODUCED, judge

    table = read_text_csv(path)
    if lacking := {YOURS, "printed", "model", "row", "measure"} - set(table):
        raise BiasflowError(f"{path}: no column {min(lacking)}; let biasflow check-scorer write the file anew")
    given = table[table[YOURS].str.strip() != ""]
    if given.empty:
        raise BiasflowError(f"{path}: column {YOURS} is empty; fill it with your numbers")
    values = pd.to_numeric(given[YOURS], errors="coerce")
    if values.isna().any():
        row = given[values.isna()].iloc[0]
        raise BiasflowError(f"{path}: line {row.name + 2}: column {YOURS}: {row[YOURS]!r} is no number")
    judged = [judge(printed, "", value) for printed, value in zip(given["printed"], values, strict=True)]
    lines = [
        f"{row.model}, {row.row}, {row.measure}: printed {row.printed}, yours {value:g}; off by {result['off_by']}"
        for row, value, result in zip(given.itertuples(), values, judged, strict=True)
        if result["status"] != REPRODUCED
    ]
    return len(given) - len(lines), lines, len(table) - len(given)
