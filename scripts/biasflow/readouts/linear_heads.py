"""Linear classification heads on vectors of a frozen encoder, all of them trained as one batched problem.

Source: Orgad et al. (2022; section 3, "retraining", and released code): AdamW with eps 1e-6 and no weight decay, a
constant learning rate, shuffled batches, mean cross-entropy, no dropout."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike

from biasflow.base.tensors import save_tensors
from biasflow.readouts import lockstep

EPS = 1e-6
ROWS_TOGETHER = 4096  # whose logits are held at once


@dataclass(frozen=True)
class LinearHeads:
    """H heads: weight [H, classes, d], bias [H, classes]; epoch [H] is the one (from 1) whose weights these are, and
    validation_accuracy [H] their share of right classes on the head's validation rows. All on the CPU."""

    weight: torch.Tensor
    bias: torch.Tensor
    validation_accuracy: torch.Tensor
    epoch: torch.Tensor

    @classmethod
    def of(cls, weight: torch.Tensor, bias: torch.Tensor) -> "LinearHeads":
        """One head of weight [classes, d] and bias [classes], of which nothing else is known."""
        return cls(
            weight[None], bias[None], torch.full((1,), torch.nan, dtype=torch.float64), torch.zeros(1, dtype=int)
        )

    def joined(self, other: "LinearHeads") -> "LinearHeads":
        """These heads, and then the others."""
        return LinearHeads(*(torch.cat(both) for both in zip(vars(self).values(), vars(other).values(), strict=True)))

    def part(self, which: slice | Sequence[int]) -> "LinearHeads":
        """Some of the heads, by number."""
        return LinearHeads(*(tensor[which] for tensor in vars(self).values()))

    def predict(self, X: ArrayLike | torch.Tensor, *, device: torch.device | str = "cpu") -> np.ndarray:
        """The class of the largest logit (the first of equals): int64 [H, n] for vectors X [n, d], in chunks of rows.

        BiasflowError for vectors that are not finite."""
        X = lockstep.as_rows(X).to(device)
        return _classes(X, self.weight.to(device), self.bias.to(device)).cpu().numpy()


def train_heads(
    X: ArrayLike | torch.Tensor,
    y: ArrayLike,
    *,
    n_classes: int,
    seeds: Sequence[int],
    rows: Sequence[np.ndarray],
    valid_rows: Sequence[np.ndarray],
    matrices: Sequence[int] | None = None,
    epochs: int,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    keep: Literal["best", "last"] = "best",
    device: torch.device | str = "cpu",
) -> LinearHeads:
    """Train linear heads, one for each of `seeds`; each ends as if it had been trained alone.

    X [n, d] or [m, n, d], y [n]  vectors (float32 or float16, kept as they are), in one or several matrices, and class
           numbers below n_classes
    seeds  of each head's first weights (those of `torch.nn.Linear` after `torch.manual_seed`) and of its batches
           (`epoch_order`); the same seed may be given several times with different rows
    rows, valid_rows  for each head the numbers of the rows that it is trained and validated on, with repetitions if you
           like and of any length (balanced sets). A head with fewer rows makes fewer steps
    matrices  for each head the number of its matrix; the first one unless given
    keep   the weights of the epoch of best validation accuracy, the first of equals (as the paper says), or of the
           "last" epoch (as the released code does, which keeps a reference to weights that are trained on)

    Raises BiasflowError: shapes that do not fit, a class number that is none (its row is named), a vector that is not
    finite, and a head whose loss is no longer finite (its seed is named)."""
    X = lockstep.as_rows(X, matrices=True).to(device)
    y = lockstep.as_classes("y", y, X.shape[1], n_classes)
    matrices = np.zeros(len(seeds), dtype=int) if matrices is None else np.asarray(matrices)
    parameters = weight, bias = lockstep.start(seeds, [X.shape[2], n_classes], device)
    kept_weight, kept_bias = weight.clone(), bias.clone()
    accuracy, kept_epoch = torch.full((len(seeds),), -1.0, dtype=torch.float64), torch.zeros(len(seeds), dtype=int)

    def epoch_ended(heads: np.ndarray, ended: np.ndarray, parameters: lockstep.Parameters) -> np.ndarray:
        """Keep the weights that are to be kept; no head stops before the last epoch (`lockstep.EpochEnded`)."""
        going_on, (weight, bias) = np.zeros(len(heads), dtype=bool), parameters
        if keep == "last":  # nothing depends on what was reached before
            final = np.flatnonzero(ended == epochs - 1)
            heads, ended, weight, bias = heads[final], ended[final], weight[final], bias[final]
        reached = np.empty(len(heads))
        for places in lockstep.alike([(matrices[head], id(valid_rows[head])) for head in heads]):
            first = heads[places[0]]
            vectors = X[matrices[first]][torch.from_numpy(valid_rows[first]).to(device)]
            right = _classes(vectors, weight[places], bias[places]).cpu().numpy() == y[valid_rows[first]]
            reached[places] = right.mean(axis=1)
        for place, (head, epoch) in enumerate(zip(heads, ended, strict=True)):
            if keep == "last" or reached[place] > accuracy[head]:
                accuracy[head], kept_epoch[head] = reached[place], epoch + 1
                kept_weight[head], kept_bias[head] = weight[place], bias[place]
        return going_on

    lockstep.train(
        X,
        torch.from_numpy(y)[None].to(device),
        parameters,
        reads=np.stack([matrices, np.zeros_like(matrices)], axis=1),
        batches=lambda head, epoch: lockstep.in_batches(
            rows[head][epoch_order(seeds[head], epoch, len(rows[head]))], batch_size
        ),
        epochs=epochs,
        epoch_ended=epoch_ended,
        names=[f"head seed {seed}" for seed in seeds],
        optimisation=lockstep.Optimisation(learning_rate, EPS, 0.0, "mean"),
        description=f"{len(seeds)} linear heads",
    )
    return LinearHeads(kept_weight.cpu(), kept_bias.cpu(), accuracy, kept_epoch)


def epoch_order(seed: int, epoch: int, n: int) -> np.ndarray:
    """The order in which a head visits its n rows in an epoch (from 0)."""
    return np.random.default_rng([seed, epoch]).permutation(n)


def save_linear_heads(heads: LinearHeads, path: str | Path, names: Sequence[Mapping[str, str]]) -> None:
    """Write the heads as safetensors, and what they are called, one mapping each, as JSON in its metadata."""
    tensors = {name: tensor.contiguous() for name, tensor in vars(heads).items()}
    save_tensors(tensors, path, metadata={"heads": json.dumps(list(names))})


@torch.no_grad()
def _classes(X: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Classes [H, n] of the rows of X [n, d] by heads of weight [H, classes, d] and bias [H, classes]."""
    flat, offsets = weight.flatten(0, 1).T, bias.flatten()
    chunks = [torch.addmm(offsets, chunk.float(), flat) for chunk in X.split(ROWS_TOGETHER)]
    return torch.cat([logits.view(-1, *bias.shape).argmax(dim=2).T for logits in chunks], dim=1)
