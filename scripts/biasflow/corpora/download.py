"""Fetch one external file: from a local file, a mirror folder or upstream; verified, and whole or absent. From its
address it is streamed: resumed between attempts, and within limits of size, speed and time.

Libraries that fetch files (pooch) begin again after a connection that drops, do not wait as long as a server asks, have
no limits, and do not know the sha256 that the hub states."""

import contextlib
import csv
import errno
import logging
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError, InvalidHeader, NameResolutionError, ProxyError
from urllib3.util import Retry as RetryAfter

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256, whole_file
from biasflow.base.progress import Progress
from biasflow.corpora.catalogue import MANIFEST, Entry
from biasflow.corpora.verified import PAGE, VERIFIED_BY, Origin, agree, check_form, refuse_page

log = logging.getLogger(__name__)

BLOCK = 1 << 16  # the most bytes that are written at once
PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses that a later attempt may mend


@dataclass(frozen=True)
class Retry:
    """How often to try again: waits of first_wait * 2^k seconds (no jitter) up to longest_wait, or as Retry-After
    says."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0
    timeout: tuple[float, float] = (10.0, 60.0)  # seconds: to connect, between two reads
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Limits:
    """The disk space and the time that a download may take. largest: of unpacked files of unknown size."""

    largest: int = 1 << 30  # bytes of a file
    slowest: float = 1024.0  # bytes per second, on average over a `window`
    window: float = 60.0  # seconds
    deadline: float = 7200.0  # seconds for a file, with all attempts and waits


class PassingError(Exception):
    """An attempt failed in a way that the next one may mend. wait: seconds that the server asks for."""

    def __init__(self, why: str, *, wait: float = 0.0):
        super().__init__(why)
        self.wait = wait


class NoNetworkError(Exception):
    """No way leads to the host: its name is unknown, or the network or its proxy is not there."""


def check_network(url: str, *, timeout: float = 10.0) -> None:
    """NoNetworkError if no way leads to the host of an address, or nobody there takes a connection in time."""
    try:
        requests.head(url, timeout=timeout).close()
    except requests.ConnectTimeout as error:
        raise NoNetworkError(_reason(error)) from error
    except requests.ConnectionError as error:
        _check_way(error)
    except requests.RequestException:  # somebody answered
        pass


def download(entry: Entry, part: Path, retry: Retry, limits: Limits) -> str | None:
    """Stream entry.url into `part`, resuming between attempts; the sha256 that the host states, if it does.

    PassingError when the last attempt failed; NoNetworkError at once, since another attempt would change nothing."""
    etag = None
    for attempt in range(1, retry.attempts + 1):
        try:
            with _request(entry, part, etag, retry.timeout) as response:
                etag = response.headers.get("ETag")
                _receive(entry, part, response, limits)
            break
        except PassingError as failure:
            if attempt == retry.attempts:
                raise
            if failure.wait > retry.longest_wait:
                raise BiasflowError(
                    f"{entry.name}: {entry.url}: {failure}; the server asks to wait {failure.wait:.0f} s. Run again."
                ) from failure
            wait = max(min(retry.first_wait * 2 ** (attempt - 1), retry.longest_wait), failure.wait)
            log.warning("%s: attempt %d of %d: %s; waiting %g s.", entry.name, attempt, retry.attempts, failure, wait)
            retry.sleep(wait)
    return _stated(response)


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
        raise PassingError(f"no answer within {timeout[1]:g} s") from error
    except requests.ConnectionError as error:
        _check_way(error)
        raise PassingError(_reason(error)) from error
    except requests.RequestException as error:
        raise BiasflowError(f"{entry.name}: {entry.url}: {_reason(error)}.") from error
    if response.status_code in (200, 206):
        if not response.headers.get("Content-Type", "").lower().startswith("text/html"):
            return response
        response.close()
        raise BiasflowError(f"{entry.name}: {entry.url}: {PAGE}. Nothing was kept.")
    response.close()
    status = f"HTTP status {response.status_code} {response.reason}"
    if response.status_code == 416:  # our part does not fit the file: start from zero
        part.write_bytes(b"")
        raise PassingError(status)
    if response.status_code in PASSING:
        raise PassingError(status, wait=_retry_after(response))
    raise BiasflowError(
        f"{entry.name}: {entry.url}: {status}. Nothing was kept; check the address and its access rights."
    )


def _stated(response: requests.Response) -> str | None:
    """The sha256 that the Hugging Face hub states of a large file, in its answer that leads to the file's storage."""
    for answer in (*response.history, response):
        etag = answer.headers.get("X-Linked-ETag", "").strip('"')
        if re.fullmatch("[0-9a-f]{64}", etag):
            return etag
    return None


