"""What `biasflow check` and the start say of a run's records; tests/workflow/test_exchanges.py tries them on a run."""

import re
import shutil
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256
from biasflow.base.planned import Planned, check_finished, plain
from biasflow.base.provenance import start_facts, write_provenance
from biasflow.base.records import checked, read_record, record_file, record_files, start_of
from biasflow.cli import app
from tests.unit.base.test_corruption import another_digit

RUN = "results/own"
MODELS = f"{RUN}/models/bert/bios"
PLAIN, SCRUBBING = f"{MODELS}/plain/seed0", f"{MODELS}/scrubbing/seed0"
READOUT, SCORES, MATRIX = f"{RUN}/readouts/bert/together", f"{RUN}/scores/bert.csv", f"{RUN}/matrix.csv"
WORDS = "mine/words.txt"
CONFIG = {"run": "own", "methods": {f"method{i}": [{"eraser": "densray"}] for i in range(1000)}}
FACTS = start_facts(CONFIG)


def make(rule: str, output: str, *inputs: str, **params: object) -> None:
    """A result as its job would write it."""
    names = {"read": "planted.parquet", "finetune": "model.safetensors"}
    path = Path(output, *([names[rule]] if rule in names else []))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{output} by {params}")
    if rule == "finetune":
        Path(output, "config.json").write_text("{}")
    about = {"config": CONFIG, "started": time.time(), "params": params}
    write_provenance([output], rule=rule, inputs=checked(inputs), **about)


def strategy(model: str) -> dict[str, object]:
    return {"code": "c0de", "training": {"strategy": Path(model).parts[-2], "recipe": {"learning_rate": 1e-3}}}


JOBS = {  # result -> rule, inputs, parameters
    PLAIN: ("finetune", [WORDS], strategy(PLAIN)),
    SCRUBBING: ("finetune", [WORDS], strategy(SCRUBBING)),
    READOUT: ("read", [PLAIN, SCRUBBING], {"readout": [{"methods": ("none", "leace")}]}),
    SCORES: ("score", [READOUT], {}),
    MATRIX: ("matrix", [SCORES], {}),
}


def jobs() -> dict[str, Planned]:
    return {path: Planned(rule, plain(params), tuple(read), due=False) for path, (rule, read, params) in JOBS.items()}


def start() -> None:
    check_finished(jobs(), lambda file: None if file.startswith(RUN) else sha256(file))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path(WORDS).write_text("he she")
    for path, (rule, inputs, params) in JOBS.items():
        make(rule, path, *inputs, **params)


def said(code: int) -> list[str]:
    result = CliRunner().invoke(app, ["check", "own"])
    assert result.exit_code == code, result.output
    return result.output.splitlines()


def test_a_run_that_is_as_it_was_made(run):
    (line,) = said(0)
    assert line.startswith("results/own: 5 results in 7 files compared") and line.endswith("all as recorded")
    start()
    assert CliRunner().invoke(app, ["check", f"{RUN}/"]).exit_code == 0


def test_a_run_that_is_at_work_is_told(run):
    with FileLock(f"{RUN}/.lock"):
        assert "a run is at work" in str(CliRunner().invoke(app, ["check", "own"]).exception)
    assert len(said(0)) == 1  # the file of the lock is no result


@pytest.mark.parametrize("result", [MATRIX, PLAIN])
def test_a_damaged_record_is_one_fault_and_files_of_its_result_are_not_told_apart(run, result):
    record_file(result).write_text("null")
    fault, summary = said(1)
    assert "does not say what" in fault and "1 fault, listed above" in summary


@pytest.mark.parametrize("path", [MATRIX, f"{READOUT}/planted.parquet"])
def test_an_edited_result_behind_finished_tables_is_named_alone(run, path):
    Path(path).write_text("0.99")
    line, *more = said(1)
    assert line.startswith(f"{path} is not as its job wrote it ") and len(more) == 1


def file_for_folder() -> None:
    """A file in place of a readout's folder."""
    shutil.rmtree(READOUT)
    Path(READOUT).write_text("")


def damaged_parts(text: str) -> None:
    """What records share."""
    for file in Path(RUN, "provenance/shared").glob("*.json"):
        file.write_text(text)


def edited_start() -> None:
    """What says with what configuration all results were made."""
    file = Path(RUN, "provenance/shared", f"{read_record(SCORES)['start']}.json")
    file.write_text(file.read_text().replace("densray", "leace", 1))


