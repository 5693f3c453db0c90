"""Encoders that are trained further on a text (source `continued`), each by a recipe."""

import math
import tempfile
from pathlib import Path

import numpy as np
from datasets import Dataset
from transformers import DataCollatorForLanguageModeling, PrinterCallback, Trainer

from biasflow.base.errors import BiasflowError, check_choice
from biasflow.base.files import read_text, whole_folder
from biasflow.encoders.batches import shortened
from biasflow.encoders.device import resolve_device
from biasflow.encoders.examples import blocks_of
from biasflow.encoders.load import load_encoder
from biasflow.encoders.precision import on_gpu, trained_in
from biasflow.encoders.recipes import RECIPES, SWAPPED
from biasflow.encoders.taps import set_dropout
from biasflow.encoders.training_arguments import training_arguments


def continue_encoder(
    encoder_folder: str | Path,
    folder: str | Path,
    text: str | Path,
    *,
    swapped: str | Path | None = None,
    recipe: str = "masked_lm",
    max_length: int | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> dict:
    """Train the encoder in `encoder_folder` further by one of RECIPES on the file `text`, read as one string as it is,
    in blocks of max_length tokens (None, or more than the encoder takes: as many as it takes); fill `folder`, whole or
    not at all, and return the number of blocks and steps; on a GPU it computes in bf16, and says so.

    swapped: the same text with the genders swapped, for recipes that train on it, too. The number of steps follows from
    the blocks of `text` alone, twice as many where something stands beside it: a method and its control take the same,
    although a swapped text may have a few blocks more or less. Rates of dropout are those of this training alone: the
    encoder's configuration keeps its own. BiasflowError: an unknown recipe, no swapped text for one that needs it, an
    encoder without a masked-LM head, a text shorter than a block."""
    check_choice("recipe", recipe, RECIPES)
    how, where = RECIPES[recipe], resolve_device(device)
    if how.beside == SWAPPED and swapped is None:
        raise BiasflowError(f"recipe {recipe}: it trains on the gender-swapped text, too; give swapped")
    model, tokenizer = load_encoder(encoder_folder, head="masked_lm", device=where)
    length = shortened(max_length, model, tokenizer)
    blocks = blocks_of(tokenizer, read_text(text), max_length=length)
    steps = how.epochs * math.ceil(len(blocks) * (2 if how.beside else 1) / how.batch_size)
    if how.beside:
        other = blocks_of(tokenizer, read_text(swapped), max_length=length) if how.beside == SWAPPED else blocks
        blocks = np.concatenate([blocks, other])
    if how.attention_dropout is not None:
        set_dropout(model, attention=how.attention_dropout, hidden=how.hidden_dropout)
    with tempfile.TemporaryDirectory() as work:
        arguments = training_arguments(
            work,
            seed=seed,
            on_gpu=on_gpu(where),
            max_steps=steps,
            per_device_train_batch_size=how.batch_size,
            learning_rate=how.learning_rate,
            lr_scheduler_type="linear",
            bf16=on_gpu(where),  # precision.HALF
            save_strategy="no",
        )
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict({"input_ids": list(blocks)}),
            data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=how.share),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    with whole_folder(folder) as temporary:
        model.to("cpu").eval().save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    return {"blocks": len(blocks), "steps": trainer.state.global_step, **trained_in(where)}