def _receive(entry: Entry, part: Path, response: requests.Response, limits: Limits) -> None:
    """Write the response's data to `part`, after what is there when the server resumed; PassingError if data lack or
    come too slowly, BiasflowError if there are too many."""
    have = part.stat().st_size
    resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    if response.status_code == 206 and not resumed:
        part.write_bytes(b"")
        raise PassingError("the server sent another range than asked for")
    have = have if resumed else 0
    compressed = "Content-Encoding" in response.headers  # although we asked for none
    length = response.headers.get("Content-Length", "")
    expected = have + int(length) if length.isdigit() and not compressed else entry.bytes
    most = entry.bytes or limits.largest
    if expected is not None and expected > most:
        raise _too_large(entry, f"{expected} bytes are to come, more", most)
    counted = Progress((expected or 0) - have, entry.name)
    try:
        with open(part, "ab" if resumed else "wb") as stream:
            for block in _blocks(response, limits):
                stream.write(block)
                counted.advance(len(block))
                if stream.tell() > most:
                    raise _too_large(entry, "more bytes came", most)
    except HTTPError as error:
        broken_off = f"broken off after {part.stat().st_size} of {expected or 'unknown'} bytes"
        if compressed:  # its ranges count other bytes than ours
            part.write_bytes(b"")
        raise PassingError(broken_off) from error
    came = part.stat().st_size
    if not came:
        raise PassingError("an empty answer")
    if expected is not None and came < expected:
        raise PassingError(f"truncated: expected {expected} bytes, came {came}")


def _blocks(response: requests.Response, limits: Limits) -> Iterator[bytes]:
    """What comes, as soon as it comes (`iter_content` would wait for whole blocks, however slow they are)."""
    since, came = time.monotonic(), 0
    while block := response.raw.read1(BLOCK, decode_content=True):
        yield block
        came += len(block)
        took = time.monotonic() - since
        if took >= limits.window:
            if came < limits.slowest * took:
                raise PassingError(f"{came} bytes in {took:.0f} s, fewer than {limits.slowest:g} a second")
            since, came = time.monotonic(), 0


def _too_large(entry: Entry, came: str, most: int) -> BiasflowError:
    known = (
        "its size in biasflow/data/corpora.yaml" if entry.bytes else "the most that is taken of a file of unknown size"
    )
    return BiasflowError(f"{entry.name}: {entry.url}: {came} than {most}, {known}. Nothing was kept.")


def _retry_after(response: requests.Response) -> float:
    """Seconds that the server asks to wait (a number or a date), 0 when it does not say."""
    try:
        return RetryAfter().parse_retry_after(response.headers.get("Retry-After", "0"))
    except (InvalidHeader, ValueError, OverflowError):  # neither a number nor a date: our own back-off serves
        return 0.0


def _reason(error: requests.RequestException) -> str:
    """The cause of an error of requests, in one line."""
    cause = error.args[0] if error.args else error
    text = " ".join(str(getattr(cause, "reason", cause)).split()) or type(error).__name__
    return re.sub(r"^HTTPS?Connection\(.*?\): ", "", text)


