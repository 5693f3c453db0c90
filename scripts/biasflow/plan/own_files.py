"""The content of inputs that no job of a run makes: encoders, texts, data and lists of words of the user's.

Snakemake goes by the time of an input, and a file that takes the place of another may be older than the results (a copy
that keeps times, a link, an unpacked archive). So the sha256 of these inputs is a parameter of the rules that read
them."""

import contextlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256, whole_file

REMEMBERED = ".snakemake/biasflow-sha256.json"
LARGE = 1_000_000  # bytes: smaller files are read again in less time than it takes to remember them
SETTLED = 2.0  # seconds: a file that changed a moment ago may change again without another time stamp


class Digests:
    """The sha256 of files, read once in a process; of large files once for as long as the file system says that they
    are the same: device, inode, size, and the times when content and inode changed. No program can set the last, which
    is what tells a file that was replaced and given its predecessor's time.

    memory: the file that remembers them; where it cannot be written, files are read anew in every process."""

    def __init__(self, memory: str | Path = REMEMBERED):
        self._memory = Path(memory)
        self._in_process: dict[str, str] = {}

    def of(self, path: str) -> str:
        if path not in self._in_process:
            self._in_process[path] = self._read(path)
        return self._in_process[path]

    def _read(self, path: str) -> str:
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
            memory = json.loads(self._memory.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return memory if isinstance(memory, dict) else {}

    def _remember(self, path: str, entry: Mapping[str, object]) -> None:
        with contextlib.suppress(OSError, BiasflowError), whole_file(self._memory) as temporary:
            temporary.write_text(json.dumps(self._remembered() | {path: entry}, indent=1), encoding="utf-8")


def _state(path: str) -> dict[str, int]:
    """What the file system says of a file's content; links are followed."""
    about = Path(path).stat()
    return {
        "device": about.st_dev,
        "inode": about.st_ino,
        "size": about.st_size,
        "modified": about.st_mtime_ns,
        "changed": about.st_ctime_ns,
    }


class OwnFiles:
    """The parameter of rules that read files of the user's: what is read from one is made again when its content
    changes, whatever its time. made_in: the folders where jobs write."""

    def __init__(self, made_in: Collection[str]):
        self._made_in, self._digests = tuple(made_in), Digests()

    def __call__(self, *inputs: object) -> Callable[[object], dict[str, str]]:
        """For the rule with these inputs (files, or functions of wildcards): wildcards -> the sha256 of those files
        that no job makes, by path."""

        def sha256_of(wildcards: object) -> dict[str, str]:
            files = [part(wildcards) if callable(part) else part for part in inputs]
            return {path: self._digests.of(path) for path in own_files(files, self._made_in)}

        return sha256_of


def own_files(inputs: object, made_in: Collection[str]) -> list[str]:
    """Those of a rule's inputs (a path, a list, or lists by role) that are files and do not lie in a folder where jobs
    write (`made_in`); sorted."""
    folders = tuple(f"{folder}/" for folder in made_in)
    return sorted({path for path in _paths(inputs) if not path.startswith(folders) and Path(path).is_file()})


def _paths(inputs: object) -> Iterable[str]:
    if isinstance(inputs, (str, Path)):
        return [str(Path(inputs))]
    parts = inputs.values() if isinstance(inputs, Mapping) else inputs
    return [path for part in parts for path in _paths(part)]
