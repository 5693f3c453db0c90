"""Progress of long work: about ten lines of a loop in the log of its job, and on a terminal now and then a line that
says which job it is, how far it is with what, and how long that will still take.

A bar would not do: jobs run side by side, and write to one terminal."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
LINES = 10  # of a loop in the log
EVERY = 30.0  # seconds between two lines of a job on the terminal


class Terminal:
    """The terminal of a job, if it has one. job: what the job is, and which of its parts it is at."""

    def __init__(self) -> None:
        self.job, self.last = "", time.monotonic()

    def say(self, text: str) -> None:
        """Write a line, unless one was written, or the job began, just before."""
        if sys.stderr.isatty() and time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            print(f"{time.strftime('%H:%M:%S')} {self.job}: {text}", file=sys.stderr, flush=True)


TERMINAL = Terminal()


def job_name(rule: str, wildcards: Iterable[str]) -> str:
    """What a job is called on the terminal: read_losses mine pretrained inside."""
    return " ".join(filter(None, [rule, *wildcards]))


def parts(items: Sequence[Item], name: Callable[[Item], str]) -> Iterator[Item]:
    """Yield the parts of a job; meanwhile the terminal says at which it is, by its name and number."""
    job = TERMINAL.job
    for number, item in enumerate(items, start=1):
        TERMINAL.job = f"{job}, {name(item)} ({number} of {len(items)})"
        yield item


class Progress:
    """How far a loop is. total: what it counts to, in any unit; nothing is told of a loop without one."""

    def __init__(self, total: float, description: str):
        self.total, self.description, self.done, self.started = total, description, 0.0, time.monotonic()

    def advance(self, units: float = 1) -> None:
        """Count what was done, and tell of it: each tenth in the log, and now and then on the terminal."""
        if self.total <= 0:
            return
        tenths = int(LINES * self.done / self.total)
        self.done += units
        share = self.done / self.total
        left = (time.monotonic() - self.started) * (1 - share) / share
        text = f"{self.description}: {share:.0%}, {duration(left)} left".replace("%", " %")
        if int(LINES * share) > tenths:
            logging.getLogger("biasflow").info("%s", text)
        if share < 1:
            TERMINAL.say(text)


def progress(
    items: Iterable[Item], *, total: float, description: str, size: Callable[[Item], float] = lambda item: 1
) -> Iterator[Item]:
    """Yield `items`, and tell how far they are. size: how much of the total an item is."""
    counted = Progress(total, description)
    for item in items:
        yield item
        counted.advance(size(item))


def duration(seconds: float) -> str:
    """A time in words, as exact as anyone needs it: 40 s, 12 min, 2.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
