"""The code behind a script: which modules it imports and which data of the package they read, so that its rule runs
again when one of them changes."""

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from biasflow.base import shipped

FOLDER = "scripts"  # of the project, in which its modules lie
PACKAGE = "biasflow"
OURS = (PACKAGE, "_rule")
# By patterns, as the syntax trees of 300 modules take a second; a word of a comment that is no module is no file.
_IMPORT = re.compile(r"^[ \t]*(?:from (\w[\w.]*) import (\([^)]*\)|.*)|import (.*))", re.MULTILINE)
_DATA = re.compile(r"\bshipped\(\s*[\"']([^\"']*)[\"']\s*\)")
INSTALLED = shipped.PACKAGE.parent  # the folder with the package, where a root has none


def code_files(script: str | Path, root: str | Path) -> list[Path]:
    """Return `script`, every module of this project that it imports, directly or through others, and the files that
    these name in calls of `base.shipped.shipped`; sorted.

    Found by reading the source, without running anything. Standard and installed modules are left out: the software
    environment stands for them."""
    return sorted(_all_reached([script], Path(root)))


def code_digest(scripts: Iterable[str | Path], root: str | Path) -> str:
    """Return a sha256 of the paths (from `root`, also of an installed package) and contents of all `code_files` of the
    scripts."""
    lines = sorted({_line(path, Path(root)) for path in _all_reached(scripts, Path(root))})
    return hashlib.sha256("".join(line for _, line in lines).encode()).hexdigest()


def _all_reached(scripts: Iterable[str | Path], root: Path) -> set[Path]:
    """The `code_files` of several scripts, without order: a run asks for those of hundreds of jobs."""
    files: set[Path] = set()
    waiting = {Path(script) for script in scripts}
    while waiting:
        files |= waiting
        waiting = {reached for path in waiting if path.suffix == ".py" for reached in _reached(path, root)} - files
    return files


@cache
def _line(path: Path, root: Path) -> tuple[tuple[str, ...], str]:
    """How a file is called in a checkout, from its root, as parts, and what a digest says of it."""
    if path.is_relative_to(INSTALLED) and not path.is_relative_to(root):
        name = Path(FOLDER, path.relative_to(INSTALLED))
    else:
        name = Path(os.path.relpath(path, root))
    return name.parts, f"{name.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def _folder(root: Path, name: str) -> Path:
    """The folder in which a module or package of this project lies."""
    folder = root / FOLDER
    return INSTALLED if name == PACKAGE and not (folder / PACKAGE).is_dir() else folder


def module_file(name: str, root: str | Path) -> Path:
    """Return the file of a module of this project: "biasflow.erasers.pca" -> scripts/biasflow/erasers/pca.py."""
    parts = name.split(".")
    path = _folder(Path(root), parts[0]).joinpath(*parts)
    package = path / "__init__.py"  # a folder without it may be the rest of a removed package
    return package if package.is_file() else path.with_suffix(".py")


@cache
def _reached(path: Path, root: Path) -> frozenset[Path]:
    text = path.read_text(encoding="utf-8")
    files: set[Path] = set()
    for module, names, modules in _IMPORT.findall(text):
        imported = [module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))] if module else modules.split()
        files.update(file for name in imported for file in _files(name.rstrip(","), root))
    for data in _DATA.findall(text):
        named = _folder(root, PACKAGE).joinpath(PACKAGE, data)
        files.update(named.iterdir() if named.is_dir() else [named])
    return frozenset(files)


@cache
def _files(name: str, root: Path) -> list[Path]:
    """The module `name` and the __init__.py of the packages around it, as far as they are files of the project."""
    parts = name.split(".")
    if parts[0] not in OURS:
        return []
    folder = _folder(root, parts[0])
    packages = [folder.joinpath(*parts[:depth], "__init__.py") for depth in range(1, len(parts) + 1)]
    candidates = [*packages, folder.joinpath(*parts).with_suffix(".py")]
    return [file for file in candidates if file.is_file()]
