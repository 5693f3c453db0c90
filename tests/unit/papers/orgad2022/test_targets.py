"""All that the paper prints, made at once."""

import subprocess
import sys
from itertools import chain

import pandas as pd
import pytest

from biasflow.papers.make import make_paper
from biasflow.papers.orgad2022.targets import FIGURES, PAGES, TABLES
from biasflow.papers.paper import load
from biasflow.stimuli.ceat_sets import WORDS, ceat_tests, words_of
from tests.unit.papers.orgad2022.made_up import run, scores


@pytest.fixture
def files(tmp_path):
    top = [("all", 0, 1, "F", 1, "women"), ("nurse", 0, 1, "M", 1, "chief")]
    frames = {
        "top_words": pd.DataFrame(top, columns=["part", "seed", "iteration", "gender", "rank", "word"]).assign(
            accuracy=0.7, majority_share=0.5, converged=True
        ),
        "gender_accuracy": pd.DataFrame(
            [("raw", "all", 0, 50, 0.9, 0.5, True)],
            columns=["version", "part", "seed", "n", "accuracy", "majority_share", "converged"],
        ),
        "scrubbed_examples": pd.DataFrame(
            [("F", "nurse", "raw", "She paints."), ("F", "nurse", "pronouns", "_ paints.")],
            columns=["gender", "profession", "version", "text"],
        ),
        "professions": pd.DataFrame(
            [("nurse", 90, 10, 0.9, 0.88, True, "")],
            columns=["profession", "women", "men", "share_of_women", "labour_share", "kept", "reason"],
        ),
        "sources": pd.DataFrame({"source": ["planted, bias 1"], "biographies": [100]}),
        "ceat_counts": pd.DataFrame({"word": words_of(ceat_tests(["C6"]).values())}).assign(
            found=20, used=9, wanted=9, text="wikitext-2"
        ),
    }
    paths = {role: tmp_path / f"{role}.csv" for role in frames}
    for role, frame in frames.items():
        frame.to_csv(paths[role], index=False)
    keys = dict.fromkeys(frames, "bios") | {"ceat_counts": "roberta-base"}
    return {role: {key: paths[role]} for role, key in keys.items()} | {"ceat_words": {"ceat": WORDS}}


def test_all_of_the_paper_is_made(files, tmp_path):
    frame = scores(encoder="roberta-base", seeds=(0, 5), tests=["C6"], probes=(0,))
    targets = load("orgad2022").files_in(tmp_path / "made")
    make_paper("orgad2022", run(frame, files=files), targets)
    written = list(chain(*targets.values()))
    assert len(written) == 3 * len(TABLES) + 2 * len(FIGURES) + len(PAGES) and all(
        path.stat().st_size for path in written
    )
    assert {"orgad2022_table1.csv", "orgad2022_ceat.html", "orgad2022_figure5.pdf"} <= {path.name for path in written}


def test_captions_say_what_is_shown():
    text = load("orgad2022")
    assert set(text.tables) == set(TABLES) and set(text.figures) == set(FIGURES)
    assert set(text.published) == {"text", "values", "words"} and text.doi
    assert "permutation test" in text.tables["table3"].caption and "  " not in text.tables["table3"].caption


def test_the_paper_reaches_no_torch():
    code = "import sys, biasflow.papers.orgad2022.targets; sys.exit(bool({'torch', 'sklearn'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
