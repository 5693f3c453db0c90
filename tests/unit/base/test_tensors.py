"""Equal tensors are equal bytes, in whatever process they were written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from biasflow.base.tensors import save_tensors

PACKAGE = Path(__file__).parents[3] / "scripts/biasflow"
METADATA = {f"key {number}": f'Größe "{number}"\n\x01' for number in range(12)}
WRITE = """
import sys, torch
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.readouts.files import save_arrays
eraser = Eraser.projection(torch.eye(4)[:2])
methods = [f"method {number}" for number in range(4)]
save(Fitted({name: (Active(name, "-", (("last", eraser),)),) for name in methods}, {name: [] for name in methods},
            reasons={f"absent {number}": "no such layer" for number in range(8)}), sys.argv[1])
save_arrays(sys.argv[2], {"X": torch.ones(4, 3).numpy()}, [(name, "-") for name in methods], pooling="cls", truncated=0)
"""


@pytest.mark.parametrize("tensors", [{"b": torch.eye(3), "a": torch.ones(2).half()}, {"b": np.eye(3), "a": np.ones(2)}])
def test_metadata_are_in_the_order_of_their_names_and_the_rest_is_read_back(tmp_path, tensors):
    written = set()
    for number, metadata in enumerate([METADATA, dict(reversed(METADATA.items()))] * 3):
        path = tmp_path / f"{number}.safetensors"
        save_tensors(tensors, path, metadata)
        written.add(path.read_bytes())
        with safe_open(path, "np") as file:
            assert file.metadata() == METADATA
            assert all(np.array_equal(file.get_tensor(name), np.asarray(tensor)) for name, tensor in tensors.items())
    assert len(written) == 1


def test_two_processes_write_the_same_bytes(tmp_path):
    written = set()
    for seed in "012":
        paths = [str(tmp_path / f"{kind}-{seed}.safetensors") for kind in ("methods", "arrays")]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PACKAGE.parent)}
        subprocess.run([sys.executable, "-c", WRITE, *paths], env=environment, check=True)
        written.add(tuple(Path(path).read_bytes() for path in paths))
    assert len(written) == 1


def test_nothing_else_writes_safetensors():
    """A call of the library's own would bring back an order that differs from process to process."""
    library = re.compile(r"from safetensors\S* import .*\b(save|save_file|save_model)\b|serialize_file\(")
    writing = [path.name for path in PACKAGE.rglob("*.py") if library.search(path.read_text())]
    assert writing == ["tensors.py"]
