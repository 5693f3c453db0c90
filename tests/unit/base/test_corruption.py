"""Damaged files and a full disk: what is told, and what is left."""

import errno
import os
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.iocontainers import InputFiles

from _rule import rule
from biasflow.base import files
from biasflow.base.errors import BiasflowError
from biasflow.base.files import reserve
from biasflow.base.provenance import write_provenance
from biasflow.base.records import check_unchanged, checked, read_record, start_of
from biasflow.methods import states
from biasflow.plan.asked import read_asked
from biasflow.readouts.files import array_on_disk

SCORES, MODEL = "results/own/scores/own.csv", "results/own/models/own"
FILES = (SCORES, f"{MODEL}/config.json", f"{MODEL}/model.safetensors")


def flipped(content: bytes, share: float) -> bytes:
    """With the lowest bit of one byte the other way round."""
    place = int(share * (len(content) - 1))
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def another_digit(content: bytes) -> bytes:
    """With one digit changed, in the second half."""
    place = re.search(rb"\d", content[len(content) // 2 :]).start() + len(content) // 2
    return content[:place] + str((int(content[place : place + 1]) + 1) % 10).encode() + content[place + 1 :]


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


DAMAGES = {f"a bit at {share:.0%}": lambda content, share=share: flipped(content, share) for share in (0, 0.5, 1)}
DAMAGES |= {
    "cut": half,
    "zeros, as a copy that was broken off": lambda content: half(content).ljust(len(content), b"\0"),
}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Two results, of which one is a folder, with the records of the jobs that wrote them."""
    monkeypatch.chdir(tmp_path)
    for path in map(Path, FILES):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode() * 100_000)
    for output in (SCORES, MODEL):
        write_provenance([output], rule="make", inputs={}, params={}, config={"run": "own"}, started=time.time())


def job(tmp_path, monkeypatch, *inputs: str) -> SimpleNamespace:
    """What Snakemake hands to the script of a job that reads these."""
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # set by every job; put back after the test
    return SimpleNamespace(
        input=InputFiles(inputs),
        output=[],
        params={},
        wildcards={},
        config={"run": "own"},
        log=[str(tmp_path / "job.log")],
        rule="reader",
        scriptdir=str(Path(__file__).parents[3] / "scripts"),
        threads=1,
    )


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize(("result", "file"), [(SCORES, SCORES), (MODEL, FILES[-1])])
def test_every_damage_is_named_and_nothing_damaged_is_used(made, tmp_path, monkeypatch, capsys, result, file, damage):
    """Time stamps stay as they were, and so do sizes, but for a file that is cut."""
    path, times = Path(file), Path(file).stat()
    before = path.read_bytes()
    path.write_bytes(damage(before))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(SystemExit), rule(job(tmp_path, monkeypatch, result)):
        pytest.fail("it was used")
    line = capsys.readouterr().err
    assert f"{path} is not as its job wrote it" in line and f"delete {result} and" in line
    path.write_bytes(before)
    with rule(job(tmp_path, monkeypatch, result)):
        pass  # put right again, it is read


@pytest.mark.parametrize("file", ["models/own.json", "shared/*.json"])
def test_a_record_that_may_not_be_read_is_no_damaged_one(made, monkeypatch, file):
    """Whose result would have to be made again."""
    (record,) = Path("results/own/provenance").glob(file)
    may_not_be_read(monkeypatch, record)
    with pytest.raises(BiasflowError, match=f"^{record}: cannot be read: Permission denied; check its rights"):
        start_of(read_record(MODEL))


def test_nor_is_the_list_of_what_was_asked_for(tmp_path, monkeypatch):
    asked = tmp_path / "asked.json"
    asked.touch()
    may_not_be_read(monkeypatch, asked)
    with pytest.raises(BiasflowError, match=r"asked.json: cannot be read: Permission denied; check its rights"):
        read_asked(asked)


def may_not_be_read(monkeypatch, path: Path) -> None:
    """As a file without any right, which root reads."""
    plainly = Path.read_text

    def read(this, **options):
        if this == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return plainly(this, **options)

    monkeypatch.setattr(Path, "read_text", read)


def test_files_that_no_job_made_are_taken_as_they_are(made):
    """Those of the user, and what was copied out of the results with its records."""
    shutil.copytree(MODEL, "mine")
    Path("mine/config.json").write_text("{}")
    Path("words.txt").write_text("he\n")
    taken = ["mine/config.json", "mine/model.safetensors", "words.txt"]
    assert list(checked(taken)) == taken


def test_an_input_of_the_user_that_was_replaced_since_the_plan_is_named():
    now = {"own/model.safetensors": "b" * 64, "words.txt": "c" * 64}
    check_unchanged(now, {"words.txt": "c" * 64})
    with pytest.raises(BiasflowError, match=r"own/model\.safetensors"):
        check_unchanged(now, now | {"own/model.safetensors": "a" * 64})


@pytest.mark.parametrize(
    ("number", "named"), [(errno.ENOSPC, "no space left on the disk"), (errno.EFBIG, "the file would be larger")]
)
def test_room_is_reserved_before_the_first_value_is_written(tmp_path, monkeypatch, number, named):
    def full(file, start, size):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", full)
    shape, axis = (1, 4), [("none", "-")]
    reserved = array_on_disk(tmp_path / "a.safetensors", "x", shape, "float32", axis)
    with pytest.raises(BiasflowError, match=rf"a\.safetensors: {named}"), reserved:
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
