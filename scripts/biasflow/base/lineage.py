"""The files that results were made from, directly or indirectly, according to their records."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256
from biasflow.base.records import record_with


def check_one_content(results: Iterable[str]) -> None:
    """Raise BiasflowError, one line, if results for one table were made from different contents of one file:
    of an encoder, say, whose weights were replaced between two readouts. It names the results to be made again."""
    records = dict(_records(results))
    written = {file: digest for record in records.values() for file, digest in record["sha256"].items()}
    readers: dict[str, dict[str, list[str]]] = {}  # file -> sha256 -> the results that were made of it
    for output, record in records.items():
        for file in set(record["inputs"]) - set(record["aside"]):
            readers.setdefault(file, {}).setdefault(record["inputs"][file], []).append(output)
    for file, by_content in sorted(readers.items()):
        if len({*by_content, written.get(file, next(iter(by_content)))}) > 1:
            raise BiasflowError(_two_contents(file, by_content, written.get(file)))


def _two_contents(file: str, by_content: dict[str, list[str]], now: str | None) -> str:
    if now is None and Path(file).is_file():
        now = sha256(file)
    if now not in by_content and len(by_content) > 1:  # not the present content, and not one content
        about = "different contents of it were read"
        stale = sorted(output for outputs in by_content.values() for output in outputs)
    else:
        about = "another content of it was read than lies there now"
        stale = sorted(output for digest, outputs in by_content.items() if digest != now for output in outputs)
    more = f" and {len(stale) - 3} more" if len(stale) > 3 else ""
    return f"{file}: {about}, by {', '.join(stale[:3])}{more}; delete these and run again"


def _records(results: Iterable[str]) -> Iterator[tuple[str, dict]]:
    """The results, all that these were made of, and so on, with their records."""
    waiting = {*map(str, results)}
    seen: set[str] = set()
    while waiting:
        file = waiting.pop()
        seen.add(file)
        if record := record_with(file):
            yield record["output"], record
            waiting |= set(record["inputs"]) - set(record["aside"]) - seen
