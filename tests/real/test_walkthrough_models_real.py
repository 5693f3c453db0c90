"""The commands on a classifier of docs/walkthrough_models.md run as they stand there, with a smaller encoder and fewer
texts: flips are more than in the control, an eraser lowers them, and the debiased copy has the scores of the run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.results.scores import read_scores
from tests.real.files import DATA, SPLADE, needs
from tests.workflow.conftest import ROOT, Project

PAGE = ROOT / "docs/walkthrough_models.md"
KEYS = ["metric", "dataset", "head", "part", "variant"]
pytestmark = needs(SPLADE)


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> Path:
    """The folder of a project in which a reader has followed the page's part on a classifier."""
    folder = Project(tmp_path_factory.mktemp("walk") / "biasflow").folder
    (folder / "minilm").symlink_to(SPLADE)
    bios = pd.read_json(DATA / "bios/bios_sample.jsonl", lines=True)
    bios = bios.rename(columns={"hard_text": "text", "profession": "label"})[["text", "label", "gender"]]
    bios = bios[bios["label"].isin(["accountant", "nurse", "surgeon"])].drop_duplicates("text")
    bios = bios.sample(frac=1, random_state=0)
    bios[:1200].to_csv(folder / "train.csv", index=False)
    bios[1200:1600].to_csv(folder / "test.csv", index=False)
    (part,) = re.findall(r"^## A classifier\n(.*?)^## ", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
    for kind, text in re.findall(r"^```(\w*)\n(.*?)^```", part, re.MULTILINE | re.DOTALL):
        if kind == "yaml":
            (folder / "train.yaml").write_text(text, encoding="utf-8")
            continue
        command = {"args": ["bash", "-ec", text], "cwd": folder, "env": environment}
        done = subprocess.run(**command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, text + done.stdout + done.stderr
    return folder


def scores(folder: Path, run: str, method: str) -> pd.Series:
    table = read_scores(folder / f"results/{run}/scores.csv")
    return table[(table["method"] == method) & (table["setting"] == "-")].set_index(KEYS)["value"].sort_index()


def test_an_eraser_lowers_flips_which_are_of_gender(followed):
    of_run = [scores(followed, "prof", method) for method in ("none", "leace-copies")]
    before, after = (one["flips", "copies", "own", "-"] for one in of_run)
    assert before["-"] > 0.03 > 0.02 > before["control"] and after["-"] < before["-"]


def test_the_copy_measured_again_has_the_scores_that_the_method_had(followed):
    run, again = scores(followed, "prof", "leace-copies"), scores(followed, "prof-leace", "none")
    run, again = (one[one.index.get_level_values("metric") != "decisions_kept"] for one in (run, again))
    same = run.index.intersection(again.index)
    assert {"flips", "accuracy_tested", "he_minus_she"} <= {*same.get_level_values("metric")}
    np.testing.assert_allclose(again[same], run[same], atol=1e-5)
