"""What every training claims and saves: checkpoints of other settings, and a save that fails."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.training import task
from biasflow.training.checkpoints import claim
from biasflow.training.task import save_training


def test_its_checkpoints_are_claimed_by_nested_settings(tmp_path):
    claim(tmp_path, {"recipe": {"steps": 3}})  # nothing was saved: there is nothing to mix
    claim(tmp_path, {"recipe": {"steps": 1}, "labels": ("a", "b"), "method": None})
    (tmp_path / "checkpoint-1").mkdir()
    claim(tmp_path, {"recipe": {"steps": 1}, "labels": ["a", "b"], "method": None})
    for settings, named in (
        ({"recipe": {"steps": 2}, "labels": ["a", "b"]}, r"recipe\.steps \(1, now 2\)"),
        ({"recipe": {"steps": 1}, "labels": ["b", "a"]}, "labels"),
        (
            {"recipe": {"steps": 1}, "labels": ["a", "b"], "method": {"name": "leace"}},
            r"method\.name \(None, now leace",
        ),
        ({"recipe": {}, "labels": ["a", "b"]}, r"recipe"),
    ):
        with pytest.raises(BiasflowError, match=f"another {named}"):
            claim(tmp_path, settings)


@pytest.mark.parametrize("mark", [None, "", "[]"])
def test_checkpoints_that_nobody_has_marked_are_not_gone_on_from(tmp_path, mark):
    (tmp_path / "checkpoint-1").mkdir()
    if mark is not None:
        (tmp_path / "settings.json").write_text(mark)
    with pytest.raises(BiasflowError, match="whose checkpoints"):
        claim(tmp_path, {"seed": 1})


def test_a_failed_save_leaves_no_folder(tmp_path, monkeypatch):
    class Full:
        def save_pretrained(self, folder):
            raise OSError(28, "no space")

    with pytest.raises(BiasflowError, match="no space"):
        save_training(tmp_path / "model", Full(), Full(), {}, task.Carried())
    assert not any(tmp_path.iterdir())
