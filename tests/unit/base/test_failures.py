"""What a user sees of errors, failed runs and progress."""

import errno
import logging
import re
import sys
import time
from types import SimpleNamespace

import pytest

from biasflow.base import progress as told
from biasflow.base.errors import BiasflowError, headline, nearest, printable
from biasflow.base.progress import Progress, duration, progress
from biasflow.base.provenance import rule_log
from biasflow.base.terminal import GROUP_ERROR, JOB_ERROR, LastWord, ended, failures, shorten


def fail(path, rule, error):
    with pytest.raises(SystemExit), rule_log(path, rule=rule):
        raise error


def failed(rule, *logs, message=None, indent=False):
    """What Snakemake says of a failed job."""
    about = {"event": SimpleNamespace(name=JOB_ERROR), "rule_name": rule, "rule_msg": message, "log": [*map(str, logs)]}
    return SimpleNamespace(**about, indent=indent)


def test_the_job_says_what_was_wrong_and_its_log_where(tmp_path, capsys):
    error = BiasflowError("words missing.")
    error.add_note("- words: from https://example.org")
    fail(tmp_path / "download.log", "download", error)
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and "words missing" in printed and str(tmp_path / "download.log") in printed
    line = failures([failed("download", tmp_path / "download.log")])
    assert line.startswith(f"rule download: words missing (log: {tmp_path / 'download.log'}).")
    assert "example.org" not in line and "\n" not in line
    log = (tmp_path / "download.log").read_text()
    assert "example.org" in log and "Traceback" in log


@pytest.mark.parametrize("begun", [True, False])
def test_a_killed_job_has_no_message_of_its_own(tmp_path, begun):
    if begun:
        (tmp_path / "x.log").write_text("12:00 INFO biasflow: begun\n")
    line = failures([failed("pretrain", tmp_path / "x.log")])
    assert "pretrain" in line and "killed" in line and str(tmp_path / "x.log") in line


REFUSED = """SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: x
sbatch: error: Batch job submission failed: Invalid partition name specified'.
For further error details see the cluster/cloud log and the log files of the involved rule(s)."""


def test_a_refused_submission_is_told_and_not_the_log_of_an_earlier_run(tmp_path):
    fail(tmp_path / "score.log", "score", BiasflowError("of last time"))
    job = failed("score", tmp_path / "score.log", message=REFUSED)  # tried twice
    line = failures([job, job], since=(tmp_path / "score.log").stat().st_mtime + 1)
    assert line.startswith("rule score: SLURM sbatch failed.") and "invalid partition specified: x" in line
    assert "last time" not in line and "score.log" not in line and "further" not in line and "1 more" not in line


@pytest.mark.parametrize(
    ("status", "in_log", "option"),
    [
        ("OUT_OF_MEMORY", "", "mem_mb"),
        ("FAILED", "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.", "mem_mb"),
        ("FAILED", "slurmstepd: error: Detected 1 oom-kill event(s) in step 12.0 cgroup.", "mem_mb"),
        ("FAILED", "slurmstepd: error: StepId=12.0 exceeded memory limit (301 > 20), being killed", "mem_mb"),
        ("FAILED", "slurmstepd: error: Exceeded job memory limit", "mem_mb"),
        ("TIMEOUT", "", "runtime"),
        ("FAILED", "error: *** JOB 12 ON gpu CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", "runtime"),
        ("CANCELLED", "", None),
    ],
)
def test_a_job_that_slurm_ended_says_what_it_lacked(tmp_path, status, in_log, option):
    """In whichever of the scheduler's words; what the job's own log says goes before."""
    own, theirs = tmp_path / "score.log", tmp_path / "12.log"
    theirs.write_text(f"{in_log}\n")
    message = f"SLURM-job '12' failed, SLURM status is: '{status}'. For further error details see the log."
    job = failed("score", own, theirs, message=message)
    said = f"needs more {'memory' if option == 'mem_mb' else 'time'} than it asks for: Slurm killed it"
    said = (
        f"{said}; add --set-resources score:{option}="
        if option
        else f"SLURM-job '12' failed, SLURM status is: '{status}'"
    )
    line = failures([job])
    assert said in line and line.startswith("rule score") and f"(log: {theirs})" in line
    group = SimpleNamespace(event=SimpleNamespace(name=GROUP_ERROR), groupid="scores", aux_logs=[str(theirs)])
    assert (f"--set-resources RULE:{option}=" in failures([group])) == bool(in_log)
    fail(own, "score", BiasflowError("words missing"))
    assert failures([job]).startswith(f"rule score: words missing (log: {own}).")


