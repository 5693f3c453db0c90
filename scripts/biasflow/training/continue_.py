"""Encoders that are trained further on a text (source `continued`), each by a recipe."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed

from biasflow.base.files import sha256, whole_folder
from biasflow.encoders.batches import shortened
from biasflow.encoders.device import on_gpu, resolve_device, trained_in
from biasflow.encoders.examples import blocks_of
from biasflow.encoders.load import load_encoder, load_with_new_heads
from biasflow.encoders.recipes import (
    EXAMPLES,
    MASKED_LM,
    PLANTED_BIAS,
    PLANTED_UNITS,
    RECIPES,
    SWAPPED,
    NewHeads,
    Recipe,
)
from biasflow.encoders.stored import digests_of
from biasflow.encoders.taps import set_dropout
from biasflow.training.checkpoints import checkpoints, computed_by
from biasflow.training.heads import Examples, running, train_heads
from biasflow.training.loop import Loop
from biasflow.training.planted import train_planted


def continue_encoder(
    encoder_folder: str | Path,
    folder: str | Path,
    text: str | Path,
    *,
    swapped: str | Path | None = None,
    labour: str | Path | None = None,
    recipe: str = MASKED_LM,
    dose: float | None = None,
    placebo: bool = False,
    examples: int = EXAMPLES,
    steps: int | None = None,
    head_steps: int | None = None,
    learning_rate: float | None = None,
    next_sentence: bool = False,
    max_length: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    work: str | Path | None = None,
) -> dict:
    """Train the encoder in `encoder_folder` further by one of RECIPES on the file `text`; fill `folder`, whole or not
    at all, and return what happened, such as the number of steps. On a GPU it computes in bf16, and says so.

    text: read as one string in blocks of max_length tokens (None, or more than the encoder takes: as many as it takes).
    swapped: the same text with the genders swapped, for recipes that train on it, too. The number of steps follows from
    the blocks of `text` alone (None), twice as many where something stands beside it: a method and its control take the
    same, although a swapped text may have a few blocks more or less. learning_rate: None takes the recipe's. Rates of
    dropout are those of this training alone: the encoder's configuration keeps its own.

    An encoder without a masked-LM head gets a new one by the recipe masked_lm, trained as `heads.train_heads` says
    (None: the values of `recipes.NewHeads`). With `next_sentence` a next-sentence head is trained beside it, the
    encoder's own or a new one; `text` then has documents: a sentence a line, an empty line between them.

    The recipe planted trains on units of the text with a `dose` of gender bias, `examples` of each occupation with a
    share of women in the file `labour`, or with a dose of a `placebo`, as `planted.train_planted` says; the file
    PLANTED_UNITS in the folder has them.

    work: a folder for checkpoints, of which a long training writes one from time to time; the next call with the same
    arguments goes on from there, ends with the same bytes, and removes it. BiasflowError: a
    head that the recipe cannot give to such an encoder, a text shorter than a block, a loss that is not finite,
    checkpoints of another training."""
    how, where = RECIPES[recipe], resolve_device(device)
    decided = {"recipe": recipe, "steps": steps, "head_steps": head_steps, "learning_rate": learning_rate, "seed": seed}
    decided |= {"next_sentence": next_sentence, "max_length": max_length, "dose": dose, "placebo": placebo}
    decided["examples"] = examples
    texts = {"text": text, "swapped": swapped, "labour": labour}
    decided |= {role: sha256(path) for role, path in texts.items() if path}
    decided |= {"encoder": digests_of(encoder_folder), **computed_by(where, [__file__])}
    with checkpoints(work, decided) as work:
        model, tokenizer, new = _load(encoder_folder, recipe, next_sentence, seed, where)
        units = None
        if new or next_sentence or recipe == PLANTED_BIAS:
            asked = {"head_steps": head_steps, "learning_rate": learning_rate, "max_length": max_length}
            options = {"how": _how_heads(model, tokenizer, asked), "steps": steps, "seed": seed, "work": work}
            if recipe == PLANTED_BIAS:
                options |= {"dose": dose, "placebo": placebo, "examples": examples}
                units, facts = train_planted(model, tokenizer, text, labour, **options)
            else:
                facts = train_heads(model, tokenizer, new, text, next_sentence=next_sentence, **options)
        else:
            length = shortened(max_length, model, tokenizer)
            how = replace(how, learning_rate=learning_rate or how.learning_rate)
            facts = _train(model, tokenizer, how, text, swapped, length, steps, seed=seed, work=work)
        with whole_folder(folder) as temporary:
            model.to("cpu").eval().save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
            if units is not None:
                units.to_csv(temporary / PLANTED_UNITS, index=False, lineterminator="\n")
    return facts | trained_in(where)


def _load(
    folder: str | Path, recipe: str, next_sentence: bool, seed: int, device: torch.device
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    """The encoder with the heads that it is trained with, its tokenizer, and which of its parameters are new."""
    if recipe != MASKED_LM:
        return *load_encoder(folder, head="masked_lm", device=device), []
    set_seed(seed)
    return load_with_new_heads(folder, head="pretraining" if next_sentence else "masked_lm", device=device)


def _how_heads(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, asked: Mapping) -> NewHeads:
    """How new heads are trained: as is asked, by `NewHeads` where that is None, on no longer texts than the encoder
    takes."""
    how = replace(NewHeads(), **{key: value for key, value in asked.items() if value is not None})
    return replace(how, max_length=shortened(how.max_length, model, tokenizer))


def _train(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    how: Recipe,
    text: str | Path,
    swapped: str | Path | None,
    length: int,
    steps: int | None,
    **loop,
) -> dict:
    """Train a model that has a masked-LM head, in place; loop: seed and work of `Loop`."""
    blocks = blocks_of(tokenizer, running(text), max_length=length)
    steps = steps or how.epochs * math.ceil(len(blocks) * (2 if how.beside else 1) / how.batch_size)
    if how.beside:
        other = blocks_of(tokenizer, running(swapped), max_length=length) if how.beside == SWAPPED else blocks
        blocks = np.concatenate([blocks, other])
    if how.attention_dropout is not None:
        set_dropout(model, attention=how.attention_dropout, hidden=how.hidden_dropout)
    state = Loop(
        model,
        range(len(blocks)),
        Examples(lambda numbers: {"input_ids": blocks[numbers]}, tokenizer, how.share, loop["seed"]),
        name="further training",
        steps=steps,
        batch_size=how.batch_size,
        learning_rate=how.learning_rate,
        lr_scheduler_type="linear",
        bf16=on_gpu(model.device),  # device.HALF
        remove_unused_columns=False,
        **loop,
    ).run()
    return {"blocks": len(blocks), "steps": state.global_step}
