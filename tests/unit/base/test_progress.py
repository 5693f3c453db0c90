"""What long work says: in the log of its job, on a terminal, and in place of Snakemake's lines."""

import logging
import re
import sys
from types import SimpleNamespace

import pytest

from biasflow.base import progress as told
from biasflow.base.progress import Progress, duration, progress
from biasflow.base.terminal import shorten


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand, for a job that began at 0."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(told, "time", SimpleNamespace(monotonic=lambda: clock.now, strftime=lambda form: "12:00:00"))
    monkeypatch.setattr(told, "TERMINAL", told.Terminal())
    return clock


@pytest.mark.parametrize(("sizes", "lines"), [([1] * 100, 10), ([1] * 7, 7), ([50, 1, 1, 30, 18], 3), ([3], 1)])
def test_the_log_has_about_ten_lines_that_rise_to_the_whole(caplog, sizes, lines):
    caplog.set_level(logging.INFO, "biasflow")
    assert list(progress(sizes, total=sum(sizes), description="words", size=int)) == sizes
    shares = [int(re.match(r"words: (\d+) %", line)[1]) for line in caplog.messages]
    assert shares == sorted(set(shares)) and shares[-1] == 100 and len(shares) == lines


def test_a_terminal_has_a_line_now_and_then_with_the_job_and_the_time_that_is_left(clock, monkeypatch, capsys):
    told.TERMINAL.job = "read_losses mine"
    next(told.parts(["text", "other"], str))
    counted = Progress(100, "masked tokens")
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer, raising=False)
        for _ in range(40):
            clock.now += 2
            counted.advance()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "12:00:00 read_losses mine, text (1 of 2): masked tokens: 41 %, 2 min left" and len(lines) == 3


def test_of_a_loop_without_a_known_end_nothing_is_said(caplog):
    caplog.set_level(logging.INFO, "biasflow")
    for total in (0, -5):  # an answer whose length the server does not say, of which a part is there
        Progress(total, "words").advance(1000)
    assert caplog.messages == []


@pytest.mark.parametrize(("seconds", "words"), [(0, "0 s"), (99, "99 s"), (600, "10 min"), (9000, "2.5 h")])
def test_a_time_in_words(seconds, words):
    assert duration(seconds) == words


def test_a_run_has_a_line_for_each_job_and_its_log_has_what_snakemake_says(tmp_path, capsys):
    logger = logging.Logger("snakemake")
    for handler in (terminal := logging.StreamHandler(sys.stderr), logging.FileHandler(tmp_path / "log")):
        logger.addHandler(handler)
    terminal.name = "DefaultStreamHandler"
    modifier, settings = SimpleNamespace(parent_modifier=None), SimpleNamespace(verbose=False, quiet=None)
    shorten(logger, SimpleNamespace(is_main_process=True, modifier=modifier, output_settings=settings))

    def say(event, text="", level=logging.INFO, **facts):
        logger.log(level, text, extra={"event": SimpleNamespace(name=event), **facts})

    for jobid, file in enumerate(("gest", "")):
        say("JOB_INFO", f"rule {file}", jobid=jobid, rule_name="download", wildcards={"file": file})
    say("RUN_INFO", "table")
    say("RUN_INFO", "table")
    logger.info("Select jobs to execute...")
    say("JOB_FINISHED", "Finished", job_id=0)
    say("PROGRESS", "1 of 2 steps", done=1, total=2)
    say("JOB_ERROR", "Error in rule download", level=logging.ERROR)
    first, line, last = capsys.readouterr().err.splitlines()
    assert (first, last) == ("table", "Error in rule download")
    assert re.fullmatch(r"\d\d:\d\d:\d\d 1 of 2 jobs done: download gest \(0 s\)", line)
    log = (tmp_path / "log").read_text()
    assert all(text in log for text in ("rule gest", "Select jobs", "1 of 2 steps", "Error in rule"))
