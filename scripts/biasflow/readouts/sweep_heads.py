"""Classification heads retrained on the sentence vectors of every intervention, all of them as one batched problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders import taps
from scripts.biasflow.encoders.batches import encode, grouped_by_length, longest_input
from scripts.biasflow.methods.grid import Setting, Subspaces
from scripts.biasflow.methods.sweep import sentence_vectors
from scripts.biasflow.tasks.finetune import check_labels


@dataclass(frozen=True)
class Heads:
    """One linear head per setting: weight [settings, classes, hidden], bias [settings, classes]."""

    weight: torch.Tensor
    bias: torch.Tensor

    def logits(self, vectors: torch.Tensor) -> torch.Tensor:
        """Logits [settings, batch, classes] of sentence vectors [settings, batch, hidden]."""
        return torch.baddbmm(self.bias[:, None], vectors, self.weight.transpose(1, 2))


def own_heads(model: nn.Module, n: int) -> Heads:
    """The model's own classification layer, n times."""
    layer = taps.classification_layer(model)
    if layer is None:
        raise BiasflowError(f"{taps.name_of(model)} has no classification layer; use a fine-tuned encoder")
    return Heads(layer.weight.detach().repeat(n, 1, 1), layer.bias.detach().repeat(n, 1))


def retrain_heads(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    train: pd.DataFrame,
    settings: Sequence[Setting],
    subspaces: Subspaces,
    *,
    texts: Sequence[str],
    labels: Sequence[str],
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    device: torch.device | str = "cpu",
) -> Heads:
    """Go on training the model's classification layer, once per setting, on that setting's projected vectors.

    The encoder stays as it is. Each batch passes through the sweep once; the loss is the sum over settings of the mean
    cross-entropy, and Adam works on each number by itself, so every head ends as if it had been trained alone. Memory:
    one batch of vectors, whatever the size of `train`. `train`: columns `label` and those of `texts`."""
    check_labels(train, labels, "training")
    number = {label: i for i, label in enumerate(labels)}
    limit = longest_input(model, tokenizer)
    encoded = encode(tokenizer, *(train[text] for text in texts), truncation=True, max_length=limit)
    gold = torch.tensor([number[label] for label in train["label"]], device=device)
    lengths = np.array([len(ids) for ids in encoded["input_ids"]])
    start = own_heads(model, len(settings))
    heads = Heads(start.weight.clone().requires_grad_(), start.bias.clone().requires_grad_())
    optimizer = torch.optim.Adam([heads.weight, heads.bias], lr=learning_rate)
    for epoch in range(epochs):
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(train))
        order = order[grouped_by_length(lengths[order], batch_size=batch_size, rng=rng)]
        batches = [order[i : i + batch_size].tolist() for i in range(0, len(order), batch_size)]
        for rows in progress(batches, total=len(batches), description=f"heads, epoch {epoch + 1} of {epochs}"):
            features = {key: [encoded[key][row] for row in rows] for key in encoded}
            batch = tokenizer.pad(features, return_tensors="pt").to(device)
            vectors = sentence_vectors(model, batch, settings, subspaces).clone()
            targets = gold[rows].expand(len(settings), -1)
            loss = cross_entropy(heads.logits(vectors).flatten(0, 1), targets.flatten(), reduction="sum") / len(rows)
            if not torch.isfinite(loss):
                raise BiasflowError(f"head retraining: the loss is {loss.item()}; lower its learning_rate")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Heads(heads.weight.detach(), heads.bias.detach())


def save_heads(heads: Heads, path: str | Path) -> None:
    """Write the heads as safetensors."""
    save_file({"weight": heads.weight.cpu().contiguous(), "bias": heads.bias.cpu().contiguous()}, path)


def load_heads(path: str | Path, device: torch.device | str = "cpu") -> Heads:
    """Read heads written by `save_heads`; a truncated or foreign file is a BiasflowError that names it."""
    try:
        tensors = load_file(path, device=str(device))
        return Heads(tensors["weight"], tensors["bias"])
    except (SafetensorError, OSError, KeyError) as error:
        raise BiasflowError(f"{path}: not a whole file of heads ({error}); delete it and run again") from error
