"""Scripts of jobs: of several things in one job, one that fails is told, others are kept; whose code they run."""

import contextlib
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from biasflow.base.errors import FAILED, AbsentError, BiasflowError
from biasflow.readouts.files import reasons_of
from biasflow.registry import METRICS, module_of
from biasflow.results.scores import read_scores
from tests.unit.readouts.conftest import folder  # noqa: F401

SCRIPTS = Path(__file__).parents[2] / "scripts"
ERRORS = {
    "none": None,
    "ours": BiasflowError("odd"),
    "bug": KeyError("x"),
    "absent": AbsentError("no word"),
    "disk": OSError("disk"),
}
PAIRS = pd.DataFrame({"item": [0, 1], "first": ["he is late", "a king"], "second": ["she is late", "a queen"]})


class Inputs(dict):
    """Files by role, as Snakemake gives them to a script."""

    __getattr__ = dict.__getitem__


def items(error: str) -> pd.DataFrame:
    if ERRORS[error]:
        raise ERRORS[error]
    return PAIRS.assign(direction=["stereo", "antistereo"])


@pytest.fixture
def script(monkeypatch):
    """Runs a script as Snakemake does; its job is not recorded."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.setattr("_rule.rule", lambda smk: contextlib.nullcontext({}))
    return lambda name, smk: runpy.run_path(str(SCRIPTS / f"{name}.py"), {"snakemake": smk})


@pytest.fixture
def read(script, folder, tmp_path, monkeypatch):  # noqa: F811
    def read(*errors: str) -> Path:
        monkeypatch.chdir(tmp_path)
        common = {"inputs": "x", "made_from": {}, "methods": ["none"], "draws": None, "dataset": "x"}
        common |= {"module": "biasflow.readouts.pair_tokens"}
        readouts = [
            {**common, "file": f"{error}.parquet", "options": {"items": __name__, "of": {"error": error}}}
            for error in errors
        ]
        script(
            "read",
            SimpleNamespace(
                input=Inputs(model=str(folder / "model")),
                output=["results/run/readouts/x"],
                log=["logs/x.log"],
                wildcards=SimpleNamespace(training="pretrained"),
                resources=SimpleNamespace(gpu=0),
                params=SimpleNamespace(readout=readouts, device="cpu", deterministic=True),
            ),
        )
        return Path("results/run/readouts/x")

    return read


@pytest.fixture
def read_external(script, tmp_path, monkeypatch):
    def read_external(*encoders: tuple[str, ...]) -> list[Path]:
        """Read a table of scores for each of these errors, by encoder."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "given.csv").write_text("id,score\n0,1\n1,-1\n")
        options = {"metric": "pairs", "columns": [""], "items": __name__}
        about = {"module": "biasflow.readouts.external_items", "dataset": "x", "inputs": "x"}
        readouts = [
            [{**about, "file": f"{error}.parquet", "options": {**options, "of": {"error": error}}} for error in errors]
            for errors in encoders
        ]
        outputs = [f"results/run/readouts/{number}" for number in range(len(encoders))]
        params = SimpleNamespace(readouts=readouts)
        files = Inputs({"x/given": ["given.csv"]})
        script("external_readout", SimpleNamespace(input=files, output=outputs, log=["logs/x.log"], params=params))
        return [*map(Path, outputs)]

    return read_external


def test_a_bad_file_of_one_encoder_leaves_the_others(read_external):
    first, second = read_external(("ours", "bug"), ("none", "absent"))
    assert pd.read_parquet(second / "none.parquet")["log_p_first"].to_list() == [1, -1]
    assert reasons_of(second / "none.parquet") == {}
    assert reasons_of(second / "absent.parquet") == {"none": "no word"}
    assert reasons_of(first / "ours.parquet") == {"none": f"{FAILED}odd (log: logs/x.log)"}
    assert reasons_of(first / "bug.parquet")["none"].startswith(f"{FAILED}KeyError: 'x'")
    assert not (first / "ours.parquet").exists()


