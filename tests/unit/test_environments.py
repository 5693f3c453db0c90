"""The conda environments of the rules hold what their scripts import, in the versions of requirements.lock."""

import ast
import re
import sys
from pathlib import Path

import pytest
import yaml

from biasflow.base.code import OURS, code_files, module_file
from biasflow.plan.tasks import kind_of
from biasflow.registry import ERASERS, METRICS, PAPERS, READOUTS, STRATEGIES, TASKS, external_module, module_of

ROOT = Path(__file__).parents[2]

# Modules that a script imports by name, and so no import statement tells.
BY_NAME = {
    "fit_methods": [ERASERS],
    "finetune": [TASKS, STRATEGIES, ERASERS],
    "read": [READOUTS, TASKS, STRATEGIES],
    "score": [METRICS],
    "prepare": [{step.rule: step for kind in TASKS for step in kind_of(kind).steps}],
}
# Import -> package, as conda calls it.
PACKAGES = {"sklearn": "scikit-learn", "torch": "pytorch", "yaml": "pyyaml", "urllib3": "requests"}
ON_CONDA = {"torch": "pytorch"}  # packages of another name there


def scripts_of(environment: str) -> set[str]:
    """The scripts of the rules that run in envs/<environment>.yaml."""
    found = set()
    for path in (ROOT / "rules").glob("*.smk"):
        for rule in re.split(r"\n\s*rule\b", path.read_text())[1:]:
            if f"envs/{environment}.yaml" in rule:
                found.add(re.search(r"scripts/(\w+)\.py", rule.split("script:")[1])[1])
    return found


def installed(environment: str) -> dict[str, str]:
    """Package -> version of a conda environment."""
    listed = yaml.safe_load((ROOT / f"envs/{environment}.yaml").read_text())["dependencies"]
    return dict(re.fullmatch(r"(\S+) =(\S+)", each).groups() for each in listed)


def packages(script: str) -> set[str]:
    """The packages that a script and all modules that it reaches import, as conda calls them."""
    modules = [module_of(entry) for entries in BY_NAME.get(script, ()) for entry in entries.values()]
    modules += [
        external_module(entry) for entry in READOUTS.values() if script == "external_readout" and entry.external
    ]
    modules += [f"{module_of(entry)}.{'targets' if script == 'paper' else 'blocks'}" for entry in PAPERS.values()]
    files = [ROOT / f"scripts/{script}.py", *(module_file(name, ROOT) for name in modules)]
    names = set()
    for path in {each for file in files if file.exists() for each in code_files(file, ROOT) if each.suffix == ".py"}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module.partition(".")[0])
    return {PACKAGES.get(name, name) for name in names - set(sys.stdlib_module_names) - {*OURS, "snakemake"}}


@pytest.mark.parametrize("environment", ["light", "torch"])
def test_environments_hold_what_their_scripts_import(environment):
    needed = set().union(*map(packages, scripts_of(environment)))
    if environment == "light":  # imported where a torch job or the planning calls a function: test_walls.py watches
        needed -= {"pytorch", "transformers"}
    assert needed <= set(installed(environment))


@pytest.mark.parametrize("environment", ["light", "torch"])
def test_environments_have_the_versions_of_the_lock_file(environment):
    locked = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    locked = {ON_CONDA.get(name, name.lower()): version for name, version in locked.items()}
    packages = {name: version for name, version in installed(environment).items() if name != "python"}
    assert len(packages) > 10
    assert packages == {name: locked.get(name, "not in requirements.lock") for name in packages}
