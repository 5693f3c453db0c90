"""What is known of the external files of a run, and what tables say of them."""

from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from biasflow.base.records import write_record
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.corpora.origins import COLUMNS, UNVERIFIED, Origin, origin_of, remark


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """The table of these files (name -> verified_by, byte_equal_to_upstream), as it is read back."""

    monkeypatch.chdir(tmp_path)
    folder = Path("results/corpora")

    def listed(**files):
        for name, (verified_by, equal) in files.items():
            origin = Origin(name, "mirror", "m/x", "https://example.org/x", "0" * 64, 7, equal, verified_by, "MIT")
            about = {"sha256": {}, "inputs": {}, "aside": [], "rule": "download", "params": {}}
            write_record({"output": str(folder / name), **about, "origin": asdict(origin)})
        table = pd.DataFrame([origin_of(folder / name) for name in files], columns=COLUMNS)
        write_csv(table, tmp_path / "files.csv")
        return read_text_csv(tmp_path / "files.csv")

    return listed


def test_a_row_per_file(listed):
    table = listed(a=("sha256", True), b=("form", None))
    assert list(table.columns) == COLUMNS and list(table["name"]) == ["a", "b"]
    assert list(table["verified_by"]) == ["sha256", "form"]
    assert list(table["byte_equal_to_upstream"]) == ["True", ""]


def test_files_that_are_upstreams_are_not_remarked_on(listed):
    assert remark(listed(a=("sha256", True), b=("host", True))) == ""


def test_without_external_files_there_is_nothing_to_say(listed):
    assert remark(listed()) == ""


def test_a_file_that_differs_is_named_and_unverified_ones_are_counted(listed):
    """A mirror whose manifest agrees with what it holds, and holds something else."""
    said = remark(listed(a=("sha256", True), other=("manifest", False), b=("form", None), c=("nothing", None)))
    assert "other differs from the file that its publisher offers;" in said and "2 of 4 could not be verified" in said


def test_a_file_without_a_record_is_unverified(tmp_path):
    table = pd.DataFrame([origin_of(tmp_path / "laid-there")], columns=COLUMNS)
    assert list(table["source"]) == ["unknown"] and "1 of 1 could not be verified" in remark(table)


def test_what_verifies_and_what_does_not():
    assert {"form", "manifest", "nothing"} == UNVERIFIED
