"""Where a run computes is known before its first job."""

import subprocess

import pytest

from scripts.biasflow.plan import device
from scripts.biasflow.plan.device import gpus_here, planned_device


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_auto_is_a_gpu_on_a_cluster_and_where_one_is_and_other_choices_stay(monkeypatch, cluster, there):
    monkeypatch.setattr(device, "gpus_here", lambda: there)
    monkeypatch.setattr(device.importlib.metadata, "version", lambda name: "2.13.0+cu128")
    assert planned_device("auto", cluster=cluster) == ("cuda" if cluster or there else "cpu")
    assert [planned_device(choice, cluster=cluster) for choice in ("cpu", "cuda")] == ["cpu", "cuda"]


def test_a_torch_for_processors_alone_takes_no_gpu(monkeypatch):
    monkeypatch.setattr(device, "gpus_here", lambda: True)
    monkeypatch.setattr(device.importlib.metadata, "version", lambda name: "2.13.0+cpu")
    assert planned_device("auto", cluster=False) == "cpu"


@pytest.mark.parametrize(
    ("visible", "listed", "expected"),
    [
        (None, "GPU 0: NVIDIA H100 (UUID: GPU-1)\n", True),
        ("0", "GPU 0: NVIDIA H100 (UUID: GPU-1)\n", True),
        (None, "No devices found.\n", False),
        ("", "GPU 0: NVIDIA H100 (UUID: GPU-1)\n", False),
        ("-1", "GPU 0: NVIDIA H100 (UUID: GPU-1)\n", False),
    ],
)
def test_a_gpu_counts_that_the_driver_lists_and_nobody_hides(monkeypatch, visible, listed, expected):
    monkeypatch.setattr(device.shutil, "which", lambda name: name)
    monkeypatch.setattr(device.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0, listed, ""))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus_here() is expected


def test_without_a_driver_there_is_none(monkeypatch):
    monkeypatch.setattr(device.shutil, "which", lambda name: None)
    assert not gpus_here()
