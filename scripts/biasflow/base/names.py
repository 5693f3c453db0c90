"""Checks names that one part of a configuration takes from another. An unknown name ends with the nearest known one."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from biasflow.base.errors import BiasflowError, nearest

Faults = Iterator[tuple[str, str]]  # keys of the configuration, and what is wrong with each and what to do
# What is referred to -> where all are listed, or how one is added.
LISTED = {
    "methods": "`biasflow list methods` lists them, and the key `methods` defines more",
    "metrics": "`biasflow list metrics` lists them",
    "encoders": "define it under `encoders:` (see config/README.md)",
    "tasks": "define it under `tasks:` (see config/README.md)",
}
# An encoder of the hub as people type it: NAME, NAME@REVISION, or the address of its page.
HUB = re.compile(
    r"(https?://(huggingface|hf)\.co/)?(?P<id>[\w-][\w.-]*(/[\w.-]+)?)((@|/(?:tree|commit|blob)/)(?P<revision>[\w.-]+)[^@]*)?/?"
)
PINNED = re.compile(r"(?P<id>[\w-][\w.-]*(/[\w.-]+)?)@(?P<revision>[0-9a-f]{40})")  # an encoder of the hub
REVISION = 'REVISION is a commit of 40 hexadecimal digits, which the hub shows under "Files and versions", "History"'


def is_called(text: str, name: str, about: Mapping[str, object]) -> bool:
    """Whether a text names an encoder: by its name in a run, its id on the hub, its folder or the folder's name.

    about: its part of the configuration, or its attributes in names.csv."""
    names = [str(about[key]) for key in ("id", "path") if key in about]
    if "id" in about and "/" in text:
        return text.lower() == names[0].lower()
    return text in (name, *names) or text.lower().split("/")[-1] in (one.lower().split("/")[-1] for one in names)


def refuse(faults: Iterable[tuple[str, str]]) -> None:
    """Raise BiasflowError for the first of these faults, if there are any."""
    for key, why in faults:
        raise BiasflowError(f"config: key '{key}': {why}")


def require(name: str, known: Mapping | Sequence, key: str, kind: str, hint: str = "") -> None:
    """Raise BiasflowError unless `name` is known; it names the key, the nearest known names, and where all are listed.

    kind: what the names stand for, in the plural ("metrics"); hint: what to say in place of these names."""
    if name not in known:
        meant = nearest(str(name), list(known)) or "none is defined"
        listed = "" if meant.endswith("?") or kind not in LISTED else f"; {LISTED[kind]}"
        raise BiasflowError(f"config: key {key!r}: {name!r} is not one of the {kind}; {hint or meant + listed}")


@contextlib.contextmanager
def naming(key: str) -> Iterator[None]:
    """Put the key of the configuration before what is wrong with the file or value that it names."""
    try:
        yield
    except BiasflowError as error:
        raise BiasflowError(f"config: key '{key}': {error}") from error
