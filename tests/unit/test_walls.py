"""Who may reach whom: an edited formula must train, fit and read nothing again (design, rule 3)."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from biasflow.base.code import code_files, module_file
from biasflow.papers.paper import folder_of, load, needs_module
from biasflow.plan.setup import kind_of, plan_module
from biasflow.registry import ERASERS, METRICS, PAPERS, READOUTS, STRATEGIES, TASKS, external_module, module_of
from biasflow.strategies import Strategy
from biasflow.tasks.kinds import cuts_module
from biasflow.training import FITTING
from tests.quick import needed
from tests.unit.test_environments import names, scripts_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scripts/biasflow"
CHEAP = ("metrics", "results", "papers", "studies", "plan")
DEAR_SCRIPTS = ("pretrain", "continue_encoder", "fit_methods", "finetune", "read")
DEAR_MODULES = [module_of(entry) for entries in (ERASERS, READOUTS, TASKS, STRATEGIES) for entry in entries.values()]
DEAR_MODULES += [module_of(kind_of(name).gendered) for name in TASKS if kind_of(name).gendered]
DEAR_MODULES += [cuts_module(name) for name in TASKS if "probed_texts" in kind_of(name).datasets]
DEAR_MODULES += [FITTING]
PREPARING = [module_of(step) for name in TASKS for step in kind_of(name).steps]
PREPARING += [external_module(entry) for entry in READOUTS.values() if entry.external]
# The parts of the package, lowest first: a module imports those of its own part and of the parts before it alone.
LAYERS = ("base", "registry", "matrix", "erasers", "text", "corpora", "planted", "stimuli", "encoders", "methods")
LAYERS += ("strategies", "training", "tasks", "readouts", "results", "metrics", "papers", "studies", "plan", "overview")
LAYERS += ("library", "cli", "__init__", "__main__")
PLANS = [str(module_file(plan_module(name), ROOT).relative_to(ROOT)) for name in TASKS]


@cache
def closure(path: Path) -> set[str]:
    return {str(file.relative_to(ROOT)) for file in code_files(path, ROOT)}


def inside(files: set[str], *folders: str) -> list[str]:
    return sorted(file for file in files if file.startswith(tuple(f"scripts/biasflow/{name}/" for name in folders)))


@pytest.mark.parametrize("script", DEAR_SCRIPTS)
def test_what_trains_fits_or_reads_reaches_no_formula_result_or_paper(script):
    files = closure(ROOT / f"scripts/{script}.py")
    assert inside(files, *CHEAP) == []
    assert not {"scripts/biasflow/registry.py", *PLANS} & files


@pytest.mark.parametrize("module", sorted({*DEAR_MODULES, *PREPARING}))
def test_modules_that_scripts_import_by_name_do_not_either(module):
    files = closure(module_file(module, ROOT))
    assert inside(files, *CHEAP) == []
    assert not {"scripts/biasflow/registry.py", *PLANS} & files


@pytest.mark.parametrize("task", TASKS)
def test_a_training_reaches_no_stimuli(task):
    stimuli = [PACKAGE / f"{name}.py" for name in ("text/occupation_pairs", "text/gender_swap", "stimuli/densray_sets")]
    assert not closure(module_file(module_of(TASKS[task]), ROOT)) & {str(path.relative_to(ROOT)) for path in stimuli}


@pytest.mark.parametrize("script", ["pretrain", "continue_encoder", "finetune", "read"])
def test_no_word_of_a_planted_world_trains_or_reads_what_does_not_take_it(script):
    assert inside(closure(ROOT / f"scripts/{script}.py"), "planted/world", "data/planted") == []


@pytest.mark.parametrize("task", TASKS)
def test_a_training_without_a_method_does_not_reach_how_one_is_fitted(task):
    files = closure(ROOT / "scripts/finetune.py") | closure(module_file(module_of(TASKS[task]), ROOT))
    assert not inside(files, "methods/fitting", "methods/states", "planted/world", "data/planted")


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_kind_of_task_calls_what_its_strategies_have(name):
    """What a training does not call would be left out without a word."""
    entry = STRATEGIES[name]
    module = import_module(module_of(entry))
    has = {part for part in ("rows", "debias", "adapt", "BESIDE", "finish") if hasattr(module, part)}
    has |= {"text"} if entry.text != Strategy().text else set()
    for kind in (kind for kind in TASKS if kind_of(kind).has.issuperset(entry.needs)):
        sources = "".join((ROOT / file).read_text() for file in closure(module_file(module_of(TASKS[kind]), ROOT)))
        called = set(re.findall(r"\b(?:strategy|known)\.(?:part\(\")?(\w+)", sources))
        assert has <= called, (kind, has - called)


@pytest.mark.parametrize("eraser", ERASERS)
def test_an_eraser_reaches_no_other_one(eraser):
    own = module_file(module_of(ERASERS[eraser]), ROOT)
    others = {str(module_file(module_of(entry), ROOT).relative_to(ROOT)) for entry in ERASERS.values()}
    reached = closure(own) & others
    # mean difference and the like may be shared through a module of their own, never through another eraser
    assert reached == {str(own.relative_to(ROOT))}


def test_data_of_the_project_are_inputs_of_what_reads_them():
    """What finds them in another way than `shipped` would not run again when they change."""
    own = [path for path in PACKAGE.rglob("*.py") if "(__file__).resolve().parents" in path.read_text()]
    assert own == [PACKAGE / "base/shipped.py"]
    reached = closure(ROOT / "scripts/ceat_contexts.py") | closure(ROOT / "scripts/stimuli_swapped.py")
    reached |= closure(PACKAGE / "text/scrub.py")
    names = {"planted/items.csv", "gender/names.csv", "scrubbing.csv", "ceat_words.csv"}
    assert {f"scripts/biasflow/data/{name}" for name in names} <= reached


@pytest.mark.parametrize("paper", PAPERS)
def test_papers_do_not_reach_each_other(paper):
    others = [str(folder_of(name).relative_to(PACKAGE)) for name in PAPERS if name != paper]
    modules = [*folder_of(paper).rglob("*.py")]
    assert len(modules) >= 2 and [path for path in modules if inside(closure(path), *others)] == []


@cache
def imports() -> dict[Path, set[Path]]:
    """Module of the package -> those that it imports anywhere in its body, or that the plan imports by name."""
    found = {path: set() for path in PACKAGE.rglob("*.py")}
    for path, reached in found.items():
        modules = (name for name in names(list(ast.walk(ast.parse(path.read_text())))) if name.startswith("biasflow."))
        reached |= {file for name in modules if (file := module_file(name, ROOT)).is_file()} - {path}
    found[PACKAGE / "plan/setup.py"] |= {module_file(plan_module(name), ROOT) for name in TASKS}
    found[PACKAGE / "plan/blocks.py"] |= {module_file(name, ROOT) for name in map(needs_module, PAPERS) if name}
    return found


def test_the_code_behind_a_module_has_all_that_its_syntax_tree_imports():
    by_name = {PACKAGE / "plan/setup.py", PACKAGE / "plan/blocks.py"}
    lacking = {path: files - {*code_files(path, ROOT)} for path, files in imports().items() if path not in by_name}
    assert {path: files for path, files in lacking.items() if files} == {}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_no_part_of_the_package_imports_one_above_it():
    assert {part_of(path) for path in imports()} == set(LAYERS)
    arrows = [(path, file) for path, files in imports().items() for file in files]
    above = [
        f"{path} imports {file}" for path, file in arrows if LAYERS.index(part_of(file)) > LAYERS.index(part_of(path))
    ]
    assert len(arrows) > 1000 and above == []


def test_a_change_of_any_module_needs_tests_which_are_few_unless_all_import_it():
    tests = {path: needed([path]) for path in imports()}
    assert [path for path, files in tests.items() if path.parent != PACKAGE and not files] == []
    fairness = {str(path.relative_to(ROOT / "tests")) for path in tests[PACKAGE / "metrics/fairness.py"]}
    assert {"unit/metrics/test_fairness.py", "unit/readouts/test_heads.py"} <= fairness and len(fairness) < 30
    assert ROOT / "tests/golden/test_trainings.py" in tests[PACKAGE / "training/loop.py"]
    assert ROOT / "tests/golden/test_tables.py" in tests[PACKAGE / "papers/liang2020/tables.py"]
    assert ROOT / "tests/unit/text/test_gender_swap.py" in needed(["scripts/biasflow/data/gender/names.csv"])
    assert ROOT / "tests/unit/plan/test_user_files.py" in needed(["rules/tasks.smk"])


def test_no_modules_import_each_other_in_a_circle():
    TopologicalSorter(imports()).prepare()


def said(code: str) -> list[str]:
    """The words that a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def imported(*modules: str) -> set[str]:
    """All modules that are loaded after importing these."""
    return set(said(f"import sys, {', '.join(modules)}; print('\\n'.join(sys.modules))"))


