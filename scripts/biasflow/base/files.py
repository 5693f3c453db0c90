"""Files that are whole or absent: written beside their final name, then renamed."""

import bz2
import codecs
import contextlib
import errno
import glob
import gzip
import hashlib
import json
import lzma
import os
import platform
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from biasflow.base.errors import BiasflowError

PART = ".part"  # how names of unfinished files and folders end
OPENERS: dict[str, Callable] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}  # of packed files, by suffix
_UTF16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a full disk, a file that may not be so large, or a folder that cannot be written, into a BiasflowError that
    names `path`; any other error stays as it is."""
    try:
        yield
    except Exception as error:
        number = getattr(error, "errno", None)
        # safetensors reports a full disk as an exception of its own that only names the number
        if number in (errno.ENOSPC, errno.EDQUOT) or f"(os error {errno.ENOSPC})" in str(error):
            message = "no space left on the disk; nothing was written. Free some space and run again."
        elif number == errno.EFBIG:
            message = "the file would be larger than files may be here; raise the limit (ulimit -f), and run again."
        elif number in (errno.EACCES, errno.EPERM, errno.EROFS):
            message = f"the folder {path.parent} cannot be written; nothing was changed. Check its rights."
        else:
            raise
        raise BiasflowError(f"{path}: {message}") from error


def whole_file(path: str | Path) -> AbstractContextManager[Path]:
    """A context with a temporary path beside `path`; rename it to `path` on success, remove it on any failure, and what
    killed processes of this machine left for the same `path`.

    A full disk or a read-only folder becomes a one-line BiasflowError; what stood at `path` before stays."""
    return _whole(Path(path), is_folder=False)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8 as it is, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def write_json(path: str | Path, value: object, **options) -> None:
    """Write a value as JSON, whole or not at all; options: of json.dumps."""
    write_text(path, json.dumps(value, **{"indent": 1} | options) + "\n")


def whole_folder(path: str | Path) -> AbstractContextManager[Path]:
    """A context with a temporary folder beside `path`; on success it takes the place of `path`, on failure it is
    removed. Leftovers are removed as by `whole_file`."""
    return _whole(Path(path), is_folder=True)


@contextlib.contextmanager
def _whole(path: Path, *, is_folder: bool) -> Iterator[Path]:
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = _beside(path)
        if is_folder:
            temporary = Path(tempfile.mkdtemp(**beside))
        else:
            handle, name = tempfile.mkstemp(**beside)
            os.close(handle)
            temporary = Path(name)
        try:
            yield temporary
            _follow_umask(temporary)
            if is_folder and path.is_dir():
                shutil.rmtree(path)
            os.replace(temporary, path)
        finally:
            _remove(temporary)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def reserve(file: BinaryIO, size: int) -> None:
    """Give an open, empty file its `size` in bytes on the disk now; OSError where there is no room for it.

    A memory-mapped file may have holes, for which room is sought when they are written to; if there is none then, the
    system kills the process without a message (SIGBUS)."""
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, 2**20):
        file.write(bytes(min(2**20, size - start)))
    file.flush()


def _beside(path: Path) -> dict:
    """Where a temporary file for `path` lies and how it is called: its process is in the name, so that leftovers of
    killed processes are known; they are removed here."""
    start = f".{path.name}.{platform.node()}-"
    for left in path.parent.glob(f"{glob.escape(start)}*{PART}"):
        if _is_gone(int(left.name.removeprefix(start).partition(".")[0])):
            _remove(left)
    return {"dir": path.parent, "prefix": f"{start}{os.getpid()}.", "suffix": PART}


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's, and there
        pass
    return False


def _follow_umask(path: Path) -> None:
    """Give a file, or a folder and all that is in it, the rights of the umask.

    Temporary names are the owner's alone, and safetensors writes 0600. A folder keeps its setgid bit."""
    mask = os.umask(0)
    os.umask(mask)
    for place in (path, *path.rglob("*")):
        if not place.is_symlink():
            inherited = place.stat().st_mode & stat.S_ISGID if place.is_dir() else 0
            place.chmod(inherited | (0o777 if place.is_dir() else 0o666) & ~mask)


def check_path(path: str | Path) -> None:
    """Raise BiasflowError for a path that no rule of Snakemake can take: it reads braces as wildcards, and its lists of
    files would show what control characters do."""
    if re.search(r"[{}\x00-\x1f\x7f-\x9f]", str(path)):
        raise BiasflowError(f"{path}: no path may have braces or control characters in it; rename the file or folder")


