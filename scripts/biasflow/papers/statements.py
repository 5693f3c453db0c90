"""Statements of a paper that tables can confirm: how each is counted, the findings, and the table of all."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import product

import pandas as pd

from biasflow.results.tables import PUBLISHED


@dataclass(frozen=True)
class Finding:
    """The result of counting a statement: k of n cases agree with it; `exceptions` names the others, `detail` has
    numbers."""

    holds: bool
    k: int
    n: int
    exceptions: str
    detail: str = ""


_FIELDS = {one.name: {"bool": "boolean", "int": "Int64", "str": object}[one.type.__name__] for one in fields(Finding)}


@dataclass(frozen=True)
class Statement:
    """A statement. count: table -> finding, None if the table lacks what the statement needs; section: of the paper."""

    id: str
    section: str
    text: str
    count: Callable[[pd.DataFrame], Finding | None]


@dataclass
class Statements:
    """The statements of a paper, in the order of the functions that count them."""

    known: list[Statement] = field(default_factory=list)

    def says(
        self,
        identifier: str,
        section: str,
        text: str,
        *,
        needs: Collection[str] = (),
        asides: Mapping[str, str] | None = None,
        **options: Collection[str],
    ) -> Callable:
        """The decorated function counts this statement. There is one for each combination of the function's `options`,
        which fill in its `identifier` and its `text`; of an option that is a mapping the text has the key, the function
        the value. needs: columns without which a table is not counted; asides: what the text says more where an option
        has this key."""

        def add(count: Callable[..., Finding | None]) -> Callable[..., Finding | None]:
            for values in product(*options.values()):
                chosen = dict(zip(options, values, strict=True))
                name = "-".join(identifier.format(**chosen).lower().split())
                arguments = {
                    key: options[key][value] if isinstance(options[key], Mapping) else value
                    for key, value in chosen.items()
                }
                more = [aside for value, aside in (asides or {}).items() if value in values]
                counted = partial(_counted_where, frozenset(needs), partial(count, **arguments))
                self.known.append(Statement(name, section, " ".join([text.format(**chosen), *more]), counted))
            return count

        return add

    def findings(self, tables: Mapping[str, pd.DataFrame]) -> dict[str, Finding]:
        """Return statement id -> the finding of all tables (by name) that have what the statement needs."""
        result = {}
        for statement in self.known:
            counted = {name: statement.count(table) for name, table in tables.items()}
            if counted_in := {name: finding for name, finding in counted.items() if finding is not None}:
                result[statement.id] = together(counted_in) if len(tables) > 1 else next(iter(counted_in.values()))
        return result

    def beside(
        self, ours: Mapping[tuple[str, ...], Mapping[str, Finding]], printed: Mapping[str, Finding], keys: Sequence[str]
    ) -> pd.DataFrame:
        """Return a row for each of our tables (by its `keys`) and each statement counted in it or in the printed one.

        Columns: keys, id, section, statement, the fields of a finding, and these again `_published`; empty where
        there is none."""
        rows = []
        for key, findings in ours.items():
            about = dict(zip(keys, key, strict=True))
            for statement in self.known:
                parts = {"": findings.get(statement.id), PUBLISHED: printed.get(statement.id)}
                if any(parts.values()):
                    row = {f"{name}{end}": getattr(part, name, None) for end, part in parts.items() for name in _FIELDS}
                    rows.append(
                        about | {"id": statement.id, "section": statement.section, "statement": statement.text} | row
                    )
        kinds = {name + end: kind for end in ("", PUBLISHED) for name, kind in _FIELDS.items()}
        frame = pd.DataFrame(rows, columns=[*keys, "id", "section", "statement", *kinds]).astype(kinds)
        return frame.fillna({column: "" for column, kind in kinds.items() if kind is object})


def _counted_where(needs: Collection[str], count: Callable, table: pd.DataFrame) -> Finding | None:
    return count(table) if needs <= set(table.columns) else None


def all_of(cases: Mapping[str, bool], detail: str = "", *, but: Collection[str] = (), between: str = ", ") -> Finding:
    """Count a statement that every case is true except those in `but`, which are false; `detail` also names cases in
    `but` that are true."""
    finding = _counted(cases, len(cases), detail, between)
    missing = between.join(name for name in but if cases[name])
    details = "; ".join(filter(None, [detail, missing and f"no exception: {missing}"]))
    return replace(finding, holds=finding.n - finding.k == len(but) and not missing, detail=details)


def most_of(cases: Mapping[str, bool], detail: str = "") -> Finding:
    """Count a statement that more than half of the cases are true."""
    return _counted(cases, len(cases) // 2 + 1, detail)


def together(findings: Mapping[str, Finding]) -> Finding:
    """Combine the findings of several tables, by name: the statement holds if it holds in all."""
    texts = {
        part: "; ".join(f"{name}: {text}" for name, finding in findings.items() if (text := getattr(finding, part)))
        for part in ("exceptions", "detail")
    }
    several = findings.values()
    k, n = sum(finding.k for finding in several), sum(finding.n for finding in several)
    return Finding(all(finding.holds for finding in several), k, n, **texts)


def _counted(cases: Mapping[str, bool], enough: int, detail: str, between: str = ", ") -> Finding:
    exceptions = [name for name, true in cases.items() if not true]
    true = len(cases) - len(exceptions)
    return Finding(true >= enough, true, len(cases), between.join(exceptions), detail)
