"""What every training for a task has in common, whatever its loop: the method that is active in it, what it starts
from, and the folder that it fills. Knows no Trainer: a task may bring a loop of its own.

The protocol of a task: a module with `train(encoder_folder, folder, work, data, *, strategy, seed, recipe, device,
method, **options) -> dict` that fills `folder` by `save_training`; where classes are predicted, this module or one
beside it has `examples(data, **options) -> training.examples.Examples`, all that readouts.predictions asks for."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from biasflow.base.by_name import module_named
from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_folder, write_json
from biasflow.encoders.edit import Edits
from biasflow.encoders.stored import CARRIED, digests_of
from biasflow.methods.fitted import NO_SETTING, NONE, Fitted, save
from biasflow.training import FACTS, FITTING
from biasflow.training.checkpoints import computed_by


@dataclass(frozen=True)
class Carried:
    """The method that is active in every forward pass of a training and of the trained model; by default no method."""

    specification: Mapping | None = None
    fitted: Fitted | None = None
    edits: Edits = ()

    @property
    def name(self) -> tuple[str, str]:
        """(method, setting), as the axis of a readout has it."""
        return (NONE, NO_SETTING) if self.fitted is None else self.fitted.axis[0]

    def claim(self) -> dict[str, object] | None:
        """Return what identifies the method: its specification, and the erasers to the last bit."""
        if self.fitted is None:
            return None
        digest = hashlib.sha256()
        for place, eraser in self.edits:
            for name, tensor in sorted(eraser.state(place).items()):
                digest.update(name.encode() + tensor.cpu().numpy().tobytes())
        return {"specification": self.specification, "erasers": digest.hexdigest()}


def fit_method(model: nn.Module, tokenizer: PreTrainedTokenizerBase, method: Mapping | None) -> Carried:
    """Fit the method that is active in training to the model before the training (in evaluation mode).

    method: the arguments of `fitting.fit_block`, `methods` with a single one (by its name), of one setting, and what it
    is fitted to; None for no method. BiasflowError for a method that cannot be fitted."""
    if method is None:
        return Carried()
    fitted = module_named(FITTING).fit_block(model, tokenizer, **method, origin=model)
    for reason in fitted.reasons.values():
        raise BiasflowError(f"{reason}; ask for another method in training")
    (active,) = fitted.every_setting()
    return Carried(method["methods"], fitted, active.edits)


def origin(encoder_folder: str | Path, device: torch.device, code: Iterable[str | Path]) -> dict[str, object]:
    """Return what a training depends on besides data and recipe, for `checkpoints.claim`: the encoder's files, weights,
    configuration and tokenizer, and what computes (`checkpoints.computed_by`)."""
    return {"encoder": digests_of(encoder_folder), **computed_by(device, code)}


def save_training(
    folder: str | Path, model: nn.Module, tokenizer: PreTrainedTokenizerBase, facts: Mapping, carried: Carried
) -> dict:
    """Fill `folder`, whole or not at all: the model, its tokenizer, the method that was active in training, without
    which the model is never read (readouts.source.load_for), and training.json, which is returned.

    model: has `save_pretrained`, as those of transformers; facts: validation_score (None where there is none) and
    validation_metric, what it is (see metrics.training); train, validation and cut (numbers of examples),
    majority_share (where classes are predicted), and what else the task has to say; `method` (method, setting) is
    added."""
    facts = {**facts, "method": list(carried.name)}
    with whole_folder(folder) as temporary:
        model.save_pretrained(temporary)
        if tokenizer.is_fast:
            tokenizer.backend_tokenizer.no_truncation()  # how it was called last is no part of it
        tokenizer.save_pretrained(temporary)
        write_json(temporary / FACTS, facts, sort_keys=True)
        if carried.fitted is not None:
            save(carried.fitted, temporary / CARRIED)
    return facts
