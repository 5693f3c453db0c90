"""Natural language inference under every intervention: predictions in one pass, streamed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders.batches import encode, length_sorted, longest_input
from scripts.biasflow.encoders.edit import Edits, edits_of
from scripts.biasflow.methods.grid import Setting, Subspaces
from scripts.biasflow.methods.subspaces import fit_to_templates, save_subspaces
from scripts.biasflow.methods.sweep import Reports, check_reports, sentence_vectors
from scripts.biasflow.metrics.nli import CLASSES
from scripts.biasflow.readouts.predictions import AFTER, BEFORE, OCCUPATIONS, TEST, named
from scripts.biasflow.readouts.sweep_heads import Heads, own_heads
from scripts.biasflow.text.occupation_pairs import OccupationPairs

TEXTS = ("premise", "hypothesis")
CHUNK = 8192  # pairs that are in memory as text at a time

Sentences = tuple[Sequence[str], Sequence[str]]


def check_classifier(model: nn.Module) -> None:
    """BiasflowError unless the model's classes are those of NLI, in our order."""
    found = tuple(model.config.id2label[i] for i in sorted(model.config.id2label))
    if found != CLASSES:
        raise BiasflowError(f"the classifier's classes are {', '.join(found)}; NLI needs {', '.join(CLASSES)}")


def chunks_of_frame(pairs: pd.DataFrame) -> Iterator[Sentences]:
    """Premises and hypotheses of a table, in chunks."""
    for start in range(0, len(pairs), CHUNK):
        part = pairs.iloc[start : start + CHUNK]
        yield tuple(part[text].tolist() for text in TEXTS)


def chunks_of_occupations(pairs: OccupationPairs) -> Iterator[Sentences]:
    """Premises and hypotheses of the gender-occupation set, made chunk by chunk."""
    for start in range(0, len(pairs), CHUNK):
        yield pairs.sentences(start, min(start + CHUNK, len(pairs)))


def predict(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    chunks: Iterable[Sentences],
    n: int,
    settings: Sequence[Setting],
    subspaces: Subspaces,
    heads: Mapping[str, Heads],
    *,
    reports: Reports,
    batch_size: int,
    device: torch.device | str = "cpu",
    description: str = "pairs",
) -> dict[str, np.ndarray]:
    """Predicted class of n pairs in every setting by every set of heads: name of the heads -> uint8 [settings, n].

    One sweep serves all heads. Memory above the model: one chunk of text, one batch of vectors and the result (one
    byte per prediction), whatever n. `reports` gathers what the edits did. BiasflowError for logits that are NaN."""
    found = {name: np.empty((len(settings), n), dtype=np.uint8) for name in heads}
    limit = longest_input(model, tokenizer)
    done = 0
    for premises, hypotheses in progress(chunks, total=-(-n // CHUNK), description=description):
        encoded = encode(tokenizer, premises, hypotheses, truncation=True, max_length=limit)
        for rows, batch in length_sorted(encoded, tokenizer, batch_size=batch_size, device=device):
            vectors = sentence_vectors(model, batch, settings, subspaces, reports)
            columns = done + np.asarray(rows)
            for name, each in heads.items():
                logits = each.logits(vectors)
                if logits.isnan().any():
                    raise BiasflowError(f"{description}: the predictions are NaN; check the fine-tuned encoder")
                found[name][:, columns] = logits.argmax(-1).to(torch.uint8).cpu().numpy()
        done += len(premises)
    if done != n:
        raise ValueError(f"{n} pairs were announced, {done} came")
    return found


def predict_all(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    occupations: OccupationPairs,
    test: pd.DataFrame,
    settings: Sequence[Setting],
    subspaces: Subspaces,
    *,
    retrained: Heads | None = None,
    batch_size: int,
    device: torch.device | str = "cpu",
) -> tuple[dict[str, np.ndarray], pd.DataFrame]:
    """Predictions on the gender-occupation pairs ([settings, occupations, templates, 2, words]) and on the test pairs
    ([settings, n]), with the model's own head and, if given, with `retrained` ones; and one row per edit."""
    check_classifier(model)
    heads = {BEFORE: own_heads(model, len(settings))} | ({AFTER: retrained} if retrained else {})
    reports: Reports = {}
    parts = {
        OCCUPATIONS: (chunks_of_occupations(occupations), len(occupations), occupations.shape),
        TEST: (chunks_of_frame(test), len(test), (len(test),)),
    }
    predictions = {}
    for part, (chunks, n, shape) in parts.items():
        found = predict(
            model,
            tokenizer,
            chunks,
            n,
            settings,
            subspaces,
            heads,
            reports=reports,
            batch_size=batch_size,
            device=device,
            description=f"{part} pairs",
        )
        predictions |= {named(stage, part): array.reshape(len(settings), *shape) for stage, array in found.items()}
    return predictions, pd.DataFrame(check_reports(reports, settings))


def interventions_in_training(
    setting: Setting, templates: Mapping[str, pd.DataFrame], path: str | Path, **fitting
) -> Callable[[nn.Module, PreTrainedTokenizerBase], Edits]:
    """For `finetune(edits=...)`: fits the subspaces to the model as it is before training, writes them to `path`, and
    returns the interventions of `setting`. `templates`, `fitting`: as in `fit_to_templates`."""

    def edits(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> Edits:
        subspaces, _ = fit_to_templates(model, tokenizer, templates, **fitting)
        save_subspaces(subspaces, path)
        return edits_of(setting, subspaces)

    return edits
