"""A run as an RO-Crate and packed: what its records tell, what is loud, and what its profiles ask for."""

import json
import os
import time
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from rocrate.rocrate import ROCrate

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256
from biasflow.base.provenance import write_provenance
from biasflow.base.records import checked, record_file
from biasflow.results.crate import write_crate
from biasflow.results.jobs import METADATA
from biasflow.results.pack import pack

RUN = "results/own"
WORDS, BIOS, READ = "results/corpora/words", f"{RUN}/data/bios.csv", f"{RUN}/readouts/vectors"
SCORES, REASONS = f"{RUN}/scores/own model.csv", f"{RUN}/scores/own model.reasons.csv"
ORIGIN = {"upstream": "https://example.org/words", "licence": "CC0-1.0"}


def job(rule, inputs, outputs, **facts):
    """A job that writes its own name into its outputs, and the record of it."""
    started = time.time()
    read = checked(inputs)
    for output in map(Path, outputs):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(f"{rule} of {output}")
    record(rule, read, outputs, started, **facts)


def record(rule, read, outputs, started, **facts):
    about = {"params": {"code": f"{rule}-code"}, "config": {"run": "own"}, "facts": {"threads": 1, **facts}}
    write_provenance(outputs, rule=rule, inputs=read, started=started, **about)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The folder of a run of four jobs: a download, data, a readout (a folder of two files), and scores (two files)."""
    monkeypatch.chdir(tmp_path)
    Path("names.csv").write_text("she\n")
    job("download", [], [WORDS], origin=ORIGIN)
    job("data", [WORDS, "names.csv"], [BIOS], seed=3)
    Path(READ).mkdir(parents=True)
    for name in ("a.parquet", "b.parquet"):
        Path(READ, name).write_text(name)
    record("read", checked([BIOS]), [READ], time.time(), device="cpu")
    Path(READ, ".snakemake_timestamp").touch()
    job("score", [READ], [SCORES, REASONS])
    Path(RUN, "logs").mkdir()
    Path(RUN, "logs/score.log").touch()
    return Path(RUN)


def entities(folder=RUN):
    """@id -> entity of the crate that was written."""
    graph = json.loads(Path(folder, METADATA).read_text())["@graph"]
    assert len({entity["@id"] for entity in graph}) == len(graph)
    return {entity["@id"]: entity for entity in graph}


def named(found, references):
    """The names of what is referred to, by one reference or a list of them."""
    references = references if isinstance(references, list) else [references]
    return sorted(found[reference["@id"]]["name"] for reference in references)


def actions(found):
    """Rule -> the action of its job."""
    return {e["name"].partition(":")[0]: e for e in found.values() if e["@id"].startswith("#job/")}


def test_the_crate_tells_who_made_what_of_what(run):
    assert "4 jobs" in write_crate(RUN)[0]
    found = entities()
    by_rule = actions(found)
    assert list(by_rule) == ["download", "data", "read", "score"]
    assert named(found, by_rule["data"]["object"]) == ["names.csv", WORDS]
    assert named(found, by_rule["read"]["object"]) == named(found, by_rule["data"]["result"]) == [BIOS]
    assert named(found, by_rule["score"]["result"]) == [SCORES, REASONS]
    assert "object" not in by_rule["download"]
    times = [datetime.fromisoformat(by_rule[rule]["startTime"]) for rule in ("download", "data", "read", "score")]
    assert times == sorted(times)
    assert all(action["startTime"] <= action["endTime"] for action in by_rule.values())
    assert "seed 3" in by_rule["data"]["description"] and "device cpu" in by_rule["read"]["description"]
    assert found["scores/own%20model.csv"]["sha256"] == sha256(SCORES)
    tool = found[by_rule["score"]["instrument"]["@id"]]
    assert (tool["name"], tool["softwareVersion"]) == ("score", "score-code")
    whole = found["#run"]
    assert named(found, whole["object"]) == ["names.csv"]
    assert named(found, whole["result"]) == [SCORES, REASONS]
    assert found[found["./"]["mainEntity"]["@id"]]["@id"] == "workflow/Snakefile"
    started = [e for e in found.values() if e["@type"] == "ControlAction"]
    assert len(started) == 4


# Kind of entity -> its properties beside @id and @type, with which roc-validator 0.13 finds a Provenance Run Crate.
PROPERTIES = {
    "Dataset": "conformsTo datePublished description hasPart license mainEntity mentions name",
    "CreativeWork": "about conformsTo description name version",
    "File SoftwareSourceCode ComputationalWorkflow HowTo": "hasPart name programmingLanguage step version",
    "ComputerLanguage": "identifier name url",
    "SoftwareApplication": "name softwareVersion",
    "HowToStep": "name workExample",
    "File": "encodingFormat isBasedOn license name sha256",
    "CreateAction": "description endTime instrument name object result startTime subjectOf",
    "ControlAction": "instrument object",
    "OrganizeAction": "endTime instrument name object result startTime",
}


def test_the_crate_has_what_its_profiles_ask_for(run):
    write_crate(RUN)
    properties = {}
    for entity in entities().values():
        kind = entity["@type"] if isinstance(entity["@type"], str) else " ".join(entity["@type"])
        properties.setdefault(kind, set()).update(set(entity) - {"@id", "@type"})
    assert {kind: " ".join(sorted(names)) for kind, names in properties.items()} == PROPERTIES
    profiles = {item.id.rpartition("/")[0].rpartition("/")[2] for item in ROCrate(RUN).root_dataset["conformsTo"]}
    assert profiles == {"process", "workflow", "provenance", "workflow-ro-crate"}
    assert "instrument" in entities()["#run"]


def delete(path):
    Path(path).unlink()


def lose_record(path):
    record_file(path).unlink()


@pytest.mark.parametrize("again", [False, True])
def test_what_was_read_and_is_there_no_more_is_told(run, again):
    before = sha256(BIOS)
    delete(BIOS)
    lose_record(BIOS)
    if again:
        job("data again", [WORDS], [BIOS])
    assert f"1 files were deleted or made again after a job had read them, such as {BIOS}" in write_crate(RUN)[1]
    found = entities()
    (read,) = (entity for entity in found.values() if entity.get("sha256") == before)
    assert read["@id"].startswith("ni:///sha-256;") and read["name"] == BIOS
    assert ("data/bios.csv" in found) == again


@pytest.fixture
def run_pack(tmp_path):
    """The folder of a run with a page, two tables, a figure, and what is not packed."""
    folder = tmp_path / "results/demo"
    files = {"index.html": "<p>page", "scores.csv": "value\n1\n", "summary.txt": "ok"}
    files |= {"tables/a.html": "<p>table", "tables/a b.csv": "1"}
    files |= {"figures/f.svg": "<svg/>", "run.json": "{}", "encoders/bert/model.safetensors": "w", "logs/x.html": "no"}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_it_holds_page_tables_figures_and_csv_in_a_folder_of_the_runs_name(run_pack, tmp_path):
    names = pack(run_pack, tmp_path / "demo.zip")
    assert names == ["figures/f.svg", "index.html", "scores.csv", "summary.txt", "tables/a b.csv", "tables/a.html"]
    with zipfile.ZipFile(tmp_path / "demo.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"demo/{name}" for name in names]
        assert archive.read("demo/scores.csv") == b"value\n1\n"


def test_the_same_files_are_the_same_bytes_whatever_their_age(run_pack, tmp_path):
    pack(run_pack, tmp_path / "a.zip")
    for path in run_pack.rglob("*"):
        os.utime(path, (1, 1))
    (run_pack / "scores.csv").chmod(0o600)
    pack(run_pack, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_run_that_has_not_ended_is_named(run_pack, tmp_path):
    (run_pack / "index.html").unlink()
    with pytest.raises(BiasflowError, match=r"there is no .*index\.html yet; let snakemake end the run"):
        pack(run_pack, tmp_path / "demo.zip")
