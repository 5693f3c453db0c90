"""A run as one zip: whole, the same to the byte, and readable without a network."""

import os
import zipfile

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.results.pack import pack

PAGE = (
    '<a href="tables/a.html#top">a</a> <a href="scores.csv">s</a> <a href="https://x.example/paper">p</a> <a href="#b">'
)


@pytest.fixture
def run(tmp_path):
    """The folder of a run with a page, two tables, a figure, and what is not packed."""
    folder = tmp_path / "results/demo"
    files = {
        "index.html": PAGE + '<img src="data:image/png;base64,AA">',
        "scores.csv": "value\n1\n",
        "summary.txt": "ok",
    }
    files |= {"tables/a.html": '<a href="../index.html">up</a> <a href="a%20b.csv">', "tables/a b.csv": "1"}
    files |= {"figures/f.svg": "<svg/>", "run.json": "{}", "encoders/bert/model.safetensors": "w", "logs/x.html": "no"}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_it_holds_page_tables_figures_and_csv_in_a_folder_of_the_runs_name(run, tmp_path):
    names = pack(run, tmp_path / "demo.zip")
    assert names == ["figures/f.svg", "index.html", "scores.csv", "summary.txt", "tables/a b.csv", "tables/a.html"]
    with zipfile.ZipFile(tmp_path / "demo.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"demo/{name}" for name in names]
        assert archive.read("demo/scores.csv") == b"value\n1\n"


def test_the_same_files_are_the_same_bytes_whatever_their_age(run, tmp_path):
    pack(run, tmp_path / "a.zip")
    for path in run.rglob("*"):
        os.utime(path, (1, 1))
    (run / "scores.csv").chmod(0o600)
    pack(run, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize(
    ("html", "why"),
    [
        ('<script src="https://cdn.example/x.js"></script>', r"index\.html fetches https://cdn\.example/x\.js"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "fetches //cdn"),
        ('<a href="data/texts/a.txt">', "links to data/texts/a.txt, which is no page"),
        ('<img src="figures/g.svg">', r"links to figures/g\.svg"),
        ('<a href="../other/index.html">', "links to"),
        ('<a href="/etc/hosts">', "links to /etc/hosts"),
    ],
)
def test_a_page_that_needs_what_is_not_in_it_is_named(run, tmp_path, html, why):
    (run / "index.html").write_text(PAGE + html)
    with pytest.raises(BiasflowError, match=why):
        pack(run, tmp_path / "demo.zip")
    assert not (tmp_path / "demo.zip").exists()


def test_a_run_that_has_not_ended_is_named(run, tmp_path):
    (run / "index.html").unlink()
    with pytest.raises(BiasflowError, match=r"there is no .*index\.html yet; let snakemake end the run"):
        pack(run, tmp_path / "demo.zip")