def modules_of_job(script: str, *by_name: str) -> list[str]:
    """The project's modules that a job of this script imports, those in its body and those by name too."""
    nodes = ast.walk(ast.parse((ROOT / f"scripts/{script}.py").read_text()))
    own = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return [*(name for name in own if name.startswith(("biasflow", "_rule"))), *by_name]


def test_what_is_cheap_imports_no_torch():
    modules = [f"{module_of(entry)}" for entry in METRICS.values()]
    modules += [module for paper in PAPERS for module in load(paper).modules]
    modules += ["biasflow.papers.ledger"]
    modules += ["biasflow.plan.external", "biasflow.plan.listing", "biasflow.results.matrix"]
    modules += [*PREPARING, *map(plan_module, TASKS)]
    loaded = imported(*modules)
    assert not {"torch", "transformers", "datasets"} & loaded


def test_what_scores_loads_no_statistics_package():
    modules = modules_of_job("score", *(module_of(entry) for entry in METRICS.values()))
    assert not {"scipy.stats", "sklearn", "matplotlib"} & imported(*modules)


@pytest.mark.parametrize("readout", ["probes", "heads"])
def test_what_reads_stored_vectors_loads_no_transformers(readout):
    loaded = imported(*modules_of_job("read", module_of(READOUTS[readout])))
    assert "torch" in loaded and not {"transformers", "datasets", "sklearn"} & loaded


