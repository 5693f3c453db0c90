"""Fetch one external file: from a local file, a mirror folder or upstream; verified, and whole or absent. From its
address it is streamed: resumed between attempts, and within limits of size, speed and time.

Libraries that fetch files (pooch) begin again after a connection that drops, do not wait as long as a server asks, have
no limits, and do not know the sha256 that the hub states."""

import contextlib
import csv
import errno
import logging
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError, InvalidHeader, NameResolutionError, ProxyError
from urllib3.util import Retry as RetryAfter

from biasflow.base.errors import BiasflowError
from biasflow.base.files import no_folder, sha256, whole_file
from biasflow.base.progress import Progress
from biasflow.corpora.catalogue import MANIFEST, Entry
from biasflow.corpora.verified import PAGE, VERIFIED_BY, DownloadError, Origin, agree, check_form, refuse_page

log = logging.getLogger(__name__)

CACHE = "BIASFLOW_CACHE"  # names the folder in which downloads are kept for the runs of all folders
BLOCK = 1 << 16  # the most bytes that are written at once
PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses that a later attempt may mend


@dataclass(frozen=True)
class Limits:
    """How often a download is tried again, and the disk space and the time that it may take. Waits are of
    first_wait * 2^k seconds (no jitter) up to longest_wait, or as Retry-After says."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0
    timeout: tuple[float, float] = (10.0, 60.0)  # seconds: to connect, between two reads
    sleep: Callable[[float], None] = time.sleep
    largest: int = 1 << 30  # bytes of an unpacked file of unknown size
    slowest: float = 1024.0  # bytes per second, on average over a `window`
    window: float = 60.0  # seconds
    deadline: float = 7200.0  # seconds for a file, with all attempts and waits


class PassingError(DownloadError):
    """An attempt failed in a way that the next one may mend. wait: seconds that the server asks for."""

    def __init__(self, why: str, *, wait: float = 0.0):
        super().__init__(why)
        self.wait = wait


class NoNetworkError(Exception):
    """No way leads to the host: its name is unknown, or the network or its proxy is not there."""


def fetch(
    entry: Entry,
    target: str | Path,
    *,
    lock_file: str | Path,
    local_files: Mapping[str, str | Path] | None = None,
    mirror: str | Path | None = None,
    limits: Limits | None = None,
) -> Origin:
    """Put the file at `target` and say where it came from.

    Order of sources: local_files[entry.name], then mirror/entry.mirror_path, then the folder that CACHE names, then
    entry.url; a download of known sha256 is kept there. A mirror's copy must agree with the mirror's MANIFEST.tsv, a
    download with the catalogue's size and sha256; where no sha256 is known, with the one that the host states, with the
    form that the catalogue describes, and with the lock file. A local file is the user's word: one that differs from
    upstream is used, with a warning.
    BiasflowError on any failure; then `target` is as it was before and nothing is left beside it."""
    limits = limits or Limits()
    source, path = nearby(entry, local_files, mirror)
    # A cancelled job of a cluster gets SIGTERM: as an exception it lets the half of a file be removed.
    with _raised_by(signal.SIGTERM, SystemExit(128 + signal.SIGTERM)), whole_file(target) as part:
        try:
            if path is not None:
                return _copied(entry, source, path, part, mirror)
            late = DownloadError(f"not complete after {limits.deadline:g} s; run again")
            with _raised_by(signal.SIGALRM, late, after=limits.deadline):
                stated = download(entry, part, limits)
            origin = _verified(entry, part, stated, lock_file)
            _keep(entry, part)
            return origin
        except NoNetworkError as failure:
            raise _without_network([entry], mirror, failure) from failure
        except DownloadError as failure:
            raise BiasflowError(f"{entry.name}: {path or entry.url}: {failure}. Nothing was kept.") from failure


def check_reachable(entries: Iterable[Entry], *, local_files: Mapping | None, mirror: str | Path | None) -> None:
    """BiasflowError if no way leads to a host from which one of these files would be downloaded, as without a network.
    Its notes list the files that have to come from elsewhere then."""
    missing = sorted((entry for entry in entries if nearby(entry, local_files, mirror)[1] is None), key=str)
    for entry in {urlsplit(entry.url).netloc: entry for entry in missing}.values():
        try:
            check_network(entry.url)
        except NoNetworkError as failure:
            raise _without_network(missing, mirror, failure) from failure


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


def _without_network(missing: list[Entry], mirror: str | Path | None, failure: NoNetworkError) -> BiasflowError:
    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    error = BiasflowError(
        f"no network: {missing[0].name}{others} cannot be downloaded ({failure}); name a folder that has the files, "
        "--config mirror=FOLDER (biasflow measure: --mirror FOLDER; docs/cluster.md), or a path for each in the "
        f"configuration, files: {{{missing[0].name}: PATH}}"
    )
    for entry in missing:
        place = f"; to {Path(mirror) / entry.mirror_path} with its row in {Path(mirror) / MANIFEST}" if mirror else ""
        error.add_note(f"- {entry.name}: from {entry.url}{place}")
    return error


def nearby(entry: Entry, local_files: Mapping | None, mirror: str | Path | None) -> tuple[str, Path | None]:
    """The source that serves the entry without a network, and the file; ("upstream", None) when there is none."""
    if local_files and entry.name in local_files:
        path = Path(local_files[entry.name])
        if not path.is_file():
            raise BiasflowError(f"{path}: no such file; configuration key files: {entry.name} names it.")
        return "local", path
    if mirror is not None:
        if not Path(mirror).is_dir():
            raise BiasflowError(f"{no_folder(mirror)}; configuration key mirror names it.")
        path = Path(mirror) / entry.mirror_path
        if path.is_file():
            return "mirror", path
    kept = _in_cache(entry)
    return ("cache", kept) if kept and kept.is_file() else ("upstream", None)


def _keep(entry: Entry, part: Path) -> None:
    """Copy a verified download into the cache, if there is one; that this cannot be done ends no run."""
    if kept := _in_cache(entry):
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(kept) as copy:
                shutil.copyfile(part, copy)
        except (OSError, BiasflowError) as error:
            log.warning("%s is not kept in %s: %s", entry.name, kept.parent, error)


def _in_cache(entry: Entry) -> Path | None:
    """Where an entry lies in the folder that CACHE names; None without one, and of files whose sha256 is not known."""
    folder = os.environ.get(CACHE)
    return Path(folder).expanduser() / entry.sha256.lower() if folder and entry.sha256 else None


def at_hand(
    entry: Entry, downloaded: str | Path, local_files: Mapping | None, mirror: str | Path | None
) -> Path | None:
    """The file of an entry as it can be read before the first job: `downloaded` earlier, or that of `nearby`."""
    return Path(downloaded) if Path(downloaded).is_file() else nearby(entry, local_files, mirror)[1]


def _copied(entry: Entry, source: str, path: Path, part: Path, mirror: str | Path | None) -> Origin:
    """The origin of a local file, of a mirror's or of the cache's, which is copied to `part`."""
    try:
        shutil.copyfile(path, part)
    except PermissionError as error:  # without this, whole_file would blame the target's folder
        raise DownloadError(f"cannot be read: {error.strerror}") from error
    size, digest = part.stat().st_size, sha256(part)
    row = _row_of_mirror(entry, Path(mirror)) if source == "mirror" else {}
    if row and (difference := _difference(size, digest, row.get("bytes") or "no", row.get("sha256") or "none")):
        raise DownloadError(f"{difference} (its {MANIFEST} says what is expected); mend the mirror")
    must_be_equal = source == "cache" or (source == "mirror" and entry.mirror_exact)
    difference = _difference(size, digest, entry.bytes, entry.sha256)
    if difference and must_be_equal:
        mend = "delete it" if source == "cache" else "mend the mirror"
        raise DownloadError(f"not byte-equal to upstream: {difference}; {mend}")
    if difference:
        said = "%s: %s is not byte-equal to upstream: %s. It is used all the same, and its provenance says so."
        log.warning(said, entry.name, path, difference)
    if must_be_equal:
        _check_form(entry, part)
    equal = not difference if difference or entry.sha256 else None
    verified_by = "sha256" if equal else "manifest" if source == "mirror" else "nothing"
    note = row.get("note") or ""
    return Origin(entry.name, source, str(path), entry.url, digest, size, equal, verified_by, entry.licence, note)


def _row_of_mirror(entry: Entry, mirror: Path) -> dict[str, str]:
    """What the mirror's own manifest says of its file."""
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
    return row


