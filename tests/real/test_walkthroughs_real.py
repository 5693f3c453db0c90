"""The commands of docs/walkthrough.md, and those on a classifier of docs/walkthrough_models.md, run as they stand there
with smaller samples and a smaller encoder. The first give the page's numbers of WEAT and SEAT. In the second flips are
more than in the control, an eraser lowers them, and the debiased copy has the scores of the run."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.results.scores import read_scores
from biasflow.tasks.classification.given import is_of_tested_half
from tests.real.files import DATA, SPLADE, needs
from tests.warm import warm
from tests.workflow.conftest import ROOT, Project

PAGE, OF_MODELS = (ROOT / f"docs/{name}.md" for name in ("walkthrough", "walkthrough_models"))
KEYS = ["metric", "dataset", "head", "part", "variant"]
pytestmark = needs(SPLADE)


def follow(folder: Path, text: str, file: Path, *, kinds: list[str]) -> Path:
    """Do what the fenced blocks of a text say, but for a first one that downloads: YAML is added to a file."""
    environment = {**os.environ, "PATH": f"{warm()}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == kinds
    for kind, block in [block for block in blocks if "pip download" not in block[1]]:
        if kind == "yaml":
            with open(file, "a", encoding="utf-8") as added:
                added.write(block)
            continue
        program = ["python", "-c"] if kind == "python" else ["bash", "-ec"]
        command = {"args": [*program, block], "cwd": folder, "env": environment}
        done = subprocess.run(**command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, block + done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """The folder of a project in which a reader has followed the walk-through."""
    folder = Project(tmp_path_factory.mktemp("walk") / "biasflow").folder
    (folder / "cognition").mkdir()
    (folder / "cognition/model").symlink_to(SPLADE)
    # As the command writes it, sampled; WEAT and SEAT are not.
    file = folder / "mine.yaml"
    file.write_text(f"run: mine\nencoder: cognition/model\nlimit: 50\nmirror: {DATA}\n", encoding="utf-8")
    return follow(folder, PAGE.read_text(encoding="utf-8"), file, kinds=["", "", "", "yaml", ""])


def test_the_commands_make_the_page_with_the_added_method(measured):
    page = (measured / "results/mine/index.html").read_text(encoding="utf-8")
    assert "leace-all-random-matched" in page and "next-sentence head" in page


def test_the_numbers_of_tests_that_are_not_sampled_are_those_of_the_run(measured):
    matrix = pd.read_csv(measured / "results/mine/matrix.csv").set_index(["dataset", "method"])
    tables = re.findall(r"^\| measure .*?(?:\n\n)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    compared = 0
    for table in tables:
        header, _, *rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()
        ]
        for row in rows:
            if dataset := re.search(r"(?:WEAT|SEAT).*`(.+)`", row[0]):
                for method, cell in zip(header, row, strict=True):
                    if "[" in cell:
                        score = matrix.loc[(dataset[1], method.strip("`"))]
                        assert [float(number) for number in re.findall(r"-?[\d.]+", cell)] == pytest.approx(
                            [score["value"], score["low"], score["high"]], abs=0.02
                        )
                        compared += 1
    assert compared >= 8


@pytest.fixture(scope="module")
def debiased(tmp_path_factory) -> Path:
    """The folder of a project in which a reader has followed the part on a classifier."""
    folder = Project(tmp_path_factory.mktemp("walk") / "biasflow").folder
    (folder / "minilm").symlink_to(SPLADE)
    text = OF_MODELS.read_text(encoding="utf-8")
    (part,) = re.findall(r"^## A classifier\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    made, rest = part.split("Save this as", 1)
    (folder / "bios_sample.jsonl").symlink_to(DATA / "bios/bios_sample.jsonl")
    follow(folder, made, folder, kinds=["python"])
    tested = pd.read_csv(folder / "test.csv")
    tested = tested[tested["text"].map(is_of_tested_half)]
    nurses = tested.loc[tested["label"] == "nurse", "gender"].value_counts()
    counts = (
        f"n = {len(tested):,}",
        f"({nurses['F']} women, {nurses['M']} men)",
        f"in {tested['label'].value_counts(normalize=True).max():.3f}",
    )
    assert all(count in part for count in counts), counts
    for name, n in (("train", 1200), ("test", 400)):
        table = pd.read_csv(folder / f"{name}.csv")
        table[table["label"].isin(["accountant", "nurse", "surgeon"])][:n].to_csv(folder / f"{name}.csv", index=False)
    return follow(folder, rest, folder / "train.yaml", kinds=["yaml", "", ""])


def scores(folder: Path, run: str, method: str) -> pd.Series:
    table = read_scores(folder / f"results/{run}/scores.csv")
    return table[(table["method"] == method) & (table["setting"] == "-")].set_index(KEYS)["value"].sort_index()


def test_an_eraser_lowers_flips_which_are_of_gender(debiased):
    of_run = [scores(debiased, "prof", method) for method in ("none", "leace-copies")]
    before, after = (one["flips", "copies", "own", "-"] for one in of_run)
    assert before["-"] > 0.03 > 0.02 > before["control"] and after["-"] < before["-"]


def test_the_copy_measured_again_has_the_scores_that_the_method_had(debiased):
    run, again = scores(debiased, "prof", "leace-copies"), scores(debiased, "prof-leace", "none")
    run, again = (one[one.index.get_level_values("metric") != "decisions_kept"] for one in (run, again))
    same = run.index.intersection(again.index)
    assert {"flips", "accuracy_tested", "he_minus_she"} <= {*same.get_level_values("metric")}
    np.testing.assert_allclose(again[same], run[same], atol=1e-5)
    assert "| flips (copies) |" in (debiased / "prof-leace/README.md").read_text(encoding="utf-8")