def test_of_a_group_the_job_that_failed_is_told_or_else_the_group(tmp_path):
    logs = [tmp_path / f"{name}.log" for name in ("one", "two")]
    jobs = [failed("score", log, indent=True) for log in logs]

    def line(*of_scheduler):
        return failures(
            [SimpleNamespace(event=SimpleNamespace(name=GROUP_ERROR), groupid="scores", aux_logs=of_scheduler), *jobs]
        )

    assert line().startswith("group scores: the scheduler took no job of it")
    assert line("6.log").startswith("group scores left no message: killed, or out of memory (log: 6.log)")
    fail(logs[1], "score", BiasflowError("words missing"))
    assert line().startswith(f"rule score: words missing (log: {logs[1]}).") and "more" not in line()


@pytest.mark.parametrize("error", [BiasflowError("words missing"), ValueError("words missing")])
def test_a_failure_that_would_come_again_is_told_again_at_once(tmp_path, capsys, error):
    begun, log = time.time() - 1, tmp_path / "x.log"
    fail(log, "x", error)
    first, _ = log.read_text(), capsys.readouterr()
    with pytest.raises(SystemExit), rule_log(log, rule="x", since=begun):
        pytest.fail("it works once more")
    assert "words missing" in capsys.readouterr().err and log.read_text() == first


def caused_by(cause: Exception) -> BiasflowError:
    error = BiasflowError("words cannot be read")
    error.__cause__ = cause
    return error


PASSING = [
    MemoryError(),
    OSError("stale file handle"),
    RuntimeError("can't allocate memory"),
    RuntimeError("CUDA out of memory"),
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    caused_by(OSError("stale file handle")),
]


@pytest.mark.parametrize("error", PASSING, ids=str)
def test_a_failure_that_may_pass_is_tried_again(tmp_path, error):
    begun, log, done = time.time() - 1, tmp_path / "x.log", []
    fail(log, "x", error)
    with rule_log(log, rule="x", since=begun):
        done.append("x")
    assert done == ["x"]


def test_a_failure_of_an_earlier_run_is_tried_again(tmp_path):
    log, done = tmp_path / "x.log", []
    fail(log, "x", BiasflowError("words missing"))
    for since in ({"since": time.time() + 1}, {}):
        with rule_log(log, rule="x", **since):
            done.append("x")
    assert done == ["x", "x"]


def test_a_run_ends_with_the_summary_that_it_wrote(tmp_path):
    summary, reasons = tmp_path / "summary.txt", tmp_path / "reasons.csv"
    assert ended(summary, reasons, since=0) == ""
    summary.write_text("run demo\noverview: index.html\n")
    assert ended(summary, reasons, since=0) == "run demo\noverview: index.html"
    assert ended(summary, reasons, since=summary.stat().st_mtime + 1) == ""  # that of an earlier run


def test_what_failed_beside_others_is_told_one_by_one(tmp_path):
    summary, reasons = tmp_path / "summary.txt", tmp_path / "reasons.csv"
    cells = [("none", "gest", "failed: odd (log: a)"), ("hard", "gest", "failed: odd (log: a)")]
    cells += [("none", "weat", "no word."), ("none", "seat", "failed: ValueError: x (log: b)")]
    reasons.write_text("encoder,method,metric,reason\n" + "".join(f"mine,{','.join(cell)}\n" for cell in cells))
    *failed, absent = ended(summary, reasons, since=0).splitlines()
    assert failed == ["gest of mine failed: odd (log: a)", "seat of mine failed: ValueError: x (log: b)"]
    assert absent.startswith("1 cell(s) could not be measured, such as weat of mine under none: no word (all in")


@pytest.fixture
def snakemakes_logger():
    logger = logging.Logger("snakemake")
    logger.addFilter(LastWord())
    logger.addHandler(logging.NullHandler())
    return logger


def raised(logger, error):
    """As Snakemake tells an exception that ends it."""
    logger.error("%s", error, extra={"exception": type(error).__name__})


