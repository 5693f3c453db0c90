"""The encoder that comes with biasflow: its weights are fixed, so that its scores are the same on every machine."""

import pandas as pd
import yaml

from biasflow.results.scores import VALUES, read_scores
from tests.workflow.conftest import ROOT, Project

GOLDEN = ROOT / "tests/golden/demo_inside.csv"
KEYS = ["method", "setting", "dataset", "readout_seed", "metric", "part", "variant"]
SCORES = "results/demo/scores/planted-bert/pretrained/liang2020.csv"


def test_the_demo_measures_the_same_inside_its_encoder_on_every_machine(tmp_path):
    project = Project(tmp_path / "biasflow")
    types = dict.fromkeys(KEYS, str) | dict.fromkeys(VALUES, float)
    golden = pd.read_csv(GOLDEN, keep_default_na=False, na_values=dict.fromkeys(VALUES, ""), dtype=types)
    golden = golden.set_index(KEYS)[VALUES]
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    methods = golden.index.unique("method")
    config["papers"] = {
        "liang2020": {"encoders": ["planted-bert"], "methods": [], "inside_only": [*methods], "by_layer": []}
    }
    config["ask"], config["metrics"]["perplexity"] = {}, {"max_length": 20}  # all that golden has
    project.configure(config)
    finished = project.snakemake(SCORES)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    scores = read_scores(project.folder / SCORES).set_index(KEYS)[VALUES]
    pd.testing.assert_frame_equal(scores.sort_index(), golden.sort_index(), rtol=1e-5, atol=1e-5)
