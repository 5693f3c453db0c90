"""Results that are damaged between two jobs, in a real run: the next job names them and writes nothing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.base.test_corruption import another_digit, cut_at_a_line, flipped
from tests.workflow.conftest import TINY, Project

RESULTS = "results/faults"
METRICS = ("strength", "occtmp", "weat", "perplexity")
SMALL = {
    "run": "faults",
    "device": "cpu",
    "encoders": {"tiny": TINY["encoders"]["tiny-bert"]},
    "fitting": {"n": 60},
    "metrics": {"strength": {"triples": 20}, "perplexity": {"max_length": 16}},
    "ask": {name: {"encoders": ["tiny"], "methods": ["none", "leace"], "metrics": [name]} for name in METRICS},
}
READOUTS, SCORES = "readouts/tiny/pretrained", "scores/tiny/pretrained"


def bit(content: bytes) -> bytes:
    return flipped(content, 0.5)


# What is damaged and how, and the result that is asked for again: rounds of jobs that do not wait for each other. What
# a round asks for is gone after it, and later ones do without.
ROUNDS: list[list[tuple[str, Callable[[bytes], bytes], str]]] = [
    [(f"{SCORES}/occtmp.csv", another_digit, "scores.csv")],
    [
        (f"{READOUTS}/strength/together/next_sentence/planted.parquet", bit, f"{SCORES}/strength.csv"),
        (f"{READOUTS}/occtmp/together/masked_words/planted.parquet", bit, f"{SCORES}/occtmp.csv"),
        (f"{READOUTS}/weat/together/vectors/planted.safetensors", bit, f"{SCORES}/weat.csv"),
        (f"{READOUTS}/perplexity/losses/planted.parquet", bit, f"{SCORES}/perplexity.csv"),
    ],
    [
        ("data/stimuli/planted.csv", cut_at_a_line, f"{READOUTS}/strength/together"),
        ("methods/tiny/pretrained/weat.safetensors", bit, f"{READOUTS}/weat/together"),
    ],
    [("encoders/tiny/model.safetensors", bit, f"{READOUTS}/weat/together")],
    [("data/texts/tiny.txt", bit, "encoders/tiny")],
]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Project:
    project = Project(tmp_path_factory.mktemp("faults") / "biasflow")
    project.configure(SMALL)
    done = project.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def contents(folder: Path) -> dict[str, bytes]:
    names = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".log", ".tsv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def test_damaged_results_are_named_by_the_job_that_reads_them(run, capsys):
    folder, trials, failures = run.folder / RESULTS, 0, []
    whole = contents(folder)
    for damages in ROUNDS:
        for file, damage, _ in damages:
            times = (folder / file).stat()
            (folder / file).write_bytes(damage(whole[file]))
            os.utime(folder / file, ns=(times.st_atime_ns, times.st_mtime_ns))
        done = run.snakemake("--force", *(f"{RESULTS}/{asked}" for *_, asked in damages))
        said = done.stdout + done.stderr
        for file, _, asked in damages:
            trials += 1
            if done.returncode == 0 or f"{RESULTS}/{file} is not as its job wrote it" not in said:
                failures.append((file, asked, said))
            (folder / file).write_bytes(whole[file])
        assert [name for name, content in contents(folder).items() if whole[name] != content] == []
        assert not any((folder / asked).exists() for *_, asked in damages)  # nothing was made of what was damaged
    with capsys.disabled():
        print(f"\ndamaged results in a run: {trials} trials, {len(failures)} failures")
    assert trials == 9 and failures == []
