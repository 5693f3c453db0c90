"""The origin of an external file: where it came from, and what it was checked against."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from biasflow.base.records import read_record

if TYPE_CHECKING:  # slow to load, and a download needs none
    import pandas as pd

VERIFIED_BY = {
    "sha256": "equal to the sha256 of the catalogue",
    "host": "equal to the sha256 that its host states with the download",
    "form": "unverified: only its form was checked",
    "manifest": "unverified: equal to the mirror's own manifest",
    "nothing": "unverified: taken as it is",
}
UNVERIFIED = {key for key, meaning in VERIFIED_BY.items() if meaning.startswith("unverified: ")}


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


def remark(files: "pd.DataFrame") -> str:
    """Return the remark on a run's external files for captions of tables; "" if all are from upstream.

    files: COLUMNS, all text."""
    differs = files["byte_equal_to_upstream"] == "False"
    other = [f"{row['name']} (sha256 {row['sha256'][:12]}...)" for _, row in files[differs].iterrows()]
    unverified = files["verified_by"].isin(UNVERIFIED) & ~differs
    parts = [f"{', '.join(other)} differ from the files that their publishers offer"] if len(other) > 1 else []
    parts += [f"{other[0]} differs from the file that its publisher offers"] if len(other) == 1 else []
    parts += [f"{unverified.sum()} of {len(files)} could not be verified"] if unverified.any() else []
    return f"External files of this run (files.csv): {'; '.join(parts)}." if parts else ""
