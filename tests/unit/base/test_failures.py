"""One line for a failed run, from Snakemake's log and the logs of its jobs."""

import errno
import logging
import time
from types import SimpleNamespace

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.provenance import rule_log
from biasflow.base.terminal import GROUP_ERROR, JOB_ERROR, LastWord, ended, failures


def fail(path, rule, error):
    with pytest.raises(SystemExit), rule_log(path, rule=rule):
        raise error


def failed(rule, *logs, message=None, indent=False):
    """What Snakemake says of a failed job."""
    about = {"event": SimpleNamespace(name=JOB_ERROR), "rule_name": rule, "rule_msg": message, "log": [*map(str, logs)]}
    return SimpleNamespace(**about, indent=indent)


def test_the_job_says_what_was_wrong_and_its_log_where(tmp_path):
    error = BiasflowError("words missing.")
    error.add_note("- words: from https://example.org")
    fail(tmp_path / "download.log", "download", error)
    line = failures([failed("download", tmp_path / "download.log")])
    assert line.startswith(f"rule download: words missing (log: {tmp_path / 'download.log'}).")
    assert "example.org" not in line and "\n" not in line
    assert "example.org" in (tmp_path / "download.log").read_text()


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


def test_a_job_of_a_scheduler_has_two_logs_and_a_status(tmp_path):
    own, theirs = tmp_path / "score.log", tmp_path / "12.log"
    theirs.write_text("slurmstepd: error: Detected 1 oom-kill event\n")
    status = "SLURM-job '12' failed, SLURM status is: 'OUT_OF_MEMORY'. For further error details see the log."
    job = failed("score", own, theirs, message=status)
    line = failures([job])
    assert line.startswith(f"rule score: SLURM-job '12' failed, SLURM status is: 'OUT_OF_MEMORY' (log: {theirs}).")
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


class ProtectedOutputException(Exception):  # noqa: N818
    pass


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
        (
            lambda logger: raised(logger, ProtectedOutputException(PROTECTED)),
            "a.csv would be made again and is read-only",
        ),
    ],
)
def test_why_a_run_ended_that_its_jobs_did_not_end_comes_before_what_they_say(snakemakes_logger, capsys, tell, named):
    (last,) = snakemakes_logger.filters
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
