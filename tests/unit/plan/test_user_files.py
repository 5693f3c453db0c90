"""A file of the user's is known by its content, whatever its time; large ones are not read twice."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from biasflow.plan import user_files as module
from biasflow.plan.user_files import Digests


@pytest.fixture
def large(monkeypatch, tmp_path):
    """Every file counts as large, and as one that has not changed lately."""
    monkeypatch.setattr(module, "LARGE", 0)
    monkeypatch.setattr(module, "SETTLED", -1.0)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"one checkpoint")
    return path


def reads(monkeypatch) -> list[str]:
    read = []
    monkeypatch.setattr(module, "sha256", lambda path: read.append(path) or sha256(Path(path).read_bytes()).hexdigest())
    return read


def test_a_large_file_is_read_once_for_all_processes(large, tmp_path, monkeypatch):
    read, path = reads(monkeypatch), str(large)
    first = Digests(tmp_path / "memory.json").of(path)
    assert Digests(tmp_path / "memory.json").of(path) == first == sha256(b"one checkpoint").hexdigest()
    assert read == [path]


def test_a_file_of_the_same_size_and_time_in_its_place_is_read_anew(large, tmp_path):
    """By `cp -p` over it (same inode), and by a link to another."""
    path, before = str(large), large.stat()
    first = Digests(tmp_path / "memory.json").of(path)
    large.write_bytes(b"two checkpoint")
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = large.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
    second = Digests(tmp_path / "memory.json").of(path)
    assert second == sha256(b"two checkpoint").hexdigest() != first
    large.rename(tmp_path / "other")
    (tmp_path / "third").write_bytes(b"thr checkpoint")
    large.symlink_to(tmp_path / "third")
    assert Digests(tmp_path / "memory.json").of(path) == sha256(b"thr checkpoint").hexdigest()


def test_what_changed_a_moment_ago_and_small_files_are_not_remembered(large, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SETTLED", 2.0)
    Digests(tmp_path / "memory.json").of(str(large))
    monkeypatch.setattr(module, "SETTLED", -1.0)
    monkeypatch.setattr(module, "LARGE", 1_000)
    Digests(tmp_path / "memory.json").of(str(large))
    assert not (tmp_path / "memory.json").exists()


def test_the_parameter_of_a_rule_is_the_content_of_the_users_files(tmp_path, monkeypatch):
    """Of files alone that lie where no job of the run writes; no path is in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("results/own/a.csv", "results/other/b.csv", "mine/config.json", "words.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    inputs = {"model": ["mine/absent.json", "mine/config.json"], "data": "./words.txt", "none": []}
    inputs |= {"made": ["results/own/a.csv", "results/own/absent.csv"], "elsewhere": ["results/other/b.csv"]}
    found = module.UserFiles(["results/own", "results/corpora"]).digests(inputs)
    names = {"model.1": "mine/config.json", "data.0": "words.txt", "elsewhere.0": "results/other/b.csv"}
    assert found == {name: sha256(path.encode()).hexdigest() for name, path in names.items()}
