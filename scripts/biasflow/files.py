"""Files that are whole or absent: written beside their final name, then renamed."""

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.biasflow.errors import BiasflowError


def _explain(error: OSError, path: Path) -> BiasflowError | OSError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BiasflowError(f"{path}: no space left on the disk; nothing was written. Free some space and run again.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return BiasflowError(
            f"{path}: the folder {path.parent} cannot be written; nothing was changed. Check its rights."
        )
    return error


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` on success, remove it on any failure.

    A full disk or a read-only folder becomes a one-line BiasflowError; what stood at `path` before stays."""
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise _explain(error, path) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; on success it takes the place of `path`, on failure it is removed."""
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if path.is_dir():
            shutil.rmtree(path)
        os.replace(temporary, path)
    except OSError as error:
        raise _explain(error, path) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256(path: str | Path) -> str:
    """The file's SHA-256 as 64 hex digits, read in blocks (constant memory)."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
