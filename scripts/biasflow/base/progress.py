"""Progress of long work: a bar on a terminal, plain lines in a log."""

import logging
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
LINES = 10  # plain lines per loop


def progress(items: Iterable[Item], *, total: int, description: str) -> Iterator[Item]:
    """Yield `items`; shows a bar where standard error is a terminal, and logs about ten lines in any case."""
    logger = logging.getLogger("biasflow")
    step = max(1, total // LINES)
    for number, item in enumerate(tqdm(items, total=total, desc=description, disable=None), start=1):
        yield item
        if number % step == 0 or number == total:
            logger.info("%s: %d of %d", description, number, total)
