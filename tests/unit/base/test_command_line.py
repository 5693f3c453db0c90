"""Mistakes in a command and in configuration files, before Snakemake reads them."""

import re
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.command_line import command_fault, file_fault

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("run: a\nask: {}\nrun: b\n", r"line 3: key 'run' .*line 1"),
        ("encoders:\n  own: {source: local, path: a, path: b}\n", r"line 2: key 'encoders\.own\.path'"),
        ("ask:\n  one:\n  - a: 1\n    a: 1\n", r"line 4: key 'ask\.one\.0\.a'"),
        ('{"run": "a",\n "run": "b"}\n', r"line 2: key 'run'"),
        ("run: a\nencoders:\n\tmine: {}\n", "line 3: .*tab"),
        ("run: a\nask: {b: [1\nc: 2\n", "line 3: not valid YAML: .*','"),
        ("run: a\nplaces: {x: layer[1]}\n", "line 2: not valid YAML"),
        ("run: \x01\n", "not valid YAML"),
        ("run: caf\xe9\n".encode("latin-1"), "UTF-8"),
        ("", "no keys"),
        ("- a\n", "no keys"),
        ("run: a\nlimit:\n", r"line 2: 'limit' is empty"),
        ("tasks:\n  nli:\n    kind: nli\n    limit:  # none\n", r"line 4: 'tasks\.nli\.limit' is empty"),
        ("ask: {one: {metrics: [weat, ]}, two: }\n", r"line 1: 'ask\.two' is empty"),
        ("ask:\n  one:\n    seeds:\n    - 1\n    -\n", r"line 5: 'ask\.one\.seeds\.1' is empty"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(tmp_path, text, named):
    path = tmp_path / "run.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert re.match(rf"{path}: .*{named}", file_fault(path)) and "\n" not in file_fault(path)


def scalars(text):
    """The values of single words and numbers in a configuration."""
    waiting = [yaml.compose(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            waiting += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif node.start_mark.line == node.end_mark.line:
            yield node


@given(st.sampled_from(sorted((ROOT / "config").glob("*.yaml"))), st.data())
def test_any_key_that_loses_its_value_is_named_with_its_line(path, data):
    text = path.read_text("utf-8")
    if nodes := list(scalars(text)):
        node = data.draw(st.sampled_from(nodes))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write(text[: node.start_mark.index] + text[node.end_mark.index :])
            file.flush()
            fault = file_fault(file.name)
        # What is left of an item of a list in brackets is an item less, or no YAML.
        in_brackets = text[: node.start_mark.index].rstrip().endswith(("[", ","))
        assert re.match(rf".*: line {node.start_mark.line + 1}: .* is empty", fault) or in_brackets


def test_keys_of_anchors_and_of_other_places_stand_once(tmp_path):
    text = "limit: null\nmirror: ~\nfiles: {}\nquoted: ''\n"
    text += "a: &one {x: 1}\nb: &two {y: 2}\nc: {<<: *one, <<: *two, x: 3}\nd: [*one, *one, {x: 2}]\n"
    (tmp_path / "run.yaml").write_text(text)
    (tmp_path / "run.json").write_text('{"a": {"x": 1},\n\t"b": {"x": 1}}\n')
    assert file_fault(tmp_path / "run.yaml") == file_fault(tmp_path / "run.json") == ""


def test_no_key_of_the_project_stands_twice():
    folders = ("config", "scripts", "profiles", "envs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.yaml")]
    assert len(files) > 15
    assert [fault for path in files if "appears twice" in (fault := file_fault(path))] == []


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("-n --config run=a limit=50 --cores 2", ""),
        ("all --configfile config/mine.yaml config/small.yaml --config encoder=x --rerun-triggers mtime", ""),
        ("--config run=a --cores 2 -C limit=50", "one --config takes both: --config run=a limit=50"),
        ("--configfile config/mine.yaml --configfile x.yaml", "one --configfile takes both"),
        ("--config run=a limit=", "--config limit=: it is empty"),
        ("--config run=a all", "--config all: write KEY=VALUE"),
        ("--config fitting.n=10", "fitting.n is no key at the top"),
        ("--configfile config/mien.yaml", "there is no file config/mien.yaml"),
        ("--configfile", ""),  # Snakemake says what is missing
    ],
)
def test_a_command_that_snakemake_would_take_otherwise_or_not_at_all(monkeypatch, command, fault):
    monkeypatch.chdir(ROOT)
    said = command_fault(command.split())
    assert fault in said and bool(fault) == bool(said)


def test_every_profile_looks_at_the_command_first():
    for name in ("default", "slurm"):
        profile = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
        assert profile["__use_yte__"] and "command_line.py" in str(profile["__definitions__"])
