"""The whole workflow on a tiny encoder: results, re-runs that follow content, determinism, errors."""

import contextlib
import json
import os
import shutil
import signal
import time

import pandas as pd
import pytest

from tests.workflow.conftest import TINY, Project

TABLES = "results/tiny/tables"


def copy_of(finished: Project, folder) -> Project:
    """A copy of the finished run that a test may change; time stamps and Snakemake's own records are kept."""
    shutil.copytree(finished.folder, folder, copy_function=shutil.copy2)
    project = Project.__new__(Project)
    project.folder = folder
    return project


@pytest.fixture
def run(finished, tmp_path) -> Project:
    return copy_of(finished, tmp_path / "copy")


def test_table_7_has_76_rows_with_published_values_and_differences(finished):
    table = pd.read_csv(finished.folder / TABLES / "projective_table7.csv", keep_default_na=False)
    table = table[table["interventions"] == "after fine-tuning"]
    assert len(table) == 76
    assert not table[["level", "settings"]].duplicated().any()
    for measure in ("strength", "distance"):
        ours, published = table[measure].astype(float), table[f"{measure}_published"].astype(float)
        assert (ours - published - table[f"{measure}_difference"].astype(float)).abs().max() < 1e-5
    assert table["strength"].nunique() > 10


def test_table_7_holds_every_way_of_intervening_downstream(finished):
    table = pd.read_csv(finished.folder / TABLES / "projective_table7.csv", keep_default_na=False)
    rows = table.groupby("interventions", sort=False).size().to_dict()
    assert rows == {
        "after fine-tuning": 76,
        "after fine-tuning, head retrained": 76,
        "during fine-tuning": 1,
    }
    eta = table["accuracy"].astype(float) * table["parity"].astype(float)
    assert (eta - table["fairness"].astype(float)).abs().max() < 1e-5


def test_fine_tuning_is_described(finished):
    table = pd.read_csv(finished.folder / TABLES / "projective_finetuning.csv", keep_default_na=False)
    assert list(table["training"]) == ["plain", "sent_0"]
    assert list(table["train_pairs"]) == [300, 300]
    assert list(table["occupation_pairs"]) == [84 * 3 * 2] * 2
    assert not (finished.folder / "results/tiny/checkpoints/tiny-bert/nli/plain/seed0").exists()


def test_a_killed_fine_tuning_resumes_and_ends_as_if_it_had_not_been_killed(finished, run):
    target = "results/tiny/scores/tiny-bert/nli/plain/seed0.csv"
    whole = (run.folder / target).read_bytes()
    for made in ("finetuned/tiny-bert/nli", "erasers/tiny-bert/nli", "extrinsic/tiny-bert/nli", "scores/tiny-bert/nli"):
        shutil.rmtree(run.folder / "results/tiny" / made / "plain")
    work = run.folder / "results/tiny/checkpoints/tiny-bert/nli/plain/seed0"
    killed = run.start(target)
    try:
        deadline = time.monotonic() + 300
        while not list(work.glob("checkpoint-*/complete")):
            assert killed.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert not (run.folder / "results/tiny/finetuned/tiny-bert/nli/plain/seed0/model.safetensors").exists()
    reached = max(int(path.name.rpartition("-")[2]) for path in work.glob("checkpoint-*"))
    assert run.snakemake("--unlock", target).returncode == 0
    done = run.snakemake("--rerun-incomplete", target)
    assert done.returncode == 0, done.stdout + done.stderr
    log = (run.folder / "results/tiny/logs/finetuned/tiny-bert/nli/plain/seed0.log").read_text()
    steps = [int(line.split("step ")[1].split()[0]) for line in log.splitlines() if "step " in line]
    assert reached >= 5 and min(steps) > reached - 5  # it went on from a checkpoint
    assert (run.folder / target).read_bytes() == whole
    assert not work.exists()


def test_paper_a_has_a_row_for_every_eraser(finished):
    table = pd.read_csv(finished.folder / TABLES / "densray_main.csv", keep_default_na=False)
    assert list(table["method"]) == ["none", "hard", "conceptor", "densray"]
    for column in ("occtmp_diff", "planted_effect_size", "perplexity"):
        assert table[column].astype(float).nunique() == 4, column
    glue = pd.read_csv(finished.folder / TABLES / "densray_glue.csv", keep_default_na=False)
    assert set(glue["strategy"]) == {"in_training", "at_evaluation"}
    stages = pd.read_csv(finished.folder / TABLES / "densray_perplexity.csv", keep_default_na=False)["stage"]
    assert set(stages) == {"pretrained", "finetuned"}
    page = (finished.folder / "results/tiny/figures/densray_sentences_tiny-bert.html").read_text()
    assert page.count("<tr>") == 41


def test_paper_c_has_every_strategy_and_stage(finished):
    def table(name: str) -> pd.DataFrame:
        return pd.read_csv(finished.folder / TABLES / f"internal_{name}.csv", keep_default_na=False)

    for name in ("table3", "table4", "table5"):
        rows = table(name)
        ours = rows[(rows["encoder"] == "tiny-bert") & (rows["measure"] == "Accuracy")]
        found = set(zip(ours["strategy"], ours["setting"], strict=True))
        assert found == {("none", "raw"), ("scrubbing", "raw"), ("scrubbing", "scrubbed")}
        assert ours["mean"].astype(float).between(0, 1).all()
    overview = table("table1")
    assert {"random", "pretrained", "none", "scrubbing"} <= set(overview["model"])
    assert set(table("table6")["status"].str.split(":").str[0]) == {"not run"}
    assert len(table("data")) == 8
    ceat = table("ceat")
    own = ceat[ceat["encoder"] == "tiny-bert"]
    assert set(own["order"]) == {"weat", "swapped"} and set(own["variance"]) == {"spread", "sampling"}
    assert {"random", "pretrained", "none", "scrubbing"} <= set(own["model"])
    scores = pd.read_csv(finished.folder / "results/tiny/scores.csv", keep_default_na=False)
    heads = scores[(scores["task"] == "occupation") & (scores["stage"] == "after") & (scores["metric"] == "accuracy")]
    assert set(heads["head_seed"]) == {"0", "1"}


