"""Readouts as files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.methods.fitted import load, save
from biasflow.readouts.files import (
    array_on_disk,
    by_method,
    load_arrays,
    load_table,
    not_fitted,
    reasons_of,
    save_arrays,
    under_methods,
    write_reasons,
)
from tests.unit.readouts.conftest import fitted

AXIS = (("none", "-"), ("dawkins2024", "sent 0"))


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"half")
    with pytest.raises(BiasflowError, match=r"a\.safetensors"):
        load_arrays(tmp_path / "a.safetensors")
    (tmp_path / "a.parquet").write_bytes(b"half")
    with pytest.raises(BiasflowError, match=r"a\.parquet"):
        load_table(tmp_path / "a.parquet", [])


def test_a_table_has_its_items_once_for_every_method(tmp_path):
    items = pd.DataFrame({"item": ["nurse", "chef", "judge"]}, index=[5, 5, 7])
    table = under_methods(AXIS, items, p=np.arange(6.0).reshape(2, 3))
    assert list(table.columns) == ["method", "setting", "item", "p"]
    assert table["item"].tolist() == ["nurse", "chef", "judge"] * 2 and table["p"].tolist() == list(range(6))
    assert table["setting"].tolist() == ["-"] * 3 + ["sent 0"] * 3
    table.to_parquet(tmp_path / "t.parquet")
    assert list(load_table(tmp_path / "t.parquet", ["p"]).columns) == ["method", "setting", "p"]


def on_disk(path, array, **facts):
    with array_on_disk(path, "x", array.shape, str(array.dtype), AXIS) as (place, meta):
        place[:] = array
        meta |= facts
    return path


def test_a_method_at_a_time_is_what_all_together_are(tmp_path):
    X = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    save_arrays(tmp_path / "saved", {"W": np.zeros((2, 5), np.float16), "X": X, "Y": X[:, 0] + 1}, AXIS, sizes=[1])
    for path, name in ((tmp_path / "saved", "X"), (tmp_path / "saved", "Y"), (on_disk(tmp_path / "disk", X), "x")):
        together, single = load_arrays(path), list(by_method(path, name))
        assert [method for method, *_ in single] == list(together.axis)
        assert np.array_equal([array for _, array, _ in single], together.arrays[name])
        assert all(meta == together.meta for *_, meta in single)
    whole = (tmp_path / "saved").read_bytes()
    for damaged in (b"half", whole[:-1], b""):
        (tmp_path / "saved").write_bytes(damaged)
        with pytest.raises(BiasflowError, match="saved: not a whole readout"):
            list(by_method(tmp_path / "saved", "X"))
    with pytest.raises(BiasflowError, match="disk: not a whole readout"):
        list(by_method(tmp_path / "disk", "z"))


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
