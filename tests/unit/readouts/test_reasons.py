"""What only a job can know: which readout is not there, under which method, and why."""

from dataclasses import replace

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.methods.fitted import load, save
from biasflow.readouts.reasons import not_fitted, reasons_of, write_reasons
from tests.unit.readouts.conftest import fitted


def test_reasons_are_those_of_a_file(tmp_path):
    reasons = {"none": "no word", "hard": "no, no: word"}
    write_reasons(tmp_path / "C6.csv", reasons)
    write_reasons(tmp_path / "C6", {"none": "x"})
    assert reasons_of(tmp_path / "C6.csv") == reasons
    assert reasons_of(tmp_path / "C8.csv") == {}


def test_a_file_of_methods_says_what_was_not_fitted(tmp_path):
    save(replace(fitted(), reasons={"ninth": "no place layer[9]"}), tmp_path / "methods.safetensors")
    assert not_fitted(tmp_path / "methods.safetensors") == {"ninth": "no place layer[9]"}
    with pytest.raises(BiasflowError, match="ninth"):
        load(tmp_path / "methods.safetensors", ["none", "ninth"])
