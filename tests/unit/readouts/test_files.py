"""Readouts as files."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.readouts.files import array_on_disk, by_method, load_arrays, load_table, save_arrays, under_methods

AXIS = (("none", "-"), ("dawkins2024", "sent 0"))


def test_arrays_come_back_with_their_axis(tmp_path):
    arrays = {"X": np.arange(12, dtype=np.float32).reshape(2, 3, 2), "Y": np.zeros((2, 1), np.uint8)}
    save_arrays(tmp_path / "a.safetensors", arrays, AXIS, pooling="cls")
    found = load_arrays(tmp_path / "a.safetensors")
    assert found.axis == AXIS and found.meta == {"pooling": "cls"}
    assert all(np.array_equal(found.arrays[name], array) for name, array in arrays.items())
    with pytest.raises(ValueError, match="Y"):
        save_arrays(tmp_path / "b.safetensors", {"Y": np.zeros((3, 1))}, AXIS)


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
    with pytest.raises(ValueError, match="p of shape"):
        under_methods(AXIS, items, p=np.zeros((2, 4)))
    table.to_parquet(tmp_path / "t.parquet")
    assert list(load_table(tmp_path / "t.parquet", ["p"]).columns) == ["method", "setting", "p"]


def test_a_table_without_a_column_or_a_row_is_named(tmp_path):
    under_methods(AXIS, pd.DataFrame({"item": []})).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(BiasflowError, match=r"t\.parquet.*empty"):
        load_table(tmp_path / "t.parquet", ["item"])
    with pytest.raises(BiasflowError, match=r"t\.parquet.*loss"):
        load_table(tmp_path / "t.parquet", ["loss"])


def on_disk(path, array, **facts):
    with array_on_disk(path, "x", array.shape, str(array.dtype), AXIS) as (place, meta):
        place[:] = array
        meta |= facts
    return path


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from(["float16", "float32"]))
def test_arrays_on_disk_are_read_either_way(tmp_path_factory, n, d, dtype):
    array = np.random.default_rng(n + d).normal(size=(2, n, d)).astype(dtype)
    path = on_disk(tmp_path_factory.mktemp("files") / "a.safetensors", array, layers=3, truncated=7)
    for framework in ("np", "pt"):
        found = load_arrays(path, framework=framework)
        assert found.axis == AXIS and found.meta == {"layers": 3, "truncated": 7}
        assert np.array_equal(found.arrays["x"], array) and str(found.arrays["x"].dtype).endswith(dtype)


def test_nothing_is_left_of_a_failure(tmp_path):
    with pytest.raises(KeyError), array_on_disk(tmp_path / "a", "x", (2, 3), "float32", AXIS):
        raise KeyError
    with (
        pytest.raises(ValueError, match="4096"),
        array_on_disk(tmp_path / "a", "x", (2, 3), "float32", AXIS) as (_, meta),
    ):
        meta["long"] = "a" * 5000
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="methods"), array_on_disk(tmp_path / "a", "x", (3, 3), "float32", AXIS):
        pass


@pytest.mark.parametrize("framework", ["np", "pt"])
def test_damaged_arrays_are_named(tmp_path, framework):
    path = on_disk(tmp_path / "whole", np.zeros((2, 300)).astype("float32"))
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-4])
    (tmp_path / "text").write_text("no readout")
    for name in ("cut", "text", "absent"):
        with pytest.raises(BiasflowError, match=name):
            load_arrays(tmp_path / name, framework=framework)


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
