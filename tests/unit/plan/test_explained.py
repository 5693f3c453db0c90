"""What a cell or a file of a run stands for, by the plan alone."""

from pathlib import Path

import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.plan.explained import explained
from biasflow.plan.prepared import Prepared, prepared
from tests.unit.plan.configs import ROOT, folder_of


@pytest.fixture(autouse=True)
def where_nothing_was_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def demo(where_nothing_was_run) -> Prepared:
    return prepared(yaml.safe_load((ROOT / "config/config.yaml").read_text()))


@pytest.fixture
def masked(tmp_path) -> Prepared:
    """Of an encoder without a next-sentence head."""
    config = yaml.safe_load((ROOT / "config/mine.yaml").read_text())
    return prepared(config | {"encoder": folder_of(tmp_path / "bert", "masked_lm")})


def test_a_cell_has_the_jobs_that_make_it_in_their_order(demo):
    lines = list(explained(demo, ["planted-bert", "pretrained", "strength", "dawkins2024"]))
    assert lines[0] == "1 cell of the plan, of which 1 run"
    assert lines[1].startswith("  dawkins2024-inside: planted-bert, dawkins2024, strength on planted: run")
    rules = [line.partition(":")[0] for line in lines[2:] if not line.startswith(" ")]
    assert rules == ["fit_methods", "read_together", "score"]
    assert all(line.endswith("(is not there yet)") for line in lines[2:] if not line.startswith(" "))
    assert "  waits for results/demo/data/stimuli/planted.csv" in lines


def test_a_file_has_its_cells_and_jobs(masked, demo):
    lines = list(explained(masked, ["results/mine/readouts/mine/pretrained/inside/together/vectors/C6.safetensors"]))
    assert lines[0] == "120 cells of the plan, of which 114 run"
    rules = [line.partition(":")[0] for line in lines if line.endswith("(is not there yet)")]
    assert rules == ["fit_methods", "read_together"]
    table = list(explained(demo, ["results/demo/tables/dawkins2024_table1.csv"]))
    assert any(line.startswith("paper_dawkins2024: results/demo/tables/dawkins2024_table1.csv") for line in table)


@pytest.mark.parametrize(
    ("file", "rule"),
    [
        ("index.html", "matrix: results/mine/index.html"),
        ("matrix.csv", "matrix: results/mine/matrix.csv"),
        ("tables/matrix.html", "matrix: results/mine/tables/matrix.html"),
        ("tables/power.csv", "matrix: results/mine/tables/power.csv"),
        ("plan.csv", "plan: results/mine/plan.csv"),
        ("names.csv", "plan: results/mine/names.csv"),
        ("encoders.csv", "describe: results/mine/encoders.csv"),
        ("reasons.csv", "scores: results/mine/reasons.csv"),
        ("scores.csv", "scores: results/mine/scores.csv"),
    ],
)
def test_the_files_that_a_user_opens_have_their_jobs(masked, file, rule):
    lines = list(explained(masked, [f"results/mine/{file}"]))
    made = [line for line in lines if line.endswith("(is not there yet)")]
    assert made[-1] == f"{rule} (is not there yet)"
    for path in (file, str(Path(f"results/mine/{file}").absolute())):  # what comes after results/<run>/ is enough
        assert list(explained(masked, [path])) == lines
    if file == "index.html":
        assert {line.partition(":")[0] for line in made} >= {"fit_methods", "score", "scores", "plan", "describe"}
    cells = len(masked.plan.cells) if rule.startswith(("matrix", "scores")) else 0
    assert lines[0].startswith(f"{cells} cells" if cells else rule)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["wheat"], "'wheat'; did you mean 'weat'"),
        (["quux"], r"'quux'; there are: (\S+, ){9}\S+ and \d+ more$"),
        (["no.csv"], r"no job .* makes results/demo/no\.csv"),
        (["nli", "strength"], "nli and strength at once"),
        (["results/demo/tables/dawkins2024_tabel1.csv"], r"did you mean results/demo/tables/dawkins2024_table1\.csv"),
        (["/no/where/results/demo/scores.csv"], "not of the run 'demo'"),
        (["results/demo/nothing"], "`snakemake -n results/demo/nothing` knows"),
    ],
)
def test_what_the_plan_lacks_is_one_line(demo, words, why):
    with pytest.raises(BiasflowError, match=why):
        list(explained(demo, words))
