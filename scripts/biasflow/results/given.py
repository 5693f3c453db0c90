"""A measure of somebody else's: a command that writes a table of items, or one number, of an encoder."""

import logging
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import text_lines
from biasflow.base.tabular import is_number
from biasflow.corpora.records import read_records, refuse

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

    A file that holds one number and nothing else is one item, "all". Any other file is a table with the columns item
    and value (`corpora.records.read_records`).

    BiasflowError in one line, naming measure and encoder: no file, other columns, no row, an item that is there twice,
    or a value that is not a finite number."""
    where = f"given.{name}, encoder {encoder}"
    if not output.is_file():
        raise BiasflowError(f"{where}: the command wrote no file; it must write {{output}}")
    try:
        return _items(output)
    except BiasflowError as error:
        raise BiasflowError(f"{where}: {error}") from error


def _items(path: Path) -> pd.DataFrame:
    numbered = {number: line.strip() for number, line in enumerate(text_lines(path), start=1) if line.strip()}
    if len(numbered) == 1 and all(map(is_number, numbered.values())):
        table = pd.DataFrame({ITEM: "all", VALUE: numbered.values()}, pd.Index(numbered, name="line"))
    else:
        table = read_records(path)
    if sorted(table) != [ITEM, VALUE]:
        columns = ", ".join(map(repr, table)) or "none"
        raise BiasflowError(f"{path}: the columns are {columns}; they must be {ITEM} and {VALUE}, or one number alone")
    if table.empty:
        raise BiasflowError(f"{path}: no row; write one for each item")
    refuse(path, table[ITEM], table[ITEM] == "", "names no item; give each a name")
    refuse(path, table[ITEM], table[ITEM].duplicated(), "appears twice; write one row for each item")
    values = pd.to_numeric(table[VALUE], errors="coerce").astype(float)
    refuse(path, table[VALUE], ~np.isfinite(values), "is not a finite number")
    return table[[ITEM]].assign(value=values).reset_index(drop=True)
