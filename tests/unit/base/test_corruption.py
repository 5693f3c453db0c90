"""Damaged files and a full disk: what is told, and what is left."""

import errno
import os
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from snakemake.iocontainers import InputFiles

from _rule import rule
from biasflow.base import files
from biasflow.base.errors import BiasflowError
from biasflow.base.files import reserve
from biasflow.base.provenance import write_provenance
from biasflow.base.records import check_unchanged, checked
from biasflow.base.tabular import write_csv, write_parquet
from biasflow.erasers.eraser import Eraser
from biasflow.methods import states
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.planted.stereoset import triples
from biasflow.readouts.files import array_on_disk
from tests.unit.conftest import HIDDEN, MODELS
from tests.unit.fake_tokenizer import word_tokenizer

TABLE = pd.DataFrame({"method": ["none", "leace"] * 50, "metric": "strength", "value": range(1000, 1100)})


def flipped(content: bytes, share: float) -> bytes:
    """With the lowest bit of one byte the other way round."""
    place = int(share * (len(content) - 1))
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def another_digit(content: bytes) -> bytes:
    """With one digit changed, in the second half."""
    place = re.search(rb"\d", content[len(content) // 2 :]).start() + len(content) // 2
    return content[:place] + str((int(content[place : place + 1]) + 1) % 10).encode() + content[place + 1 :]


def cut_at_a_line(content: bytes) -> bytes:
    """Without its last third, to the end of a line."""
    return content[: content.rindex(b"\n", 0, len(content) * 2 // 3) + 1]


def lines_swapped(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    lines[1], lines[-1] = lines[-1], lines[1]
    return b"".join(lines)


def emptied_at_the_end(content: bytes) -> bytes:
    """As a copy looks that was broken off: as long as it should be, with zeros."""
    half = len(content) // 2
    return content[:half] + bytes(len(content) - half)


BITS = {f"a bit at {share:.0%}": lambda content, share=share: flipped(content, share) for share in (0.02, 0.5, 0.99)}
ZEROS = {"zeros": emptied_at_the_end}
LINES = {"a digit": another_digit, "cut at a line": cut_at_a_line, "lines swapped": lines_swapped}
HALF = {"cut at half": lambda content: content[: len(content) // 2]}
# What a job reads, the file of it that is damaged, and how: output -> (file below it or beside it, damages).
TRIALS = {
    "scores/own.csv": ("scores/own.csv", LINES | HALF),
    "stimuli/planted.csv": ("stimuli/planted.csv", LINES | HALF),
    "texts/own.txt": ("texts/own.txt", LINES | ZEROS),
    "readouts/masked_words": ("readouts/masked_words/planted.parquet", BITS | HALF),
    "methods/inside.safetensors": ("methods/inside.safetensors", BITS | ZEROS),
    "encoders/own": ("encoders/own/model.safetensors", BITS | ZEROS | HALF),
    "encoders/other": ("encoders/other/tokenizer.json", {"a digit": another_digit} | HALF),
}


def in_results(name: str) -> str:
    return f"results/own/{name}"


def make(name: str, path: Path) -> None:
    """One result, as its job would write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if name == "scores/own.csv":
        write_csv(TABLE, path)
    elif name == "stimuli/planted.csv":
        write_csv(triples(seed=0, n=20), path)
    elif name == "texts/own.txt":
        path.write_text("".join(f"Sentence {number} of a text.\n" for number in range(100)))
    elif name == "readouts/masked_words":
        path.mkdir()
        write_parquet(TABLE, path / "planted.parquet")
    elif name == "methods/inside.safetensors":
        eraser = Eraser.projection(torch.eye(HIDDEN)[:2])
        save(Fitted({"leace": (Active("leace", "-", (("last", eraser),)),)}, {"leace": []}), path)
    elif name.startswith("encoders"):
        torch.manual_seed(0)
        MODELS["bert-pretraining"]().save_pretrained(path)
        word_tokenizer(["he", "she", "nurse"]).save_pretrained(path)


def record(*outputs: str, inputs: tuple[str, ...] = ()) -> None:
    about = {"rule": "make", "params": {}, "config": {"run": "own"}, "started": time.time()}
    write_provenance(outputs, inputs=checked(inputs), **about)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A folder of results with the records of the jobs that wrote them."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in TRIALS:
            make(name, Path(in_results(name)))
        record(*map(in_results, TRIALS))
    return folder


@pytest.fixture
def made(once, tmp_path, monkeypatch):
    """A copy of it that a test may change, the working folder as in a run."""
    shutil.copytree(once, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")


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


def damaged(path: Path, damage) -> bytes:
    """Change a file and keep its times; what it held before."""
    content, times = path.read_bytes(), path.stat()
    changed = damage(content)
    assert changed != content
    path.write_bytes(changed)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return content


def test_every_damage_is_named_and_nothing_damaged_is_used(made, tmp_path, monkeypatch, capsys):
    """Time stamps stay as they were, and so do sizes, but for files that are cut."""
    trials, same_size, failures = 0, 0, []
    for name, (file, damages) in TRIALS.items():
        path = Path(in_results(file))
        for about, damage in damages.items():
            before = damaged(path, damage)
            used = []
            with pytest.raises(SystemExit), rule(job(tmp_path, monkeypatch, in_results(name))):
                used.append(name)
            line = capsys.readouterr().err
            trials, same_size = trials + 1, same_size + (path.stat().st_size == len(before))
            if used or f"{path} is not as its job wrote it" not in line or f"delete {in_results(name)} and" not in line:
                failures.append((file, about, line))
            path.write_bytes(before)
            with rule(job(tmp_path, monkeypatch, in_results(name))):
                used.append(name)
            assert used == [name]  # put right again, it is read
    with capsys.disabled():
        print(f"\ndamaged results: {trials} trials, {same_size} of them with the size kept, {len(failures)} failures")
    assert trials >= 27 and same_size >= 17 and failures == []


def test_files_that_no_job_made_are_taken_as_they_are(made):
    """Those of the user, and what was copied out of the results with its records."""
    shutil.copytree(in_results("encoders/own"), "mine")
    Path("mine/tokenizer.json").write_text("{}")
    Path("words.txt").write_text("he\n")
    found = checked(["mine/config.json", "mine/tokenizer.json", "words.txt"])
    assert set(found) == {"mine/config.json", "mine/tokenizer.json", "words.txt"}


def test_an_input_of_the_user_that_was_replaced_since_the_plan_is_named():
    now = {"own/model.safetensors": "b" * 64, "words.txt": "c" * 64}
    check_unchanged(now, {"words.txt": "c" * 64})
    with pytest.raises(BiasflowError, match=r"own/model\.safetensors"):
        check_unchanged(now, now | {"own/model.safetensors": "a" * 64})


@pytest.mark.parametrize(
    ("number", "named"),
    [(errno.ENOSPC, "no space left on the disk"), (errno.EFBIG, "the file would be larger")],
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