RECORD = record_file(MATRIX)
# What is done -> what `check` says, as a pattern, and whether the start says so, too.
DAMAGE = {
    "a file that is added to a model": (lambda: Path(PLAIN, "map.json").write_text("{}"), "map.json is not of", True),
    "a file that a model lacks": (lambda: Path(PLAIN, "config.json").unlink(), "config.json is gone", True),
    "a file in place of a folder": (file_for_folder, READOUT, True),
    "a file that no job made": (lambda: Path(RUN, "mine.csv").write_text(""), "mine.csv has no record", False),
    "no record": (RECORD.unlink, f"{MATRIX} has no record", True),
    "an edited record": (lambda: RECORD.write_bytes(another_digit(RECORD.read_bytes())), RECORD.name, True),
    "a cut record": (lambda: RECORD.write_text(RECORD.read_text()[:50]), f"{RECORD.name} does not say", True),
    "a record that is null": (lambda: RECORD.write_text("null"), f"{RECORD.name} does not say", True),
    "a record of brackets": (lambda: RECORD.write_text("[" * 100_000), f"{RECORD.name} does not say", True),
    "a record of something else": (lambda: RECORD.write_text('{"x": 3}'), f"{RECORD.name} does not say", True),
    "parts of records that are none": (lambda: damaged_parts("[" * 100_000), "shared/.*bring it back", False),
    "the record of another result": (
        lambda: shutil.copy(record_file(PLAIN), record_file(SCRUBBING)), f"record of {PLAIN}, not of {SCRUBBING}", True,
    ),
    "how all were made": (lambda: shutil.rmtree(Path(RUN, "provenance/shared")), "shared/.*bring it back", False),
    "an edited configuration": (edited_start, "shared/.*bring it back", False),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_told_by_the_check_and_the_start(run, what):
    change, told, at_the_start = DAMAGE[what]
    change()
    assert any(re.search(told, line) for line in said(1))
    with pytest.raises(BiasflowError, match=told) if at_the_start else nullcontext():
        start()


def test_what_was_made_of_another_content_than_lies_there_is_named(run):
    Path(WORDS).write_text("he she they")
    make("read", READOUT, PLAIN, SCRUBBING, readout=[{"methods": ["none", "leace"]}], again=True)
    lines = said(1)
    assert any(line.startswith(f"{PLAIN} was made of another content of {WORDS}") for line in lines)
    assert any(line.startswith(f"{SCORES} was made of another content of {READOUT}/planted.parquet") for line in lines)
    with pytest.raises(BiasflowError, match=rf"^{PLAIN} was made of another content of {WORDS}.* 3 more"):
        start()


@pytest.mark.parametrize("planned_inputs", [(PLAIN,), (PLAIN, SCRUBBING, WORDS)])
def test_what_was_made_of_other_files_than_planned_is_named_by_the_start(run, planned_inputs):
    now = jobs() | {READOUT: jobs()[READOUT]._replace(inputs=planned_inputs)}
    with pytest.raises(BiasflowError, match=rf"{READOUT} was (not )?made of ({SCRUBBING}|{WORDS})"):
        check_finished(now, lambda file: None)


def test_results_of_other_code_that_snakemake_does_not_know_are_made_again_by_one_option(run):
    edited = {
        path: job._replace(params=job.params | {"code": "0ther"} if path != MATRIX else job.params)
        for path, job in jobs().items()
    }
    with pytest.raises(
        BiasflowError, match=rf"^{PLAIN} was made by other code .*\(and 3 more\).* --forcerun (.*)$"
    ) as told:
        check_finished(edited, lambda file: None)
    assert str(told.value).endswith(" --forcerun finetune read score")
    edited[SCRUBBING] = edited[SCRUBBING]._replace(params=jobs()[SCRUBBING].params | {"training": {}})
    del edited[PLAIN]
    with pytest.raises(BiasflowError, match=rf"^{SCRUBBING} was made with training.recipe.*; delete it and run again"):
        check_finished(edited, lambda file: None)


def test_deleted_results_and_inputs_are_counted(run):
    shutil.rmtree(READOUT)
    Path(WORDS).unlink()
    (line,) = said(0)
    assert "1 results were deleted since; 2 inputs are there no more" in line
    Path(PLAIN, "model.safetensors").unlink()
    assert any(line.startswith(f"{PLAIN}/model.safetensors is gone") for line in said(1))


def test_what_jobs_share_is_written_once(run):
    """Each job has a configuration of 40 KB here; many inputs or facts make no record longer than others."""
    texts = [f"mine/{i}.txt" for i in range(200)]
    for path in texts:
        Path(path).write_text(path)
    long = {"methods": {str(i): "densray" for i in range(100)}}
    for output in (MATRIX, f"{RUN}/tables/one.csv"):
        make("matrix", output, *texts, **long)
    facts = {f"dataset{i}": {"edits": [{"change": j} for j in range(50)]} for i in range(40)}
    write_provenance([SCORES], rule="read", inputs={}, config=CONFIG, params={}, started=time.time(), facts=facts)
    assert read_record(SCORES).items() >= facts.items()
    assert max(path.stat().st_size for path in record_files(RUN)) < 3000
    assert len(list(Path(RUN, "provenance/shared").iterdir())) == 3  # of all jobs, of both tables, of the facts
    record = read_record(MATRIX)
    assert set(record["inputs"]) == set(texts) and record["params"] == long
    assert start_of(record) == FACTS


def test_shared_parameters_that_were_edited_or_lost_are_named_and_written_anew(run):
    long = {"methods": {str(i): "densray" for i in range(100)}}
    make("matrix", MATRIX, SCORES, **long)
    (shared,) = (file for file in Path(RUN, "provenance/shared").iterdir() if file.stem != read_record(MATRIX)["start"])
    whole = shared.read_text()
    shared.write_text(whole.replace("densray", "leace"))
    with pytest.raises(BiasflowError, match=rf"{shared.name} is not as a job wrote it; delete {MATRIX} and run again"):
        read_record(MATRIX)
    for damage in (shared.unlink, lambda: shared.write_text(whole[:50]), lambda: shared.write_bytes(b"\xff")):
        damage()
        assert any(f"{shared.name} is not as a job wrote it; delete {MATRIX}" in line for line in said(1))
        make("matrix", MATRIX, SCORES, **long)
        assert shared.read_text() == whole


def test_a_job_with_other_versions_than_its_run_began_with_says_so_itself(run):
    """On a node of a cluster, or after an edit while the run went on."""
    config = CONFIG | {"run": "own", "device": "cuda"}
    write_provenance([MATRIX], rule="matrix", inputs={}, params={}, config=config, started=time.time())
    assert start_of(read_record(MATRIX))["config"]["device"] == "cuda"
    assert start_of(read_record(SCORES)) == FACTS
    assert start_of(read_record(SCORES) | {"start": f"{RUN}/provenance/run.json#0123"}) == {}  # an earlier version's
