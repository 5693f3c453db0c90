"""Remembers what earlier starts of a run asked for, so that whatever is added gets jobs of its own and no finished job
is made again.

A readout takes all methods of a block in one pass, and is one job. Were a method added to this job, the others would be
read again. So every block remembers in which parts it was asked for (results/<run>/asked.json); an added method or
metric is a further part, `<block>+1`, planned as if it were a block of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, write_json
from biasflow.matrix import PART, Block


@dataclass(frozen=True)
class Part:
    """Methods x metrics of a block that were asked for at the same time. name: of its folders; block: in the
    configuration; group: of the job that fits its methods."""

    name: str
    block: str
    group: str
    methods: tuple[str, ...]
    metrics: tuple[str, ...]


def in_parts(blocks: Sequence[Block], earlier: Iterable[Part]) -> list[Block]:
    """The blocks in the parts and in the order in which they were first asked for, as blocks; what is new comes last.

    earlier: `read_asked`. The order counts because a cell of two blocks is read by the first. A paper's blocks are
    never divided: its tables take the files of items as they are."""
    blocks_by_name, parts_of_block = {block.name: block for block in blocks}, {block.name: [] for block in blocks}
    order: list[Block] = []

    def add(part: Block) -> None:
        parts_of_block[part.asked].append(part)
        order.append(part)

    for part in earlier:
        block = blocks_by_name.get(part.block)
        if block and block.is_of_paper:
            add(block)
        elif block:
            methods, metrics = _still(part.methods, block.methods), _still(part.metrics, block.metrics)
            if methods and metrics:
                add(replace(block, name=part.name, group=part.group, methods=methods, metrics=metrics))
    for block in blocks:
        for part in _added(block, parts_of_block[block.name]) if parts_of_block[block.name] else [block]:
            add(part)
    return order


def _still(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    """Those that are still asked for, in the order in which they were: another order in a file changes no job."""
    return tuple(name for name in before if name in now)


def _added(block: Block, parts: Sequence[Block]) -> list[Block]:
    """What a block asks for beyond its parts: the methods that lack the same metrics, and are fitted by the same job,
    are a part together."""
    if block.is_of_paper:
        return []
    known = {(method, metric) for part in parts for method in part.methods for metric in part.metrics}
    group_of = {method: part.group for part in reversed(parts) for method in part.methods}
    lacking: dict[tuple, list[str]] = {}
    for method in block.methods:
        if metrics := tuple(metric for metric in block.metrics if (method, metric) not in known):
            lacking.setdefault((group_of.get(method), metrics), []).append(method)
    taken = {part.name for part in parts}
    names = iter(name for number in range(1, 10_000) if (name := f"{block.name}{PART}{number}") not in taken)
    added = []
    for ((group, metrics), methods), name in zip(lacking.items(), names, strict=False):
        added.append(replace(block, name=name, group=group or name, methods=tuple(methods), metrics=metrics))
    return added


def read_asked(path: str | Path) -> tuple[Part, ...]:
    """Read the parts that `remember` wrote; () without such a file. BiasflowError names a file with other contents."""
    if not Path(path).is_file():
        return ()
    try:
        parts = map(itemgetter("name", "block", "group", "methods", "metrics"), read_json(path))
        return tuple(Part(*names, tuple(methods), tuple(metrics)) for *names, methods, metrics in parts)
    except (BiasflowError, TypeError, KeyError) as error:
        if isinstance(error.__cause__, PermissionError):
            raise
        raise BiasflowError(
            f"{path} does not list the parts of blocks; delete it (blocks that were added to are then read again)"
        ) from error


def remember(path: str | Path, blocks: Iterable[Block], earlier: Sequence[Part]) -> None:
    """Write down the parts of a run that begins, below those of earlier ones, which stay also where they are not asked
    for now."""
    parts = {part.name: part for part in earlier}
    for block in blocks:
        parts.setdefault(block.name, Part(block.name, block.asked, block.group, block.methods, block.metrics))
    if len(parts) > len(earlier):
        write_json(path, [*map(asdict, parts.values())])
