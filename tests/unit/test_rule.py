"""What surrounds the work of every rule's script (scripts/_rule.py)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
JOB = """
from types import SimpleNamespace
import _rule
job = SimpleNamespace(rule="score", wildcards={{}}, threads=1, scriptdir={scripts!r}, log=[{log!r}])
with _rule.rule(job):
    print("ran")
"""


def test_a_job_whose_modules_come_from_another_checkout_ends_with_one_line(tmp_path):
    """PYTHONPATH comes before the folder of a script: the job of one clone would run the code of another."""
    other = tmp_path / "other" / "scripts"
    other.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "_rule.py", other)
    code = JOB.format(scripts=str(other), log=str(tmp_path / "log"))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    line = f"biasflow: the rule's script lies in {other}, but its modules in {ROOT / 'scripts'}; unset PYTHONPATH\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line) and not (tmp_path / "log").exists()


IMPORTS = """
import gc
import _rule
before = gc.get_threshold()[0]
kept = [[] for _ in range(before + 1)]
print(before, gc.get_threshold()[0], gc.callbacks)
"""


def test_the_search_for_cycles_begins_after_the_imports_and_then_goes_on_as_usual():
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT / "scripts", capture_output=True, text=True)
    assert done.stdout == "400000 20000 []\n", done.stderr
