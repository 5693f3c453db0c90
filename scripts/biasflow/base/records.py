"""The records of results: results/<run>/provenance/<path of a result in its run>.json says what made it, of what, and
what it holds. A result that is moved or copied does not take its record along.

What many records share is written once, in provenance/shared/, in a file named by its content: lists of inputs,
parameters and what else is long, and what all jobs of a start of the run share (configuration, versions, commit)."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, sha256, write_json

RESULTS = "results"
STORED = (".snakemake", "storage")  # where Snakemake's storage plugins put the files of a job
PROVENANCE = "provenance"
SHARED = "shared"
LONG = 1000  # characters: longer values are shared
START = "start"  # the key of a record with what its job shares with all others of a start
SEAL = "seal"  # the sha256 of all else in a record, so that an edited one is seen
KEYS = {"output", "sha256", "inputs", "rule", "params"}  # in every record


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
    others = (SHARED, "run.json")  # the second is of earlier versions
    return sorted(file for file in folder.rglob("*.json") if file.relative_to(folder).parts[0] not in others)


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
    if isinstance(plain.get(START), dict):  # as it was read, it is named already
        plain[START] = _share(file, plain[START])
    lists = {key: value for key, value in plain.items() if isinstance(value, dict | list) and key != "sha256"}
    if len(json.dumps(lists)) > LONG:  # all outputs of a job have the same
        plain = {key: value for key, value in plain.items() if key not in lists} | {SHARED: _share(file, lists)}
    if len(json.dumps(plain["sha256"])) > LONG:
        plain["sha256"] = _share(file, plain["sha256"])
    write_json(file, {**plain, SEAL: digest_of(plain)}, sort_keys=True)


def read_record(path: str | Path) -> dict | None:
    """Read the record of a result; None if there is none. BiasflowError if it is damaged, was edited, is that of
    another path, or may not be read."""
    file = record_file(path)
    if file is None or not file.is_file():
        return None
    advice = f"delete {path} and run again"
    try:
        record = read_json(file)
        seal = record.pop(SEAL)
        if missing := ({"output", "sha256"} if SHARED in record else KEYS) - set(record):
            raise KeyError(*missing)
    except (BiasflowError, AttributeError, KeyError, TypeError) as error:
        if isinstance(error.__cause__, PermissionError):
            raise  # the result may be whole
        raise BiasflowError(f"{file} does not say what {path} holds; {advice}") from error
    if seal != digest_of(record):
        raise BiasflowError(f"{file} is not as its job wrote it; {advice}")
    if record["output"] != str(path):
        raise BiasflowError(f"{file} is the record of {record['output']}, not of {path}; {advice}")
    if SHARED in record:
        record |= _shared(_shared_file(file, record.pop(SHARED)), advice)
    if isinstance(record["sha256"], str):
        record["sha256"] = _shared(_shared_file(file, record["sha256"]), advice)
    return record


def record_since(path: str | Path, since: float) -> dict | None:
    """Return the record of a result that is as it says, if it was written after `since` (seconds); otherwise None."""
    file = record_file(path)
    if file is None or not file.is_file() or file.stat().st_mtime < since:
        return None
    record = read_record(path)
    return None if any(faults(record)) else record


def start_of(record: Mapping) -> dict:
    """Return configuration, versions and commit of the job that wrote a record; nothing if an earlier version of
    biasflow wrote it. BiasflowError if they were edited or deleted."""
    digest = record.get(START, "")
    if not digest or "/" in digest:
        return {}
    advice = f"it says how results were made: bring it back, or delete {record['output']} and run again"
    return _shared(_shared_file(record_file(record["output"]), digest), advice)


def _share(record: Path, value: Mapping) -> str:
    """Write a value where those lie that records share; the sha256 that names its file."""
    digest = digest_of(value)
    file = _shared_file(record, digest)
    if digest_of(_read(file)) != digest:  # absent, or damaged
        write_json(file, value, sort_keys=True)
    return digest


def _shared(file: Path, advice: str) -> dict:
    value = _read(file)
    if digest_of(value) != file.stem:
        raise BiasflowError(f"{file} is not as a job wrote it; {advice}")
    return value


def _read(file: Path) -> dict | None:
    """The contents of a shared file; None if it is absent or not JSON. BiasflowError if it may not be read."""
    try:
        return read_json(file)
    except BiasflowError as error:
        if isinstance(error.__cause__, PermissionError):
            raise
        return None


def _shared_file(record: Path, digest: str) -> Path:
    return Path(*record.parts[:3], SHARED, f"{digest}.json")


def upstream(results: Iterable[str | Path], read: Callable[[str], dict | None] = read_record) -> Iterator[dict]:
    """Yield the records of results, of all that these were made of, and so on, each once. read: reads the record of a
    path."""
    waiting, seen = list(map(str, results)), set()
    while waiting:
        path = waiting.pop()
        if path not in seen and (record := read(path)):
            yield record
            waiting += record["inputs"]
        seen.add(path)


def faults(record: Mapping, digest: Callable[[str], str] | None = sha256) -> Iterator[str]:
    """Yield a line for every file that lies at the path of a result and is not as its job wrote it: added, gone, or of
    another content. digest: path -> sha256; None looks at names alone."""
    output, recorded = record["output"], record["sha256"]
    present = set(map(str, contents(Path(output))))
    for file in sorted(present | recorded.keys()):
        if file not in recorded:
            yield f"{file} is not of the job that wrote {output}; move it away, or delete {output} and run again"
        elif file not in present:
            yield f"{file} is gone; delete {output} and run again"
        elif digest and digest(file) != recorded[file]:
            yield f"{file} is not as its job wrote it (by {record_file(output)}); delete {output} and run again"


def checked(inputs: Iterable[str]) -> dict[str, str]:
    """Return path -> sha256 of all input files, including those in input folders.

    BiasflowError, one line that names the file and what to delete, where one is not what the job that made it wrote
    (`faults`). Files that no job made (those of the project and of the user) have no record, and are taken as they
    are."""
    digests: dict[str, str] = {}
    digest = cache(sha256)
    for path in sorted(set(map(str, inputs))):
        if (record := read_record(path)) and (fault := next(faults(record, digest), None)):
            raise BiasflowError(fault)
        digests |= {str(file): digest(str(file)) for file in contents(Path(path))}
    return digests


def contents(path: Path) -> list[Path]:
    """Return the files in a folder, or the file itself. Hidden files, such as the time stamp that Snakemake lays into a
    folder, belong to the system and not to a result."""
    if path.is_file():
        return [path]
    files = (file for file in path.rglob("*") if not any(part[0] == "." for part in file.relative_to(path).parts))
    return sorted(file for file in files if file.is_file())


def check_unchanged(inputs: Mapping[str, str], planned: Mapping[str, str]) -> None:
    """Raise BiasflowError if an input (path -> sha256) has changed since the run was planned, because one table would
    then hold scores of both contents."""
    for path, digest in planned.items():
        if inputs[path] != digest:
            raise BiasflowError(f"{path} was replaced or edited since the run began; run again, with one content")


def digest_of(value: object) -> str:
    """Return the sha256 of a value as JSON with sorted keys; types that JSON lacks are taken as text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def digest_of_each(values: Iterable[object]) -> str:
    """Return the sha256 of the `digest_of` of values in their order, of which one is in memory at a time."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(digest_of(value).encode())
    return digest.hexdigest()


def flat(nested: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Return nested parameters by their path: {"recipe": {"epochs": 1}} -> {"recipe.epochs": 1}."""
    parameters: dict[str, object] = {}
    for key, value in nested.items():
        parameters |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) and value else {prefix + key: value}
    return parameters