def _check_way(error: requests.ConnectionError) -> None:
    """NoNetworkError if the error says that no way leads to the host; who refuses or garbles is there."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    number = getattr(getattr(reason, "__cause__", None), "errno", None)
    if isinstance(reason, (NameResolutionError, ProxyError)) or number in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        raise NoNetworkError(_reason(error)) from error


def fetch(
    entry: Entry,
    target: str | Path,
    *,
    lock_file: str | Path,
    local_files: Mapping[str, str | Path] | None = None,
    mirror: str | Path | None = None,
    retry: Retry | None = None,
    limits: Limits | None = None,
) -> Origin:
    """Put the file at `target` and say where it came from.

    Order of sources: local_files[entry.name], then mirror/entry.mirror_path, then entry.url. A mirror's copy must agree
    with the mirror's MANIFEST.tsv, a download with the catalogue's size and sha256; where no sha256 is known, with the
    one that the host states, with the form that the catalogue describes, and with the lock file. A local file is the
    user's word: one that differs from upstream is used, with a warning.
    BiasflowError on any failure; then `target` is as it was before and nothing is left beside it."""
    retry = retry or Retry()
    source, path = _nearby(entry, local_files, mirror)
    with _terminate_cleanly(), whole_file(target) as part:
        if path is not None:
            _copy(path, part)
            note = _check_mirror(entry, Path(mirror), part) if source == "mirror" else ""
            return _describe_copy(entry, source, path, part, note)
        limits = limits or Limits()
        try:
            with _within(limits.deadline, entry):
                stated = download(entry, part, retry, limits)
        except NoNetworkError as failure:
            raise _without_network([entry], mirror, failure) from failure
        except PassingError as failure:
            raise BiasflowError(
                f"{entry.name}: {entry.url}: given up after {retry.attempts} attempts: {failure}. Nothing was kept."
            ) from failure
        return _verify_download(entry, part, stated, lock_file)


def check_reachable(entries: Iterable[Entry], *, local_files: Mapping | None, mirror: str | Path | None) -> None:
    """BiasflowError if no way leads to a host from which one of these files would be downloaded, as without a network.
    Its notes list the files that have to come from elsewhere then."""
    missing = sorted((entry for entry in entries if _nearby(entry, local_files, mirror)[1] is None), key=str)
    for entry in {urlsplit(entry.url).netloc: entry for entry in missing}.values():
        try:
            check_network(entry.url)
        except NoNetworkError as failure:
            raise _without_network(missing, mirror, failure) from failure


def _without_network(missing: list[Entry], mirror: str | Path | None, failure: NoNetworkError) -> BiasflowError:
    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    error = BiasflowError(
        f"no network: {missing[0].name}{others} cannot be downloaded ({failure}); name a folder that has the files, "
        f"--config mirror=FOLDER (docs/cluster.md), or a path for each in the configuration, files: "
        f"{{{missing[0].name}: PATH}}"
    )
    for entry in missing:
        place = f"; to {Path(mirror) / entry.mirror_path} with its row in {Path(mirror) / MANIFEST}" if mirror else ""
        error.add_note(f"- {entry.name}: from {entry.url}{place}")
    return error


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


def _copy(source: Path, part: Path) -> None:
    try:
        stream = open(source, "rb")  # noqa: SIM115 (closed below)
    except OSError as error:  # without this, whole_file would blame the target's folder
        raise BiasflowError(f"{source}: cannot be read: {error.strerror}.") from error
    with stream, open(part, "wb") as copy:
        shutil.copyfileobj(stream, copy)


def _check_mirror(entry: Entry, mirror: Path, part: Path) -> str:
    """Compare the copy with the mirror's own manifest; return the manifest's note."""
    manifest = mirror / MANIFEST
    if not manifest.is_file():
        raise BiasflowError(f"{manifest}: missing; a mirror folder must list its files (path, bytes, sha256) there.")
    with open(manifest, encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    row = next((row for row in rows if row.get("path") == entry.mirror_path), None)
    if row is None:
        raise BiasflowError(
            f"{manifest}: no row for {entry.mirror_path}, so {entry.name} cannot be checked; add its row."
        )
    expected = row.get("bytes"), (row.get("sha256") or "").lower()  # some tools write it in capitals
    came = str(part.stat().st_size), sha256(part)
    if expected != came:
        raise BiasflowError(
            f"{mirror / entry.mirror_path}: expected {expected[0]} bytes, sha256 {expected[1]} (its {MANIFEST}); "
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
    exact = source == "mirror" and entry.mirror_exact
    if equal is False:
        difference = f"{entry.name}: {path} is not byte-equal to upstream: {_expected_and_came(entry, digest, size)}"
        if exact:
            raise BiasflowError(f"{difference}. Nothing was kept; mend the mirror.")
        log.warning("%s. It is used all the same, and its provenance says so.", difference)
    if exact:
        _check_form(entry, part, str(path))
    verified_by = "sha256" if equal else "manifest" if source == "mirror" else "nothing"
    return Origin(entry.name, source, str(path), entry.url, digest, size, equal, verified_by, entry.licence, note)


def _check_form(entry: Entry, part: Path, location: str) -> None:
    """BiasflowError if something else was sent in the file's place, as far as that can be seen."""
    try:
        refuse_page(part)
        if entry.sha256 is None:
            check_form(part, parquet=entry.url.endswith(".parquet"), columns=entry.columns, rows=entry.rows)
    except BiasflowError as error:
        why = str(error).removeprefix(f"{part}: ")
        raise BiasflowError(f"{entry.name}: {location}: {why} Nothing was kept.") from error


def _verify_download(entry: Entry, part: Path, stated: str | None, lock_file: str | Path) -> Origin:
    """stated: the sha256 that the host states with the file, if it does."""
    digest, size = sha256(part), part.stat().st_size
    _check_form(entry, part, entry.url)
    expected = entry if entry.sha256 else replace(entry, sha256=stated)
    equal = _equals_upstream(expected, digest, size)
    if equal is False:
        raise BiasflowError(
            f"{entry.name}: {entry.url}: {_expected_and_came(expected, digest, size)}. Nothing was kept. "
            "Either the transfer was altered (a proxy, a login page) or the file changed upstream."
        )
    verified_by = "sha256" if entry.sha256 else "host" if stated else "form"
    if entry.sha256 is None:
        agree(lock_file, {entry.name: {"sha256": digest, "bytes": size, "url": entry.url}})
        log.info("%s: %s.", entry.name, VERIFIED_BY[verified_by])
    return Origin(entry.name, "upstream", entry.url, entry.url, digest, size, equal, verified_by, entry.licence)


@contextlib.contextmanager
def _within(seconds: float, entry: Entry) -> Iterator[None]:
    """BiasflowError when the body takes longer: whatever it waits for, also a server that sends headers by the byte."""
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return

    def stop(number, frame):
        raise BiasflowError(
            f"{entry.name}: {entry.url}: not complete after {seconds:g} s. Nothing was kept; run again."
        )

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
