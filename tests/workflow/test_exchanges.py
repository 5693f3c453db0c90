"""What is exchanged, edited, added or lost in a finished run, or changed in what it is given: the next start, or
`biasflow check`, tells of each, and names the result that would have been wrong."""

import copy
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import pytest
from safetensors.numpy import load_file, save
from typer.testing import CliRunner, Result

from biasflow.base.files import sha256
from biasflow.base.records import read_record, record_file, write_record
from biasflow.cli import app
from tests.workflow.conftest import REPLACE, Project
from tests.workflow.test_documented import save_encoder

RUN = "results/own"
SEEDS = [f"{RUN}/models/own/nli/plain/seed{seed}" for seed in (0, 1)]
MODEL, TEST, WEIGHTS = SEEDS[0], "results/corpora/wikitext-2-test", "own/model.safetensors"
CONFIG = {
    "run": "own",
    "device": "cpu",
    "mirror": "mirror",
    "files": {"google-analogies": "words.txt"},
    "encoders": {"own": {"source": "local", "path": "own"}},
    "fitting": {"n": 40},
    "tasks": {
        "nli": {
            "kind": "nli",
            "planted": {"train": 120, "validation": 30, "test": 30},
            "finetuning": {"epochs": 1, "learning_rate": 1.0e-3},
        }
    },
    "metrics": {
        "occtmp": {"sets": ["planted"]},
        "weat": {"tests": ["planted"]},
        "perplexity": {"text": "wikitext-2", "mask_seeds": [0], "max_length": 16},
    },
    "ask": {
        "inside": {"encoders": ["own"], "methods": ["none", "leace"], "metrics": ["occtmp", "perplexity"]},
        "nli": {"encoders": ["own"], "task": "nli", "seeds": [0, 1], "methods": ["none"], "metrics": ["weat"]},
    },
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Project:
    """A run of an encoder of the user's, on files from a mirror, with two fine-tuned models."""
    project = with_mirror(tmp_path_factory.mktemp("exchanges") / "biasflow")
    project.succeeds(config="own.yaml")
    return project


def with_mirror(folder: Path) -> Project:
    """The project with an encoder, a mirror and a list of words, before its first run."""
    project = Project(folder)
    save_encoder(project.folder / "own")
    rows = ["path\tbytes\tsha256\tupstream\tlicence\tnote\n"]
    for part in ("train", "test"):
        article = (
            f" \n = {part} = \n \n This is a text . His mother and her father read it , and he told him of her . \n"
        )
        copied = project.folder / f"mirror/wikitext-2/wiki.{part}.tokens"
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_text(article * 60)
        digest = hashlib.sha256(copied.read_bytes()).hexdigest()
        rows.append(f"wikitext-2/{copied.name}\t{copied.stat().st_size}\t{digest}\tsomewhere\tsome\tnone\n")
    (project.folder / "mirror/MANIFEST.tsv").write_text("".join(rows))
    (project.folder / "words.txt").write_text(": family\nfather mother he she\n")
    project.configure(CONFIG, "own.yaml")
    return project


def said(done: subprocess.CompletedProcess) -> str:
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-1]


def check(project: Project, *arguments: str) -> Result:
    with chdir(project.folder):
        return CliRunner().invoke(app, ["check", *arguments])


# What is done to files; the working folder is that of the project.