def _verified(entry: Entry, part: Path, stated: str | None, lock_file: str | Path) -> Origin:
    """The origin of a download that is what was expected. stated: the sha256 that the host states with it, if any."""
    size, digest = part.stat().st_size, sha256(part)
    _check_form(entry, part)
    if difference := _difference(size, digest, entry.bytes, entry.sha256 or stated):
        raise DownloadError(
            f"{difference}: either the transfer was altered (a proxy, a login page), or the file changed upstream"
        )
    verified_by = "sha256" if entry.sha256 else "host" if stated else "form"
    if entry.sha256 is None:
        agree(lock_file, {entry.name: {"sha256": digest, "bytes": size, "url": entry.url}})
        log.info("%s: %s.", entry.name, VERIFIED_BY[verified_by])
    equal = True if entry.sha256 or stated else None
    return Origin(entry.name, "upstream", entry.url, entry.url, digest, size, equal, verified_by, entry.licence)


def _difference(size: int, digest: str, expected_size: object, expected_digest: str | None) -> str:
    """What was expected and what came, "" where it is the same; what is None is not known. Some tools write a sha256 in
    capitals."""
    if str(expected_size or size) == str(size) and (expected_digest or digest).lower() == digest:
        return ""
    expected = f"expected {expected_size or 'unknown'} bytes, sha256 {expected_digest or 'unknown'}"
    return f"{expected}; came {size} bytes, sha256 {digest}"


