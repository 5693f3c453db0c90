"""Whether trainings are the same twice, and what torch is told so that they are."""

import os

import pytest
import torch

from biasflow.encoders.device import resolve_deterministic

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def told(monkeypatch):
    """What torch is told; nothing of it outlives the test."""
    found = []
    monkeypatch.setattr(torch, "use_deterministic_algorithms", found.append)
    for name in ("deterministic", "benchmark"):  # both are put back
        monkeypatch.setattr(torch.backends.cudnn, name, name == "benchmark")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    return found


@pytest.mark.parametrize(("choice", "expected"), [("auto", False), (True, True), (False, False)])
def test_on_a_gpu_torch_is_told(told, choice, expected):
    assert resolve_deterministic(choice, GPU) is expected
    assert told == [expected]
    assert (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark) == (expected, False)
    assert bool(os.environ["CUBLAS_WORKSPACE_CONFIG"]) is expected
    assert "CUDA_LAUNCH_BLOCKING" not in os.environ
