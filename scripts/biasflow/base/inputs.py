"""The input files of a rule by their role."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

# Roles of inputs that rules declare `ancient`: they spare work, and change nothing in a result.
ASIDE = ("spares", "tokens")


def by_role(named, roles: Iterable[str]) -> dict[str, tuple[Path, ...]]:
    """The input files of a rule by role, each as a tuple, also where there is one."""
    files_by_role = {role: named[role] for role in roles}
    return {
        role: (Path(files),) if isinstance(files, str) else tuple(map(Path, files))
        for role, files in files_by_role.items()
    }


def model_folder(files: str | Sequence[str]) -> Path:
    """The folder of an encoder or of a model: an input that a rule made, or that of a user's files."""
    (first, *_) = [files] if isinstance(files, str) else files
    return Path(first) if Path(first).is_dir() else Path(first).parent


def picked(named, positions: Mapping[str, Sequence[int]]) -> dict[str, tuple[Path, ...]]:
    """The input files of a rule by role, of each role those at the positions that a parameter names."""
    files = by_role(named, positions)
    return {role: tuple(files[role][number] for number in numbers) for role, numbers in positions.items()}


def items(named, places: Mapping[str, Mapping[str, Sequence]]) -> dict[str, dict[str, Path]]:
    """The item files of a paper by role and key, from the position of an input and the file's name in there; those that
    exist: a readout that could not be made has none, and the plan says why."""
    inputs = by_role(named, places)
    paths = {role: {key: inputs[role][i] / file for key, (i, file) in of.items()} for role, of in places.items()}
    return {role: {key: path for key, path in of.items() if path.is_file()} for role, of in paths.items()}


def by_name(named, name: str) -> str:
    """The input file that plan.own_files calls by its role and its position in it: "words.0"."""
    role, _, number = name.rpartition(".")
    return str(by_role(named, [role])[role][int(number)])


def aside(named, inputs: Iterable[str]) -> list[str]:
    """The input files that have a role of ASIDE, or lie in a folder that has one."""
    roles = [getattr(named, role, ()) for role in ASIDE]
    folders = [path for files in roles for path in ([files] if isinstance(files, str) else files)]
    return [path for path in inputs if any(Path(path).is_relative_to(folder) for folder in folders)]
