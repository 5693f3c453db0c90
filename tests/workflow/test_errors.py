"""How a run ends that cannot go on: the last line says what to do, and the exit status is not 0."""

import copy
import os
import re
import signal
import subprocess
import time

from tests.warm import warm
from tests.workflow.conftest import TINY, Project

LONG = 1200  # steps of a training that is to be interrupted


def last_line(project: Project, *arguments: str, **options) -> str:
    """What the user sees last of a run that must fail."""
    done = project.snakemake(*arguments, **options)
    assert done.returncode != 0
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-1]


def test_a_run_says_a_line_for_each_job_and_its_log_all_that_snakemake_says(project, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for path in project.folder.rglob("*.pyc"):
        path.unlink()
    done = project.snakemake("results/tiny/plan.csv")
    assert "1 of 1 jobs done: plan" in done.stderr and "rule plan:" not in done.stderr
    (log,) = (project.folder / ".snakemake/log").glob("*.log")
    assert "rule plan:" in log.read_text()
    assert list(project.folder.rglob("*.pyc"))  # a job leaves them, so that the next need not compile what it imports


def test_a_process_of_a_run_is_one_of_its_own_that_has_its_libraries(tmp_path):
    code = "import os, sys; print(os.getcwd(), 'torch' in sys.modules, 'biasflow' in sys.modules); sys.exit(3)"
    done = subprocess.run([warm() / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, f"{tmp_path} True False\n")


def test_a_wrong_configuration(project):
    project.configure({**TINY, "methodz": {}})
    assert last_line(project) == "biasflow: config: unknown key 'methodz'; did you mean 'methods'?"
    assert not (project.folder / "results/tiny").exists()


def test_a_dry_run_says_what_cannot_be_measured(project):
    asked = {"i": {"encoders": ["tiny-bert"], "methods": ["none"], "metrics": ["weat", "seat"]}}
    project.configure({key: TINY[key] for key in ("run", "device", "encoders")} | {"ask": asked})
    done = project.snakemake("-n")
    assert done.returncode == 0, done.stderr
    assert "are not done: " in done.stderr and "very roughly" in done.stderr  # what is left, and how long it may take
    last = (done.stdout + done.stderr).strip().splitlines()[-1]
    assert last.startswith("biasflow: 1 of 2 cells cannot be measured: metrics.seat has no dataset")
    assert last.endswith("results/tiny/plan.csv")


def test_a_dry_run_refuses_a_key_that_snakemake_would_pass_over(project):
    line = last_line(project, "-n", "--config", "run=a", "--config", "device=cpu")
    assert line.startswith("biasflow: one --config takes both: --config run=a device=cpu")


def test_a_configuration_file_that_cannot_be_read(project):
    """Snakemake reads it before any rule; its profile has us look at it first."""
    (project.folder / "tab.yaml").write_text("run: a\nencoders:\n\tmine: {}\n")
    done = project.snakemake("-n", config="tab.yaml")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.match("biasflow: tab.yaml: line 3: .* a tab", done.stderr.splitlines()[-1])


def test_an_unknown_target(project):
    """A readout that is made together with others is none."""
    target = "results/tiny/readouts/tiny-bert/pretrained/inside/vectors"
    assert last_line(project, target).startswith(f"biasflow: there is no target {target}; ")


def test_results_that_cannot_be_written(project):
    (project.folder / "results/tiny").write_text("a file, not a folder")
    line = last_line(project, "results/tiny/plan.csv")
    assert line.startswith("biasflow: ") and str(project.folder / "results/tiny") in line


def test_a_missing_file_without_a_network(project, monkeypatch):
    asked = {"inside": {"encoders": ["tiny-bert"], "methods": ["none"], "metrics": ["strength"]}}
    used = {"encoders": TINY["encoders"], "metrics": {"strength": {"stimuli": ["stereoset-authors"]}}}
    project.configure({"run": "own", "device": "cpu", **used, "ask": asked}, "own.yaml")
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    line = last_line(project, "results/own/data/stimuli/stereoset-authors.csv", config="own.yaml")
    assert line.startswith("biasflow: no network: gender-swapped-dev")
    assert "mirror=FOLDER" in line and "files: {gender-swapped-dev: PATH}" in line
    assert not (project.folder / "results/corpora/logs").exists()  # no job was started


def cold(project: Project) -> Project:
    """The same, whose processes are a user's: its signals are no work of the server of warm ones."""
    same = copy.copy(project)
    same.cold = True
    return same


def start_again(project: Project, target: str) -> None:
    """A second start of the same results, when another run of the folder has ended, which removes Snakemake's locks."""
    for lock in (project.folder / ".snakemake/locks").iterdir():
        lock.unlink()
    assert "another start of this run is at work in results/tiny;" in last_line(project, target)


def last_words(project: Project, target: str, number: signal.Signals, *, meanwhile=lambda *of_run: None) -> str:
    """What is said last by a run that gets a signal, with all its jobs, while it pre-trains. meanwhile: done before."""
    log, words = project.folder / "results/tiny/logs/encoders/tiny-bert.log", project.folder / "said"
    log.unlink(missing_ok=True)
    with words.open("w") as said:
        running = cold(project).start(target, said=said)
        deadline = time.monotonic() + 600
        while not log.exists():
            assert running.poll() is None and time.monotonic() < deadline, words.read_text()
            time.sleep(0.05)
        meanwhile(project, target)
        os.killpg(running.pid, number)
        assert running.wait(300) != 0
    return [line for line in words.read_text().splitlines() if line.strip()][-1]


def test_a_run_that_was_killed_and_one_that_was_interrupted(project):
    """The first leaves a lock; the second, beside which none can be started, says what happened. Then the same command
    goes on, and leaves nothing. The training outlasts a second start, also on a busy machine."""
    target, encoder = "results/tiny/encoders/tiny-bert", TINY["encoders"]["tiny-bert"] | {"steps": LONG}
    project.configure(TINY | {"encoders": TINY["encoders"] | {"tiny-bert": encoder}})
    assert not last_words(project, target, signal.SIGKILL).startswith("biasflow: ")
    line = last_line(project, target)
    assert line.startswith("biasflow: ") and "--unlock" in line
    assert project.snakemake(target, "--unlock").returncode == 0
    assert last_words(project, target, signal.SIGINT, meanwhile=start_again).startswith("biasflow: interrupted")
    done = project.snakemake(target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((project.folder / "results").rglob("*.part")) == []
