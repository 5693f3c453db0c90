"""A measure of somebody else's: a command that writes a table of items, or one number, of an encoder."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError

ITEM, VALUE = "item", "value"
PLACES = re.compile(r"\{(python|script|encoder|output)\}")


def run_given(name: str, command: str, *, encoder: str, folder: Path, output: Path, script: Path | None) -> str:
    """Run the command of a measure on the folder of an encoder, and return what it prints.

    {encoder} and {output} stand for the paths of the folder and of the file that it must write, {script} for the file
    that the configuration names, {python} for the Python that runs biasflow. There is no shell.

    BiasflowError in one line, naming measure and encoder, if the command cannot be started or fails."""
    paths = {"python": sys.executable, "script": script, "encoder": folder.resolve(), "output": output.resolve()}
    words = [PLACES.sub(lambda place: str(paths[place[1]]), word) for word in shlex.split(command)]
    where = f"given.{name}, encoder {encoder}"
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        raise BiasflowError(f"{where}: the command cannot be started ({error}); check the key `command`") from error
    if done.returncode:
        last = next(reversed(done.stdout.strip().splitlines()), "it printed nothing")
        raise BiasflowError(f"{where}: the command ended with status {done.returncode}: {last}")
    return done.stdout


def read_given(name: str, encoder: str, output: Path) -> pd.DataFrame:
    """Return what the command of a measure wrote of an encoder: columns item and value, a row an item.

    A file that holds one number and nothing else is one item, "all". Any other file is a CSV with the columns item and
    value.

    BiasflowError in one line, naming measure and encoder: no file, other columns, no row, an item that is there twice,
    or a value that is not a finite number."""
    where = f"given.{name}, encoder {encoder}"
    if not output.is_file():
        raise BiasflowError(f"{where}: the command wrote no file; it must write {{output}}")
    try:
        text = output.read_text(encoding="utf-8").strip()
        number = pd.to_numeric(text, errors="coerce") if text and len(text.split()) == 1 else np.nan
        alone = text.lower() == "nan" or not np.isnan(number)
        table = pd.DataFrame({ITEM: ["all"], VALUE: [text]}) if alone else pd.read_csv(output, dtype=str)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise BiasflowError(f"{where}: its file is neither a number nor a CSV ({error})") from error
    if sorted(table.columns) != [ITEM, VALUE]:
        columns = ", ".join(map(str, table.columns))
        raise BiasflowError(f"{where}: its file has the columns {columns}; it needs {ITEM} and {VALUE}, or one number")
    if table.empty:
        raise BiasflowError(f"{where}: its file has no row; write one for each item")
    twice = table[ITEM][table[ITEM].duplicated()]
    if len(twice):
        raise BiasflowError(f"{where}: item {twice.iloc[0]} is there twice; write one row for each item")
    values = pd.to_numeric(table[VALUE], errors="coerce")
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = table[wrong].iloc[0]
        raise BiasflowError(f"{where}: item {row[ITEM]}: the value {row[VALUE]} is not a finite number")
    return table[[ITEM]].assign(value=values.astype(float)).reset_index(drop=True)
