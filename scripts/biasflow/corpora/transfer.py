"""Stream one file from its address: resumed between attempts, and within limits of size, speed and time.

Libraries that fetch files (pooch) begin again after a connection that drops, do not wait as long as a server asks, have
no limits, and do not know the sha256 that the hub states."""

import errno
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import requests
from urllib3.exceptions import HTTPError, InvalidHeader, NameResolutionError, ProxyError
from urllib3.util import Retry as RetryAfter

from biasflow.base.errors import BiasflowError
from biasflow.base.progress import Progress
from biasflow.corpora.catalogue import Entry
from biasflow.corpora.form import PAGE

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
