"""Runs through profiles/slurm on a real Slurm, whose CPU partition has no GPU."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.slurm import NoSlurmError, Slurm
from tests.workflow.conftest import TINY, Project

RESULTS = "results/small"
SMALL = {
    "run": "small",
    "device": "cpu",
    "encoders": {"tiny": TINY["encoders"]["tiny-bert"]},
    "metrics": {"strength": {"triples": 20}},
    "ask": {name: {"encoders": ["tiny"], "methods": ["none"], "metrics": [name]} for name in ("strength", "occtmp")},
}
BEGUN = (f"{RESULTS}/encoders/tiny", f"{RESULTS}/data/stimuli/planted.csv")
ON_SLURM = ("--workflow-profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "2")
EXPECTED = Counter(
    {"rule_describe": 1, "rule_read_together": 2, "rule_scores_score": 1, "rule_tables_matrix_plan_scores": 1}
)
LIMIT = 600  # seconds for one run, which takes a tenth of it on a machine with nothing else to do


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    if not os.environ.get("BIASFLOW_SLURM"):
        pytest.skip("BIASFLOW_SLURM is unset: with BIASFLOW_SLURM=1 a real Slurm is installed and started")
    cluster = Slurm(tmp_path_factory.mktemp("slurm"))
    with pytest.MonkeyPatch.context() as patch:
        try:
            try:
                cluster.start()
            except NoSlurmError as reason:
                pytest.skip(f"no Slurm here: {reason}")
            for name, value in cluster.environment.items():
                patch.setenv(name, value)
            yield cluster
        finally:
            cluster.stop()


@pytest.fixture
def small(project) -> Project:
    """A fresh copy of the project, whose partitions are named as a user does it."""
    path = project.folder / "profiles/slurm/partitions.yaml"
    path.write_text(path.read_text().replace("CPU_PARTITION", "cpu").replace("GPU_PARTITION", "gpu"))
    project.configure(SMALL)
    project.cold = True
    return project


def contents(project: Project) -> dict[str, bytes]:
    """What a run wrote, but for what tells of the times and places of its jobs."""
    folder = project.folder / RESULTS
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".log", ".tsv"))
    of_run = (path for path in files if "provenance" not in path.parts)
    return {str(path.relative_to(folder)): re.sub(rb"Made on [\d-]+", b"", path.read_bytes()) for path in of_run}


def rules_of(comments: Iterable[str]) -> Counter[str]:
    """How many jobs of each rule, or group of rules, by the comments that jobs of Slurm have."""
    return Counter(comment.partition("_wildcards_")[0] for comment in comments)


def wait_for(what, *, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.2)


def test_a_run_begun_here_goes_on_there_and_ends_with_the_same_bytes(slurm, small, tmp_path, capsys):
    """It is interrupted there, and cancels its jobs; then it is killed, and a start names the jobs that it leaves."""
    done = small.snakemake(*BEGUN, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    there = small.copy(tmp_path / "there")

    run = there.start(*ON_SLURM)
    wait_for(lambda: slurm.jobs("%i", states="running"))
    os.kill(run.pid, signal.SIGINT)
    assert run.wait(180) != 0
    wait_for(lambda: not slurm.jobs("%i", states="running,pending"))  # scancel returns before slurmctld has ended them
    assert "CANCELLED" in {state for (state,) in slurm.jobs("%T")}

    known = {number for (number,) in slurm.jobs("%i")}
    run = there.start(*ON_SLURM)
    wait_for(lambda: slurm.jobs("%i", states="running"))
    running = [number for (number,) in slurm.jobs("%i", states="running")]
    slurm.ask("scontrol", "suspend", ",".join(running))  # so that they outlast the next start, on a busy machine, too
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(60)
    assert there.snakemake(*ON_SLURM, "--unlock").returncode == 0
    again = there.snakemake(*ON_SLURM, timeout=LIMIT)
    line = (again.stdout + again.stderr).strip().splitlines()[-1]
    told = re.match(
        r"biasflow: (\d+) jobs of an earlier start of this run are in Slurm's queue.*\(scancel ([\d ]+)\)", line
    )
    assert told and int(told[1]) == len(told[2].split()), line
    assert not known & set(told[2].split())
    slurm.ask("scancel", *told[2].split())
    assert {name[:-37] for (name,) in slurm.jobs("%j")} == {"biasflow_small"}

    before = dict(slurm.jobs("%i|%k"))
    local = small.start()  # side by side: Slurm's jobs wait for each other most of the time
    done = there.snakemake(*ON_SLURM, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [row for row in slurm.jobs("%i|%P|%k") if row[0] not in before]
    assert {partition for _, partition, _ in rows} == {"cpu"}
    submitted = rules_of(rule for *_, rule in rows)
    # What had written its outputs when it was cancelled has ended, whatever Slurm calls it.
    assert submitted <= EXPECTED and EXPECTED - submitted <= rules_of(before.values())

    assert local.wait(LIMIT) == 0
    here, then = contents(small), contents(there)
    differ = [name for name in here.keys() | then.keys() if here.get(name) != then.get(name)]
    with capsys.disabled():
        print(f"\nSlurm: {submitted.total()} submissions, {len(differ)} of {len(here)} files differ from a local run")
    assert differ == []


def test_a_job_that_asks_for_a_gpu_gets_it_and_is_tried_once_more_with_twice_the_memory(slurm, small):
    """It fails, as there is no CUDA behind Slurm's GPUs: by name, and at once when it is tried again."""
    small.configure({**SMALL, "device": "cuda"})
    known = {number for (number,) in slurm.jobs("%i")}
    done = small.snakemake(*ON_SLURM, BEGUN[0], timeout=LIMIT)
    said = (done.stdout + done.stderr).strip().splitlines()
    assert done.returncode != 0
    assert said[-1].startswith("biasflow: rule pretrain: device 'cuda' was asked for"), "\n".join(said)
    jobs = [row for row in slurm.jobs("%i|%k|%P|%m") if row[0] not in known]
    tries = sorted((row for row in jobs if "pretrain" in row[1]), key=lambda row: int(row[0]))
    assert [row[2:] for row in tries] == [["gpu", "3100M"], ["gpu", "6200M"]]  # a small encoder
    assert all("gpu:1" in slurm.ask("scontrol", "show", "job", row[0]) for row in tries)
    assert {row[2] for row in jobs if row not in tries} == {"cpu"}
    log = (small.folder / RESULTS / "logs/encoders/tiny.log").read_text()
    assert log.count("rule pretrain failed") == 1 and "Traceback" in log


