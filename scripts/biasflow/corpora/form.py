"""Checks for downloads without a known sha256: is it the file, or something that was sent in its place?"""

from collections.abc import Collection
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import is_parquet

_PAGES = (b"<!doctype html", b"<html")
PAGE = "an HTML page came instead of the file: a login page, or the message of a proxy"


def refuse_page(path: str | Path) -> None:
    """Raise BiasflowError if the file begins as an HTML page does: no external file is one."""
    with open(path, "rb") as stream:
        start = stream.read(1024)
    if start.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_PAGES):
        raise BiasflowError(f"{path}: {PAGE}.")


def check_form(path: str | Path, *, parquet: bool, columns: Collection[str], rows: int | None) -> None:
    """BiasflowError unless the file can be read (as Parquet: its magic bytes and footer; else as separated text or JSON
    lines, whole), has these columns and, where that is known, so many rows. Other contents of that form pass."""
    from biasflow.corpora.records import read_records  # slow to load, and most files have a sha256

    if parquet and not is_parquet(path):
        raise BiasflowError(f"{path}: not a Parquet file; fetch it again.")
    table = read_records(path, wanted=())
    lacking = [name for name in columns if name not in table.attrs["columns"]]
    if lacking:
        raise BiasflowError(
            f"{path}: no column {', '.join(lacking)}; biasflow/data/corpora.yaml expects {', '.join(columns)}; fetch "
            "it again."
        )
    if rows is not None and len(table) != rows:
        raise BiasflowError(
            f"{path}: it has {len(table)} rows, but biasflow/data/corpora.yaml expects {rows}; fetch it again."
        )
