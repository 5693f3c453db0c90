"""What a download is checked against where its sha256 is not in the catalogue: its form, and the lock file, which has
the contents of files at their first download; and the origin of an external file, as its record says it."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from biasflow.base.errors import BiasflowError
from biasflow.base.files import first_bytes, is_parquet, read_json, write_json
from biasflow.base.records import read_record

if TYPE_CHECKING:  # slow to load, and a download needs none
    import pandas as pd

log = logging.getLogger(__name__)
_PAGES = (b"<!doctype html", b"<html")
PAGE = "an HTML page came instead of the file: a login page, or the message of a proxy"
VERIFIED_BY = {
    "sha256": "equal to the sha256 of the catalogue",
    "host": "equal to the sha256 that its host states with the download",
    "form": "unverified: only its form was checked",
    "manifest": "unverified: equal to the mirror's own manifest",
    "nothing": "unverified: taken as it is",
}
UNVERIFIED = {key for key, meaning in VERIFIED_BY.items() if meaning.startswith("unverified: ")}


class DownloadError(Exception):
    """A file was not got, or is not what was expected. Its message says why; whoever asked names the file."""


def agree(lock_file: str | Path, downloads: Mapping[str, Mapping]) -> None:
    """Record each download ({name: {sha256, bytes, url}}) on its first sight; later ones must be the same.

    A name whose url has changed (a new revision was pinned) is recorded anew. Several processes may call this at
    once. BiasflowError names the file, what was expected and what came; then nothing is recorded."""
    lock_file = Path(lock_file)
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{lock_file}.lock"):
        known = _read(lock_file)
        for name, came in downloads.items():
            expected = known.get(name)
            if expected is not None and expected["url"] != came["url"]:
                log.info("%s: its address is now %s; recorded anew in %s.", name, came["url"], lock_file)
            elif expected is not None and expected["sha256"] != came["sha256"]:
                raise BiasflowError(
                    f"{name}: expected sha256 {expected['sha256']} ({expected['bytes']} bytes), as first downloaded "
                    f"and recorded in {lock_file}; came {came['sha256']} ({came['bytes']} bytes) from {came['url']}. "
                    f"Nothing was kept. If it changed upstream on purpose, delete {name!r} from {lock_file}."
                )
        wanted = dict(sorted({**known, **{name: dict(came) for name, came in downloads.items()}}.items()))
        if wanted != known:
            write_json(lock_file, wanted, indent=2)


def _read(lock_file: Path) -> dict:
    if not lock_file.exists():
        return {}
    try:
        known = read_json(lock_file)
        {(record["sha256"], record["bytes"], record["url"]) for record in known.values()}
    except (BiasflowError, KeyError, TypeError, AttributeError) as error:
        raise BiasflowError(
            f"{lock_file}: not a lock file ({type(error).__name__}: {error}); restore it, or delete it to record anew."
        ) from error
    return known


def refuse_page(path: str | Path) -> None:
    """Raise DownloadError if the file begins as an HTML page does: no external file is one."""
    if first_bytes(path, 1024).removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_PAGES):
        raise DownloadError(PAGE)


def check_form(path: str | Path, *, parquet: bool, columns: Collection[str], rows: int | None) -> None:
    """DownloadError unless the file can be read (as Parquet: its magic bytes and footer; else as separated text or JSON
    lines, whole), has these columns and, where that is known, so many rows. Other contents of that form pass."""
    from biasflow.corpora.records import read_records  # slow to load, and most files have a sha256

    if parquet and not is_parquet(path):
        raise DownloadError("not a Parquet file; fetch it again")
    try:
        table = read_records(path, wanted=())
    except BiasflowError as error:
        raise DownloadError(str(error).removeprefix(f"{path}: ").rstrip(".")) from error
    expects = "biasflow/data/corpora.yaml expects"
    if lacking := [name for name in columns if name not in table.attrs["columns"]]:
        raise DownloadError(f"no column {', '.join(lacking)}, but {expects} {', '.join(columns)}; fetch it again")
    if rows is not None and len(table) != rows:
        raise DownloadError(f"it has {len(table)} rows, but {expects} {rows}; fetch it again")


@dataclass(frozen=True)
class Origin:
    """Where a file came from, for its provenance.

    source: local | mirror | upstream. location: the path or address that was read. byte_equal_to_upstream: None where
    that is not known. verified_by: what the file was checked against, a key of VERIFIED_BY. note: the mirror's own
    remark on its copy."""

    name: str
    source: str
    location: str
    upstream: str
    sha256: str
    bytes: int
    byte_equal_to_upstream: bool | None
    verified_by: str
    licence: str
    note: str = ""


COLUMNS = [field.name for field in fields(Origin)]


def origin_of(file: str | Path) -> dict:
    """COLUMNS of an external file, as its download wrote them into its record; of a file that somebody laid there
    without any record, its name."""
    record = read_record(file)
    return record["origin"] if record else {"name": Path(file).name, "source": "unknown", "verified_by": "nothing"}


def differing(files: "pd.DataFrame") -> dict[str, str]:
    """Return the mirror's files of a run that are known to differ from their publishers': name -> the mirror's own
    remark on its copy, or "". (The user's own are told apart by the names of their datasets.)"""
    rows = files[(files["byte_equal_to_upstream"] == "False") & (files["source"] != "local")]
    return dict(zip(rows["name"], rows["note"], strict=True))


def remark(files: "pd.DataFrame") -> str:
    """Return the remark on a run's external files for captions of tables; "" if all are from upstream.

    files: COLUMNS, all text."""
    own = (files["source"] == "local") & (files["byte_equal_to_upstream"] != "True")
    differs = (files["byte_equal_to_upstream"] == "False") & ~own
    other = [f"{row['name']} (sha256 {row['sha256'][:12]}...)" for _, row in files[differs].iterrows()]
    unverified = files["verified_by"].isin(UNVERIFIED) & ~differs & ~own
    parts = [f"{', '.join(other)} differ from the files that their publishers offer"] if len(other) > 1 else []
    parts += [f"{other[0]} differs from the file that its publisher offers"] if len(other) == 1 else []
    mine = " and ".join(f"{row['name']} is {row['location']} of the user" for _, row in files[own].iterrows())
    parts += [f"{mine}, not the published file"] if mine else []
    parts += [f"{unverified.sum()} of {len(files)} could not be verified"] if unverified.any() else []
    return f"External files of this run: {'; '.join(parts)}." if parts else ""
