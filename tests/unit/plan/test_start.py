"""How a run starts: what was asked for before, and what is said and checked first."""

import inspect
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import snakemake.api  # first: its modules import each other
from snakemake import workflow
from snakemake.dag import DAG
from snakemake.jobs import Job
from snakemake.persistence import PersistenceBase
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake_executor_plugin_slurm import Executor

from biasflow.base.command_line import WRITTEN
from biasflow.base.errors import BiasflowError
from biasflow.plan import device
from biasflow.plan.asked import Part, in_parts, read_asked, remember
from biasflow.plan.blocks import blocks_of
from biasflow.plan.cells import plan
from biasflow.plan.changed import changes
from biasflow.plan.changed import changes as changed_keys
from biasflow.plan.checks import check_asked
from biasflow.plan.compiled import compiled
from biasflow.plan.configuration import resolve
from biasflow.plan.device import check_scheduler, planned_device, submits_jobs
from biasflow.plan.jobs import Jobs, Plan
from biasflow.plan.setup import Setup
from biasflow.plan.start import withdrawn
from biasflow.registry import rule_of
from tests.unit.plan.configs import CATALOGUE, SCHEMA, changed, digest_of, facts_of

REAL = {"task": "bios", "trainings": ["finetuned", "pretrained"], "seeds": [0, 1], "strategies": ["plain"]}
ASK = {
    "inside": {"encoders": ["own", "real"], "methods": ["none", "leace"], "metrics": ["occtmp", "weat"]},
    "bios": {**REAL, "encoders": ["own", "real"], "methods": ["none", "leace"], "metrics": ["fairness", "compression"]},
    "nli": {"encoders": ["own"], "task": "nli", "methods": ["none", "leace"], "metrics": ["accuracy"]},
}
BIOS = {"files": ["bias-in-bios-dev"], "small": "drop"}
BASE = changed(("ask", ASK), ("tasks.bios.data", BIOS), ("encoders.real.path", "somewhere"))


class Run(NamedTuple):
    plan: Plan
    jobs: Jobs


def run_of(config: dict, earlier: Run | None = None) -> Run:
    """A run; earlier: the one before it in the same folder."""
    resolved, asked = resolve(config, SCHEMA), ()
    facts = facts_of(resolved, hidden_size=768)
    if earlier:
        asked = tuple(Part(b.name, b.asked, b.group, b.methods, b.metrics) for b in earlier.plan.blocks)
    setup = Setup(resolved, replace(facts, asked=asked))
    found = plan(setup)
    check_asked(found)
    return Run(found, compiled(setup, found, CATALOGUE))


def jobs(run: Run) -> dict[tuple, str]:
    """Rule and wildcards of dear jobs, of the data of tasks and of scores -> all that would run them again."""
    tables = ("scores", "describe", "plan", "matrix", "paper_")
    kept = [job for job in run.jobs if not job.rule.startswith(tables)]
    return {(job.rule, *job.wildcards): digest_of(job) for job in kept}


MORE = {"encoders": ["own", "real"], "task": "bios", "methods": ["none", "leace", "inlp"], "metrics": ["fairness"]}
SPLITS = ("splits", "bios")  # tries all seeds, in seconds; nothing waits for it but new trainings
OF_SEEDS = {(rule_of("together"), "own", "pretrained", "bios"), (rule_of("probes"), "real", "pretrained", "bios")}
OF_STRATEGIES = {(rule_of(name), "real", "pretrained", "bios") for name in ("heads", "first_token")}
# What is added, and what is made again for it. A run that asks for something new of an untouched encoder on a task's
# data, its splits or its strategies, reads it again: seconds, and none of it is trained or fitted.
SCORED = {("score", name, "pretrained", "bios") for name in ("own", "real")}  # of readings of all seeds or strategies
ADDED = {
    "a seed": ([("ask.bios.seeds", [0, 1, 2])], {SPLITS, *OF_SEEDS, *SCORED}),
    "a strategy": (
        [("ask.bios.strategies", ["plain", "with-leace", "scrubbing", "subsampling"])],
        {SPLITS, *OF_SEEDS, *OF_STRATEGIES, *SCORED},
    ),
    "a method": ([("ask.bios.methods", ["densray", "none", "leace"])], set()),
    "metrics": (
        [
            ("ask.bios.metrics", ["fairness", "compression", "ceat"]),
            ("ask.inside.metrics", ["occtmp", "weat", "perplexity", "bec_pro"]),
        ],
        set(),
    ),
    "a metric of a readout that is there": ([("ask.nli.metrics", ["nli_fairness", "accuracy"])], set()),
    "a method and a metric": (
        [("ask.nli.metrics", ["accuracy", "weat"]), ("ask.nli.methods", ["none", "leace", "inlp"])],
        set(),
    ),
    "a block": ([("ask.more", MORE)], set()),
    "a block in front": ([("ask", {"more": MORE, **ASK})], set()),
    "papers": ([("papers.orgad2022.encoders", ["own"]), ("papers.liang2020.encoders", ["own", "real"])], {SPLITS}),
    "another order": ([("ask.bios.methods", ["leace", "none"]), ("ask.inside.metrics", ["weat", "occtmp"])], set()),
    "an encoder": (
        [
            ("encoders.other", {"source": "pretrain", "corpus": "planted"}),
            ("ask.bios.encoders", ["other", "own", "real"]),
        ],
        set(),
    ),
    "nothing": ([], set()),
}


