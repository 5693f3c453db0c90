"""A measure of somebody else's: a command that writes a table of items, or one number, of an encoder."""

import csv
import logging
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
    where = f"given.{name}, encoder {encoder}"
    paths = {"python": sys.executable, "script": script, "encoder": folder.resolve(), "output": output.resolve()}
    try:
        words = [PLACES.sub(lambda place: str(paths[place[1]]), word) for word in shlex.split(command)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", check=False)
    except (OSError, ValueError) as error:  # ValueError: a quote that is not closed
        raise BiasflowError(f"{where}: the command cannot be started ({error}); check the key `command`") from error
    if done.returncode:
        logging.getLogger("biasflow").error(done.stdout)
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
        table = pd.DataFrame({ITEM: ["all"], VALUE: [text]}) if alone else _items(output)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BiasflowError(f"{where}: its file is neither a number nor a CSV ({error})") from error
    if sorted(table.columns) != [ITEM, VALUE]:
        columns = ", ".join(map(str, table.columns))
        raise BiasflowError(f"{where}: its file has the columns {columns}; it needs {ITEM} and {VALUE}, or one number")
    if table.empty:
        raise BiasflowError(f"{where}: its file has no row; write one for each item")
    if (table[ITEM] == "").any():
        raise BiasflowError(f"{where}: row {table[ITEM].eq('').argmax() + 1} names no item; give each a name")
    twice = table[ITEM][table[ITEM].duplicated()]
    if len(twice):
        raise BiasflowError(f"{where}: item {twice.iloc[0]} appears twice; write one row for each item")
    values = pd.to_numeric(table[VALUE], errors="coerce")
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = table[wrong].iloc[0]
        raise BiasflowError(f"{where}: item {row[ITEM]}: the value {row[VALUE] or 'nothing'} is not a finite number")
    return table[[ITEM]].assign(value=values.astype(float)).reset_index(drop=True)


def _items(path: Path) -> pd.DataFrame:
    """The rows of a CSV as text; csv.Error for a row that is longer or shorter than the header."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header, *rows = [row for row in csv.reader(stream, strict=True) if row] or [[]]
    if not header:
        raise csv.Error("it is empty")
    wrong = next((row for row in rows if len(row) != len(header)), None)
    if wrong is not None:
        raise csv.Error(f"a row has {len(wrong)} fields, the header {len(header)}: {','.join(wrong)[:60]}")
    return pd.DataFrame(rows, columns=header, dtype=str)
