"""Masked-LM fine-tuning for one epoch: the encoder whose perplexity paper A reports."""

import sys
from collections.abc import Sequence
from pathlib import Path

from datasets import Dataset
from transformers import DataCollatorForLanguageModeling, PrinterCallback, Trainer, TrainingArguments

from scripts.biasflow.encoders.batches import longest_input
from scripts.biasflow.encoders.device import resolve_device
from scripts.biasflow.encoders.load import load_encoder
from scripts.biasflow.readouts.losses import blocks_of

BATCH, LEARNING_RATE, SHARE = 4, 5e-5, 0.15  # as run_language_modeling.py of transformers 2.8, which the paper ran


def finetune_masked_lm(
    source: str | Path,
    folder: str | Path,
    work: str | Path,
    sentences: Sequence[str],
    *,
    max_length: int | None,
    seed: int,
    device: str,
) -> int:
    """One epoch over the text in blocks of max_length tokens, without any eraser; fills `folder`, returns the steps.

    AdamW with a learning rate that falls linearly to 0, 15 % of the tokens masked anew in each batch (Liang et al.
    2020, by their released commands)."""
    where = resolve_device(device)
    model, tokenizer = load_encoder(source, head="masked_lm", device=where)
    longest = longest_input(model, tokenizer)
    blocks = blocks_of(tokenizer, " ".join(sentences), max_length=min(max_length or longest, longest))
    on_gpu = where.type == "cuda"
    arguments = TrainingArguments(
        output_dir=str(work),
        num_train_epochs=1,
        per_device_train_batch_size=BATCH,
        learning_rate=LEARNING_RATE,
        lr_scheduler_type="linear",
        seed=seed,
        bf16=on_gpu,
        full_determinism=on_gpu,
        use_cpu=not on_gpu,
        save_strategy="no",
        report_to="none",
        disable_tqdm=not sys.stderr.isatty(),
        dataloader_pin_memory=on_gpu,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict({"input_ids": list(blocks)}),
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=SHARE),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    model.to("cpu").eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return trainer.state.global_step