@pytest.mark.parametrize("what", ADDED)
def test_what_is_finished_keeps_its_inputs_and_parameters(what):
    changes, made_again = ADDED[what]
    first = run_of(BASE)
    before, after = jobs(first), jobs(run_of(changed(*changes, config=BASE), first))
    assert set(before) <= set(after)
    assert {key for key in before if before[key] != after[key]} == made_again
    assert [*changed_keys(resolve(BASE, SCHEMA), resolve(changed(*changes, config=BASE), SCHEMA))] == []


def test_parts_are_remembered(tmp_path):
    path = tmp_path / "run/asked.json"
    assert read_asked(path) == ()
    first = blocks_of(resolve(BASE, SCHEMA))
    remember(path, in_parts(first, ()), ())
    bigger = changed(("ask.nli.methods", ["none", "leace", "pca"]), config=BASE)
    again = in_parts(blocks_of(resolve(bigger, SCHEMA)), read_asked(path))
    remember(path, again, read_asked(path))
    known = read_asked(path)
    assert [(part.name, part.block) for part in known] == [*((name, name) for name in ASK), ("nli+1", "nli")]
    assert known[-1] == Part("nli+1", "nli", "nli+1", ("pca",), ("accuracy",))
    assert in_parts(blocks_of(resolve(bigger, SCHEMA)), known) == again

    metrics = ["occtmp", "weat", "perplexity"]  # one is added: it is all that the methods lack
    added = in_parts(blocks_of(resolve(changed(("ask.inside.metrics", metrics), config=BASE), SCHEMA)), known)[-1]
    assert (added.name, added.methods, added.metrics) == ("inside+1", ("none", "leace"), ("perplexity",))

    alone = changed(("ask", {"bios": ASK["bios"]}), config=BASE)  # what is not asked for now is not forgotten
    remember(path, in_parts(blocks_of(resolve(alone, SCHEMA)), known), known)
    assert read_asked(path) == known

    path.write_text('[{"name": "nli"}]')
    with pytest.raises(BiasflowError, match=r"asked\.json .*delete it"):
        read_asked(path)


