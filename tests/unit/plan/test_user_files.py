"""Files of the user's: known by content, whatever their time; and the words that are read of their lists."""

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from biasflow.plan import user_files as module
from biasflow.plan.listing import foreign
from biasflow.plan.own_words import warnings
from biasflow.plan.user_files import Digests
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.plan.configs import SCHEMA, SETS, asking, planned, resolve, setup_of


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


@pytest.mark.parametrize("memory", ["null", "[" * 100_000, "{", '{"%s": 3}', '{"%s": {"state": null}}', "\xff"])
def test_a_memory_that_is_none_is_read_past(large, tmp_path, memory):
    path, file = str(large), tmp_path / "memory.json"
    file.write_text(memory.replace("%s", path), encoding="latin-1")
    digests = [Digests(file).of(path), Digests(file).of(path)]
    assert digests == [sha256(b"one checkpoint").hexdigest()] * 2
    assert path in json.loads(file.read_text())


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


ALL = ("weat", "seat", "ceat")


@pytest.fixture
def lists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sets.csv").write_text("\n".join(SETS))
    (tmp_path / "pairs.csv").write_text("Christianity,Islam\nchurch,mosque\nbible,quran\n")
    word_tokenizer(["x1", "x2", "y1", "a1", "a2", "b1", "b2", "church", "mosque", "bible"]).save_pretrained("somewhere")


def own(*changes, **keys) -> dict:
    tests = [(f"metrics.{metric}.own.race", {"file": "sets.csv", **keys}) for metric in ALL]
    block = {"encoders": ["own", "real"], "methods": ["none", "leace"], "metrics": [*ALL, "gender_share"]}
    return asking(block, *tests, *changes)


PAIRS = ("fitting.words", {"name": "religion", "file": "pairs.csv"})


def read(plan, encoder="real") -> dict[tuple[str, str], dict]:
    """Of an encoder, readout and dataset -> files."""
    readings = (reading for reading in plan.readings.values() if reading.model.encoder == encoder)
    return {(each.readout, each.dataset.label): dict(each.dataset.files) for each in readings}


def test_own_tests_are_read_beside_the_others():
    found = read(planned(own()))
    assert found["vectors", "race"] == found["vectors", "sent-race"] == {"own": ("sets.csv",)}
    contexts = "results/test/data/contexts/real/race.parquet"
    assert found["associations", "race"] == {"contexts": (contexts,), "own": ("sets.csv",)}
    assert {("vectors", "C6"), ("vectors", "sent-weat6"), ("associations", "C6")} <= set(found)
    assert found["associations", "C6"]["contexts"] != (contexts,)  # an edited list looks for its own contexts anew
    assert ("associations", "race") in read(planned(own()), "own")


def test_words_that_a_local_vocabulary_splits_are_said_with_their_number(lists):
    config = resolve(own(PAIRS), SCHEMA)
    said = warnings(setup_of(config), planned(config))
    assert said == [
        "sets.csv: the vocabulary of real splits 1 of 8 words (Y2); WEAT takes the mean of the pieces, CEAT the last "
        "one",
        "pairs.csv: the vocabulary of real splits 1 of 4 words (quran); erasers are not fitted to these",
    ]
    (line,) = foreign(setup_of(config))
    assert line.startswith("encoders.real: its vocabulary splits 100% of common English words")
