"""Checks names that one part of a configuration takes from another. An unknown name ends with the nearest known one."""

import difflib
from collections.abc import Mapping, Sequence

from biasflow.base.errors import BiasflowError
from biasflow.registry import METRICS

FEW = 12  # names that a message lists; of more it has the nearest, and says where all are
# What is referred to -> where all are listed, or how one is added.
LISTED = {
    "methods": "`biasflow list methods` lists them, and the key `methods` defines more",
    "metrics": "`biasflow list metrics` lists them",
    "encoders": "define it under `encoders:` (see config/README.md)",
    "tasks": "define it under `tasks:` (see config/README.md)",
}


def require(name: str, known: Mapping | Sequence, key: str, kind: str) -> None:
    """Raise BiasflowError unless `name` is known; it names the key, the nearest known name, and where all are listed.

    kind: what the names stand for, in the plural ("metrics")."""
    if name not in known:
        hint = _hint(str(name), list(known), kind)
        raise BiasflowError(f"config: key {key!r}: {name!r} is not one of the {kind}; {hint}")


def _hint(name: str, known: Sequence[str], kind: str) -> str:
    listed = LISTED.get(kind, "the list is there")
    measures = {measure for entry in METRICS.values() for measure in entry.measures} if kind == "metrics" else ()
    if name not in measures and (close := difflib.get_close_matches(name, known, n=1)):
        return f"did you mean {close[0]!r}?"
    if measure := difflib.get_close_matches(name, sorted(measures), n=1):
        having = [metric for metric, entry in METRICS.items() if measure[0] in entry.measures]
        return f"{measure[0]} is a measure of the metric {' and of '.join(having)}: ask for that"
    if not known:
        return f"none is defined: {listed}"
    if len(known) <= FEW:
        return f"there are: {', '.join(known)}"
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0)[0]
    return f"the nearest of {len(known)} is {nearest!r}; {listed}"
