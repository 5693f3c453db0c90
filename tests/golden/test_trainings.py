"""No training takes another course because code moves: its steps, how its learning rate rises and falls, and its loss.

To replace the rows for a change that is meant: `PYTHONPATH=scripts:. python -m tests.golden.test_trainings`, and say in
the commit which of them changed and why."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.strategies import Strategy
from biasflow.training import loop
from biasflow.training.continue_ import continue_encoder
from biasflow.training.pretrain import pretrain
from tests.unit.strategies import test_adapting as adapting
from tests.unit.tasks.coreference import test_task as coreference
from tests.unit.training import test_continue as continued
from tests.unit.training import test_finetune as finetuned
from tests.unit.training import test_planted as planted
from tests.unit.training import test_pretrain as pretrained

STORED = Path(__file__).with_name("trainings.csv")
KEYS = ["training", "part"]  # a part of the parameters with a rate of its own
COLUMNS = [*KEYS, "steps", "warmup_steps", "rate_first", "rate_peak", "rate_last", "loss_mean", "loss_last"]


def further(folder: Path, **options) -> None:
    (folder / "text.txt").write_text("\n".join(continued.SENTENCES) + "\n")
    continued.run(finetuned.save_source(folder / "source"), **options)


def with_swapped_text(folder: Path) -> None:
    (folder / "text.txt").write_text("\n".join(continued.SENTENCES) + "\n")
    further(folder, recipe="cda", swapped=continued.swapped_file(folder / "source", "blue"), seed=1)


def with_planted_bias(folder: Path) -> None:
    planted.biographies().to_json(folder / "bios.jsonl", orient="records", lines=True)
    planted.shares().to_csv(folder / "labour.csv", index=False)
    planted.save_source(folder / "source")
    planted.word_tokenizer(planted.VOCABULARY).save_pretrained(folder / "source")
    options = {"labour": folder / "labour.csv", "examples": 60, "learning_rate": 1e-2, "max_length": 20}
    continue_encoder(folder / "source", folder / "out", folder / "bios.jsonl", recipe="planted", dose=1, **options)


def of_numbers(folder: Path) -> None:
    parts = {"train": finetuned.TRAIN, "validation": finetuned.VALIDATION}
    rated = {name: part.assign(label=part["label"].map(finetuned.LABELS.index)) for name, part in parts.items()}
    finetuned.run(folder, "model", labels=None, **rated)


def on_biographies(strategy: str, **options) -> Callable[[Path], object]:
    def train(folder: Path) -> None:
        adapting.BIOS.to_parquet(folder / "texts.parquet")
        adapting.save_model(folder / "encoder")
        adapting.run(folder, strategy, recipe=adapting.RECIPE | {"epochs": 1}, **options)

    return train


TRAININGS: dict[str, Callable[[Path], object]] = {
    "pre-training": lambda folder: pretrain(pretrained.DOCUMENTS, folder / "out", seed=0, **pretrained.TINY),
    "masked_lm": further,
    "cda": with_swapped_text,
    "new heads": lambda folder: continued.run(
        continued.headless(folder / "source"), head_steps=4, steps=10, learning_rate=1e-3, next_sentence=True
    ),
    "planted": with_planted_bias,
    "classes": lambda folder: finetuned.run(folder, "model"),
    "numbers": of_numbers,
    "lora": lambda folder: finetuned.run(
        folder, "model", strategy=Strategy("lora", "strategies.lora", options={"rank": 2, "alpha": 8.0})
    ),
    "occupations": on_biographies("plain"),
    "adversarial": on_biographies("adversarial", **adapting.ADVERSARY),
    "blind": on_biographies("blind", focus=2.0),
    "coreference": lambda folder: coreference.run(folder, "model"),
}


@contextmanager
def watched():
    """The rates of every step [steps, groups of parameters], and the log of the training that is run in the context."""
    rates, logs = [], []

    def on_step_begin(self, args, state, control, optimizer=None, **kwargs):
        rates.append([group["lr"] for group in optimizer.param_groups])

    def on_train_end(self, args, state, control, **kwargs):
        logs.extend(state.log_history)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Watch, "on_step_begin", on_step_begin, raising=False)
        patch.setattr(loop.Watch, "on_train_end", on_train_end, raising=False)
        yield rates, logs


def course(name: str, folder: Path) -> list[dict[str, object]]:
    """The row of every part of a training, in COLUMNS."""
    torch.manual_seed(0)
    with watched() as (rates, logs):
        TRAININGS[name](folder)
    losses = {"loss_mean": logs[-1]["train_loss"], "loss_last": [log["loss"] for log in logs if "loss" in log][-1]}
    rows = []
    for part, course_of_part in enumerate(np.unique(np.array(rates), axis=1).T):
        about = {"training": name, "part": part, "steps": len(rates), "warmup_steps": int(course_of_part.argmax())}
        about |= {"rate_first": course_of_part[0], "rate_peak": course_of_part.max(), "rate_last": course_of_part[-1]}
        rows.append(about | losses)
    return rows


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_takes_the_stored_course(name, tmp_path):
    stored = pd.read_csv(STORED).query("training == @name").reset_index(drop=True)
    rtol = (
        2e-3 if name == "blind" else 1e-4
    )  # its detector learns from an argmax, which rounding turns on some processors
    pd.testing.assert_frame_equal(pd.DataFrame(course(name, tmp_path)), stored, rtol=rtol, atol=1e-9)


if __name__ == "__main__":
    made = []
    for training in TRAININGS:
        with TemporaryDirectory() as temporary:
            made += course(training, Path(temporary))
    pd.DataFrame(made, columns=COLUMNS).to_csv(STORED, index=False, float_format="%.7g", lineterminator="\n")
