"""Encoders that are trained further on a text (source `continued`), each by a recipe."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from datasets import Dataset
from transformers import DataCollatorForLanguageModeling, PrinterCallback, Trainer

from scripts.biasflow.base.errors import check_choice
from scripts.biasflow.base.files import read_text, whole_folder
from scripts.biasflow.encoders.batches import shortened
from scripts.biasflow.encoders.device import resolve_device
from scripts.biasflow.encoders.examples import blocks_of
from scripts.biasflow.encoders.load import load_encoder
from scripts.biasflow.encoders.training_arguments import training_arguments


@dataclass(frozen=True)
class Recipe:
    """Masked language modelling with AdamW, a learning rate that falls linearly to 0, and `share` of the tokens masked
    anew in each batch of blocks."""

    epochs: int
    batch_size: int
    learning_rate: float
    share: float


RECIPES = {
    # The encoder whose perplexity Liang et al. (2020) report: run_language_modeling.py of transformers 2.8, by their
    # released commands.
    "masked_lm": Recipe(epochs=1, batch_size=4, learning_rate=5e-5, share=0.15),
}


def continue_encoder(
    encoder_folder: str | Path,
    folder: str | Path,
    text: str | Path,
    *,
    recipe: str = "masked_lm",
    max_length: int | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> dict:
    """Train the encoder in `encoder_folder` further on the file `text`, read as one string as it is, in blocks of
    max_length tokens (None, or more than the encoder takes: as many as it takes); fill `folder`, whole or not at all,
    and return the number of blocks and steps.

    BiasflowError: an unknown recipe, an encoder without a masked-LM head, a text shorter than a block."""
    check_choice("recipe", recipe, RECIPES)
    how, where = RECIPES[recipe], resolve_device(device)
    model, tokenizer = load_encoder(encoder_folder, head="masked_lm", device=where)
    blocks = blocks_of(tokenizer, read_text(text), max_length=shortened(max_length, model, tokenizer))
    on_gpu = where.type == "cuda"
    with tempfile.TemporaryDirectory() as work:
        arguments = training_arguments(
            work,
            seed=seed,
            on_gpu=on_gpu,
            num_train_epochs=how.epochs,
            per_device_train_batch_size=how.batch_size,
            learning_rate=how.learning_rate,
            lr_scheduler_type="linear",
            bf16=on_gpu,
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
    return {"blocks": len(blocks), "steps": trainer.state.global_step}
