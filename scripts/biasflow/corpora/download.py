"""Fetch one external file: from a local file, a mirror folder or upstream; verified, and whole or absent."""

import contextlib
import csv
import logging
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import requests
from tqdm import tqdm
from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry as RetryAfter

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import sha256, whole_file
from scripts.biasflow.corpora.catalogue import Entry
from scripts.biasflow.corpora.lock import agree

log = logging.getLogger(__name__)

BLOCK = 1 << 16  # bytes written at once; a connection that drops loses less than this
PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses that a later attempt may mend


@dataclass(frozen=True)
class Origin:
    """Where a file came from, for its provenance.

    source: local | mirror | upstream. location: the path or address that was read. byte_equal_to_upstream: None where
    upstream's sha256 is not known. note: the mirror's own remark on its copy."""

    name: str
    source: str
    location: str
    upstream: str
    sha256: str
    bytes: int
    byte_equal_to_upstream: bool | None
    licence: str
    note: str = ""


@dataclass(frozen=True)
class Retry:
    """How to insist: waits of first_wait * 2^k seconds (no jitter) up to longest_wait, or as Retry-After says."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0
    timeout: tuple[float, float] = (10.0, 60.0)  # seconds: to connect, between two reads
    sleep: Callable[[float], None] = time.sleep


class _PassingError(Exception):
    """An attempt failed in a way that the next one may mend. wait: seconds that the server asks for."""

    def __init__(self, why: str, *, wait: float = 0.0, unreachable: bool = False):
        super().__init__(why)
        self.wait, self.unreachable = wait, unreachable


def fetch(
    entry: Entry,
    target: str | Path,
    *,
    lock_file: str | Path,
    local_files: Mapping[str, str | Path] | None = None,
    mirror: str | Path | None = None,
    wanted: Mapping[Entry, str | Path] | None = None,
    retry: Retry | None = None,
) -> Origin:
    """Put the file at `target` and say where it came from.

    Order of sources: local_files[entry.name], then mirror/entry.mirror_path, then entry.url. A mirror's copy must agree
    with the mirror's MANIFEST.tsv, a download with the catalogue's size and sha256 or, where no sha256 is known, with
    the lock file. A local file is the user's word: one that differs from upstream is used, with a warning.
    wanted: all files of the run and their targets, so that without a network one message can list every missing one.
    BiasflowError on any failure; then `target` is as it was before and nothing is left beside it."""
    retry = retry or Retry()
    source, path = _nearby(entry, local_files, mirror)
    with _terminate_cleanly(), whole_file(target) as part:
        if path is not None:
            _copy(path, part)
            note = _check_mirror(entry, Path(mirror), part) if source == "mirror" else ""
            return _describe_copy(entry, source, path, part, note)
        try:
            _download(entry, part, retry)
        except _PassingError as failure:
            if failure.unreachable:
                others = [
                    other
                    for other, place in (wanted or {}).items()
                    if other != entry and not Path(place).exists() and not _at_hand(other, local_files, mirror)
                ]
                message = missing_files_message([entry, *others], mirror=mirror, reason=str(failure))
                raise BiasflowError(message) from failure
            raise BiasflowError(
                f"{entry.name}: {entry.url}: given up after {retry.attempts} attempts: {failure}. Nothing was kept."
            ) from failure
        return _verify_download(entry, part, lock_file)


def missing_files_message(missing: list[Entry], *, mirror: str | Path | None = None, reason: str) -> str:
    """One message for all missing files: what is wrong in its first line; then where each comes from and belongs."""
    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    lines = [
        f"{missing[0].name}{others} missing, and no network ({reason}); download elsewhere and put in place as listed "
        "in the log, or name a folder that has them: --config mirror=FOLDER"
    ]
    for entry in missing:
        places = [f"any place named in the configuration as files: {{{entry.name}: PATH}}"]
        if mirror is not None:
            places.append(f"{Path(mirror) / entry.mirror_path} with its row in {Path(mirror) / 'MANIFEST.tsv'}")
        lines.append(f"- {entry.name}: from {entry.url}; to {', or '.join(places)}")
    return "\n".join(lines)


def _nearby(entry: Entry, local_files: Mapping | None, mirror: str | Path | None) -> tuple[str, Path | None]:
    """The source that serves the entry without a network, and the file; ("upstream", None) when there is none."""
    if local_files and entry.name in local_files:
        path = Path(local_files[entry.name])
        if not path.is_file():
            raise BiasflowError(f"{path}: no such file; configuration key files: {entry.name} names it.")
        return "local", path
    if mirror is not None:
        if not Path(mirror).is_dir():
            raise BiasflowError(f"{mirror}: no such folder; configuration key mirror names it.")
        path = Path(mirror) / entry.mirror_path
        if path.is_file():
            return "mirror", path
    return "upstream", None


def _at_hand(entry: Entry, local_files: Mapping | None, mirror: str | Path | None) -> bool:
    try:
        return _nearby(entry, local_files, mirror)[1] is not None
    except BiasflowError:  # named in the configuration but not there: missing, too
        return False


def _copy(source: Path, part: Path) -> None:
    try:
        stream = open(source, "rb")  # noqa: SIM115 (closed below)
    except OSError as error:  # without this, whole_file would blame the target's folder
        raise BiasflowError(f"{source}: cannot be read: {error.strerror}.") from error
    with stream, open(part, "wb") as copy:
        shutil.copyfileobj(stream, copy)


def _check_mirror(entry: Entry, mirror: Path, part: Path) -> str:
    """Compare the copy with the mirror's own manifest; return the manifest's note."""
    manifest = mirror / "MANIFEST.tsv"
    if not manifest.is_file():
        raise BiasflowError(f"{manifest}: missing; a mirror folder must list its files (path, bytes, sha256) there.")
    with open(manifest, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    row = next((row for row in rows if row.get("path") == entry.mirror_path), None)
    if row is None:
        raise BiasflowError(
            f"{manifest}: no row for {entry.mirror_path}, so {entry.name} cannot be checked; add its row."
        )
    expected, came = (row.get("bytes"), row.get("sha256")), (str(part.stat().st_size), sha256(part))
    if expected != came:
        raise BiasflowError(
            f"{mirror / entry.mirror_path}: expected {expected[0]} bytes, sha256 {expected[1]} (its MANIFEST.tsv); "
            f"found {came[0]} bytes, sha256 {came[1]}. Nothing was kept; mend the mirror."
        )
    return row.get("note") or ""


def _equals_upstream(entry: Entry, digest: str, size: int) -> bool | None:
    if entry.sha256 is not None:
        return digest == entry.sha256
    return False if entry.bytes not in (None, size) else None


def _expected_and_came(entry: Entry, digest: str, size: int) -> str:
    return (
        f"expected {entry.bytes or 'unknown'} bytes, sha256 {entry.sha256 or 'unknown'}; "
        f"came {size} bytes, sha256 {digest}"
    )


def _describe_copy(entry: Entry, source: str, path: Path, part: Path, note: str) -> Origin:
    digest, size = sha256(part), part.stat().st_size
    equal = _equals_upstream(entry, digest, size)
    if equal is False:
        difference = f"{entry.name}: {path} is not byte-equal to upstream: {_expected_and_came(entry, digest, size)}"
        if source == "mirror" and entry.mirror_exact:
            raise BiasflowError(f"{difference}. Nothing was kept; mend the mirror.")
        log.warning("%s. It is used all the same, and its provenance says so.", difference)
    return Origin(entry.name, source, str(path), entry.url, digest, size, equal, entry.licence, note)


def _verify_download(entry: Entry, part: Path, lock_file: str | Path) -> Origin:
    digest, size = sha256(part), part.stat().st_size
    if _equals_upstream(entry, digest, size) is False:
        raise BiasflowError(
            f"{entry.name}: {entry.url}: {_expected_and_came(entry, digest, size)}. Nothing was kept. "
            "Either the transfer was altered (a proxy, a login page) or the file changed upstream."
        )
    if entry.sha256 is None:
        agree(lock_file, {entry.name: {"sha256": digest, "bytes": size, "url": entry.url}})
    return Origin(entry.name, "upstream", entry.url, entry.url, digest, size, True, entry.licence)


def _download(entry: Entry, part: Path, retry: Retry) -> None:
    """Stream entry.url into `part`, resuming between attempts; _PassingError when the last attempt failed."""
    etag = None
    for attempt in range(1, retry.attempts + 1):
        try:
            with _request(entry, part, etag, retry.timeout) as response:
                etag = response.headers.get("ETag")
                _receive(entry, part, response)
            break
        except _PassingError as failure:
            if attempt == retry.attempts:
                raise
            if failure.wait > retry.longest_wait:
                raise BiasflowError(
                    f"{entry.name}: {entry.url}: {failure}; the server asks to wait {failure.wait:.0f} s. Run again."
                ) from failure
            wait = max(min(retry.first_wait * 2 ** (attempt - 1), retry.longest_wait), failure.wait)
            log.warning("%s: attempt %d of %d: %s; waiting %g s.", entry.name, attempt, retry.attempts, failure, wait)
            retry.sleep(wait)


def _request(entry: Entry, part: Path, etag: str | None, timeout: tuple[float, float]) -> requests.Response:
    """Ask for the file, or for what is missing of it; the response is one that carries data."""
    headers = {"Accept-Encoding": "identity"}  # else sizes and ranges would count compressed bytes
    have = part.stat().st_size
    strong = etag is not None and not etag.startswith("W/")
    if have and (strong or entry.sha256):  # else two versions of the file could be joined unseen
        headers["Range"] = f"bytes={have}-"
        if strong:
            headers["If-Range"] = etag
    try:
        response = requests.get(entry.url, headers=headers, stream=True, timeout=timeout)
    except requests.ReadTimeout as error:
        raise _PassingError(f"no answer within {timeout[1]:g} s") from error
    except requests.ConnectionError as error:
        raise _PassingError(_reason(error), unreachable=True) from error
    except requests.RequestException as error:
        raise BiasflowError(f"{entry.name}: {entry.url}: {_reason(error)}.") from error
    if response.status_code in (200, 206):
        return response
    response.close()
    status = f"HTTP status {response.status_code} {response.reason}"
    if response.status_code == 416:  # what we have does not fit the file: start from zero
        part.write_bytes(b"")
        raise _PassingError(status)
    if response.status_code in PASSING:
        raise _PassingError(status, wait=_retry_after(response))
    raise BiasflowError(
        f"{entry.name}: {entry.url}: {status}. Nothing was kept; check the address and its access rights."
    )


def _receive(entry: Entry, part: Path, response: requests.Response) -> None:
    """Write the response's data to `part`, after what is there when the server resumed; _PassingError if data lack."""
    have = part.stat().st_size
    resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    if response.status_code == 206 and not resumed:
        part.write_bytes(b"")
        raise _PassingError("the server sent another range than asked for")
    have = have if resumed else 0
    compressed = "Content-Encoding" in response.headers  # although we asked for none
    length = response.headers.get("Content-Length", "")
    whole = have + int(length) if length.isdigit() and not compressed else entry.bytes
    # disable=None: a bar on a terminal, nothing in a log
    bar = tqdm(total=whole, initial=have, unit="B", unit_scale=True, desc=entry.name, disable=None)
    try:
        with open(part, "ab" if resumed else "wb") as stream, bar:
            for block in response.iter_content(BLOCK):
                stream.write(block)
                bar.update(len(block))
    except requests.RequestException as error:
        broken_off = f"broken off after {part.stat().st_size} of {whole or 'unknown'} bytes"
        if compressed:  # its ranges count other bytes than ours
            part.write_bytes(b"")
        raise _PassingError(broken_off) from error
    if whole is not None and part.stat().st_size < whole:
        raise _PassingError(f"truncated: expected {whole} bytes, came {part.stat().st_size}")


def _retry_after(response: requests.Response) -> float:
    """Seconds that the server asks to wait (a number or a date), 0 when it does not say."""
    try:
        return RetryAfter().parse_retry_after(response.headers.get("Retry-After", "0"))
    except (InvalidHeader, ValueError, OverflowError):  # neither a number nor a date: our own back-off serves
        return 0.0


def _reason(error: requests.RequestException) -> str:
    """The cause of an error of requests, in one line."""
    cause = error.args[0] if error.args else error
    return " ".join(str(getattr(cause, "reason", cause)).split()) or type(error).__name__


@contextlib.contextmanager
def _terminate_cleanly() -> Iterator[None]:
    """Turn SIGTERM (a cancelled cluster job) into an exception, so that a half-written file is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
