"""What processes keep apart: two starts of the same results, also where Snakemake's own lock is gone, and two jobs that
want a GPU, with processes of their own and a stand-in for nvidia-smi that lists two GPUs."""

import ast
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from biasflow.base import at_work
from biasflow.base.at_work import begin_work, check_queue, is_at_work, name_of_jobs
from biasflow.base.errors import BiasflowError
from biasflow.base.gpus import chosen, gpus_here

ROOT = Path(__file__).parents[3]
BEGIN = "from biasflow.base.at_work import begin_work; begin_work({!r}); print('begun', flush=True); input()"
UUID = "0a1b2c3d-0000-4000-8000-0123456789ab"


def test_a_second_start_is_refused_until_the_first_has_ended_in_whatever_way(tmp_path):
    ours, other = tmp_path / "results/ours", tmp_path / "results/other"
    command = [sys.executable, "-c", BEGIN.format(str(ours))]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "begun\n"
        assert is_at_work(ours) and not is_at_work(other)
        begin_work(other)
        with pytest.raises(BiasflowError, match=re.escape(f"at work in {ours}; wait")) as refused:
            begin_work(ours)
        assert "\n" not in str(refused.value)
        first.kill()
    assert not is_at_work(ours)
    begin_work(ours)
    assert is_at_work(ours)
    assert (ours / ".lock").stat().st_mode & 0o777 == 0o666  # another member of a group takes it, too


@pytest.mark.parametrize("run", ["ours", "v1.2"])
def test_jobs_of_an_earlier_start_in_the_queue_are_named(tmp_path, monkeypatch, run):
    """Those of this run and folder: neither those of a run whose name begins alike, nor those of other programs."""
    name, here = name_of_jobs(f"results/{run}"), str(tmp_path)
    rows = [(41, f"{name}_{UUID}", here), (42, f"{name}_{UUID}", "/elsewhere"), (43, f"{name}-b_{UUID}", here)]
    rows += [(44, UUID, here), (45, "train", here), ("46_[1-3]", f"{name}_{UUID}", here)]
    lines = "".join(f"{number}|{job}|{at}\n" for number, job, at in rows)
    (tmp_path / "squeue").write_text(f"#!/bin/sh\ncat <<'END'\n{lines}END\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(BiasflowError, match=r"^2 jobs .*\(scancel 41 46_\[1-3\]\)"):
        check_queue(f"results/{run}", here)
    check_queue("results/another", here)
    (tmp_path / "squeue").write_text("#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact' >&2; exit 1\n")
    check_queue(f"results/{run}", here)
    monkeypatch.setattr(at_work.shutil, "which", lambda name: None)
    check_queue(f"results/{run}", here)


TWO = "GPU 0: NVIDIA H100 (UUID: GPU-aa1)\nGPU 1: NVIDIA H100 (UUID: GPU-ab2)\n"
DIVIDED = TWO + "  MIG 1g.10gb     Device  0: (UUID: MIG-c1)\n  MIG 1g.10gb     Device  1: (UUID: MIG-c2)\n"
JOB = """
import os, sys
from biasflow.base import gpus
from biasflow.base.provenance import rule_log
gpus.EVERY = 0.02
gpus.TAKEN += sys.argv[2]  # of this test alone
listed = gpus.gpus_here()
gpus.gpus_here = lambda: listed
with rule_log(sys.argv[1], rule="job"):
    if os.geteuid() == 0:
        os.seteuid(int(sys.argv[3]))
    gpus.take_gpu()
    gpus.take_gpu()  # asked for twice, a job has one
    print(os.environ[gpus.VISIBLE], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Make the stand-in list these lines."""

    def lists(lines):
        (tmp_path / "bin").mkdir(exist_ok=True)
        program = tmp_path / "bin/nvidia-smi"
        program.write_text(f"#!/bin/sh\n[ \"$1\" = -L ] && cat <<'END'\n{lines}END\n")
        program.chmod(0o755)

    lists(TWO)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return lists


@pytest.fixture
def job(tmp_path, nvidia_smi):
    """Start a job that holds its GPU until it is told to end: its process and its log. Each has another folder for
    temporary files and, where the tests run as root, another user."""
    started = []

    def start():
        folder = tmp_path / str(len(started))
        folder.mkdir()
        log, user = folder / "job.log", 60_000 + len(started)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", JOB, str(log), f"{os.getpid()}-", str(user)]
        started.append(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(folder)}, **pipes))
        return started[-1], log

    yield start
    for process in started:
        process.kill()
        process.communicate()


def taken(process):
    """The GPU that a job has taken, once it has one."""
    return process.stdout.readline().strip()


def wait_for(log, text):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if log.is_file() and text in log.read_text():
            return
        time.sleep(0.02)
    raise AssertionError(f"{log} never says {text!r}")


def test_jobs_take_different_gpus_and_wait_for_those_of_others(job):
    (first, _), (second, _) = job(), job()
    found = [taken(first), taken(second)]
    assert sorted(found) == ["GPU-aa1", "GPU-ab2"]

    third, log = job()
    wait_for(log, "waits for a GPU")
    assert third.poll() is None
    first.kill()  # nothing of it can free the lock
    assert taken(third) == found[0]
    assert log.read_text().count("waits for a GPU") == 1 and f"computes on GPU {found[0]}" in log.read_text()

    second.communicate("")  # one that ends by itself
    fourth, log = job()
    assert taken(fourth) == found[1] and "waits" not in log.read_text()


def test_a_job_takes_none_that_is_hidden_from_it(job, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    first, _ = job()
    assert taken(first) == "GPU-ab2"
    second, log = job()
    wait_for(log, "taken GPU-ab2")
    assert second.poll() is None and "GPU-aa1" not in log.read_text()


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, ["GPU-aa1", "GPU-ab2"]),
        ("0", ["GPU-aa1"]),
        ("1,0", ["GPU-ab2", "GPU-aa1"]),
        ("0, 0", ["GPU-aa1"]),
        ("GPU-ab2", ["GPU-ab2"]),
        ("GPU-ab,GPU-aa", ["GPU-ab2", "GPU-aa1"]),
        ("GPU-a", []),  # which of the two is open
        ("0,2,1", ["GPU-aa1"]),  # what names none hides the rest
        ("1,-1,0", ["GPU-ab2"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),  # Slurm's word for none
    ],
)
def test_visible_are_those_that_cuda_would_see(nvidia_smi, monkeypatch, choice, expected):
    if choice is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", choice)
    assert gpus_here() == expected


def test_the_parts_of_a_divided_gpu_are_taken_one_by_one(nvidia_smi):
    nvidia_smi(DIVIDED)
    assert gpus_here() == ["GPU-aa1", "MIG-c1", "MIG-c2"]
    divided = [["GPU-aa1"], ["GPU-ab2", "MIG-c1", "MIG-c2"]]
    assert chosen(divided, "1") == chosen(divided, "GPU-ab2") == ["MIG-c1", "MIG-c2"]
    assert chosen(divided, "MIG-c2") == ["MIG-c2"]


def test_every_script_takes_the_gpu_that_its_job_was_given():
    found = {}
    for path in (ROOT / "scripts").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "resolve_device":
                found[path.stem] = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    assert set(found) == {"pretrain", "continue_encoder", "finetune", "fit_methods", "read"}
    assert all(keywords == {"gpus": "snakemake.resources.gpu"} for keywords in found.values())
