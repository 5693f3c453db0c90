"""GLUE tasks: their examples, and what a fine-tuned encoder predicts with interventions active."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.batches import encode, length_sorted, longest_input
from scripts.biasflow.encoders.edit import Edits, edited
from scripts.biasflow.metrics.glue import glue_task
from scripts.biasflow.metrics.nli import CLASSES

PLANTED_NLI = "planted-nli"  # the embedded pairs, measured as MNLI is


def texts_and_labels(task: str) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The task's text columns, and its classes (None: a number is predicted)."""
    if task == PLANTED_NLI:
        return ("premise", "hypothesis"), CLASSES
    entry = glue_task(task)
    return entry.texts, entry.labels or None


def metric_task(task: str) -> str:
    """The GLUE task whose official metrics a task is measured with."""
    return "mnli" if task == PLANTED_NLI else task


@torch.inference_mode()
def predict(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    examples: pd.DataFrame,
    *,
    texts: Sequence[str],
    edits: Edits = (),
    batch_size: int = 64,
) -> np.ndarray:
    """What `model` says of each example with `edits` active: class names [n], or numbers [n] if it has one output.

    Longer input than the encoder takes is cut from the longer text. BiasflowError for predictions that are NaN."""
    encoded = encode(
        tokenizer, *(examples[text] for text in texts), truncation=True, max_length=longest_input(model, tokenizer)
    )
    outputs = np.empty((len(examples), model.config.num_labels))
    with edited(model, edits):
        for rows, batch in length_sorted(encoded, tokenizer, batch_size=batch_size, device=model.device):
            outputs[rows] = model(**batch).logits.double().cpu().numpy()
    if np.isnan(outputs).any():
        raise BiasflowError("the predictions are NaN; check the fine-tuned encoder")
    if model.config.num_labels == 1:
        return outputs[:, 0]
    return np.array([model.config.id2label[number] for number in outputs.argmax(-1)])
