"""Files that are whole or absent, logs with tracebacks, records beside results, and what a script imports."""

import errno
import hashlib
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from biasflow.base.code import code_files
from biasflow.base.errors import BiasflowError
from biasflow.base.files import check_writable, sha256, whole_file, whole_folder
from biasflow.base.provenance import rule_log, write_provenance
from biasflow.base.records import checked, read_record, record_file, start_of

ROOT = Path(__file__).parents[3]


def test_a_file_is_whole_or_absent(tmp_path):
    path = tmp_path / "below" / "x.txt"
    with pytest.raises(RuntimeError), whole_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert list(path.parent.iterdir()) == []
    with whole_file(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"


def test_what_was_there_stays_when_writing_fails(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    with pytest.raises(BiasflowError, match=r"x\.txt.*space"), whole_file(path) as temporary:
        temporary.write_text("new")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(BiasflowError, match=str(tmp_path)), whole_file(tmp_path / "x.txt"):
        pass


def test_a_full_disk_as_safetensors_reports_it(tmp_path):
    with pytest.raises(BiasflowError, match=r"model.*space"), whole_folder(tmp_path / "model"):
        raise RuntimeError("I/O error: No space left on device (os error 28)")
    assert os.listdir(tmp_path) == []


def test_a_results_folder_that_cannot_be_written(tmp_path, monkeypatch):
    check_writable(tmp_path / "not" / "there" / "yet")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(BiasflowError, match=str(tmp_path)):
        check_writable(tmp_path / "results")


def test_a_folder_takes_the_place_of_the_old_one_only_when_whole(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "old").touch()
    with pytest.raises(RuntimeError), whole_folder(folder) as temporary:
        (temporary / "new").touch()
        raise RuntimeError
    assert os.listdir(folder) == ["old"]
    with whole_folder(folder) as temporary:
        (temporary / "new").touch()
    assert os.listdir(folder) == ["new"]
    assert os.listdir(tmp_path) == ["model"]


KILLED = """
import os, signal
from biasflow.base.files import {function}
with {function}({path!r}) as temporary:
    {write}
    {end}
"""


def begin(function, path, *, end):
    """A process that writes a part of `path`; `end`: what it does then."""
    write = '(temporary / "half").write_text("x")' if function == "whole_folder" else 'temporary.write_text("half")'
    code = KILLED.format(function=function, path=str(path), write=write, end=end)
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.parametrize("function", [whole_file, whole_folder])
def test_what_killed_processes_left_is_removed(tmp_path, function):
    trials, path = 3, tmp_path / "x[1]"
    for _ in range(trials):
        killed = begin(function.__name__, path, end="os.kill(os.getpid(), signal.SIGKILL)")
        assert killed.wait(60) == -signal.SIGKILL
        assert [name for name in os.listdir(tmp_path) if name.endswith(".part")] != []
        with function(path) as temporary:
            (temporary / "whole" if function is whole_folder else temporary).write_text("whole")
        assert os.listdir(tmp_path) == ["x[1]"]
    print(f"{function.__name__}: {trials} trials, 0 failures")


def test_what_another_process_is_writing_stays(tmp_path):
    with begin("whole_file", tmp_path / "x", end='print("begun", flush=True); input()') as other:
        assert other.stdout.readline() == b"begun\n"
        with whole_file(tmp_path / "x") as temporary:
            temporary.write_text("ours")
        other.communicate(b"\n", timeout=60)
    assert other.returncode == 0 and (tmp_path / "x").read_text() == "half"
    assert os.listdir(tmp_path) == ["x"]


def test_sha256(tmp_path):
    (tmp_path / "x").write_bytes(b"abc" * 100_000)
    assert sha256(tmp_path / "x") == hashlib.sha256(b"abc" * 100_000).hexdigest()


def test_an_error_is_one_line_on_the_terminal_and_a_traceback_in_the_log(tmp_path, capsys):
    log = tmp_path / "logs" / "rule.log"
    with pytest.raises(SystemExit) as caught, rule_log(log, rule="strength") as logger:
        logger.info("begun")
        raise BiasflowError("row 3 of x.csv has no label")
    assert caught.value.code == 1
    printed = capsys.readouterr().err.strip().splitlines()
    assert len(printed) == 1
    assert all(part in printed[0] for part in ("strength", "row 3 of x.csv", str(log)))
    text = log.read_text()
    assert "begun" in text
    assert "Traceback" in text


def test_an_unforeseen_error_has_its_type_in_the_line(tmp_path, capsys):
    with pytest.raises(SystemExit), rule_log(tmp_path / "rule.log", rule="x"):
        _ = 1 / 0
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_record_of_a_result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("a")
    output = Path("results/demo/out.csv")
    output.parent.mkdir(parents=True)
    output.write_text("b")
    write_provenance(
        [str(output)],
        rule="strength",
        inputs=checked([str(tmp_path / "in.csv")]),
        params={"top": 0.1},
        config={"run": "demo"},
        started=time.time() - 2,
        facts={"device": "cpu", "seed": 3},
    )
    record = read_record(output)
    assert record["inputs"] == {str(tmp_path / "in.csv"): hashlib.sha256(b"a").hexdigest()}
    assert record["sha256"] == {str(output): hashlib.sha256(b"b").hexdigest()}
    assert record["wall_seconds"] >= 2
    assert 2 <= time.time() - datetime.fromisoformat(record["started"]).timestamp() < 60
    assert (record["device"], record["seed"], record["params"]) == ("cpu", 3, {"top": 0.1})
    assert start_of(record)["config"] == {"run": "demo"}
    assert {"python", "torch", "transformers"} <= set(start_of(record)["versions"])


def test_the_modules_and_the_data_that_a_script_reaches(tmp_path):
    package = tmp_path / "scripts" / "biasflow" / "metrics"
    package.mkdir(parents=True)
    for name, text in {
        "scripts/run.py": "import os\nfrom biasflow.metrics.a import f\n",
        "scripts/biasflow/__init__.py": "",
        "scripts/biasflow/metrics/a.py": "def f():\n    from biasflow import b\n",
        "scripts/biasflow/b.py": "import numpy\nimport biasflow.metrics.a\nWORDS = shipped('data/words')\n",
        "scripts/biasflow/data/words/she.csv": "she\n",
        "scripts/biasflow/data/other.csv": "",
        "scripts/biasflow/metrics/other.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = code_files(tmp_path / "scripts/run.py", tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "scripts/biasflow/__init__.py",
        "scripts/biasflow/b.py",
        "scripts/biasflow/data/words/she.csv",
        "scripts/biasflow/metrics/a.py",
        "scripts/run.py",
    ]


def test_the_record_of_a_result_in_a_storage_lies_beside_all_others_and_of_other_folders_there_is_none():
    here = Path("results/demo/provenance/tables/a.csv.json")
    assert record_file("results/demo/tables/a.csv") == here
    assert record_file(".snakemake/storage/fs/another/disk/results/demo/tables/a.csv") == here
    for path in ("/another/results/demo/tables/a.csv", ".snakemake/storage/fs/another/a.csv", "results/a.csv"):
        assert record_file(path) is None
