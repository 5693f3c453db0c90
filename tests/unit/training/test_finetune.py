"""Fine-tuning: what is learnt, what is refused, and which checkpoints are kept and claimed."""

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    DistilBertConfig,
    DistilBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
    TrainingArguments,
)

from biasflow.base.errors import BiasflowError
from biasflow.encoders.load import new_classifier
from biasflow.erasers.eraser import Eraser
from biasflow.methods import fitting
from biasflow.methods.fitted import Active, Fitted
from biasflow.training import finetune as module
from biasflow.training import loop, task
from biasflow.training.checkpoints import OPTIMIZER, claim
from biasflow.training.finetune import FineTuning, Recipe, finetune
from biasflow.training.loop import training_arguments
from biasflow.training.rows import LengthSampler
from biasflow.training.task import save_training
from tests.unit.conftest import DISTILBERT, SIZES, save_random
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = ["red", "blue", "green", "one", "two", "three", "four", "five"]
LABELS = ("warm", "cold", "other")
TEXTS = ("first", "second")
RECIPE = Recipe(
    epochs=2, batch_size=8, learning_rate=3e-3, warmup=0.1, weight_decay=0.01, max_length=32, keep="best",
    checkpoint_steps=3,
)  # fmt: skip
SOURCES = {
    "bert": lambda: BertForPreTraining(BertConfig(**SIZES | {"initializer_range": 0.1})),
    "bert-without-pooler": lambda: BertForMaskedLM(BertConfig(**SIZES)),
    "roberta": lambda: RobertaForMaskedLM(RobertaConfig(**SIZES)),
    "distilbert": lambda: DistilBertForMaskedLM(DistilBertConfig(**DISTILBERT)),
}


def save_source(folder: Path, name: str = "bert") -> Path:
    return save_random(folder, SOURCES[name], word_tokenizer(WORDS))


def examples(n: int, seed: int) -> pd.DataFrame:
    """The colour in the first text decides; texts of different lengths."""
    rng = np.random.default_rng(seed)
    colour = rng.integers(3, size=n)
    padding = [" ".join(rng.choice(WORDS[3:], size=size)) for size in rng.integers(1, 12, size=n)]
    first = [f"{WORDS[c]} {words}" for c, words in zip(colour, padding, strict=True)]
    return pd.DataFrame({"first": first, "second": rng.choice(WORDS[3:], size=n), "label": np.array(LABELS)[colour]})


TRAIN, VALIDATION = examples(90, 0), examples(30, 1)


def run(tmp_path: Path, name: str, **options):
    source = tmp_path / "source"
    if not source.is_dir():
        save_source(source)
    arguments = {
        "train": TRAIN, "validation": VALIDATION, "texts": TEXTS, "labels": LABELS, "recipe": RECIPE, "seed": 3
    }  # fmt: skip
    return finetune(source, tmp_path / name, tmp_path / "work", **(arguments | options))


def weights(tmp_path: Path, name: str) -> dict[str, torch.Tensor]:
    return load_file(tmp_path / name / "model.safetensors")


class KilledError(Exception):
    pass


@contextmanager
def stopping_before(step: int, monkeypatch):
    """In the context, a training stops before the step-th step, from 0, of all that are trained."""
    steps = []

    def note(self, args, state, control, **kwargs):
        steps.append(state.global_step)
        if len(steps) > step:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(loop.Watch, "on_step_begin", note, raising=False)
        yield patch


@pytest.mark.parametrize(("keep", "best"), [("best", True), ("last", False)])
def test_one_checkpoint_can_be_gone_on_from_and_the_best_keeps_its_weights(tmp_path, monkeypatch, keep, best):
    """The first epoch is the best one here; at each step the folder is looked at."""
    scores, seen = iter([0.9, 0.5, 0.4]), []
    monkeypatch.setattr(module, "accuracy", lambda outcome: {"score": next(scores)})

    def look(self, args, state, control, **kwargs):
        checkpoints = [path.parent for path in (tmp_path / "work").glob("checkpoint-*/model.safetensors")]
        resumable = [path for path in checkpoints if (path / OPTIMIZER).is_file()]
        seen.append((state.global_step, len(checkpoints), len(resumable)))

    monkeypatch.setattr(loop.Watch, "on_step_begin", look, False)
    facts = run(tmp_path, "model", recipe=Recipe(**{**vars(RECIPE), "epochs": 3, "keep": keep}))
    assert facts["epoch"] == (1 if best else 3)
    after_first_epoch = [(checkpoints, resumable) for step, checkpoints, resumable in seen if step >= 15]
    assert set(after_first_epoch) == {(1 + best, 1)}


