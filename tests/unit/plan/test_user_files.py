"""Files of the user's: known by content, whatever their time; and the words that are read of their lists."""

import json
import os
import re
from hashlib import sha256
from pathlib import Path

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import read_catalogue
from biasflow.plan import user_files as module
from biasflow.plan.listing import foreign
from biasflow.plan.own_words import warnings
from biasflow.plan.user_files import Digests
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.plan.configs import ROOT, SCHEMA, SETS, asking, planned, resolve, setup_of


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


def test_every_rule_that_takes_files_of_the_user_has_their_content_as_a_parameter():
    rules = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    taking = {*re.findall(r"inputs_of\((.+)\)\),$", rules, re.MULTILINE)}
    telling = {*re.findall(r"own=user_files_of\((.+)\),$", rules, re.MULTILINE)}
    of_results = {'"scores"', '"matrix"', '"paper_ledger"', 'f"paper_{NAME}"'}  # their inputs are made by other rules
    assert telling and taking - telling == of_results


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
    assert said[:2] == [
        "sets.csv: the vocabulary of real splits 1 of 8 words (Y2); WEAT takes the mean of the pieces, CEAT the last "
        "one",
        "pairs.csv: the vocabulary of real splits 1 of 4 words (quran); erasers are not fitted to these",
    ]
    (line,) = foreign(setup_of(config))
    assert line.startswith("encoders.real: its vocabulary splits 100% of common English words")


@pytest.mark.parametrize(
    ("words", "templates", "told"),
    [
        # of a vocabulary with the words alone: those of the sentences are split
        (
            ["x1", "x2", "y1", "Y2", "a1", "a2", "b1", "b2"],
            None,
            "12% of the words.*100% of common English words.*X, Y",
        ),
        (["x1", "x2", "y1", "a1", "a2", "b1", "b2"], ["Das ist {word}."], "12% .*100% of those of the templates"),
        (["x1", "x2", "y1", "a1", "a2", "b1", "b2", "das", "ist"], ["Das ist {word}."], ""),
        (["das", "ist"], ["Das ist {word}."], '100% of the words .* 0% of those.*"Das ist {word}."'),
        (["das", "ist"], ["{word}"], ""),
    ],
)
def test_words_in_sentences_of_another_language_are_told_in_one_line(lists, words, templates, told):
    word_tokenizer(words).save_pretrained("somewhere")
    test = {"file": "sets.csv", **({"templates": templates} if templates else {})}
    block = {"encoders": ["real"], "metrics": ["weat", "seat"]}
    config = resolve(asking(block, ("metrics.weat.own.race", test), ("metrics.seat.own.race", test)), SCHEMA)
    lines = [line for line in warnings(setup_of(config), planned(config)) if ".templates: " in line]
    assert len(lines) == (2 if told else 0)
    for metric, line in zip(("weat", "seat"), lines, strict=False):
        assert line.startswith(f"metrics.{metric}.own.race.templates: the vocabulary of real splits ")
        assert re.search(told if metric == "weat" else told.replace("X, Y", "There is"), line)


def test_occupations_of_another_language_than_their_sentences_are_told_in_a_sample_too(lists):
    Path("jobs.txt").write_text("arzt\nlehrer")
    word_tokenizer(["the", "saw"]).save_pretrained("somewhere")
    jobs = {"file": "jobs.txt", "templates": ["The {occupation} saw [MASK]."], "pronouns": ["er", "sie"]}
    changes = ("metrics.occtmp.own.jobs", jobs | {"encoders": ["real"]})
    config = resolve(asking({"encoders": ["real"], "metrics": ["occtmp"], "limit": 50}, changes), SCHEMA)
    pronouns, line = warnings(setup_of(config), planned(config))
    assert line.startswith("metrics.occtmp.own.jobs.templates: ") and "100% of the words of jobs.txt, and 0%" in line
    assert pronouns.startswith("metrics.occtmp.own.jobs.pronouns: the vocabulary of real splits 2 of 2 words (er, sie)")


def test_words_of_several_pieces_that_fill_blanks_are_counted_before_the_run_with_the_rule(lists):
    rows = ["context,stereotype,anti-stereotype,unrelated", "She is a BLANK.,nurse,boss,table"]
    Path("blanks.csv").write_text("\n".join([*rows, "He is a BLANK.,boss,nurse,quark"]))
    word_tokenizer(["nurse", "table"]).save_pretrained("somewhere")
    change = ("metrics.intrasentence", {"bias_types": [], "own": {"mine": {"file": "blanks.csv"}}})
    config = resolve(asking({"encoders": ["real"], "metrics": ["intrasentence"]}, change), SCHEMA)
    (line,) = warnings(setup_of(config), planned(config))
    assert line.startswith("blanks.csv: the vocabulary of real splits 2 of 4 words (boss, quark); ")
    assert "the mean log p of its pieces" in line