def _check_form(entry: Entry, part: Path) -> None:
    """DownloadError if something else was sent in the file's place, as far as that can be seen."""
    refuse_page(part)
    if entry.sha256 is None and entry.columns:  # a list of words has no header
        check_form(part, parquet=entry.url.endswith(".parquet"), columns=entry.columns, rows=entry.rows)


@contextlib.contextmanager
def _raised_by(number: int, error: BaseException, *, after: float = 0.0) -> Iterator[None]:
    """Raise the error in the body when a signal comes; after: so many seconds, SIGALRM comes. Whatever the body waits
    for ends, also a server that sends headers by the byte. Other threads than the first get no signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise error

    before = signal.signal(number, stop)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(number, before)


def download(entry: Entry, part: Path, limits: Limits) -> str | None:
    """Stream entry.url into `part`, resuming between attempts; the sha256 that the host states, if it does.

    DownloadError when the last attempt failed; NoNetworkError at once, since another attempt would change nothing."""
    etag = None
    for attempt in range(1, limits.attempts + 1):
        try:
            with _request(entry, part, etag, limits.timeout) as response:
                etag = response.headers.get("ETag")
                _receive(entry, part, response, limits)
            break
        except PassingError as failure:
            if attempt == limits.attempts:
                raise DownloadError(f"given up after {attempt} attempts: {failure}") from failure
            if failure.wait > limits.longest_wait:
                raise DownloadError(f"{failure}; the server asks to wait {failure.wait:.0f} s; run again") from failure
            wait = max(min(limits.first_wait * 2 ** (attempt - 1), limits.longest_wait), failure.wait)
            log.warning("%s: attempt %d of %d: %s; waiting %g s.", entry.name, attempt, limits.attempts, failure, wait)
            limits.sleep(wait)
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
        raise DownloadError(_reason(error)) from error
    if response.status_code in (200, 206):
        if not response.headers.get("Content-Type", "").lower().startswith("text/html"):
            return response
        response.close()
        raise DownloadError(PAGE)
    response.close()
    status = f"HTTP status {response.status_code} {response.reason}"
    if response.status_code == 416:  # our part does not fit the file: start from zero
        part.write_bytes(b"")
        raise PassingError(status)
    if response.status_code in PASSING:
        raise PassingError(status, wait=_retry_after(response))
    raise DownloadError(f"{status}; check the address and its access rights")


def _stated(response: requests.Response) -> str | None:
    """The sha256 that the Hugging Face hub states of a large file, in its answer that leads to the file's storage."""
    for answer in (*response.history, response):
        etag = answer.headers.get("X-Linked-ETag", "").strip('"')
        if re.fullmatch("[0-9a-f]{64}", etag):
            return etag
    return None


def _receive(entry: Entry, part: Path, response: requests.Response, limits: Limits) -> None:
    """Write the response's data to `part`, after what is there when the server resumed; PassingError if data lack or
    come too slowly, DownloadError if there are too many."""
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
    known = "its size in biasflow/data/corpora.yaml" if entry.bytes else "the most of a file of unknown size"
    if expected is not None and expected > most:
        raise DownloadError(f"{expected} bytes are to come, more than {most}, {known}")
    counted = Progress((expected or 0) - have, entry.name)
    try:
        with open(part, "ab" if resumed else "wb") as stream:
            for block in _blocks(response, limits):
                stream.write(block)
                counted.advance(len(block))
                if stream.tell() > most:
                    raise DownloadError(f"more bytes came than {most}, {known}")
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