@pytest.mark.parametrize(("keep", "epoch"), [("best", 2), ("last", 4)])
def test_of_epochs_with_the_best_score_the_first_is_kept(keep, epoch):
    """As transformers keeps its weights: a later epoch has to be better."""
    history = [{"eval_score": score, "eval_loss": n} for n, score in enumerate((0.5, 0.75, 0.75, 0.25), start=1)]
    state = SimpleNamespace(log_history=[{"loss": 1.0}, *history], global_step=8)
    facts, evaluated = loop.Loop.run_epochs(SimpleNamespace(run=lambda: state, state=state), keep)
    assert facts["epoch"] == evaluated["eval_loss"] == epoch and facts["validation_score"] == evaluated["eval_score"]
    assert facts["validation_scores"] == [0.5, 0.75, 0.75, 0.25]


def test_checkpoints_of_another_configuration_are_refused_and_kept(tmp_path, monkeypatch):
    with stopping_before(5, monkeypatch), pytest.raises(KilledError):
        run(tmp_path, "model")
    before = sorted(path.name for path in (tmp_path / "work").rglob("*"))
    for change in (
        {"seed": 4},
        {"recipe": Recipe(**{**vars(RECIPE), "learning_rate": 1e-3})},
        {"train": TRAIN.iloc[::-1]},
        {"texts": TEXTS[::-1]},
        {"new_model": lambda *arguments, **options: new_classifier(*arguments, **options)},
    ):
        with pytest.raises(BiasflowError, match=r"work.*another"):
            run(tmp_path, "model", **change)
    assert sorted(path.name for path in (tmp_path / "work").rglob("*")) == before
    assert not (tmp_path / "model").exists()


def fit_a_dimension(model, tokenizer, methods, *, n, origin):
    """In the place of `fit_block`: takes dimension n out of the last layer but one."""
    assert origin is model and not model.training
    eraser = Eraser.projection(torch.eye(SIZES["hidden_size"])[n : n + 1])
    return Fitted({name: (Active(name, "-", (("layer[-2]", eraser),)),) for name in methods}, methods)


@pytest.fixture
def densray(monkeypatch):
    monkeypatch.setattr(fitting, "fit_block", fit_a_dimension)
    return {"methods": {"densray": [{"eraser": "densray"}]}, "n": 0}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"train": TRAIN[TRAIN["label"] != "cold"]}, "cold"),
        ({"train": TRAIN.assign(label=TRAIN["label"].mask(TRAIN.index == 4, "wram"))}, "row 5.*wram"),
        ({"train": TRAIN.assign(label=TRAIN["label"].mask(TRAIN.index == 7))}, "row 8"),
        ({"train": TRAIN.iloc[:0]}, "training"),
        ({"validation": VALIDATION.iloc[:0]}, "validation"),
        ({"recipe": Recipe(**{**vars(RECIPE), "learning_rate": 1e30})}, "learning_rate"),
    ],
)
def test_what_is_refused_leaves_nothing(tmp_path, change, named):
    with pytest.raises(BiasflowError, match=named):
        run(tmp_path, "model", **change)
    assert not (tmp_path / "model").exists()


def test_a_constant_learning_rate_and_no_clipping_reach_the_trainer(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(loop.Watch, "on_step_begin", lambda self, args, *others, **more: seen.append(args), False)
    asked = {"epochs": 1, "warmup": 0.0, "weight_decay": 0.0, "schedule": "constant", "adam_epsilon": 1e-6, "clip": 0.0}
    run(tmp_path, "model", recipe=Recipe(**vars(RECIPE) | asked))
    arguments = seen[0]
    assert (arguments.max_grad_norm, arguments.adam_epsilon, arguments.weight_decay) == (0.0, 1e-6, 0.0)
    assert arguments.lr_scheduler_type == "constant_with_warmup" and arguments.warmup_steps == 0


def test_a_training_begins_with_the_head_of_its_seed(tmp_path):
    run(tmp_path, "still", recipe=Recipe(**{**vars(RECIPE), "learning_rate": 0.0}), seed=4)
    begun, _ = new_classifier(tmp_path / "source", LABELS, seed=4)
    assert all(torch.equal(value, begun.state_dict()[name]) for name, value in weights(tmp_path, "still").items())


def test_the_order_of_training_depends_on_seed_and_epoch_alone():
    lengths = np.random.default_rng(0).integers(5, 50, size=700)
    sampler = LengthSampler(lengths, 8, seed=1)
    first, again = list(sampler), list(sampler)
    sampler.set_epoch(1)
    assert first == again != list(sampler)
    assert sorted(first) == list(range(700))
    spread = [np.ptp(lengths[first[i : i + 8]]) for i in range(0, 696, 8)]
    assert np.mean(spread) < 0.3 * np.ptp(lengths)
    trainer = SimpleNamespace(
        train_dataset=SimpleNamespace(lengths=lengths), args=SimpleNamespace(train_batch_size=8, seed=1)
    )
    assert list(FineTuning._get_train_sampler(trainer)) == first  # a training draws with its own seed


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
