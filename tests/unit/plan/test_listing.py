"""The plan and its names as tables that readers open beside the scores; what a cell or a file stands for."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import read_catalogue
from biasflow.encoders.described import Description
from biasflow.matrix import NOT_RUN
from biasflow.plan.cells import plan
from biasflow.plan.compiled import Prepared, prepared
from biasflow.plan.configuration import resolve
from biasflow.plan.explained import explained
from biasflow.plan.listing import NAMES, cells_table, dropped, names_table, not_applied, not_measured
from biasflow.plan.setup import Facts, Setup
from tests.unit.plan.configs import (
    BERT,
    ROOT,
    RUNS,
    SCHEMA,
    changed,
    facts_of,
    folder_of,
    of_file,
    plan_of,
    planned,
    setup_of,
)

MANY = changed(
    ("encoders.more", {"source": "continued", "from": "own"}),
    ("methods.sent-0", {"grid": "dawkins2024", "settings": ["sent 0"]}),
    ("methods.plain", [{"eraser": "densray", "places": "all", "options": {"normalize": False, "components": 1}}]),
    ("methods.two", [{"eraser": "hard", "places": "all"}, {"eraser": "leace", "places": "last"}]),
    ("ask.nli", {"encoders": ["own"], "task": "nli", "strategies": ["plain", "with-sent-0"], "metrics": ["accuracy"]}),
    ("ask.seat", {"encoders": ["own"], "metrics": ["seat"]}),
    (
        "ask.words",
        {
            "encoders": ["own", "real"],
            "methods": ["two", "two-pretrained", "two-random0", "two-random-matched0", "plain"],
            "metrics": ["weat"],
        },
    ),
    ("ask.grid", {"encoders": ["own"], "methods": ["dawkins2024"], "metrics": ["strength"]}),
)


def test_a_cell_says_which_model_and_why_it_is_not_run():
    table = cells_table(planned(MANY))
    keys = ["encoder", "task", "strategy", "seed", "training", "method", "metric"]
    rows = {tuple(row[keys]): row for _, row in table.iterrows()}
    trained = rows["own", "nli", "with-sent-0", "0", "nli/with-sent-0/seed0", "sent-0", "accuracy"]
    assert (trained["block"], trained["dataset"], trained["status"], trained["reason"]) == ("nli", "test", "run", "")
    refused = rows["own", "-", "-", "-", "pretrained", "none", "seat"]
    assert (refused["status"], refused["dataset"]) == (NOT_RUN, "-") and "metrics.seat" in refused["reason"]


def attributes(config: dict, facts: Facts | None = None) -> dict[tuple[str, str], dict[str, str]]:
    """(kind, name) -> what names.csv says of it."""
    resolved = resolve(config, SCHEMA)
    facts = facts or facts_of(resolved)
    table = names_table(Setup(resolved, facts), plan(Setup(resolved, facts)))
    assert list(table) == NAMES and not table.duplicated(["kind", "name", "attribute"]).any()
    groups = table.groupby(["kind", "name"])
    return {key: dict(zip(rows["attribute"], rows["value"], strict=True)) for key, rows in groups}


def test_names_have_the_attributes_of_the_configuration():
    found = attributes(MANY)
    assert found["encoder", "own"]["bias"] == "1.0" and found["encoder", "own"]["corpus"] == "planted"
    assert found["encoder", "more"]["parent"] == "own" and "from" not in found["encoder", "more"]
    assert found["encoder", "more"]["layers"] == found["encoder", "own"]["layers"] == "4"
    assert found["task", "bios"]["finetuning.max_length"] == "128"
    assert found["method", "two"] == {"eraser": "hard leace", "places": "all last", "fitted_on": "model"}
    assert found["method", "plain"]["options"] == "normalize=false"  # one component is the default
    assert found["method", "two-pretrained"]["fitted_on"] == "pretrained"
    assert found["method", "two-pretrained"]["base"] == found["method", "two-random0"]["base"] == "two"
    assert found["method", "two-random0"]["options"] == "control=0"
    assert found["method", "two-random-matched0"]["options"] == "control=0 matched=true"
    assert found["method", "sent-0"]["setting"] == "sent 0" and "setting" not in found["method", "dawkins2024"]
    assert found["method", "dawkins2024"]["sequential"] == "False"
    assert ("method", "leace") not in found  # it is not in the plan


def test_what_is_not_applied_is_named_and_nothing_in_it_reaches_a_terminal():
    folder = Path("models/mine\x1b[31m")
    described = Description(BERT, folder=folder, not_applied=("the adapter of a\x1b]0;b\nc",))
    found = attributes(MANY, Facts({"real": described}))["encoder", "real"]
    assert found["path"] == r"models/mine\x1b[31m" and found["not_applied"] == r"the adapter of a\x1b]0;b\nc"
    setup = Setup(resolve(MANY, SCHEMA), Facts({"real": described}))
    (line,) = not_applied(setup)
    assert line.startswith("encoders.real: not applied: the adapter")


@pytest.mark.parametrize("name", RUNS)
def test_every_name_of_the_plan_is_explained(name):
    found = plan_of(name)
    names, table = names_table(setup_of(of_file(name)), found), cells_table(found)
    for kind in ("encoder", "task", "method"):
        used = set(table[kind]) - {"-", "none"}
        assert used <= set(names.loc[names["kind"] == kind, "name"]), kind
    assert (names["value"] != "").all()


def test_what_cannot_be_measured_is_one_line_with_a_number_the_reasons_and_the_file():
    found = planned(MANY)
    line, cells = not_measured(found, "results/x/plan.csv"), [cell for cell in found.cells if cell.reason]
    assert line.startswith(f"{len(cells)} of {len(found.cells)} cells cannot be measured: ") and "\n" not in line
    commonest = max({cell.reason for cell in cells}, key=[cell.reason for cell in cells].count)
    assert f": {commonest} (" in line and line.endswith("results/x/plan.csv")
    of_paper = not_measured(of_papers := planned(of_file("paper")), "x", ["paper_dawkins2024", "score"])
    own = [cell for cell in of_papers.cells if cell.block.startswith("dawkins2024")]
    assert of_paper.startswith(f"{sum(bool(cell.reason) for cell in own)} of {len(own)} cells of the paper cannot")
    assert not_measured(of_papers, "x", ["paper_dawkins2024", "matrix"]) == not_measured(of_papers, "x")
    assert not_measured(replace(found, cells=tuple(cell for cell in found.cells if not cell.reason)), "x") == ""


def test_professions_that_will_be_dropped_are_said_before_the_first_job_where_the_file_lies_there():
    counts = {"nurse": "FFFMMM", "surgeon": "FFMMMM", "dj": "MM", "poet": "FMMM"}
    rows = [f"{name},{gender},{name} {number}" for name, of in counts.items() for number, gender in enumerate(of)]
    Path("bios.csv").write_text("\n".join(["profession,gender,text", *rows]))

    def said(**keys):
        data = {"files": ["bios.csv"], "least": 2, "small": "drop"} | keys
        block = {"encoders": ["own"], "task": "bios", "metrics": ["fairness"]}
        config = resolve(changed(("tasks.bios.data", data), ("ask.bios", block)), SCHEMA)
        return dropped(setup_of(config), planned(config), read_catalogue())

    which = "2 of 4 professions dropped (fewer than 2 of a gender): dj (0 women, 2 men), poet (1 women, 3 men)"
    read = "18 rows, 2 professions, 6 F, 12 M; each seed draws train, validation and test"
    assert said() == [f"tasks.bios: {read}; {which}"]
    assert said(files=["bias-in-bios-dev"]) == []  # to be downloaded, and its job says it
    with pytest.raises(BiasflowError, match="0 of 4"):
        said(least=5)
    Path("results/test/data/bios").mkdir(parents=True)
    Path("results/test/data/bios/professions.csv").touch()
    assert said() == []  # an earlier run said it


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
    assert lines[0] == "105 cells of the plan, of which 95 run"
    rules = [line.partition(":")[0] for line in lines if line.endswith("(is not there yet)")]
    assert rules == ["fit_methods", "read_together"]
    table = list(explained(demo, ["results/demo/tables/dawkins2024_table1.csv"]))
    assert any(line.startswith("paper_dawkins2024: results/demo/tables/dawkins2024_table1.csv") for line in table)


@pytest.mark.parametrize(
    ("file", "rule"),
    [
        ("index.html", "matrix: results/mine/index.html"),
        ("tables/matrix.html", "matrix: results/mine/tables/matrix.html"),
        ("plan.csv", "plan: results/mine/plan.csv"),
        ("encoders.csv", "describe: results/mine/encoders.csv"),
        ("reasons.csv", "scores: results/mine/reasons.csv"),
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
        (["WEAT"], "'WEAT'; did you mean 'weat'"),
        (["demo"], r"'demo'; it is the run itself; name a file \(results/demo/scores\.csv\)"),
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