def test_a_refused_submission_and_a_lack_of_memory_are_told_and_not_an_older_log(slurm, small):
    """First there is no partition of such a name, then the job asks for too little."""
    path = small.folder / "profiles/slurm/partitions.yaml"
    partitions = path.read_text()
    path.write_text(partitions.replace("cpu:", "nowhere:"))
    log = small.folder / RESULTS / "logs/data/stimuli-planted.log"
    log.parent.mkdir(parents=True)
    log.write_text("2026-01-01 12:00:00 CRITICAL biasflow: rule stimuli_planted failed: of last time\n")
    os.utime(log, (1, 1))
    done = small.snakemake(*ON_SLURM, BEGUN[1], timeout=LIMIT)
    line = (done.stdout + done.stderr).strip().splitlines()[-1]
    assert done.returncode != 0
    assert line.startswith("biasflow: rule stimuli_planted: SLURM sbatch failed.")
    assert "nowhere" in line and "last time" not in line

    path.write_text(partitions)
    little = ("--retries", "0", "--set-resources", "stimuli_planted:mem_mb=30")
    done = small.snakemake(*ON_SLURM, BEGUN[1], *little, timeout=LIMIT)
    line = (done.stdout + done.stderr).strip().splitlines()[-1]
    assert line.startswith("biasflow: rule stimuli_planted needs more memory than it asks for: Slurm killed it;")
    assert "--set-resources stimuli_planted:mem_mb=" in line