@pytest.mark.parametrize(("errors", "raised"), [(("ours",), BiasflowError), (("none", "disk"), OSError)])
def test_a_job_none_of_whose_files_can_be_read_fails_and_so_does_the_machine(read_external, errors, raised):
    with pytest.raises(raised):
        read_external(errors)


def test_a_readout_that_fails_leaves_the_others_and_says_why(read):
    output = read("ours", "none", "bug", "absent")
    assert len(pd.read_parquet(output / "none.parquet")) == 2
    assert reasons_of(output / "ours.parquet") == {"none": f"{FAILED}odd (log: logs/x.log)"}
    assert reasons_of(output / "bug.parquet") == {"none": f"{FAILED}KeyError: 'x' (log: logs/x.log)"}
    assert reasons_of(output / "absent.parquet") == {"none": "no word"}
    assert reasons_of(output / "none.parquet") == {}


@pytest.mark.parametrize(("errors", "ended"), [(["ours"], BiasflowError), (["none", "disk"], OSError)])
def test_what_fails_as_a_whole_or_may_go_better_another_time_ends_the_job(read, errors, ended):
    with pytest.raises(ended):
        read(*errors)
    assert not Path("results/run/readouts/x").exists()


def test_a_metric_that_fails_leaves_the_scores_of_the_others(script, read):
    output = read("none", "ours")
    common = {"readout": "x", "methods": ["none"], "inputs": "x", "options": {}, "limits": [], "dataset": "x"}
    common |= {"measures": [], "items": "items", "chosen_by": {}}
    jobs = [
        {**common, "file": f"{name}.parquet", "module": module_of(METRICS[metric]), "metric": metric}
        for name, metric in (("none", "sss"), ("none", "gest"), ("ours", "prediction_quality"))
    ]
    model = {"encoder": "mine", "task": "-", "strategy": "-", "seed": "-"}
    smk = SimpleNamespace(
        input=Inputs(x=str(output)),
        output=SimpleNamespace(scores="scores.csv", reasons="reasons.csv", resamples="resamples.parquet"),
        log=["logs/score.log"],
        params=SimpleNamespace(jobs=jobs, model=model),
    )
    script("score", smk)
    assert set(read_scores("scores.csv")["metric"]) == {"sss_score"}
    reasons = pd.read_csv("reasons.csv").set_index("metric")["reason"]
    assert reasons["gest"].startswith(FAILED) and reasons["gest"].endswith("(log: logs/score.log)")
    assert reasons["prediction_quality"] == f"{FAILED}odd (log: logs/x.log)"
    smk.params.jobs = jobs[1:2]
    with pytest.raises(BiasflowError, match="stereotype"):
        script("score", smk)


JOB = """
from types import SimpleNamespace
import _rule
job = SimpleNamespace(rule="score", wildcards={{}}, threads=1, scriptdir={scripts!r}, log=[{log!r}])
with _rule.rule(job):
    print("ran")
"""


def test_a_job_whose_modules_come_from_another_checkout_ends_with_one_line(tmp_path):
    """PYTHONPATH comes before the folder of a script: the job of one clone would run the code of another."""
    other = tmp_path / "other" / "scripts"
    other.mkdir(parents=True)
    shutil.copy(SCRIPTS / "_rule.py", other)
    code = JOB.format(scripts=str(other), log=str(tmp_path / "log"))
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    line = f"biasflow: the rule's script lies in {other}, but its modules in {SCRIPTS}; unset PYTHONPATH\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line) and not (tmp_path / "log").exists()


IMPORTS = """
import gc
import _rule
before = gc.get_threshold()[0]
kept = [[] for _ in range(before + 1)]
print(before, gc.get_threshold()[0], gc.callbacks)
"""


def test_the_search_for_cycles_begins_after_the_imports_and_then_goes_on_as_usual():
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=SCRIPTS, capture_output=True, text=True)
    assert done.stdout == "400000 20000 []\n", done.stderr
