"""Items of a test that cannot be measured: each is left out, counted, and named with the reason; the others are
measured.

Whoever finds such items says so (`leave_out`); whoever asked for the items keeps what was said (`LeftOut.told`)."""

import contextlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from biasflow.base.errors import BiasflowError

log = logging.getLogger(__name__)

MOST = 0.5  # a file of which a larger share cannot be used is wrong as a whole


@dataclass
class LeftOut:
    """Which items were left out: name -> why, in the same words for what is the same; of: how many there were, these
    among them."""

    FACT: ClassVar[str] = "left_out"

    reasons: dict[str, str] = field(default_factory=dict)
    of: int = 0

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Keep what is left out in the body."""
        token = _LISTENING.set(self)
        try:
            yield
        finally:
            _LISTENING.reset(token)

    def facts(self) -> dict[str, object]:
        """What a job's record says, and the log; nothing where nothing was left out."""
        if not self.reasons:
            return {}
        log.warning(in_words(self.reasons, self.of))
        return {self.FACT: {"of": self.of, "items": dict(self.reasons)}}


_LISTENING: ContextVar[LeftOut | None] = ContextVar("listening", default=None)


def most(wrong: int, of: int) -> bool:
    """Whether so many wrong items say that the file as a whole is wrong."""
    return wrong > MOST * of


def leave_out(source: str | Path, reasons: Mapping[str, str], of: int) -> None:
    """Say that these of so many items of a file cannot be measured: name -> why.

    BiasflowError, which names the first, where that is most of them."""
    if most(len(reasons), of):
        name, why = next(iter(reasons.items()))
        raise BiasflowError(f"{source}: {name}: {why} ({len(reasons)} of {of} such items); check the file")
    if (listening := _LISTENING.get()) is not None:
        listening.reasons |= reasons
        listening.of = max(listening.of, of)
    elif reasons:
        log.warning("%s: %s", source, in_words(reasons, of))


def in_words(reasons: Mapping[str, str], of: int) -> str:
    """How many items are left out, and why: how many for each reason, where there are several."""
    counts = Counter(reasons.values())
    why = "; ".join(f"{reason} ({n:,})" if len(counts) > 1 else reason for reason, n in counts.items())
    return f"{len(reasons):,} of {of:,} items left out: {why}"
