"""Sentences of a paper that tables can confirm: which there are, and what was found of each."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import pandas as pd


@dataclass(frozen=True)
class Finding:
    """k of n cases are as the statement says; `exceptions` names the others, `detail` gives the numbers behind it."""

    holds: bool
    k: int
    n: int
    exceptions: str
    detail: str = ""


@dataclass(frozen=True)
class Statement:
    """count: a table -> what it shows of the statement; None where it lacks what that needs. section: of the paper."""

    id: str
    section: str
    text: str
    count: Callable[[pd.DataFrame], Finding | None]


@dataclass
class Statements:
    """The statements of a paper, in the order of the functions that count them."""

    known: list[Statement] = field(default_factory=list)

    def says(self, identifier: str, section: str, text: str, **options: Collection[str]) -> Callable:
        """The decorated function counts this statement. There is one for each combination of the function's `options`,
        which fill in its `identifier` and its `text`."""

        def add(count: Callable[..., Finding | None]) -> Callable[..., Finding | None]:
            for values in product(*options.values()):
                own = dict(zip(options, values, strict=True))
                name = "-".join(identifier.format(**own).lower().split())
                self.known.append(Statement(name, section, text.format(**own), partial(count, **own)))
            return count

        return add

    def findings(self, tables: Mapping[str, pd.DataFrame]) -> dict[str, Finding]:
        """Id -> what the tables (by name) show together, of those that have what the statement needs."""
        found = {}
        for statement in self.known:
            counted = {name: statement.count(table) for name, table in tables.items()}
            if own := {name: finding for name, finding in counted.items() if finding is not None}:
                found[statement.id] = together(own) if len(tables) > 1 else next(iter(own.values()))
        return found


def all_of(cases: Mapping[str, bool], detail: str = "") -> Finding:
    """The statement says that every case is true."""
    return _counted(cases, len(cases), detail)


def most_of(cases: Mapping[str, bool], detail: str = "") -> Finding:
    """The statement says that more than half of the cases are true."""
    return _counted(cases, len(cases) // 2 + 1, detail)


def together(findings: Mapping[str, Finding]) -> Finding:
    """One finding for several tables, by name: it holds if it holds in each."""
    said = {
        part: "; ".join(f"{name}: {text}" for name, own in findings.items() if (text := getattr(own, part)))
        for part in ("exceptions", "detail")
    }
    own = findings.values()
    return Finding(all(one.holds for one in own), sum(one.k for one in own), sum(one.n for one in own), **said)


def _counted(cases: Mapping[str, bool], enough: int, detail: str) -> Finding:
    exceptions = [name for name, true in cases.items() if not true]
    true = len(cases) - len(exceptions)
    return Finding(true >= enough, true, len(cases), ", ".join(exceptions), detail)
