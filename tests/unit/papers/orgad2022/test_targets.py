"""All that the paper prints, made at once."""

import subprocess
import sys


def test_the_paper_reaches_no_torch():
    code = "import sys, biasflow.papers.orgad2022.targets; sys.exit(bool({'torch', 'sklearn'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
