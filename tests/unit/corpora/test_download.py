"""Fetching files of the catalogue: sources, retries, resuming, verification; against a real HTTP server on loopback."""

import email.utils
import gzip
import http.server
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import jsonschema
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.records import write_record
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.corpora.catalogue import Entry, read_catalogue
from biasflow.corpora.download import BLOCK, Limits, check_reachable, fetch
from biasflow.corpora.verified import COLUMNS, Origin, agree, differing, origin_of, remark
from tests.loopback import serving

BODY = bytes(range(256)) * 1500
SIZE = len(BODY)
DIGEST = sha256(BODY).hexdigest()
ETAG = '"version-1"'


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers each request with the next behaviour of server.behaviours, then as a good server does."""

    def do_GET(self):
        self.server.ranges.append(self.headers.get("Range"))
        behaviour = self.server.behaviours.popleft() if self.server.behaviours else whole
        behaviour(self)

    def answer(self, status, body, *, length=None, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if length is not False:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def whole(request):
    asked = request.headers.get("Range")
    if asked is None:
        return request.answer(200, BODY, headers=[("ETag", ETAG)])
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    place = ("Content-Range", f"bytes {start}-{SIZE - 1}/{SIZE}")
    return request.answer(206, BODY[start:], headers=[("ETag", ETAG), place])


def drops_after(size):
    """Sends `size` more bytes of what was asked for, then drops the connection."""

    def behaviour(request):
        start = int((request.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        headers = [("ETag", ETAG)] + [("Content-Range", f"bytes {start}-{SIZE - 1}/{SIZE}")] * bool(start)
        rest = BODY[start:]
        request.answer(206 if start else 200, rest[:size], length=len(rest), headers=headers)

    return behaviour


def without_ranges(request):
    request.answer(200, BODY)


def status(code, *headers):
    return lambda request: request.answer(code, b"", headers=headers)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(Handler, behaviours=deque(), ranges=[]) as server:
        server.url = f"http://127.0.0.1:{server.server_port}/file"
        yield server


@pytest.fixture
def nobody(server):
    """An address at which no server listens."""
    other = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    other.server_close()
    return f"http://127.0.0.1:{other.server_port}"


@pytest.fixture
def waits():
    return []


@pytest.fixture
def get(tmp_path, server, waits):
    """fetch into an empty folder, with no real waits; get.folder is that folder."""

    def get(behaviours=(), *, entry=None, **options):
        server.behaviours.extend(behaviours)
        limits = Limits(**{"attempts": 4, "timeout": (1, 1), "sleep": waits.append} | options.pop("limits", {}))
        entry = entry or file_at(server.url)
        return fetch(entry, get.folder / "target", lock_file=tmp_path / "lock.json", limits=limits, **options)

    get.folder = tmp_path / "out"
    return get


def file_at(url, *, name="words", sha256=DIGEST, bytes=SIZE, exact=True):
    return Entry(name, url, "MIT", f"texts/{name}.txt", exact, bytes, sha256)


def left(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def fails(get, *behaviours, match, **options):
    """The fetch fails with a message that has `match`, and leaves nothing behind; what it says, with its notes."""
    with pytest.raises(BiasflowError, match=match) as caught:
        get(behaviours, **options)
    assert left(get.folder) == []
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def test_a_download_is_verified_and_described(get, server):
    origin = get()
    assert (get.folder / "target").read_bytes() == BODY and left(get.folder) == ["target"]
    assert (origin.source, origin.location, origin.sha256) == ("upstream", server.url, DIGEST)
    assert origin.byte_equal_to_upstream is True and origin.verified_by == "sha256"
    assert origin.bytes == SIZE and origin.licence == "MIT"
    assert server.ranges == [None]


def test_resumes_where_the_connection_dropped(get, server, waits):
    get([drops_after(BLOCK + 1000), drops_after(2 * BLOCK)])
    assert server.ranges == [None, f"bytes={BLOCK + 1000}-", f"bytes={3 * BLOCK + 1000}-"]  # only the rest is asked for
    assert (get.folder / "target").read_bytes() == BODY
    assert waits == [1, 2]


def test_starts_from_zero_where_the_server_knows_no_ranges(get, server):
    get([drops_after(BLOCK), without_ranges])
    assert server.ranges == [None, f"bytes={BLOCK}-"] and (get.folder / "target").read_bytes() == BODY


def test_does_not_join_two_versions_of_an_unknown_file(get, server):
    """Without a sha256 and an ETag, what came before the drop is asked for again."""
    get([sends(b"o" * 100, length=len(PARQUET)), sends(PARQUET)], entry=unverified(server))
    assert server.ranges == [None, None] and (get.folder / "target").read_bytes() == PARQUET


def test_a_range_that_was_not_asked_for_is_not_used(get, server):
    wrong = ("Content-Range", f"bytes 5-{SIZE - 1}/{SIZE}")
    get([drops_after(BLOCK), lambda request: request.answer(206, BODY[5:], headers=[wrong])])
    assert (get.folder / "target").read_bytes() == BODY and server.ranges == [None, f"bytes={BLOCK}-", None]


def test_a_range_that_does_not_fit_starts_from_zero(get, server):
    get([drops_after(BLOCK), status(416)])
    assert server.ranges == [None, f"bytes={BLOCK}-", None] and (get.folder / "target").read_bytes() == BODY


def test_a_compressed_answer_is_unpacked_and_never_resumed(get, server):
    packed = gzip.compress(os.urandom(3 * BLOCK) + BODY, mtime=0)
    headers = [("Content-Encoding", "gzip"), ("ETag", ETAG)]
    get([lambda request: request.answer(200, packed[: 2 * BLOCK], length=len(packed), headers=headers)])
    assert server.ranges == [None, None] and (get.folder / "target").read_bytes() == BODY
    packed = gzip.compress(BODY, mtime=0)
    get([lambda request: request.answer(200, packed, headers=headers)])
    assert (get.folder / "target").read_bytes() == BODY


@pytest.mark.parametrize("spelling", ["seconds", "date"])
def test_retry_after_is_respected(get, waits, spelling):
    asked = "7" if spelling == "seconds" else email.utils.formatdate(time.time() + 7, usegmt=True)
    get([status(503, ("Retry-After", asked))])
    assert len(waits) == 1 and 5 <= waits[0] <= 7


def test_a_server_that_asks_for_too_long_a_wait_is_an_error_at_once(get, waits):
    fails(get, status(503, ("Retry-After", "9999")), match="9999")
    assert waits == []


def test_404_fails_at_once_with_the_address(get, server, waits):
    fails(get, status(404), match=server.url)
    assert waits == [] and len(server.ranges) == 1


def test_an_ended_process_leaves_nothing_behind(tmp_path, server):
    released = threading.Event()

    def stalls(request):
        request.answer(200, BODY[:1000], length=SIZE)
        request.wfile.flush()
        released.wait(60)  # longer than a busy machine needs to get there

    server.behaviours.append(stalls)
    code = (
        "from biasflow.corpora.catalogue import Entry\nfrom biasflow.corpora.download import fetch\n"
        f"fetch(Entry('words', {server.url!r}, 'MIT', 'words', True), 'out/target', lock_file='lock.json')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not (left(tmp_path / "out") and server.ranges) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left(tmp_path / "out") != []  # half of a file, under a temporary name
        process.terminate()
        assert process.wait(20) != 0
    finally:
        released.set()
        process.kill()
        process.wait()
    assert left(tmp_path / "out") == []


# What is not the file


def table(rows, **columns):
    columns = {name: pa.array([value] * rows) for name, value in columns.items()}
    pq.write_table(pa.table(columns), stream := io.BytesIO())
    return stream.getvalue()


PARQUET = table(1000, sentence="They drank the pub dry.", label=1, idx=0)
CSV = b"sentence,label\n" + b"".join(b"They drank the pub dry %d times.,1\n" % k for k in range(1000))
PAGE = b"\xef\xbb\xbf \n<!DOCTYPE html><html><body>Log in<table><tr><td>sentence,label</td></tr></table></body></html>"
ERROR = b'{"error": "rate limit"}'


def unverified(server, name="words.parquet", **known):
    """A file whose sha256 nobody knows, 1,000 rows of sentence and label."""
    known = {"columns": ("sentence", "label"), "rows": 1000} | known
    return Entry("words", f"{server.url}/{name}", "MIT", "texts/words.txt", False, **known)


def sends(body, *headers, length=None):
    return lambda request: request.answer(200, body, headers=headers, length=length)


IMPOSTORS = {
    "a login page": sends(PAGE, ("Content-Type", "text/html; charset=utf-8")),
    "a login page that does not say so": sends(PAGE, ("Content-Type", "application/octet-stream")),
    "an empty file": sends(b""),
    "an error in JSON": sends(ERROR, ("Content-Type", "application/json")),
    "bytes": sends(BODY),
    "a line of text": sends(b"service unavailable"),
    "one byte": sends(b"P"),
    "the magic bytes alone": sends(b"PAR1PAR1"),
    "other columns, Parquet": sends(table(1000, text="They drank the pub dry.")),
    "other columns, CSV": sends(CSV.replace(b"sentence", b"text", 1)),
    "fewer rows, Parquet": sends(table(999, sentence="They drank the pub dry.", label=1)),
    "fewer rows, CSV": sends(CSV[: CSV.rindex(b"They")]),
    "cut, no length, Parquet": sends(PARQUET[: len(PARQUET) // 2], length=False),
    "the end lacks a byte, no length, Parquet": sends(PARQUET[:-1], length=False),
    "cut in a line, no length, CSV": sends(CSV[: len(CSV) // 2], length=False),
    "the beginning lacks, Parquet": sends(PARQUET[100:]),
    "shorter than its length": sends(CSV, length=len(CSV) + 1),
}


@pytest.mark.parametrize("name", ["words.parquet", "words.csv"])
def test_of_a_file_without_a_sha256_nothing_else_is_taken_for_it(get, server, tmp_path, name):
    taken = []
    for impostor, behaviour in IMPOSTORS.items():
        try:
            get([behaviour] * 4, entry=unverified(server, name))
        except BiasflowError as error:
            assert server.url in str(error) and "no network" not in str(error) and "\n" not in str(error)
        else:
            taken.append(impostor)
        server.behaviours.clear()
    print(f"{name}: {len(IMPOSTORS)} trials, {len(taken)} failures")
    assert taken == [] and left(get.folder) == []
    assert not (tmp_path / "lock.json").exists()


def test_a_list_without_a_sha256_and_without_columns_is_taken_unless_it_is_a_page(get, server):
    listed = file_at(server.url, sha256=None, bytes=None)
    fails(get, sends(b"<html>Log in</html>"), entry=listed, match="HTML page")
    assert get([sends(b"[A] is kind.\n[A] is rude, too.")], entry=listed).byte_equal_to_upstream is None


def redirects(*headers):
    """To another address of the same server, with headers of its own."""
    return lambda request: request.answer(302, b"", headers=[("Location", "/storage"), *headers])


def test_the_sha256_that_the_host_states_is_checked(get, server, tmp_path):
    right = ("X-Linked-ETag", f'"{sha256(PARQUET).hexdigest()}"')
    origin = get([redirects(right), sends(PARQUET)], entry=unverified(server))
    assert origin.verified_by == "host" and origin.byte_equal_to_upstream is True
    (tmp_path / "lock.json").unlink()
    (get.folder / "target").unlink()
    other = table(1000, sentence="Of the same form.", label=0)
    fails(get, redirects(right), sends(other), entry=unverified(server), match=sha256(other).hexdigest())
    assert not (tmp_path / "lock.json").exists()


# A server that takes what it can


LIMITS = {"largest": 100_000, "slowest": 1_000_000, "window": 0.1, "deadline": 2, "attempts": 2}


def trickles(body, *, pause, times=200):
    """Sends a byte and waits, again and again, until nobody listens or the test is over."""

    def behaviour(request):
        request.wfile.write(body)
        for _ in range(times):
            try:
                request.wfile.write(b"x")
                request.wfile.flush()
            except OSError:
                return
            time.sleep(pause)

    return behaviour


HEADERS = f"HTTP/1.0 200 OK\r\nContent-Length: {SIZE}\r\nX-Name: ".encode()


def test_a_server_that_is_too_slow_is_tried_again_and_given_up(get, server):
    fails(get, *[trickles(HEADERS + b"\r\n\r\n", pause=0.01)] * 2, match="a second", limits=LIMITS)
    assert len(server.ranges) == 2


def test_a_server_that_never_ends_its_headers_meets_the_deadline(get):
    started = time.monotonic()
    fails(get, trickles(HEADERS, pause=0.02), match="not complete after 2 s", limits=LIMITS)
    assert time.monotonic() - started < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


# No network


def test_who_refuses_is_tried_again_and_given_up(get, nobody, waits):
    message = fails(get, entry=file_at(f"{nobody}/words"), match="given up after 4 attempts")
    assert "no network" not in message and waits == [1, 2, 4]


UNKNOWN = "http://host.invalid"  # a name that nobody may have (RFC 2606)


@pytest.mark.parametrize("proxy", [None, "http://127.0.0.1:9"])
def test_without_a_network_nothing_is_tried_twice(get, waits, monkeypatch, proxy):
    if proxy:
        monkeypatch.setenv("http_proxy", proxy)
    message = fails(get, entry=file_at(f"{UNKNOWN}/words"), match="no network: words cannot be downloaded")
    assert waits == [] and "--config mirror=FOLDER" in message and "files: {words: PATH}" in message


def test_without_a_network_one_message_lists_every_missing_file(server, nobody, tmp_path):
    mirror = make_mirror(tmp_path / "mirror", {"texts/mirrored.txt": b"x"})
    (tmp_path / "own.txt").write_text("x")
    there = [file_at(f"{url}/there", name="there") for url in (server.url, nobody)]
    gone = [file_at(f"{UNKNOWN}/{name}", name=name) for name in ("words", "second", "mirrored", "own")]
    places = {"mirror": mirror, "local_files": {"own": tmp_path / "own.txt"}}
    check_reachable([*there, *gone[2:]], **places)
    with pytest.raises(BiasflowError, match="no network: second and 2 more") as caught:
        check_reachable([there[0], *gone], **places)
    listed = caught.value.__notes__
    assert [line.split(":")[0] for line in listed] == ["- second", "- there", "- words"]
    assert f"{UNKNOWN}/second" in listed[0] and str(mirror / "texts/second.txt") in listed[0]


# A local file


def test_a_local_variant_is_used_with_a_warning(get, tmp_path, caplog):
    (tmp_path / "own.txt").write_bytes(b"my own")
    origin = get(local_files={"words": tmp_path / "own.txt"})
    assert origin.byte_equal_to_upstream is False and origin.sha256 == sha256(b"my own").hexdigest()
    assert origin.verified_by == "nothing"
    assert "own.txt" in caplog.text and DIGEST in caplog.text


# A cache


def test_a_download_is_kept_for_the_runs_of_other_folders(get, server, tmp_path, monkeypatch):
    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "cache/of all"))
    asked = len(server.ranges)
    origins = [get() for _ in range(2)]
    assert [origin.source for origin in origins] == ["upstream", "cache"] and len(server.ranges) == asked + 1
    assert [path.read_bytes() for path in (tmp_path / "cache/of all").iterdir()] == [BODY]
    assert {origin.sha256 for origin in origins} == {DIGEST} and origins[1].byte_equal_to_upstream
    (kept,) = (tmp_path / "cache/of all").iterdir()
    kept.write_bytes(BODY + b"?")
    with pytest.raises(BiasflowError, match=f"{kept}.*delete it"):
        get()
    assert (get.folder / "target").read_bytes() == BODY and left(get.folder) == ["target"]


def test_a_cache_that_cannot_be_written_or_a_file_of_unknown_sha256_changes_nothing(
    get, tmp_path, monkeypatch, caplog, server
):
    (tmp_path / "file").touch()
    for folder, digest in ((tmp_path / "file", DIGEST), (tmp_path / "cache", None)):
        monkeypatch.setenv("BIASFLOW_CACHE", str(folder))
        assert get(entry=file_at(server.url, sha256=digest)).source == "upstream"
    assert "is not kept" in caplog.text and not (tmp_path / "cache").exists()


# A mirror


def make_mirror(folder, files, *, note="exact"):
    rows = ["path\tbytes\tsha256\tupstream\tlicence\tnote"]
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        rows.append(f"{path}\t{len(content)}\t{sha256(content).hexdigest()}\thttps://example.org\tMIT\t{note}")
    (folder / "MANIFEST.tsv").write_text("\n".join(rows) + "\n")
    return folder


def test_a_mirror_is_used_before_upstream(get, server, tmp_path):
    origin = get(mirror=make_mirror(tmp_path / "mirror", {"texts/words.txt": BODY}))
    assert (get.folder / "target").read_bytes() == BODY and server.ranges == []
    assert (origin.source, origin.byte_equal_to_upstream, origin.note) == ("mirror", True, "exact")
    assert origin.location == str(tmp_path / "mirror/texts/words.txt") and origin.upstream == server.url


def test_a_mirror_file_that_was_altered(get, tmp_path):
    mirror = make_mirror(tmp_path / "mirror", {"texts/words.txt": BODY})
    (mirror / "texts/words.txt").write_bytes(BODY + b"?")
    message = fails(get, match="texts/words.txt", mirror=mirror)
    assert DIGEST in message and sha256(BODY + b"?").hexdigest() in message


def test_a_manifest_with_a_byte_order_mark_and_capitals(get, tmp_path):
    mirror = make_mirror(tmp_path / "mirror", {"texts/words.txt": BODY})
    manifest = (mirror / "MANIFEST.tsv").read_text()
    (mirror / "MANIFEST.tsv").write_text(manifest.replace(DIGEST, DIGEST.upper()), encoding="utf-8-sig")
    assert get(mirror=mirror).source == "mirror"


def test_a_mirror_copy_that_must_equal_upstream_and_does_not(get, tmp_path):
    mirror = make_mirror(tmp_path / "mirror", {"texts/words.txt": b"rebuilt"})
    assert DIGEST in fails(get, match=sha256(b"rebuilt").hexdigest(), mirror=mirror)


# The lock file


def test_the_first_download_of_an_unknown_file_is_recorded_and_the_next_must_agree(get, server, tmp_path):
    entry = unverified(server)
    get([sends(PARQUET)], entry=entry)
    digest = sha256(PARQUET).hexdigest()
    assert json.loads((tmp_path / "lock.json").read_text()) == {
        "words": {"sha256": digest, "bytes": len(PARQUET), "url": entry.url}
    }
    get([sends(PARQUET)], entry=entry)
    (get.folder / "target").unlink()
    other = table(1000, sentence="Of the same form.", label=0)
    message = fails(get, sends(other), entry=entry, match=r"lock\.json")
    assert digest in message and sha256(other).hexdigest() in message


def test_downloads_at_once_are_all_recorded(tmp_path):
    lock = tmp_path / "lock.json"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: agree(lock, {f"f{i}": {"sha256": str(i), "bytes": i, "url": "u"}}), range(24)))
    assert len(json.loads(lock.read_text())) == 24


@pytest.mark.parametrize("content", ["{", "[]", '{"a": {}}', '{"a": 1}'])
def test_a_broken_lock_file_is_named(tmp_path, content):
    (tmp_path / "lock.json").write_text(content)
    with pytest.raises(BiasflowError, match=r"lock\.json"):
        agree(tmp_path / "lock.json", {})


def test_the_catalogue_is_as_its_schema_says():
    files = shipped("data/corpora.yaml"), Path(__file__).with_name("corpora.schema.yaml")
    catalogue, schema = (yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader) for file in files)
    jsonschema.validate(catalogue, schema, jsonschema.Draft202012Validator)


def test_known_files_of_an_encoder_count_at_their_revision_only():
    catalogue = read_catalogue()
    for id, encoder in catalogue.encoders.items():
        assert set(catalogue.known_files(id, encoder.revision)) == {"model.safetensors"}
        assert catalogue.known_files(id, "0" * 40) == {}
    assert catalogue.known_files("nobody/nothing", "0" * 40) == {}


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """The table of these files (name -> verified_by, byte_equal_to_upstream), as it is read back."""

    monkeypatch.chdir(tmp_path)
    folder = Path("results/corpora")

    def listed(**files):
        for name, (verified_by, equal, *source) in files.items():
            origin = Origin(
                name, *(source or ["mirror"]), "m/x", "https://example.org/x", "0" * 64, 7, equal, verified_by, "MIT"
            )
            about = {"sha256": {}, "inputs": {}, "rule": "download", "params": {}}
            write_record({"output": str(folder / name), **about, "origin": asdict(origin)})
        table = pd.DataFrame([origin_of(folder / name) for name in files], columns=COLUMNS)
        write_csv(table, tmp_path / "files.csv")
        return read_text_csv(tmp_path / "files.csv")

    return listed


def test_a_file_that_differs_is_named_and_unverified_ones_are_counted(listed):
    """A mirror whose manifest agrees with what it holds, and holds something else."""
    said = remark(listed(a=("sha256", True), other=("manifest", False), b=("form", None), c=("nothing", None)))
    assert "other (sha256 000000000000...) differs from the file" in said and "2 of 4 could not be verified" in said


def test_a_file_of_the_users_is_said_to_be_theirs_and_no_copy_of_the_published_one(listed):
    files = listed(mirrored=("manifest", False), mine=("nothing", False, "local"), same=("sha256", True, "local"))
    assert set(differing(files)) == {"mirrored"}
    said = remark(files)
    assert "mirrored (sha256 000000000000...) differs" in said and "same" not in said
    assert "mine is m/x of the user, not the published file" in said and "verified" not in said
