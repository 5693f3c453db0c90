"""Dry runs: what would run, and how a wrong configuration ends."""

import copy

import pytest
import yaml

from tests.workflow.conftest import ROOT, TINY

CONFIGS = sorted(path.name for path in (ROOT / "config").glob("*.yaml") if "run:" in path.read_text())


@pytest.mark.parametrize("name", CONFIGS)
def test_every_configuration_plans_without_a_network(project, name):
    jobs = project.jobs(config=f"config/{name}")
    assert jobs["all"] == 1
    assert jobs["scores"] == 1


def test_the_paper_run(project):
    jobs = project.jobs(config="config/paper.yaml")
    assert jobs["download_encoder"] == 6
    assert jobs["download"] >= 2 + 3 + 13 + 9  # StereoSet twice, SNLI's parts, Dev et al.'s words, association tests
    assert jobs["subspaces"] == 3  # all three have the inner places
    assert jobs["next_sentence"] == 2  # one encoder has the head, two sets of stimuli
    assert jobs["finetune_nli"] == jobs["nli_predictions"] == 3 * 5  # encoders and seeds
    assert jobs["gender_erasers"] == 3 * 3  # encoders and methods
    assert jobs["finetune_glue"] == 3 * 9 * 4 * 3  # encoders, tasks, methods and none, seeds
    assert jobs["glue_scores"] == 2 * jobs["finetune_glue"]  # the eraser active in training, or at evaluation only
    assert jobs["finetune_occupation"] == 2 * 4 * 10  # encoders, strategies, seeds
    assert jobs["representations"] == 80 + 20 + 2  # fine-tuned, never trained, pre-trained
    assert jobs["splits"] == 1
    assert jobs["occupation_scores"] == 2 * 4  # all seeds of a strategy in one job
    assert jobs["compression"] == 2 * (4 + 1 + 1)


def test_every_way_of_intervening_in_the_downstream_task(project):
    config = copy.deepcopy(TINY)
    config["nli"] |= {"seeds": [0, 1], "during_settings": None}
    project.configure(config)
    jobs = project.jobs()
    assert jobs["finetune_nli"] == jobs["nli_heads"] == 2
    assert jobs["finetune_nli_edited"] == 2 * 75  # all settings but the untouched encoder


def test_a_configuration_replaces_the_default_one(project):
    assert project.jobs()["pretrain"] == 1  # not the default run's encoder besides


def test_overlays_are_merged(project):
    (project.folder / "more.yaml").write_text(yaml.safe_dump({"planted": {"triples": 50}}))
    done = project.snakemake("-n", "-p", config="tiny.yaml")
    assert done.returncode == 0
    assert project.snakemake("-n", "--configfile", "tiny.yaml", "more.yaml").returncode == 0


def test_it_can_be_started_from_another_folder(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    done = project.snakemake("-n", "--directory", str(tmp_path / "elsewhere"), config=str(project.folder / "tiny.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_table_is_a_target(project):
    jobs = project.jobs("results/tiny/tables/projective_table1.csv")
    assert "projective_table1" in jobs
    assert "projective_table7" not in jobs


def test_the_snakefile_is_short():
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 60


def test_every_rule_says_what_it_needs():
    for path in (ROOT / "rules").glob("*.smk"):
        for block in path.read_text().split("\nrule ")[1:]:
            name = block.split(":")[0]
            for needed in ("log:", "conda:", "threads:", "mem_mb=", "runtime=", "script:"):
                assert needed in block, f"{path.name}: rule {name} has no {needed}"
            assert name.startswith("download") or "code=code(" in block, f"{path.name}: rule {name} has no code"


def changed(path: str, value) -> dict:
    config = copy.deepcopy(TINY)
    place = config
    *above, last = path.split(".")
    for key in above:
        place = place[key]
    place[last] = value
    return config


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (changed("projective.topz", 1), "projective.topz"),
        (changed("encoders.tiny-bert.steps", "many"), "encoders.tiny-bert.steps"),
        (changed("projective.encoders", ["bert"]), "projective.encoders.0"),
        (changed("nli.encoders", ["bert"]), "nli.encoders.0"),
        (changed("nli.selection", "many"), "nli.selection"),
        (changed("nli.during_settings", ["sent 7"]), "sent 7"),
        (changed("nli.during_settings", ["base"]), "nli.during_settings"),
        (changed("nli.data", {"train": ["planted"]}), "nli.data"),
        (changed("densray.chinese", ["bert"]), "densray.chinese.0"),
        (changed("densray.methods", {"pca": {"layers": "all"}}), "densray.methods"),
        (changed("internal.encoders", ["bert"]), "internal.encoders.0"),
        (changed("internal.strategies", ["scrubbing"]), "internal.strategies"),
        (changed("internal.data", {"small": "drop"}), "internal.data"),
        (changed("internal.finetuning", {"schedule": "cosine"}), "internal.finetuning.schedule"),
        (changed("encoders.tiny-bert.corpus", "own.txt"), "densray.contexts.text"),
        (
            changed("encoders.tiny-bert", {"source": "local", "path": "nowhere"}) | {"densray": {}, "internal": {}},
            "nowhere",
        ),
    ],
)
def test_a_wrong_configuration_ends_before_anything_runs(project, config, named):
    project.configure(config)
    done = project.snakemake()
    assert done.returncode != 0
    lines = [line for line in (done.stdout + done.stderr).splitlines() if named in line]
    assert len(lines) == 1
    assert not (project.folder / "results/tiny").exists()


def test_an_optional_encoder_that_is_not_there_is_said_and_left_out(project):
    config = copy.deepcopy(TINY)
    config["encoders"]["other"] = {"source": "local", "path": "{mirror}/../other", "optional": True}
    config["projective"]["encoders"].append("other")
    project.configure(config)
    assert project.jobs()["next_sentence"] == 1


def test_every_table_and_figure_has_a_caption(project):
    listed = project.snakemake("--list-rules").stdout.split()
    papers = ("projective_", "densray_", "internal_", "planted_calibration")
    reported = {name for name in listed if name.startswith(papers) and not name.endswith("_tables")}
    captions = {path.stem for path in (ROOT / "rules/report").glob("*.rst")}
    assert reported == captions