BEFORE = {
    "run": "mine",
    "mirror": None,
    "encoders": {"mine": {"path": "A", "corpus": ["planted"]}},
    "methods": {"leace": [{"eraser": "leace"}]},
    "tasks": {"nli": {"finetuning": {"epochs": 1}}},
    "files": {},
    "limit": None,
    "metrics": {"weat": {"tests": ["C6"]}, "strength": {"tops": [0.1]}},
    "ask": {"inside": {"methods": ["none", "leace"], "seeds": [0]}},
}


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("encoders.mine.path", "B", 'was "A", is "B"'),
        ("encoders.mine.corpus", ["planted", "text.txt"], 'was ["planted"], is ["planted", "text.txt"]'),
        ("encoders.mine.dose", 0.5, "was absent, is 0.5"),
        ("tasks.nli.finetuning.epochs", 2, "was 1, is 2"),
        ("files.stereoset-dev", "mine.json", 'was absent, is "mine.json"'),
        ("limit", 100, "was null, is 100"),
        ("metrics.weat", 3, "was there, is 3"),
        ("metrics.weat.tests", ["C7"], 'was ["C6"], is ["C7"]'),
        ("ask.inside.methods", ["none"], 'was ["none", "leace"], is ["none"]'),
        ("run", "other", None),
        ("mirror", "m", None),
        ("encoders.other", {"path": "B"}, None),
        ("methods.sal", [{"eraser": "sal"}], None),
        ("metrics.weat.tests", ["C7", "C6"], None),
        ("metrics.weat.tests", None, None),
        ("metrics.weat.own", {"mine": {}}, None),
        ("ask.inside.methods", ["leace", "none", "sal"], None),
        ("ask.inside.seeds", [0, 1], None),
        ("ask.more", {"methods": ["none"]}, None),
    ],
)
def test_what_is_told(key, value, told):
    found = list(changes(BEFORE, changed((key, value), config=BEFORE)))
    assert [name for name, _ in found] == ([key] if told else [])
    assert not told or found[0][1].startswith(told)


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_auto_is_a_gpu_on_a_cluster_and_where_one_is_and_other_choices_stay(monkeypatch, cluster, there):
    monkeypatch.setattr(device, "gpus_here", lambda: ["GPU-1"] * there)
    monkeypatch.setattr(device.importlib.metadata, "version", lambda name: "2.13.0+cu128")
    assert planned_device("auto", cluster=cluster) == ("cuda" if cluster or there else "cpu")
    assert [planned_device(choice, cluster=cluster) for choice in ("cpu", "cuda")] == ["cpu", "cuda"]


def test_a_torch_for_processors_alone_takes_no_gpu(monkeypatch):
    monkeypatch.setattr(device, "gpus_here", lambda: ["GPU-1"])
    monkeypatch.setattr(device.importlib.metadata, "version", lambda name: "2.13.0+cpu")
    assert planned_device("auto", cluster=False) == "cpu"


@pytest.mark.parametrize(
    ("cores", "nodes", "resources", "submits"),
    [
        (2, None, None, False),  # --cores 2
        (1, 4, None, False),  # -n --jobs 4: the number of cores
        (None, 100, {"mem_mb": 2000}, True),  # profiles/slurm
        (1, 100, {"mem_mb": 2000}, True),  # and its dry run
    ],
)
def test_jobs_are_submitted(cores, nodes, resources, submits):
    assert submits_jobs(SimpleNamespace(cores=cores, nodes=nodes, default_resources=resources)) == submits


def test_slurm_is_asked_for_where_jobs_can_be_submitted_to_it(monkeypatch):
    for place in ("/usr/bin/sbatch", None):
        monkeypatch.setattr(device.shutil, "which", lambda name, place=place: place)
        check_scheduler("local")
        if place:
            check_scheduler("slurm")
    with pytest.raises(BiasflowError, match="no sbatch"):
        check_scheduler("slurm")


@pytest.mark.parametrize("is_new", [True, False])
def test_a_run_that_is_refused_leaves_no_configuration_that_was_written_for_it(tmp_path, monkeypatch, is_new):
    (tmp_path / "mine.yaml").touch()
    monkeypatch.setenv(WRITTEN, str(tmp_path / "mine.yaml") * is_new)
    with withdrawn():
        pass
    assert (tmp_path / "mine.yaml").exists()
    with pytest.raises(BiasflowError, match="no network"), withdrawn():
        raise BiasflowError("no network")
    assert (tmp_path / "mine.yaml").exists() != is_new


def test_this_snakemake_has_all_that_plan_snakemake_internals_takes():
    taken = {
        Job: ["output_mintime", "rule", "params"],
        DAG: ["needrun", "needrun_jobs", "forcefiles", "jobs"],
        workflow.Workflow: ["_localrules", "async_run", "persistence", "scheduler"],
        PersistenceBase: ["all_inputfiles", "all_outputfiles"],
        JobScheduler: ["_executor"],
        Executor: ["run_uuid"],
    }
    lacking = [name for kind, names in taken.items() for name in names if name not in inspect.getsource(kind)]
    assert lacking == [], f"Snakemake {snakemake.__version__} differs: see plan/snakemake_internals.py"
