"""Two starts of the same results are kept apart, also where Snakemake's own lock is gone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from biasflow.base import at_work
from biasflow.base.at_work import begin_work, check_queue, is_at_work, name_of_jobs
from biasflow.base.errors import BiasflowError

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
