"""The sha256 of the user's files (encoders, texts, data, word lists) as a parameter of the jobs that read them.

Snakemake goes by the time of an input, and a file that takes the place of another may be older than the results (a copy
that keeps times, a link, an unpacked archive). So the sha256 of these inputs is a parameter of the rules that read
them."""

import contextlib
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, sha256, write_json

REMEMBERED = ".snakemake/biasflow-sha256.json"
LARGE = 1_000_000  # bytes: smaller files are read again in less time than it takes to remember them
SETTLED = 2.0  # seconds: a file that changed a moment ago may change again without another time stamp


class Digests:
    """The sha256 of files; large ones are read once for as long as the file system says that they are the same: device,
    inode, size, and the times when content and inode changed. No program can set the last, which is what tells a file
    that was replaced and given its predecessor's time.

    memory: the file that remembers them; where it cannot be written, files are read anew in every process."""

    def __init__(self, memory: str | Path = REMEMBERED):
        self._memory = Path(memory)

    def of(self, path: str) -> str:
        """The sha256 of a file's content."""
        state = _state(path)
        large = state["size"] >= LARGE
        known = self._remembered().get(path, {}) if large else {}
        if known.get("state") == state:
            return known["sha256"]
        digest = sha256(path)
        if large and _state(path) == state and time.time() - state["changed"] / 1e9 > SETTLED:
            self._remember(path, {"state": state, "sha256": digest})
        return digest

    def _remembered(self) -> dict[str, dict]:
        try:
            memory = read_json(self._memory)
        except BiasflowError:
            return {}
        entries, keys = (memory.items() if isinstance(memory, dict) else ()), {"state", "sha256"}
        return {path: entry for path, entry in entries if isinstance(entry, dict) and entry.keys() == keys}

    def _remember(self, path: str, entry: Mapping[str, object]) -> None:
        with contextlib.suppress(OSError, BiasflowError):
            write_json(self._memory, self._remembered() | {path: entry})


def _state(path: str) -> dict[str, int]:
    """What the file system says of a file's content; links are followed."""
    about = Path(path).stat()
    times = {"modified": about.st_mtime_ns, "changed": about.st_ctime_ns}
    return {"device": about.st_dev, "inode": about.st_ino, "size": about.st_size, **times}


class UserFiles:
    """The files that no job makes, and their content. made_in: the folders where jobs write."""

    def __init__(self, made_in: Collection[str]):
        self._made_in, self._digests = tuple(f"{folder}/" for folder in made_in), Digests()
        self.content = cache(self._content)  # in a process a file is read once

    def digests(self, inputs: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
        """The sha256 of those inputs of a job (files by role) that no job makes. Their names have the role and the
        position in it, as "words.0"."""
        files = {
            f"{role}.{number}": path
            for role, paths in inputs.items()
            for number, path in enumerate([paths] if isinstance(paths, str) else paths)
        }
        return {name: digest for name, path in files.items() if (digest := self.content(path))}

    def _content(self, path: str) -> str | None:
        """The sha256 of a file of the user's; None for a file that a job makes, or that is not there."""
        return self._digests.of(path) if self.has(path) else None

    def has(self, path: str) -> bool:
        """Whether a path is a file, and does not lie in a folder where jobs write."""
        path = str(Path(path))
        return not path.startswith(self._made_in) and Path(path).is_file()