TEXT = ["The church and the mosque .", "A bible , a church .", "Mosque churchyard quran"]


@pytest.mark.parametrize(
    ("n", "text", "told"),
    [
        (6, TEXT, "3 of either group.*text.txt has at most 3 of Christianity and 2 of Islam .*lower fitting.n to 4"),
        (4, TEXT, ""),
        (2, ["church"], "1 of either group.*at most 1 of Christianity and 0 of Islam.*more words .fitting.words.$"),
    ],
)
def test_too_few_words_to_fit_to_in_a_text_are_told_before_the_first_job(lists, n, text, told):
    """Counted by hand: Christianity church (2), bible; Islam mosque (2), as quran is split."""
    Path("text.txt").write_text("\n".join(text))
    fitting = {"words": PAIRS[1], "text": "text.txt", "n": n}
    config = resolve(asking({"encoders": ["real"], "methods": ["none", "leace"], "metrics": ["occtmp"]}), SCHEMA)
    config = resolve({**config, "fitting": {**config["fitting"], **fitting}}, SCHEMA)
    if told:
        with pytest.raises(BiasflowError, match=f"fitting.n': {n} occurrences are {told}"):
            warnings(setup_of(config), planned(config))
    else:
        warnings(setup_of(config), planned(config))


def test_words_are_counted_in_the_published_file_where_the_text_is_not_made_yet(lists, monkeypatch):
    mirror = Path("mirror")
    (file := mirror / read_catalogue().entry("wikitext-2-train").mirror_path).parent.mkdir(parents=True)
    file.write_text(" \n = A title = \n \n The church and the mosque . \n")
    (mirror / "MANIFEST.tsv").touch()
    changes = (PAIRS, ("mirror", "mirror"), ("fitting.n", 4))
    config = resolve(asking({"encoders": ["real"], "methods": ["leace"], "metrics": ["occtmp"]}, *changes), SCHEMA)
    with pytest.raises(BiasflowError, match=r"at most 1 of Christianity and 1 of Islam.*lower fitting.n to 2"):
        warnings(setup_of(config), planned(config))


def test_published_words_are_counted_in_a_text_of_the_user_before_they_are_copied(lists):
    file = Path("mirror") / read_catalogue().entry("google-analogies").mirror_path
    file.parent.mkdir(parents=True)
    file.write_text(": family\nchurch mosque bible x1\nbible x1 church mosque\n")
    (Path("mirror") / "MANIFEST.tsv").touch()
    Path("text.txt").write_text("A church , a mosque .")
    changes = (("mirror", "mirror"), ("fitting.n", 4), ("fitting.text", "text.txt"))
    config = resolve(asking({"encoders": ["real"], "methods": ["leace"], "metrics": ["occtmp"]}, *changes), SCHEMA)
    with pytest.raises(BiasflowError, match=r"text\.txt has at most 1 of .*and 1 of .*lower fitting.n to 2"):
        warnings(setup_of(config), planned(config))


def test_own_pairs_and_triples_are_read_beside_the_published_ones_or_alone():
    mine = {"own": {"mine": {"file": "own.csv"}}}
    alone = {"strength": "stimuli", "intrasentence": "bias_types", "intersentence": "bias_types"}
    changes = [(f"metrics.{metric}", mine | {key: []}) for metric, key in alone.items()]
    metrics = ["crows_pairs", "sss", *alone]
    found = read(planned(asking({"encoders": ["real"], "metrics": metrics}, ("metrics.crows_pairs", mine), *changes)))
    published = {key for key in found if "mine" not in key[1]}
    assert {name for _, name in published} == {"crows-pairs-gender", "stereoset-pairs"}
    assert {key: files for key, files in found.items() if key not in published} == {
        ("likelihoods", "pairs-mine"): {"pairs": ("own.csv",)},
        ("pair_tokens", "pairs-mine"): {"pairs": ("own.csv",)},
        ("next_sentence", "mine"): {"stimuli": ("results/test/data/stimuli/mine.csv",)},
        ("masked_words", "blanks-mine"): {"stereoset": ("own.csv",)},
        ("next_sentence", "sentences-mine"): {"stereoset": ("own.csv",)},
    }
