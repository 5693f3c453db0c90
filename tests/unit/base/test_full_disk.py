"""A full disk under an array that is mapped into memory: an error that says so, never a process that is killed."""

import errno
import os
import subprocess
import sys

import pytest

from biasflow.base import files
from biasflow.base.errors import BiasflowError
from biasflow.base.files import reserve
from biasflow.base.shipped import ROOT
from biasflow.methods import states
from biasflow.readouts.files import array_on_disk

LARGE = 8 * 2**20  # bytes
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))\n"
READOUT = f"""
from biasflow.readouts.files import array_on_disk
with array_on_disk("folder/a.safetensors", "x", (1, {LARGE // 4}), "float32", [("none", "-")]) as (array, meta):
    array[:] = 1
"""
STATES = f"""
from biasflow.methods import states
states.IN_MEMORY = 0
states.allocate({{"layer[0]": ({LARGE // 4},)}})["layer[0]"][:] = 1
"""


def run(code, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts"), "TMPDIR": str(folder)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    ("code", "named"), [(READOUT, "folder/a.safetensors: no space left on the disk"), (STATES, "No space left")]
)
def test_a_small_disk(small_disk, code, named):
    done = run(code, small_disk)
    assert done.returncode == 1, "killed by a signal"
    last = done.stderr.splitlines()[-1]
    assert last.startswith("biasflow.base.errors.BiasflowError: ") and named in last
    assert [path for path in small_disk.rglob("*") if path.is_file()] == []  # the room is free again


@pytest.mark.parametrize(
    ("code", "named"), [(READOUT, "folder/a.safetensors: the file would be larger"), (STATES, "GB of")]
)
def test_a_limit_of_the_size_of_files(tmp_path, code, named):
    last = run(LIMIT + code, tmp_path).stderr.splitlines()[-1]
    assert last.startswith("biasflow.base.errors.BiasflowError: ") and named in last


def full(file, start, size):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_room_is_reserved_before_the_first_value_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", full)
    shape, axis = (1, 4), [("none", "-")]
    reserved = array_on_disk(tmp_path / "a.safetensors", "x", shape, "float32", axis)
    with pytest.raises(BiasflowError, match=r"a\.safetensors: no space left on the disk"), reserved:
        raise AssertionError("the array was given out")
    monkeypatch.setattr(states, "IN_MEMORY", 0)
    with pytest.raises(BiasflowError, match="hidden states cannot be kept there"):
        states.allocate({"layer[0]": (4,)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 1, 3 * 2**20 + 5])
def test_where_the_system_has_no_such_call_the_file_is_written(tmp_path, monkeypatch, size):
    monkeypatch.delattr(files.os, "posix_fallocate")
    with open(tmp_path / "a", "wb") as file:
        reserve(file, size)
    assert (tmp_path / "a").stat().st_size == size
    assert (tmp_path / "a").stat().st_blocks * 512 >= size  # no holes
