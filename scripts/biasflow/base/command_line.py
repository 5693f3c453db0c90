"""What is wrong with a command `snakemake`, or with a configuration file that it names, in one line.

profiles/*/config.yaml has Snakemake run this first of all: it reads configuration files before any other code of the
project, and its own messages name neither file nor line. Imports nothing of biasflow, since it is not known yet which
checkout will run."""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import yaml

WRITTEN = "BIASFLOW_WRITTEN"  # a variable: the configuration that `biasflow measure` has just written, to start with it
TAKES_ALL = "(--configfile takes all names that follow it: targets come before it)"
KEY = re.compile(r"[a-zA-Z_][\w-]*\w")  # as --config takes it
MERGE = "tag:yaml.org,2002:merge"  # the key <<, which may stand more than once
NULL = "tag:yaml.org,2002:null"


def check(arguments: Sequence[str]) -> None:
    """End the process with one line if Snakemake could not do, or would not do, what its arguments say."""
    if fault := command_fault(arguments):
        sys.exit(f"biasflow: {fault}")


def command_fault(arguments: Sequence[str]) -> str:
    """What is wrong with the options --config and --configfile; "" if nothing is."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config", "-C", nargs="*", action="append", default=[])
    parser.add_argument("--configfile", "--configfiles", nargs="+", action="append", default=[])
    try:
        given, _ = parser.parse_known_args(arguments)
    except argparse.ArgumentError:  # Snakemake will say so
        return ""
    for option, lists in vars(given).items():
        if len(lists) > 1:  # Snakemake would keep the last
            return f"one --{option} takes both: --{option} {shlex.join(chain(*lists))}"
    for setting in chain(*given.config):
        key, equals, value = setting.partition("=")
        if not equals:
            return f"--config {setting}: write KEY=VALUE; names of targets come before --config"
        if not value.strip():
            return f"--config {setting}: it is empty; write a value behind the sign, or leave the key out"
        if not KEY.fullmatch(key):
            return (
                f"--config {setting}: {key} is no key at the top of a configuration; write it in a file (--configfile)"
            )
    return next(filter(None, map(file_fault, chain(*given.configfile))), "")


def file_fault(path: str | Path) -> str:
    """What is wrong with a configuration file, YAML or JSON, with its line; "" if nothing is.

    A key that stands twice in one place is wrong, as whoever reads it takes the last one without a word; and so is a
    key without a value, which would be taken for a choice (the word null is one)."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return f"there is no file {path} {TAKES_ALL}"
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        return f"{path}: not in UTF-8; save it with this encoding"
    try:
        top = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        return "" if _is_json(text) else f"{path}: {_in_yaml(error, text)}"
    if not isinstance(top, yaml.MappingNode):
        return f"{path}: there are no keys in it; write a configuration, such as config/mine.yaml {TAKES_ALL}"
    return next((f"{path}: {fault}" for fault in _faults_of_keys(top)), "")


def _is_json(text: str) -> bool:
    """Whether a text is JSON, whose tabs are no YAML."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _in_yaml(error: yaml.YAMLError, text: str) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is None:  # a character that no YAML has
        return f"not valid YAML: {' '.join(str(error).split())}"
    lines = text.splitlines()
    indent = re.match(r"\s*", lines[mark.line])[0] if mark.line < len(lines) else ""
    why = "a tab stands before its first word; use spaces" if "\t" in indent else error.problem
    return f"line {mark.line + 1}: not valid YAML: {why}"


def _faults_of_keys(top: yaml.Node):
    """What is wrong with each key that stands twice in one place, or has no value."""
    waiting, seen = [(top, "")], set()
    while waiting:
        node, where = waiting.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += [(item, f"{where}{number}.") for number, item in enumerate(node.value)]
        elif isinstance(node, yaml.ScalarNode) and node.tag == NULL and not node.value:
            yield f"line {node.start_mark.line + 1}: {where[:-1]!r} is empty; write a value, or leave it out"
        elif isinstance(node, yaml.MappingNode):
            waiting += [(value, f"{where}{key.value}.") for key, value in node.value]
            lines: dict[str, int] = {}
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.tag != MERGE):
                line = key.start_mark.line + 1
                if key.value in lines:
                    yield (
                        f"line {line}: key {where + key.value!r} appears twice (first in line {lines[key.value]}), and "
                        "the last one would count; leave one of them"
                    )
                lines[key.value] = line
