"""The records of results: results/<run>/provenance/<path of a result in its run>.json says what made it, of what, and
what it holds. A result that is moved or copied does not take its record along.

What many records share is written once: lists of inputs, parameters and what else is long in provenance/shared/, in a
file named by its content; configuration, versions and commit of a start of the run in provenance/run.json
(base.planned)."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256, whole_file

RESULTS = "results"
STORED = (".snakemake", "storage")  # where Snakemake's storage plugins put the files of a job
PROVENANCE = "provenance"
RUN_FILE = "run.json"
SHARED = "shared"
LONG = 1000  # characters: longer values are shared
SEAL = "seal"  # the sha256 of all else in a record, so that an edited one is seen
KEYS = {"output", "sha256", "inputs", "aside", "rule", "params"}  # in every record


def record_file(path: str | Path) -> Path | None:
    """Return the path of a result's record; None for a path that is not in results/<run>.

    A result in a storage of Snakemake's has its record here, beside the records of all others."""
    parts = Path(path).parts
    if parts[: len(STORED)] == STORED and RESULTS in parts:
        parts = parts[parts.index(RESULTS) :]
    if len(parts) < 3 or parts[0] != RESULTS:
        return None
    return Path(*parts[:2], PROVENANCE, *parts[2:-1], f"{parts[-1]}.json")


def checkpoint_folder(result: str | Path) -> Path:
    """Where the job that makes a result keeps what it goes on from after a kill: on this machine, also where Snakemake
    keeps results in a storage."""
    parts = record_file(result).with_suffix("").parts
    return Path(*parts[:2], "checkpoints", *parts[3:])


def record_files(run: str | Path) -> list[Path]:
    """Return the paths of all records of a run."""
    folder = Path(run, PROVENANCE)
    return sorted(
        file for file in folder.rglob("*.json") if file.relative_to(folder).parts[0] not in (SHARED, RUN_FILE)
    )


def result_of(record: str | Path) -> str:
    """Return the result to which the record at a path belongs: the inverse of `record_file`."""
    parts = Path(record).parts
    return str(Path(*parts[:2], *parts[3:-1], parts[-1].removesuffix(".json")))


def write_record(about: Mapping) -> None:
    """Write the record of a result, `about["output"]`, at its place."""
    plain = json.loads(json.dumps(about, default=str))
    file = record_file(about["output"])
    if file is None:
        raise ValueError(f"{about['output']} does not lie in {RESULTS}/<run>")
    lists = {key: value for key, value in plain.items() if isinstance(value, dict | list) and key != "sha256"}
    if len(json.dumps(lists)) > LONG:  # all outputs of a job have the same
        plain = {key: value for key, value in plain.items() if key not in lists} | {SHARED: _share(file, lists)}
    if len(json.dumps(plain["sha256"])) > LONG:
        plain["sha256"] = _share(file, plain["sha256"])
    _write(file, {**plain, SEAL: digest_of(plain)})


def read_record(path: str | Path) -> dict | None:
    """Read the record of a result; None if there is none. BiasflowError if it is damaged, was edited, or is that
    of another path."""
    file = record_file(path)
    if file is None or not file.is_file():
        return None
    advice = f"delete {path} and run again"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        seal = record.pop(SEAL)
        if missing := set() if SHARED in record else KEYS - set(record):
            raise KeyError(*missing)
    except (ValueError, KeyError, TypeError) as error:
        raise BiasflowError(f"{file} does not say what {path} holds; {advice}") from error
    if seal != digest_of(record):
        raise BiasflowError(f"{file} is not as its job wrote it; {advice}")
    if record["output"] != str(path):
        raise BiasflowError(f"{file} is the record of {record['output']}, not of {path}; {advice}")
    if SHARED in record:
        record |= _shared(file, record.pop(SHARED), advice)
    if isinstance(record["sha256"], str):
        record["sha256"] = _shared(file, record["sha256"], advice)
    return record


def _share(record: Path, value: Mapping) -> str:
    """Write a value where those lie that records share; the sha256 that names its file."""
    digest = digest_of(value)
    file = _shared_file(record, digest)
    if digest_of(_read(file)) != digest:  # absent, or damaged
        _write(file, value)
    return digest


def _shared(record: Path, digest: str, advice: str) -> dict:
    file = _shared_file(record, digest)
    value = _read(file)
    if digest_of(value) != digest:
        raise BiasflowError(f"{file} is not as a job wrote it; {advice}")
    return value


def _read(file: Path) -> dict | None:
    """The contents of a shared file; None if it is absent or not JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _shared_file(record: Path, digest: str) -> Path:
    return Path(*record.parts[:3], SHARED, f"{digest}.json")


def _write(file: Path, value: Mapping) -> None:
    with whole_file(file) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def record_with(file: str) -> dict | None:
    """Read the record of the result that is this file or contains it; None for a file that no job made."""
    records = map(read_record, (file, *Path(file).parents))
    return next((record for record in records if record is not None), None)


def checked(inputs: Iterable[str]) -> dict[str, str]:
    """Return path -> sha256 of all input files, including those in input folders.

    BiasflowError, one line that names the file and what to delete, where one is not what the job that made it wrote:
    changed, cut, or gone. Files that no job made (those of the project and of the user) have no record, and are taken
    as they are."""
    digests: dict[str, str] = {}
    for path in sorted(set(map(str, inputs))):
        record = read_record(path)
        for file in contents(Path(path)) if record is None else map(Path, record["sha256"]):
            if str(file) not in digests:
                digests[str(file)] = sha256(file) if file.is_file() else "none"
            if record is not None and digests[str(file)] != record["sha256"][str(file)]:
                fault = "is not as its job wrote it" if file.is_file() else "is gone"
                raise BiasflowError(
                    f"{file} {fault} (its sha256 is in {record_file(path)}); delete {path} and run again"
                )
    return digests


def contents(path: Path) -> list[Path]:
    """Return the files in a folder, or the file itself."""
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


def check_unchanged(inputs: Mapping[str, str], planned: Mapping[str, str]) -> None:
    """Raise BiasflowError if an input (path -> sha256) has changed since the run was planned, because one table would
    then hold scores of both contents."""
    for path, digest in planned.items():
        if inputs[path] != digest:
            raise BiasflowError(f"{path} was replaced or edited since the run began; run again, with one content")


def digest_of(value: object) -> str:
    """Return the sha256 of a value as JSON with sorted keys; types that JSON lacks are taken as text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