def written(path: str, change: Callable[[bytes], bytes]) -> None:
    """Changed content under the old time."""
    before = Path(path).stat()
    Path(path).write_bytes(change(Path(path).read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(path: str) -> Callable[[], None]:
    return lambda: written(path, lambda content: content[: len(content) // 2])


def put(path: str, content: str = "{}") -> Callable[[], object]:
    return lambda: Path(path).write_text(content)


def remove(path: str) -> Callable[[], None]:
    return lambda: shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()


def swap(one: str | Path, other: str | Path) -> None:
    Path(one).rename("aside")
    Path(other).rename(one)
    Path("aside").rename(other)


def of_another_rate() -> None:
    """A model that was trained otherwise, with its record."""
    record = read_record(MODEL)
    training = copy.deepcopy(record["params"]["training"])
    training["options"]["recipe"]["learning_rate"] = 5.0e-3
    write_record(record | {"params": record["params"] | {"training": training}})


def other_weights() -> None:
    """Those of another encoder of the same size in place of those that were read, under their time."""
    other = {name: values * 1.25 for name, values in load_file(WEIGHTS).items()}
    written(WEIGHTS, lambda content: save(other, {"format": "pt"}))


def touch_all() -> None:
    """As `git clone` and `cp -r` leave files: newest is what comes last, and that is what was first."""
    files = sorted((path for path in Path().rglob("*") if path.is_file()), key=lambda path: -path.stat().st_mtime)
    for number, path in enumerate(files):
        os.utime(path, (10**9 + number, 10**9 + number))
    shutil.rmtree(".snakemake")


def record_of(path: str) -> str:
    return str(record_file(path))


def run_under_another_name() -> None:
    shutil.copytree(RUN, "results/copy", copy_function=shutil.copy2)


def nothing() -> None:
    pass


class Exchange(NamedTuple):
    """start, check: what the next start (a dry run) and `biasflow check` say, as patterns; "": nothing, all is well;
    None: it is not asked. config: keys of the configuration, with dots, that have other values at the start."""

    change: Callable[[], object]
    start: str | None = None
    check: str | None = None
    config: Mapping[str, object] = {}
    arguments: tuple[str, ...] = ()
    checked: tuple[str, ...] = ("own",)


RATE = {"tasks.nli.finetuning.learning_rate": 5.0e-3}
BY_TIME = ("--rerun-triggers", "mtime")
NOT_WRITTEN = r"is not as its job wrote it"
EXCHANGES = {
    "nothing": Exchange(nothing, "", ""),
    "two models": Exchange(lambda: swap(*SEEDS), check=rf"{SEEDS[0]}/\w+.* {NOT_WRITTEN}"),
    "a model that was trained otherwise": Exchange(of_another_rate, f"{MODEL} was made with .*learning_rate"),
    "an edited external file": Exchange(cut(TEST), check=f"{TEST} {NOT_WRITTEN}"),
    "a file of the mirror": Exchange(
        put("mirror/wikitext-2/wiki.test.tokens", "another copy"),
        check=f"{TEST} was copied from a mirror",
        checked=("own", "--mirror", "mirror"),
    ),
    "what was asked for": Exchange(cut(f"{RUN}/asked.json"), "asked.json.*delete it"),
    "another name": Exchange(
        run_under_another_name,
        f"is the record of {RUN}/.*more",
        f"is the record of {RUN}/",
        config={"run": "copy"},
        checked=("copy",),
    ),
    "Snakemake's records": Exchange(remove(".snakemake"), ""),
    "all times, without Snakemake's records": Exchange(touch_all, "", ""),
    "files beside an encoder's": Exchange(
        lambda: [put(f"own/{name}")() for name in ("notes.txt", "README.md", "generation_config.json")], "", ""
    ),
    "a file that a tokenizer is made of": Exchange(
        put("own/special_tokens_map.json"), r"own/special_tokens_map.json was not read before: \d+ finished"
    ),
    "the record of an external file": Exchange(remove(record_of(TEST)), f"{TEST} has no record"),
    "a record that is none": Exchange(put(record_of(MODEL), "null"), "seed0.json does not say", "does not say"),
    "another rate": Exchange(
        nothing, r"learning_rate was 0.001, is 0.005: \d+ finished.*run=.*replace=true", config=RATE
    ),
    "another rate by time": Exchange(nothing, "was made with .*learning_rate.*more", config=RATE, arguments=BY_TIME),
    "a limit by time": Exchange(
        nothing, "was made with .*which this run does not plan", config={"limit": 50}, arguments=BY_TIME
    ),
    "another encoder's weights": Exchange(
        other_weights, rf"{WEIGHTS} has another content than before: \d+ finished", f"of another content of {WEIGHTS}"
    ),
    "a list of the user's under its time": Exchange(
        lambda: written("words.txt", lambda text: text.replace(b"he she", b"hi sha")),
        r"words.txt has another content than before: \d+ finished",
        "another content of words.txt",
    ),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_what_was_exchanged_is_told(run, name):
    exchange = EXCHANGES[name]
    with chdir(run.folder):
        exchange.change()
    run.configure(with_keys(exchange.config), "own.yaml")
    if exchange.start is not None:
        before = contents(run)
        done = run.snakemake("-n", *exchange.arguments, config="own.yaml")
        assert (done.returncode != 0) == bool(exchange.start), done.stdout + done.stderr
        if exchange.start:
            assert re.search(f"^biasflow: .*{exchange.start}", said(done)), said(done)
        else:
            assert "Nothing to be done" in done.stdout + done.stderr
        assert contents(run) == before
    if exchange.check is not None:
        done = check(run, *exchange.checked)
        assert done.exit_code == bool(exchange.check) and isinstance(done.exception, SystemExit | None), done.output
        assert re.search(exchange.check or "all as recorded", done.output), done.output


def with_keys(changes: Mapping[str, object]) -> dict:
    config = copy.deepcopy(CONFIG)
    for key, value in changes.items():
        *above, last = key.split(".")
        part = config
        for name in above:
            part = part[name]
        part[last] = value
    return config


def contents(project: Project) -> dict[str, bytes]:
    files = (path for path in (project.folder / "results").rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def test_what_a_killed_run_left_of_another_content_is_made_again(run):
    """As if it had made the scores of a model again, and not yet the table of all: whatever the times say."""
    with chdir(run.folder):
        path = f"{RUN}/scores/own/pretrained/inside.csv"
        record = read_record(path)
        written(path, lambda content: content + b"\n")
        write_record(record | {"sha256": record["sha256"] | {path: sha256(path)}})
    jobs = run.jobs(config="own.yaml")
    assert {"scores", "matrix"} <= set(jobs) and not {"score", "finetune_nli", "fit_methods"} & set(jobs)


def test_external_files_that_another_run_needs_too_are_no_reason_to_wait(tmp_path, monkeypatch):
    """Neither for its end; nor is a file fetched again that it has fetched since this one began."""
    run = with_mirror(tmp_path / "biasflow")
    locks, text = run.folder / ".snakemake/locks", "results/second/data/texts/wikitext-2-test.txt"
    locks.mkdir(parents=True)
    for kind in ("input", "output"):
        (locks / f"0.{kind}.lock").write_text(f"{TEST}\nresults/corpora/google-analogies\n")
    run.configure(with_keys({"run": "second"}), "own.yaml")
    run.succeeds(text, config="own.yaml")
    fetched = (run.folder / TEST).read_bytes(), run.record(TEST)["origin"]
    monkeypatch.setenv("BIASFLOW_STARTED", "1")
    with chdir(run.folder):
        put("mirror/wikitext-2/wiki.test.tokens", "another copy")()
    run.succeeds(TEST, "--force", config="own.yaml")
    assert ((run.folder / TEST).read_bytes(), run.record(TEST)["origin"]) == fetched
    locks.mkdir(exist_ok=True)  # a run that ends removes it
    (locks / "0.output.lock").write_text(f"{text}\n")
    done = run.snakemake(text, "--force", config="own.yaml")
    assert done.returncode and "another run is at work" in said(done)


def test_a_result_that_cannot_be_read_is_named(run):
    """Root reads everything, unless it gives that right away."""
    scores = run.folder / f"{RUN}/scores/own/pretrained/inside.csv"
    (run.folder / f"{RUN}/scores.csv").unlink()
    scores.chmod(0)
    run.cold = True  # a warm process has the rights of the one from which it is forked
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] * (os.geteuid() == 0)
    command = run._command((f"{RUN}/scores.csv",), "own.yaml")
    done = subprocess.run(**command | {"args": without + command["args"]}, capture_output=True, text=True, check=False)
    assert done.returncode
    assert re.search(r"^biasflow: rule scores: .*/inside.csv: cannot be read: Perm.*rights", said(done)), said(done)


def test_what_was_touched_is_not_taken_for_what_is_planned(run):
    run.configure(with_keys(RATE), "own.yaml")
    run.succeeds("--touch", *REPLACE, config="own.yaml")
    done = run.snakemake(config="own.yaml")
    assert done.returncode != 0 and re.search("^biasflow: .* was made with .*learning_rate", said(done)), said(done)