class LockException(Exception):  # noqa: N818
    pass


class MissingRuleException(Exception):  # noqa: N818
    pass


class ProtectedOutputException(Exception):  # noqa: N818
    pass


UNREADABLE = "Unable to obtain modification time of file results/a because of missing read permissions."
PROTECTED = (
    "Write-protected output files for rule score:\n    affected files:\n        results/own/a.csv\n        b.csv"
)


@pytest.mark.parametrize(
    ("tell", "named"),
    [
        (
            lambda logger: logger.info("Terminating processes on user request, this might take some time."),
            "interrupted",
        ),
        (lambda logger: raised(logger, LockException("Error: Directory cannot be locked.")), "--unlock"),
        (lambda logger: raised(logger, OSError(errno.ENOSPC, "No space left on device")), "no space left"),
        (
            lambda logger: raised(logger, PermissionError(errno.EACCES, "Permission denied", ".snakemake/locks")),
            "'.snakemake/locks'); check the rights",
        ),
        (lambda logger: raised(logger, OSError(errno.EROFS, "Read-only file system", "x")), "check the rights"),
        (lambda logger: raised(logger, RuntimeError(UNREADABLE)), "file results/a because"),
        (
            lambda logger: raised(logger, ProtectedOutputException(PROTECTED)),
            "a.csv would be made again and is read-only",
        ),
        (lambda logger: raised(logger, MissingRuleException("No rule to produce tabel1 (if")), "mean 'table1'?"),
        (lambda logger: raised(logger, MissingRuleException("No rule to produce figure4 (if")), "figure4; no scores"),
    ],
)
def test_why_a_run_ended_that_its_jobs_did_not_end_comes_before_what_they_say(snakemakes_logger, capsys, tell, named):
    (last,) = snakemakes_logger.filters
    last.targets = {"table1": "", "figure4": "no scores"}
    tell(snakemakes_logger)
    last.message = "rule x: failed"
    last.say()
    line = capsys.readouterr().err
    assert line.startswith("biasflow: ") and named in line and line.count("\n") == 1


def test_other_messages_of_snakemake_leave_the_last_word_to_the_run(snakemakes_logger, capsys):
    (last,) = snakemakes_logger.filters
    snakemakes_logger.info("Job 3 finished")
    snakemakes_logger.error("Error in rule x", extra=vars(failed("x", "x.log")))
    assert [job.rule_name for job in last.failed] == ["x"]
    raised(snakemakes_logger, ValueError("No rule to produce x"))
    last.say()
    assert capsys.readouterr().err == ""
    last.message = "rule x: failed"
    last.say()
    assert capsys.readouterr().err == "biasflow: rule x: failed\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07 \x1b[2J", r"\x1b]0;title\x07 \x1b[2J"),  # sets a title, clears the screen
        ("one\nbiasflow: all is well\r", r"one\nbiasflow: all is well\r"),
        ("\u202egpj.exe \u2028", r"\u202egpj.exe \u2028"),  # read from the right; ends a line
        ("\udc80", r"\udc80"),  # of a path that is no UTF-8, and could not be printed
        ("Ärztin 医生 C:\\new", "Ärztin 医生 C:\\new"),
    ],
)
def test_what_others_wrote_moves_no_cursor_and_ends_no_line(text, shown):
    assert printable(text) == headline(BiasflowError(text)) == shown
    assert headline(ValueError(f"a\n {text}")).startswith("ValueError: a ")
    assert printable(shown) == shown


def test_of_names_as_near_the_one_with_the_same_letters_is_meant():
    for known in (["leace", "rlace"], ["rlace", "leace"]):
        assert nearest("laece", known) == "did you mean 'leace'?"
    assert nearest("rlaec", ["leace", "rlace"]) == "did you mean 'rlace'?"
    assert nearest("GEST", ["gest_rate", "gest", "seat"]) == "did you mean 'gest'?"


def test_many_names_are_not_all_listed():
    assert nearest("qqq", ["one", "two"]) == "there are: one, two" and nearest("qqq", []) == ""
    listed = nearest("x-far", [f"name{i}" for i in range(30)] + ["x"])
    assert listed.startswith("there are: x, ") and listed.count(",") == 9 and listed.endswith(" and 21 more")


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
