"""External files: their catalogue, and what is known of those of a run."""

import copy
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.records import write_record
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.corpora.catalogue import CATALOGUE, read_catalogue
from biasflow.corpora.verified import COLUMNS, Origin, origin_of, remark


@pytest.fixture
def data():
    return yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))


@pytest.fixture
def read(tmp_path):
    def read(data):
        (tmp_path / "corpora.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
        return read_catalogue(tmp_path / "corpora.yaml")

    return read


def test_a_sha256_may_not_be_left_out_without_a_form(data, read):
    data["files"]["stereoset-dev"]["sha256"] = None
    with pytest.raises(BiasflowError, match=r"stereoset-dev.*form"):
        read(data)


def test_known_files_of_an_encoder_count_at_their_revision_only():
    catalogue = read_catalogue()
    for id, encoder in catalogue.encoders.items():
        assert set(catalogue.known_files(id, encoder.revision)) == {"model.safetensors"}
        assert catalogue.known_files(id, "0" * 40) == {}
    assert catalogue.known_files("nobody/nothing", "0" * 40) == {}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda file: file.update(colour="red"), "colour"),
        (lambda file: file.update(sha256="12"), "sha256"),
        (lambda file: file.update(bytes=0), "bytes"),
        (lambda file: file.update(url="http://example.org/f"), "url"),
        (lambda file: file.pop("licence"), "licence"),
        (lambda file: file.pop("url"), "stereoset-dev"),
        (lambda file: file["mirror"].update(path="../secret"), "mirror/path"),
        (lambda file: file["mirror"].update(path="/secret"), "mirror/path"),
        (lambda file: file["mirror"].update(exact="yes"), "mirror/exact"),
    ],
)
def test_a_wrong_key_is_named(data, read, change, key):
    data = copy.deepcopy(data)
    change(data["files"]["stereoset-dev"])
    with pytest.raises(BiasflowError, match=f"stereoset-dev.*{key}|{key}"):
        read(data)


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


def test_a_file_that_differs_is_named_and_unverified_ones_are_counted(listed):
    """A mirror whose manifest agrees with what it holds, and holds something else."""
    said = remark(listed(a=("sha256", True), other=("manifest", False), b=("form", None), c=("nothing", None)))
    assert "other (sha256 000000000000...) differs from the file" in said and "2 of 4 could not be verified" in said
