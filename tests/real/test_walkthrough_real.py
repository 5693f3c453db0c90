"""The commands of docs/walkthrough.md run as they stand there, and give its numbers of WEAT and SEAT."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.real.files import DATA, SPLADE, needs
from tests.workflow.conftest import ROOT, Project

PAGE = ROOT / "docs/walkthrough.md"
pytestmark = needs(SPLADE)


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> Path:
    """The folder of a project in which a reader has followed the page, but for the download."""
    folder = Project(tmp_path_factory.mktemp("walk") / "biasflow").folder
    (folder / "cognition").mkdir()
    (folder / "cognition/model").symlink_to(SPLADE)
    # As the command writes it, sampled; WEAT and SEAT are not.
    measured = f"run: mine\nencoder: cognition/model\nlimit: 50\nmirror: {DATA}\n"
    (folder / "mine.yaml").write_text(measured, encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["", "", "", "yaml", ""]
    for kind, text in blocks[1:]:
        if kind == "yaml":
            with open(folder / "mine.yaml", "a", encoding="utf-8") as file:
                file.write(text)
            continue
        command = ["bash", "-c", text]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, text + done.stdout + done.stderr
    return folder


def test_the_commands_make_the_page_with_the_added_method(followed):
    page = (followed / "results/mine/index.html").read_text(encoding="utf-8")
    assert "leace-all-random-matched" in page and "next-sentence head" in page


def test_the_numbers_of_tests_that_are_not_sampled_are_those_of_the_run(followed):
    matrix = pd.read_csv(followed / "results/mine/matrix.csv").set_index(["dataset", "method"])
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
