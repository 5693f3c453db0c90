"""Which test files a change needs: `git diff --name-only main | python -m tests.quick`.

Those of the folders in which something changed, and those that import a changed module, or a module that reads a
changed file of data; themselves, by their helpers or by their fixtures. And those that read a changed file which lies
beside the package, such as a rule. Not those in tests/workflow and tests/real."""

import ast
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from biasflow.base.code import module_file
from tests.unit.test_environments import names

ROOT = Path(__file__).parents[1]
PACKAGE, UNIT, TABLES = ROOT / "scripts/biasflow", ROOT / "tests/unit", ROOT / "tests/golden/test_tables.py"
READ = re.compile(r'\bshipped\("(.+?)"\)')  # the data of a module
BESIDE = re.compile(r'\bROOT / "(.+?)"')  # what a test reads of the project


def needed(changed: Iterable[str | Path]) -> list[Path]:
    """The files of tests that a change of these files needs, sorted."""
    files = {ROOT / name for name in changed}
    files |= {
        module for module, data in _modules().items() if any(file.is_relative_to(d) for file in files for d in data)
    }
    theirs = [UNIT / path.relative_to(PACKAGE) for path in files if path.is_relative_to(PACKAGE)]
    folders = {next(folder for folder in path.parents if folder.is_dir()) for path in theirs} - {UNIT}
    if any(folder.is_relative_to(UNIT / "papers") for folder in folders):
        folders.add(TABLES)  # it takes the modules of papers by name
    tests = [*UNIT.rglob("test_*.py"), *(ROOT / "tests/golden").glob("test_*.py")]
    beside = {file for file in files if not file.is_relative_to(ROOT / "scripts")}
    reads = {path for path in tests if any(file.is_relative_to(place) for file in beside for place in _read(path))}
    return sorted(path for path in tests if path in reads or folders & {path, *path.parents} or files & _reached(path))


@cache
def _read(test: Path) -> list[Path]:
    """The files and folders of the project that a test reads."""
    return [ROOT / name for name in BESIDE.findall(test.read_text("utf-8"))]


@cache
def _modules() -> dict[Path, list[Path]]:
    """The modules of the package, and the files and folders of data that each reads."""
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    return {path: [PACKAGE / name for name in READ.findall(text)] for path, text in texts.items()}


@cache
def _reached(test: Path) -> set[Path]:
    """A test, its helpers and fixtures but those of all tests, and what these import."""
    reached, waiting = set(), {test, test.with_name("conftest.py")}
    while waiting := {path for path in waiting - reached if path.is_file() and path != UNIT / "conftest.py"}:
        reached |= waiting
        modules = {name for path in waiting for name in names(list(ast.walk(ast.parse(path.read_text("utf-8")))))}
        reached |= {module_file(name, ROOT) for name in modules if name.startswith("biasflow.")}
        waiting = {ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in modules if name.startswith("tests.")}
    return reached


if __name__ == "__main__":
    print(*(path.relative_to(ROOT) for path in needed(sys.stdin.read().split())))