def check_writable(folder: str | Path) -> None:
    """Raise BiasflowError unless files can be made in `folder`, or in the nearest folder above it that exists."""
    folder = Path(folder).resolve()
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if not existing.is_dir():
        raise BiasflowError(f"{existing} is a file where results need a folder; move it away")
    if not os.access(existing, os.W_OK):
        raise BiasflowError(f"{existing} cannot be written; check its rights, or run with --directory FOLDER elsewhere")


def no_folder(path: str | Path) -> str:
    """Return what is wrong with a path that should be that of a folder and is not."""
    if Path(path).is_file():
        return f"{path} is a file; name the folder in which it lies"
    return f"there is no folder {path}"


def read_text(path: str | Path, *, exact: bool = False) -> str:
    """Read a UTF-8 text file, without byte-order mark and with line feeds as line ends, or `exact`: unchanged.
    BiasflowError that names the file if it is none."""
    try:
        return Path(path).read_bytes().decode() if exact else Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error
    except PermissionError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}; check its rights.") from error
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}.") from error


def filled_lines(path: str | Path) -> dict[int, str]:
    """Return the number of a line, from 1 -> the line without blanks around it, of all that have anything in them.
    BiasflowError as `read_text`."""
    return {number: line.strip() for number, line in enumerate(read_text(path).split("\n"), start=1) if line.strip()}


def text_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 text, packed or not, with their ends and without a byte-order mark.

    BiasflowError as `byte_lines`, and for text in another encoding, with the line and the encoding to try."""
    for number, line in enumerate(byte_lines(path)):
        try:
            yield line.decode("utf-8" if number else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise not_utf8(path, error, before=number) from error


def byte_lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may be packed (OPENERS), with their ends: only a line feed ends one, whatever
    other characters look like an end. BiasflowError names the file, and the line where it is cut off or damaged."""
    number = 0
    try:
        with OPENERS.get(Path(path).suffix.lower(), open)(path, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1 and (line.startswith(_UTF16) or b"\0" in line[:2]):
                    raise _utf16(path)
                yield line
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise BiasflowError(f"{path}: line {number + 1}: the file is cut off or damaged; fetch it again.") from error
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror or error}.") from error


def not_utf8(path: str | Path, error: UnicodeDecodeError, *, before: int = 0) -> BiasflowError:
    """Return the error that says where a text is not UTF-8 and which encoding to try. before: lines of the file before
    those that were decoded."""
    if error.object.startswith(_UTF16) and not before:
        return _utf16(path)
    line = before + error.object.count(b"\n", 0, error.start) + 1
    byte = error.start - error.object.rfind(b"\n", 0, error.start)
    character = error.object[error.start : error.start + 1].decode("cp1252", "ignore")
    guess = f"it may be Windows-1252, where this is {character!r}: " if character else ""
    return BiasflowError(f"{path}: line {line}: byte {byte} is no UTF-8 text; {guess}save the file as UTF-8.")


def _utf16(path: str | Path) -> BiasflowError:
    return BiasflowError(f"{path}: is no UTF-8 text; it may be UTF-16: save it as UTF-8.")


def first_bytes(path: str | Path, n: int) -> bytes:
    """Return how a file begins, in at most n bytes; BiasflowError names a file that cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(n)
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}.") from error


def is_parquet(path: str | Path) -> bool:
    """Return whether the file begins as Parquet does; BiasflowError as `first_bytes`."""
    return first_bytes(path, 4) == b"PAR1"


def read_json(path: str | Path, **options) -> object:
    """Read a JSON file; options: of json.loads. BiasflowError as `read_text`; for invalid JSON with line and column."""
    text = read_text(path)
    if not text.strip():
        raise BiasflowError(f"{path}: line 1, column 1: the file is empty, not valid JSON; save or copy it again.")
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise BiasflowError(f"{path}: the JSON is nested too deeply; check that this is the right file.") from None
    except json.JSONDecodeError as error:
        raise BiasflowError(
            f"{path}: line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}; save or copy it again."
        ) from error
    except ValueError as error:  # `named_once`
        raise BiasflowError(f"{path}: {error}") from error


def named_once(pairs: list[tuple[str, object]]) -> dict:
    """Return an object of JSON (`object_pairs_hook` of json.loads); ValueError for a name that is there twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:30]!r} appears twice; keep one of the two")
    return record


def sha256(path: str | Path) -> str:
    """Return the file's SHA-256 as 64 hex digits, read in blocks (constant memory); BiasflowError as `read_text`."""
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}; check its rights") from error
