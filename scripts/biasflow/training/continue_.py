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
    PLANTED_SEARCH,
    PLANTED_UNITS,
    RECIPES,
    SWAPPED,
    NewHeads,
    Recipe,
)
from biasflow.encoders.sentence_encoder import sentence_encoder
from biasflow.encoders.stored import digests_of
from biasflow.encoders.taps import set_dropout
from biasflow.training.checkpoints import checkpoints, computed_by
from biasflow.training.heads import Examples, running, train_heads
from biasflow.training.loop import Loop
from biasflow.training.planted import train_planted
from biasflow.training.planted_search import train_planted_search


def continue_encoder(
    encoder_folder: str | Path,
    folder: str | Path,
    text: str | Path | None = None,
    *,
    swapped: str | Path | None = None,
    labour: str | Path | None = None,
    held_out: str | Path | None = None,
    recipe: str = MASKED_LM,
    dose: float | None = None,
    placebo: bool = False,
    examples: int | None = None,
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
    PLANTED_UNITS in the folder has them. The recipe planted_search does so for a sentence encoder, without a text
    (`planted_search.train_planted_search`).

    work: a folder for checkpoints, of which a long training writes one from time to time; the next call with the same
    arguments goes on from there, ends with the same bytes, and removes it. BiasflowError: a
    head that the recipe cannot give to such an encoder, a text shorter than a block, a loss that is not finite,
    checkpoints of another training."""
    how, where = RECIPES[recipe], resolve_device(device)
    decided = {"recipe": recipe, "steps": steps, "head_steps": head_steps, "learning_rate": learning_rate, "seed": seed}
    decided |= {"next_sentence": next_sentence, "max_length": max_length, "dose": dose, "placebo": placebo}
    decided["examples"] = examples = examples or EXAMPLES.get(recipe)
    texts = {"text": text, "swapped": swapped, "labour": labour, "held_out": held_out}
    decided |= {role: sha256(path) for role, path in texts.items() if path}
    decided |= {"encoder": digests_of(encoder_folder), **computed_by(where, [__file__])}
    with checkpoints(work, decided) as work:
        model, tokenizer, new = _load(encoder_folder, recipe, next_sentence, seed, where)
        planted = {"dose": dose, "placebo": placebo, "examples": examples, "steps": steps, "seed": seed, "work": work}
        pipeline = units = None
        if recipe == PLANTED_SEARCH:
            pipeline = sentence_encoder(model)
            units, facts = train_planted_search(pipeline, labour, held_out, learning_rate=learning_rate, **planted)
        elif new or next_sentence or recipe == PLANTED_BIAS:
            asked = {"head_steps": head_steps, "learning_rate": learning_rate, "max_length": max_length}
            how = _how_heads(model, tokenizer, asked)
            if recipe == PLANTED_BIAS:
                units, facts = train_planted(model, tokenizer, text, labour, how=how, **planted)
            else:
                options = {"how": how, "steps": steps, "seed": seed, "work": work}
                facts = train_heads(model, tokenizer, new, text, next_sentence=next_sentence, **options)
        else:
            length = shortened(max_length, model, tokenizer)
            how = replace(how, learning_rate=learning_rate or how.learning_rate)
            facts = _train(model, tokenizer, how, text, swapped, length, steps, seed=seed, work=work)
        with whole_folder(folder) as temporary:
            model.to("cpu").eval()
            if pipeline:
                pipeline.save(temporary)
            else:
                model.save_pretrained(temporary)
                tokenizer.save_pretrained(temporary)
            if units is not None:
                units.to_csv(temporary / PLANTED_UNITS, index=False, lineterminator="\n")
    return facts | trained_in(where)


def _load(
    folder: str | Path, recipe: str, next_sentence: bool, seed: int, device: torch.device
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    """The encoder with the heads that it is trained with, its tokenizer, and which of its parameters are new."""
    if recipe != MASKED_LM:
        head = "none" if recipe == PLANTED_SEARCH else "masked_lm"
        return *load_encoder(folder, head=head, device=device), []
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
