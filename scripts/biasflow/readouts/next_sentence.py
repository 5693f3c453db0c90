"""Next-sentence probabilities of stimuli under every intervention."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders.batches import encode, length_sorted, longest_input
from scripts.biasflow.encoders.edit import Edits, edited
from scripts.biasflow.methods.grid import Setting, Subspaces
from scripts.biasflow.methods.sweep import Reports, check_reports, sweep

IS_NEXT = 0  # index of "sentence B follows sentence A" in BERT's next-sentence head


def sentence_pairs(stimuli: pd.DataFrame) -> pd.DataFrame:
    """Originals, then swapped copies, one row per pair: triple, label (of the original), swapped, first, second."""
    keys = ["triple", "label"]
    original = stimuli[[*keys, "context", "next_sentence"]].set_axis([*keys, "first", "second"], axis=1)
    swapped = stimuli[[*keys, "swapped_context", "swapped_next_sentence"]].set_axis([*keys, "first", "second"], axis=1)
    return pd.concat([original.assign(swapped=False), swapped.assign(swapped=True)], ignore_index=True)


def next_sentence_probabilities(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    stimuli: pd.DataFrame,
    settings: Sequence[Setting],
    subspaces: Subspaces,
    *,
    batch_size: int = 32,
    device: torch.device | str = "cpu",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """p(NS) of every sentence pair in every setting, and what the edits did.

    p(NS) is the softmax over the two next-sentence logits at index 0. Returns a tidy table with columns level,
    settings, triple, label, swapped, p, and one row per edit (see `edit.EditReport`). Input longer than the encoder
    takes is cut from the longer sentence."""
    pairs = sentence_pairs(stimuli)
    if pairs.empty:
        raise BiasflowError("no stimuli: the table has no sentence pair")
    limit = longest_input(model, tokenizer)
    encoded = encode(tokenizer, pairs["first"], pairs["second"], truncation=True, max_length=limit)
    p = np.empty((len(settings), len(pairs)))
    reports: Reports = {}
    batches = length_sorted(encoded, tokenizer, batch_size=batch_size, device=device)
    for rows, batch in progress(batches, total=-(-len(pairs) // batch_size), description="next sentences"):
        logits = sweep(model, batch, settings, subspaces, reports)
        if logits.shape[-1] != 2:
            raise BiasflowError(f"the head has {logits.shape[-1]} classes; a next-sentence head has 2")
        p[:, rows] = logits.double().softmax(-1)[..., IS_NEXT].cpu().numpy()
    if np.isnan(p).any():
        raise BiasflowError("next-sentence probabilities are NaN; check the encoder's weights")
    named = [
        pairs.drop(columns=["first", "second"]).assign(level=s.level, settings=s.settings, p=p[i])
        for i, s in enumerate(settings)
    ]
    table = pd.concat(named, ignore_index=True)[["level", "settings", "triple", "label", "swapped", "p"]]
    return table, pd.DataFrame(check_reports(reports, settings))


@torch.inference_mode()
def edited_probabilities(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    stimuli: pd.DataFrame,
    methods: Mapping[tuple[str, str], Edits],
    *,
    batch_size: int = 32,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """As `next_sentence_probabilities`, for any interventions: (level, settings) -> edits (place, eraser).

    One pass per method, with its edits hooked into the model."""
    pairs = sentence_pairs(stimuli)
    if pairs.empty:
        raise BiasflowError("no stimuli: the table has no sentence pair")
    limit = longest_input(model, tokenizer)
    encoded = encode(tokenizer, pairs["first"], pairs["second"], truncation=True, max_length=limit)
    tables = []
    for (level, settings), edits in methods.items():
        p = np.empty(len(pairs))
        with edited(model, edits):
            for rows, batch in length_sorted(encoded, tokenizer, batch_size=batch_size, device=device):
                output = model(**batch)
                logits = output.seq_relationship_logits if "seq_relationship_logits" in output else output.logits
                p[rows] = logits.double().softmax(-1)[:, IS_NEXT].cpu().numpy()
        if np.isnan(p).any():
            raise BiasflowError(f"next-sentence probabilities under {level} are NaN; check the encoder's weights")
        tables.append(pairs.drop(columns=["first", "second"]).assign(level=level, settings=settings, p=p))
    return pd.concat(tables, ignore_index=True)[["level", "settings", "triple", "label", "swapped", "p"]]
