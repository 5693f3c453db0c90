"""The code behind a script: which modules it imports and which data of the package they read, so that its rule runs
again when one of them changes."""

import ast
import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from biasflow.base import shipped

FOLDER = "scripts"  # of the project, in which its modules lie
PACKAGE = "biasflow"
OURS = (PACKAGE, "_rule")
INSTALLED = shipped.PACKAGE.parent  # the folder with the package, where a root has none


def code_files(script: str | Path, root: str | Path) -> list[Path]:
    """Return `script`, every module of this project that it imports, directly or through others, and the files that
    these name in calls of `base.shipped.shipped`; sorted.

    Found by reading the source, without running anything. Standard and installed modules are left out: the software
    environment stands for them."""
    root = Path(root)
    files: set[Path] = set()
    waiting = [Path(script)]
    while waiting:
        path = waiting.pop()
        if path not in files:
            files.add(path)
            waiting += _reached(path, root) if path.suffix == ".py" else []
    return sorted(files)


def code_digest(scripts: Iterable[str | Path], root: str | Path) -> str:
    """Return a sha256 of the paths (from `root`, also of an installed package) and contents of all `code_files` of the
    scripts."""
    files = {_name(path, Path(root)): path for script in scripts for path in code_files(script, root)}
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(f"{name.as_posix()} {_sha256(path)}\n".encode())
    return digest.hexdigest()


def _name(path: Path, root: Path) -> Path:
    """A file as it is called in a checkout, from its root."""
    if path.is_relative_to(INSTALLED) and not path.is_relative_to(root):
        return Path(FOLDER, path.relative_to(INSTALLED))
    return Path(os.path.relpath(path, root))


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
def _reached(path: Path, root: Path) -> tuple[Path, ...]:
    names: list[str] = []
    data: list[Path] = []
    text = path.read_text(encoding="utf-8")
    nodes = ast.walk if "shipped(" in text else _statements
    for node in nodes(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "shipped":
            named = _folder(root, PACKAGE).joinpath(PACKAGE, ast.literal_eval(node.args[0]))
            data += named.iterdir() if named.is_dir() else [named]
    return tuple([file for name in names for file in _files(name, root)] + data)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements, wherever they stand, without the expressions in them, which are nine tenths of a module."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from _statements(child)


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


@cache
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
