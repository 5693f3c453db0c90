"""Measures of others are run on the encoders of a study: a coin, a constant, and wrong ones."""

import pytest

from biasflow.base.tabular import read_text_csv
from tests.workflow.conftest import ROOT, TINY

COMMAND = "{python} {script} {encoder} {output}"
SIZES = ("documents", "vocab_size", "layers", "hidden", "heads", "intermediate", "steps", "batch_size")
CONFIG = {
    "run": "given",
    "device": "cpu",
    "given": {
        "coin": {"command": COMMAND, "script": "a coin.py"},
        "constant": {"command": '{python} -c \'open("{output}", "w").write("0.5")\' {encoder}', "direction": "down"},
    },
    "papers": {
        "planted": {
            "encoder": {"corpus": "planted", **{key: TINY["encoders"]["tiny-bert"][key] for key in SIZES}},
            "bias": [0.0, 1.0],
            "seeds": [0],
        }
    },
}
ENCODERS = ("planted-bias0-seed0", "planted-bias1-seed0")


@pytest.fixture
def given(project):
    coin = (ROOT / "benchmarks/given/coin.py").read_text(encoding="utf-8")
    (project.folder / "a coin.py").write_text(coin, encoding="utf-8")
    project.configure(CONFIG)
    return project


def test_a_coin_and_a_constant_of_every_encoder(given):
    jobs = given.jobs()
    assert jobs["given_measure"] == 4 and jobs["paper_planted"] == 1
    files = [f"results/given/given/{name}/{encoder}.csv" for name in ("coin", "constant") for encoder in ENCODERS]
    done = given.snakemake(*files)
    assert done.returncode == 0, done.stderr
    coins = [read_text_csv(given.folder / file) for file in files[:2]]
    assert [len(coin) for coin in coins] == [30, 30] and not coins[0].equals(coins[1])
    assert [read_text_csv(given.folder / file).to_dict("list") for file in files[2:]] == [
        {"item": ["all"], "value": ["0.5"]},
        {"item": ["all"], "value": ["0.5"]},
    ]
    (given.folder / "a coin.py").write_text("import sys\nsys.exit('heads')\n", encoding="utf-8")
    done = given.snakemake(files[0])  # an edited script runs again
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert f"given.coin, encoder {ENCODERS[0]}: the command ended with status 1: heads" in last
