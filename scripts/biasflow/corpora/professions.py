"""Lists of occupations: 320 English ones (Bolukbasi et al. 2016) and 302 Chinese ones (Liang et al. 2020)."""

import re
from collections.abc import Iterable
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, read_text

ENGLISH_NAME = re.compile(r"[a-z]+(_[a-z]+)*")
CHINESE_NAME = re.compile(r"[\u4e00-\u9fff]+")


def read_professions(path: str | Path) -> list[str]:
    """The occupations of professions.json in its order, with spaces for underscores ("adjunct professor").

    The file is a list of [name, definitional score, stereotype score]; the scores are not read. BiasflowError names
    the file and the entry (from 1) that is no such list, or whose name is no lower-case English one or is repeated."""
    entries = read_json(path)
    if not isinstance(entries, list):
        raise BiasflowError(f"{path}: the file holds no list of occupations; is it professions.json?")
    for number, entry in enumerate(entries, start=1):
        if not (isinstance(entry, list) and entry and isinstance(entry[0], str)):
            raise BiasflowError(f"{path}: entry {number}: {entry!r} is no list that begins with a name; mend it.")
    names = _checked(path, "entry", ((number, entry[0]) for number, entry in enumerate(entries, start=1)), ENGLISH_NAME)
    return [name.replace("_", " ") for name in names]


def read_chinese_professions(path: str | Path) -> list[str]:
    """The occupations of the Chinese list in its order, one a line; blank lines are skipped.

    BiasflowError names the file and the line whose name is not in Chinese characters or is repeated."""
    lines = ((number, line.strip()) for number, line in enumerate(read_text(path).split("\n"), start=1))
    return _checked(path, "line", ((number, line) for number, line in lines if line), CHINESE_NAME)


def _checked(path: str | Path, unit: str, names: Iterable[tuple[int, str]], pattern: re.Pattern) -> list[str]:
    """The names, each of which matches `pattern` and occurs once."""
    places: dict[str, int] = {}
    for number, name in names:
        if not pattern.fullmatch(name):
            raise BiasflowError(f"{path}: {unit} {number}: {name!r} is not the name of an occupation; mend the file.")
        if name in places:
            raise BiasflowError(f"{path}: {unit} {number}: {name!r} is in {unit} {places[name]} already; name it once.")
        places[name] = number
    if not places:
        raise BiasflowError(f"{path}: no occupation; check the file.")
    return list(places)
