"""The package and the conda environments of the rules name what their code imports, in the versions of
requirements.lock."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from biasflow.base.code import OURS, code_files, module_file
from biasflow.papers.paper import load
from biasflow.plan.setup import kind_of
from biasflow.registry import (
    ERASERS,
    METRICS,
    PAPERS,
    READOUTS,
    STRATEGIES,
    TASKS,
    external_module,
    module_of,
)

ROOT = Path(__file__).parents[2]

# Modules that a script imports by name, and so no import statement tells.
BY_NAME = {
    "fit_methods": [ERASERS],
    "finetune": [TASKS, STRATEGIES, ERASERS],
    "read": [READOUTS, TASKS, STRATEGIES],
    "score": [METRICS],
    "prepare": [{step.rule: step for kind in TASKS for step in kind_of(kind).steps}],
}
PACKAGES = {module: names[0].lower() for module, names in packages_distributions().items()}
ON_CONDA = {"torch": "pytorch"}  # packages of another name there
LOCKS = "".join((ROOT / f"requirements{name}.lock").read_text() for name in ("", "-torch"))
LOCKED = {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", LOCKS, re.MULTILINE)}


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


def names(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def imported(files: Iterable[Path]) -> set[str]:
    """The packages that files of Python import, as the package index calls them, without the project's own."""
    found = {name.partition(".")[0] for path in files for name in names(list(ast.walk(ast.parse(path.read_text()))))}
    return {PACKAGES.get(name, name) for name in found - set(sys.stdlib_module_names) - {*OURS, "snakemake"}}


def packages(script: str) -> set[str]:
    """The packages that a script and all modules that it reaches import."""
    modules = [module_of(entry) for entries in BY_NAME.get(script, ()) for entry in entries.values()]
    modules += [
        external_module(entry) for entry in READOUTS.values() if script == "external_readout" and entry.external
    ]
    for name, entry in PAPERS.items():
        modules += {"paper": load(name).modules, "planned": [f"{module_of(entry)}.plan"]}.get(script, [])
    files = [ROOT / f"scripts/{script}.py", *(module_file(name, ROOT) for name in modules)]
    reached = {path for file in files if file.exists() for path in code_files(file, ROOT) if path.suffix == ".py"}
    return {ON_CONDA.get(name, name) for name in imported(reached)}


def test_the_package_declares_what_it_imports():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.match(r"[\w-]+", requirement)[0].lower() for requirement in project["dependencies"]}
    assert imported((ROOT / "scripts/biasflow").rglob("*.py")) <= declared


@pytest.mark.parametrize("environment", ["light", "torch"])
def test_environments_hold_what_their_scripts_import(environment):
    needed = set().union(*map(packages, scripts_of(environment)))
    if environment == "light":  # imported where a torch job or the planning calls a function: test_walls.py watches
        needed -= {"pytorch", "tokenizers", "transformers"}
    assert needed <= set(installed(environment))


@pytest.mark.parametrize("environment", ["light", "torch"])
def test_environments_have_the_versions_of_the_lock_file(environment):
    locked = {ON_CONDA.get(name, name): version for name, version in LOCKED.items()}
    packages = {name: version for name, version in installed(environment).items() if name != "python"}
    assert len(packages) > 10
    assert packages == {name: locked.get(canonicalize_name(name), "not in requirements.lock") for name in packages}


def test_every_package_of_the_lock_file_has_hashes():
    """But for torch and what it alone needs."""
    text = (ROOT / "requirements.lock").read_text()
    packages = re.findall(r"^[\w.-]+==.*\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    assert len(packages) == len(re.findall("==", re.sub(";.*", "", text))) > 100


def test_what_profiles_and_documents_name_of_snakemake_is_installed_with_it():
    """Its plugins, with all that they need."""
    text = "".join(path.read_text() for path in [*ROOT.glob("profiles/*/*.yaml"), *ROOT.glob("docs/**/*.md")])
    plugins = {f"storage-plugin-{name}" for name in re.findall(r"--default-storage-provider (\w+)", text)}
    plugins |= {f"executor-plugin-{name}" for name in re.findall(r"^executor: (\w+)", text, re.MULTILINE)}
    assert plugins == {"storage-plugin-fs", "executor-plugin-slurm"}
    waiting, needed = [f"snakemake-{name}" for name in plugins], set()
    while waiting:
        needed.add(package := waiting.pop())
        of_package = [Requirement(text) for text in requires(package) or []]
        names = {canonicalize_name(each.name) for each in of_package if not each.marker or each.marker.evaluate()}
        waiting += names - needed
    assert {"toml", "pandas"} <= needed <= {*LOCKED}