def test_a_reading_loads_no_trainer():
    readouts = [module_of(entry) for entry in READOUTS.values()]
    loaded = imported(*modules_of_job("read", *readouts), *modules_of_job("fit_methods"))
    assert "transformers.modeling_utils" in loaded
    assert not {"transformers.trainer", "datasets", "sklearn", "scipy.stats", "matplotlib"} & loaded


def test_imports_of_a_job_are_not_searched_for_garbage():
    modules = modules_of_job("read", module_of(READOUTS["vectors"]))
    searched = f"import gc, {', '.join(modules)}; print(gc.get_stats()[2]['collections'])"
    assert said(searched) == ["0"]


def test_the_plan_and_the_registry_import_little():
    loaded = imported("biasflow.registry")
    assert not {"pandas", "numpy", "torch"} & loaded


@cache
def at_the_top(path: Path) -> set[str]:
    return set(names(ast.parse(path.read_text()).body))


def loaded_by(script: Path) -> set[str]:
    """The names that are imported when a script runs: its own, and those at the top of the modules that it reaches."""
    found, waiting = set(names(list(ast.walk(ast.parse(script.read_text()))))), []
    waiting += found
    while waiting:
        path = ROOT.joinpath("scripts", *waiting.pop().split(".")).with_suffix(".py")
        if path.is_file():
            new = at_the_top(path) - found
            found |= new
            waiting += new
    return found


def test_a_light_job_loads_no_torch():
    scripts = scripts_of("light")  # of the rules whose environment has no torch
    assert {"score", "matrix", "paper", "prepare", "external_readout"} <= scripts
    for script in scripts:
        packages = {name.partition(".")[0] for name in loaded_by(ROOT / f"scripts/{script}.py")}
        assert not {"torch", "transformers", "datasets"} & packages, script
    assert "torch" in {name.partition(".")[0] for name in loaded_by(ROOT / "scripts/read.py")}
