"""What all trainings by the Trainer have in common."""

import pytest
from transformers import TrainingArguments

from biasflow.training.loop import training_arguments


@pytest.mark.parametrize("visible", [0, 1, 2])
def test_two_visible_gpus_do_not_share_the_batches(tmp_path, monkeypatch, visible):
    """Beside the GPU of a training a second one may be visible: it would make other batches and another result."""
    setup = TrainingArguments.__post_init__
    monkeypatch.setattr(
        TrainingArguments, "__post_init__", lambda self: (setup(self), setattr(self, "_n_gpu", visible))[0]
    )
    arguments = training_arguments(tmp_path, seed=3, on_gpu=False, max_steps=5)
    assert arguments.n_gpu == min(visible, 1)
    assert (arguments.seed, arguments.max_steps, arguments.report_to) == (3, 5, [])
    assert not arguments.full_determinism  # with it every call would wait for the GPU
