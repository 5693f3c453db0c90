"""Fetch one external file: from a local file, a mirror folder or upstream; verified, and whole or absent."""

import contextlib
import csv
import logging
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256, whole_file
from biasflow.corpora.catalogue import MANIFEST, Entry
from biasflow.corpora.form import check_form, refuse_page
from biasflow.corpora.lock import agree
from biasflow.corpora.origins import VERIFIED_BY, Origin
from biasflow.corpora.transfer import Limits, NoNetworkError, PassingError, Retry, check_network, download

log = logging.getLogger(__name__)


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
