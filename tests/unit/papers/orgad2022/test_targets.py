"""All that the paper prints, made at once."""

import subprocess
import sys
from itertools import chain

from biasflow.papers.make import make_paper
from biasflow.papers.orgad2022.targets import FIGURES, PAGES, TABLES
from biasflow.papers.paper import load
from tests.unit.papers.orgad2022.made_up import item_files, run, scores


def test_all_of_the_paper_is_made(tmp_path):
    frame = scores(encoder="roberta-base", seeds=(0, 5), tests=["C6"], probes=(0,))
    targets = load("orgad2022").files_in(tmp_path / "made")
    make_paper("orgad2022", run(frame, files=item_files(tmp_path)), targets)
    written = list(chain(*targets.values()))
    assert len(written) == 3 * len(TABLES) + 2 * len(FIGURES) + len(PAGES) and all(
        path.stat().st_size for path in written
    )
    assert {"orgad2022_table1.csv", "orgad2022_ceat.html", "orgad2022_figure5.pdf"} <= {path.name for path in written}


def test_the_paper_reaches_no_torch():
    code = "import sys, biasflow.papers.orgad2022.targets; sys.exit(bool({'torch', 'sklearn'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
