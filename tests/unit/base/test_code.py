"""What makes a rule run again: a digest of its script and of all that this reaches."""

import pytest

from biasflow.base.code import code_digest


@pytest.fixture
def project(tmp_path):
    """A script that imports a module, which names a data file."""
    (tmp_path / "scripts/biasflow").mkdir(parents=True)
    (tmp_path / "scripts/biasflow/words.csv").write_text("she")
    (tmp_path / "scripts/biasflow/module.py").write_text('WORDS = shipped("words.csv")\n')
    (tmp_path / "scripts/biasflow/other.py").write_text("")
    (tmp_path / "scripts/rule.py").write_text("import json\nfrom biasflow import module\n")
    return tmp_path


def digest(project):
    code_digest.__globals__["_sha256"].cache_clear()
    return code_digest([project / "scripts/rule.py"], project)


@pytest.mark.parametrize("file", ["scripts/rule.py", "scripts/biasflow/module.py", "scripts/biasflow/words.csv"])
def test_it_follows_every_file_that_is_reached(project, file):
    before = digest(project)
    path = project / file
    path.write_text(path.read_text() + "\n")
    assert digest(project) != before


def test_it_does_not_depend_on_where_the_project_lies(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "clone"
    project.rename(elsewhere)
    moved = digest(elsewhere)
    elsewhere.rename(project)
    assert moved == digest(project)
