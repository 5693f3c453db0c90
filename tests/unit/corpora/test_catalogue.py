"""External files: which ones of an encoder are known, and what is said of those of a run."""

from dataclasses import asdict
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
import yaml

from biasflow.base.records import write_record
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv, write_csv
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.verified import COLUMNS, Origin, origin_of, remark


def test_the_catalogue_is_as_its_schema_says():
    files = shipped("data/corpora.yaml"), Path(__file__).with_name("corpora.schema.yaml")
    catalogue, schema = (yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader) for file in files)
    jsonschema.validate(catalogue, schema, jsonschema.Draft202012Validator)


def test_known_files_of_an_encoder_count_at_their_revision_only():
    catalogue = read_catalogue()
    for id, encoder in catalogue.encoders.items():
        assert set(catalogue.known_files(id, encoder.revision)) == {"model.safetensors"}
        assert catalogue.known_files(id, "0" * 40) == {}
    assert catalogue.known_files("nobody/nothing", "0" * 40) == {}


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
