"""Arrays that stay on the disk: the same files as those of save_arrays, and whole or absent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.readouts.files import load_arrays, save_arrays
from scripts.biasflow.readouts.mapped import arrays_on_disk, open_arrays

AXIS = [("none", "-"), ("each", "layer[1]")]


def written(path, arrays, dtype="float32", **facts):
    with arrays_on_disk(path, {name: array.shape for name, array in arrays.items()}, dtype, AXIS) as (places, meta):
        for name, array in arrays.items():
            places[name][:] = array
        meta |= facts
    return path


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from(["float16", "float32"]))
def test_read_as_written_by_either_way(tmp_path_factory, n, d, dtype):
    path = tmp_path_factory.mktemp("mapped") / "a.safetensors"
    rng = np.random.default_rng(n + d)
    arrays = {"b": rng.normal(size=(2, n, d)).astype(dtype), "a": rng.normal(size=(2, n)).astype(dtype)}
    written(path, arrays, dtype, layers=3, truncated=7)
    for found in (load_arrays(path), open_arrays(path)):
        assert found.axis == tuple(AXIS) and found.meta == {"layers": 3, "truncated": 7}
        assert found.arrays.keys() == arrays.keys()
        for name, array in arrays.items():
            assert found.arrays[name].dtype == dtype and np.array_equal(found.arrays[name], array)


def test_files_of_save_arrays_are_opened(tmp_path):
    array = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    save_arrays(tmp_path / "a", {"x": array}, AXIS, test="C6")
    found = open_arrays(tmp_path / "a")
    assert np.array_equal(found.arrays["x"], array) and found.meta == {"test": "C6"}
    with pytest.raises(ValueError):
        found.arrays["x"][0] = 0


def test_nothing_is_left_of_a_failure(tmp_path):
    with (
        pytest.raises(KeyError),
        arrays_on_disk(tmp_path / "a", {"x": (2, 3)}, "float32", AXIS),
    ):
        raise KeyError
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="methods"), arrays_on_disk(tmp_path / "a", {"x": (3, 3)}, "float32", AXIS):
        pass


def test_damaged_files_are_named(tmp_path):
    path = written(tmp_path / "whole", {"x": np.zeros((2, 300))})
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-4])
    (tmp_path / "text").write_text("no readout")
    for name in ("cut", "text", "absent"):
        with pytest.raises(BiasflowError, match=name):
            open_arrays(tmp_path / name)
