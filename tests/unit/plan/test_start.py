"""What is known of a run before its first job: where it computes, and which changes make finished results again."""

import inspect
from types import SimpleNamespace

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
from biasflow.plan.changed import changes
from biasflow.plan.device import check_scheduler, planned_device, submits_jobs
from biasflow.plan.start import withdrawn
from tests.unit.plan.configs import changed

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