def test_every_table_in_three_formats_and_the_figure_in_two(finished):
    tables = sorted((finished.folder / TABLES).glob("projective_*.csv"))
    assert len(tables) >= 8
    for path in tables:
        assert path.with_suffix(".tex").stat().st_size > 0
        assert path.with_suffix(".html").stat().st_size > 0
    for suffix in ("svg", "pdf"):
        assert (finished.folder / f"results/tiny/figures/projective_strength_distance.{suffix}").stat().st_size > 1000


def test_every_result_has_its_provenance_and_every_job_its_log(finished):
    results = finished.folder / "results/tiny"
    for path in [*results.glob("tables/*.csv"), *results.glob("scores/*/*.csv"), results / "scores.csv"]:
        record = json.loads(path.with_name(path.name + ".provenance.json").read_text())
        assert record["inputs"]
        assert record["config"]["run"] == "tiny"
        assert record["versions"]["python"]
        assert record["wall_seconds"] >= 0
    encoder = json.loads((results / "encoders/tiny-bert/model.safetensors.provenance.json").read_text())
    assert (encoder["device"], encoder["seed"]) == ("cpu", 0)
    assert len(list(results.glob("logs/**/*.log"))) >= 14
    assert list(results.glob("benchmarks/pretrain/*.tsv"))


def test_every_edit_acted(finished):
    edits = pd.read_csv(finished.folder / "results/tiny/intrinsic/tiny-bert/planted.edits.csv")
    assert (edits["calls"] > 0).all()
    assert (edits["mean_change"] > 0).all()


def test_a_second_run_has_nothing_to_do(finished):
    assert finished.jobs() == {}


def test_touching_files_runs_nothing_again(run):
    for path in [
        *run.folder.glob("scripts/**/*.py"),
        *run.folder.glob("config/**/*.csv"),
        *run.folder.glob("rules/*.smk"),
    ]:
        path.touch()
    assert run.jobs() == {}


def test_editing_a_metric_runs_its_dependants_and_nothing_else(run):
    module = run.folder / "scripts/biasflow/metrics/stereoset.py"
    module.write_text(module.read_text() + "\n# edited\n")
    jobs = run.jobs()
    assert jobs["stereoset_scores"] == 1
    assert {"scores", "projective_table7"} <= set(jobs)
    assert not {"pretrain", "planted_text", "stimuli_planted", "subspaces", "next_sentence"} & set(jobs)


def test_editing_the_training_runs_everything_after_it(run):
    module = run.folder / "scripts/biasflow/encoders/pretrain.py"
    module.write_text(module.read_text() + "\n# edited\n")
    jobs = run.jobs()
    assert {"pretrain", "subspaces", "next_sentence", "stereoset_scores"} <= set(jobs)
    assert not {"planted_text", "stimuli_planted"} & set(jobs)


def test_a_changed_key_runs_only_the_rules_that_use_it(run):
    run.configure({**TINY, "projective": {**TINY["projective"], "tops": [0.1, 0.5]}})
    jobs = run.jobs()
    assert "stereoset_scores" in jobs
    assert not {"pretrain", "subspaces", "next_sentence"} & set(jobs)


def test_another_seed_leaves_the_encoders_of_the_others(run):
    run.configure({**TINY, "internal": {**TINY["internal"], "seeds": [0, 1]}})
    jobs = run.jobs()
    assert jobs["finetune_occupation"] == 2  # strategies
    assert jobs["representations"] == 2 + 1  # and the random encoder of the new seed
    assert not {"biographies_planted", "pretrain"} & set(jobs)


def test_the_same_configuration_from_scratch_gives_the_same_bytes(finished, project):
    done = project.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    for folder in ("tables", "figures"):
        first = {path.name: path.read_bytes() for path in (finished.folder / "results/tiny" / folder).iterdir()}
        second = {path.name: path.read_bytes() for path in (project.folder / "results/tiny" / folder).iterdir()}
        results = [name for name in first if not name.endswith(".provenance.json")]
        assert results
        assert [name for name in results if first[name] != second.get(name)] == []


def test_the_report_builds(run):
    done = run.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (run.folder / "report.html").read_text()
    assert "projective_table7" in page
    assert "Projective debiasing" in page


def test_a_truncated_weights_file_is_one_clear_line_and_earlier_results_stay(run):
    weights = run.folder / "results/tiny/encoders/tiny-bert/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    (run.folder / "results/tiny/intrinsic/tiny-bert/planted.parquet").unlink()
    table = (run.folder / TABLES / "projective_table7.csv").read_bytes()
    done = run.snakemake("results/tiny/intrinsic/tiny-bert/planted.parquet", "--rerun-triggers", "input")
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("biasflow: rule")]
    assert len(lines) == 1
    assert "tiny-bert" in lines[0]
    assert (run.folder / TABLES / "projective_table7.csv").read_bytes() == table
    assert not (run.folder / "results/tiny/intrinsic/tiny-bert/planted.parquet").exists()
