"""Softmax classifiers on the rows of one or several matrices, trained side by side as one batched problem: linear ones,
or networks with hidden layers (ReLU).

The parameters of N classifiers are a list: weight [N, outputs, inputs] and bias [N, outputs] of each layer, the first
one first. A step of AdamW on a small classifier is far less work than the dozen calls that ask for it. Here every call
serves all classifiers that still train: each visits its own batches at its own pace (those with few rows simply begin
their next epoch earlier), so that all of them have made the same number of steps and share AdamW's bias correction;
those that are finished leave. The gradient is written out, so there is no graph to record. Each classifier ends as if
it had been trained alone."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import nn
from torch.optim.adamw import adamw

from biasflow.base.errors import BiasflowError
from biasflow.base.progress import Progress

PADDING = -1
STEPS_PREPARED = 256  # whose row numbers and labels are looked up in one go
CACHE_BYTES = 2**20  # rows gathered at once on a CPU: they are read twice, and should still be in the cache by then

Batches = Callable[[int, int], np.ndarray]
Parameters = Sequence[torch.Tensor]
EpochEnded = Callable[[np.ndarray, np.ndarray, Parameters], np.ndarray]


@dataclass(frozen=True)
class Optimisation:
    """AdamW (Loshchilov & Hutter 2019) at a constant rate; the loss of a batch is the sum or mean over its rows."""

    learning_rate: float
    eps: float
    weight_decay: float
    reduction: Literal["sum", "mean"]
    betas: tuple[float, float] = (0.9, 0.999)


def start(seeds: Sequence[int], sizes: Sequence[int], device: torch.device | str) -> list[torch.Tensor]:
    """The parameters before training: sizes are those of the rows, of hidden layers if there are any, and the classes.

    Entry i of each holds the numbers of `torch.manual_seed(seeds[i])` and then `torch.nn.Linear(...)` layer by layer,
    whatever the device; torch's global generator is left alone."""
    layers = list(pairwise(sizes))
    shapes = [shape for inputs, outputs in layers for shape in ((outputs, inputs), (outputs,))]
    parameters = [torch.empty(len(seeds), *shape) for shape in shapes]
    for i, seed in enumerate(seeds):
        generator = torch.Generator().manual_seed(seed)
        for (inputs, _), weight, bias in zip(layers, parameters[::2], parameters[1::2], strict=True):
            nn.init.kaiming_uniform_(weight[i], a=sqrt(5), generator=generator)
            nn.init.uniform_(bias[i], -1 / sqrt(inputs), 1 / sqrt(inputs), generator=generator)
    return [parameter.to(device) for parameter in parameters]


def in_batches(order: np.ndarray, batch_size: int) -> np.ndarray:
    """Row numbers [n] as batches [steps, batch_size] in the same order, the last one filled up with PADDING."""
    batches = np.full((-(-len(order) // batch_size), batch_size), PADDING, dtype=np.int64)
    batches.reshape(-1)[: len(order)] = order
    return batches


def as_rows(X: ArrayLike | torch.Tensor, *, matrices: bool = False) -> torch.Tensor:
    """Vectors [n, d] as a tensor of float32, or of float16 where they are, without a copy if they are one already.

    With `matrices` several of them, [m, n, d], are taken, too; one is [1, n, d] then. BiasflowError if X is empty or no
    matrix, or holds a number that is not finite (the row is named)."""
    if not isinstance(X, torch.Tensor):
        X = torch.from_numpy(np.require(X, requirements="W"))  # torch warns of arrays that it may not write to
    X = X if X.dtype == torch.float16 else X.float()
    if matrices and X.ndim == 2:
        X = X[None]
    if X.ndim != 2 + matrices or not X.numel():
        raise BiasflowError(f"X of shape {tuple(X.shape)}: give vectors [rows, dimension], at least one")
    strange = (~X.isfinite().all(dim=-1)).nonzero()
    if len(strange):
        raise BiasflowError(f"X: row {int(strange[0][-1])} holds a number that is not finite; extract it again")
    return X


def as_classes(name: str, y: ArrayLike, n: int, n_classes: int) -> np.ndarray:
    """Class numbers [n] below n_classes as int64; BiasflowError, naming y by `name`, and the row that holds another."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise BiasflowError(f"{name} of shape {y.shape}: there are {n} rows; give one class number for each")
    strange = np.flatnonzero(~np.isin(y, np.arange(n_classes)))
    if strange.size:
        raise BiasflowError(f"{name}: row {strange[0]} holds {y[strange[0]]!r}; the classes are 0 to {n_classes - 1}")
    return y.astype(np.int64)


def alike(keys: Sequence[Hashable]) -> Iterator[np.ndarray]:
    """The places of each distinct key: what several classifiers read is looked up once for all of them."""
    yield from pd.Series(range(len(keys))).groupby(pd.factorize(pd.Series(keys))[0]).indices.values()


@torch.no_grad()
def train(
    X: torch.Tensor,
    y: torch.Tensor,
    parameters: Parameters,
    *,
    reads: np.ndarray,
    batches: Batches,
    epochs: int,
    epoch_ended: EpochEnded,
    names: Sequence[str],
    optimisation: Optimisation,
    description: str,
) -> None:
    """Train classifiers from their `parameters`, which are left as they are.

    X  rows [m, n, d] of m matrices, float32 or float16 (the rows of a batch are converted when they are used)
    y  class number of each row in each of l labellings [l, n], int64
    reads  for each classifier the numbers of its matrix and of its labelling, int [N, 2]
    batches(classifier, epoch)  the row numbers that a classifier visits in an epoch, as `in_batches` makes them
    epoch_ended(classifiers, epochs, parameters)  called whenever classifiers (numbers [E]) have ended an epoch
        (numbers [E], from 0), with their parameters, which the callee may keep; returns bool [E], which of them stop
    names  of the classifiers, for messages

    X, y and parameters are on one device. Raises BiasflowError that names the first classifier whose weights are no
    longer finite at the end of an epoch."""
    active = np.arange(len(parameters[0]))
    epoch, position = np.zeros_like(active), np.zeros_like(active)
    courses = [batches(classifier, 0) for classifier in active]
    stack = _Stack(X, y, parameters, reads, optimisation, batch_size=courses[0].shape[1])
    counted = Progress(len(names) * epochs, description)  # epochs that are spared by stopping count as well
    while active.size:
        left = np.array([len(course) for course in courses]) - position
        steps = min(int(left.min()), STEPS_PREPARED)
        rows = [course[start : start + steps] for course, start in zip(courses, position, strict=True)]
        stack.advance(torch.from_numpy(np.stack(rows, axis=1)).to(X.device))
        position += steps
        ended = np.flatnonzero(left == steps)
        if not ended.size:
            continue
        chosen = torch.from_numpy(ended).to(X.device)
        its = [parameter[chosen] for parameter in stack.parameters]
        finite = torch.stack([part.flatten(1).isfinite().all(dim=1) for part in its]).all(dim=0).cpu().numpy()
        if not finite.all():
            name = names[active[ended[~finite][0]]]
            raise BiasflowError(f"{name}: the loss is no longer finite; lower the learning rate or scale the vectors")
        stopped = epoch_ended(active[ended], epoch[ended], its)
        epoch[ended] += 1
        position[ended] = 0
        stopped = stopped | (epoch[ended] == epochs)
        spared = int((epochs - epoch[ended[stopped]]).sum())
        going_on = np.ones(active.size, dtype=bool)
        going_on[ended[stopped]] = False
        for place in ended[~stopped]:
            courses[place] = batches(int(active[place]), int(epoch[place]))
        if stopped.any():
            active, epoch, position = active[going_on], epoch[going_on], position[going_on]
            courses = [course for course, goes_on in zip(courses, going_on, strict=True) if goes_on]
            stack.keep(torch.from_numpy(np.flatnonzero(going_on)).to(X.device))
        counted.advance(ended.size + spared)


class _Stack:
    """Parameters of N classifiers with AdamW's moments, after the same number of steps each."""

    def __init__(
        self,
        X: torch.Tensor,
        y: torch.Tensor,
        parameters: Parameters,
        reads: np.ndarray,
        optimisation: Optimisation,
        *,
        batch_size: int,
    ) -> None:
        self.X, self.y, self.optimisation, self.batch_size = X.flatten(0, 1), y.flatten(), optimisation, batch_size
        self.first = torch.from_numpy(np.asarray(reads, dtype=np.int64) * X.shape[1]).to(X.device)  # row 0 of either
        self.parameters = [parameter.clone() for parameter in parameters]
        self.means = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.steps = [torch.zeros((), device=X.device) for _ in self.parameters]
        self.gradients = [torch.empty_like(parameter) for parameter in self.parameters]
        room, n = 4 * batch_size * X.shape[2], len(parameters[0])
        self.together = n if X.is_cuda else min(n, max(1, CACHE_BYTES // room))
        self.gathered = X.new_empty(self.together * batch_size, X.shape[2])
        self.minus_one = torch.full((self.together, 1, batch_size), -1.0, device=X.device)

    def keep(self, chosen: torch.Tensor) -> None:
        """Go on with the chosen classifiers only."""
        self.first = self.first[chosen]
        for tensors in (self.parameters, self.means, self.squares, self.gradients):
            tensors[:] = [tensor[chosen] for tensor in tensors]

    def advance(self, rows: torch.Tensor) -> None:
        """One step of AdamW for each batch of rows [steps, N, batch]; only the last step may hold PADDING."""
        real = (rows[-1] != PADDING).float()[:, None]
        mean = self.optimisation.reduction == "mean"
        last = real / real.sum(dim=2, keepdim=True) if mean else real
        others = torch.full_like(last, 1 / self.batch_size) if mean else None
        rows = rows.clamp(min=0)
        labels = self.y[rows + self.first[:, 1:]][:, :, None]
        rows += self.first[:, :1]
        for step in range(len(rows)):
            self._differentiate(rows[step], labels[step], last if step == len(rows) - 1 else others)
            adamw(
                self.parameters,
                self.gradients,
                self.means,
                self.squares,
                [],
                self.steps,
                fused=True,
                amsgrad=False,
                beta1=self.optimisation.betas[0],
                beta2=self.optimisation.betas[1],
                lr=self.optimisation.learning_rate,
                weight_decay=self.optimisation.weight_decay,
                eps=self.optimisation.eps,
                maximize=False,
            )

    def _differentiate(self, rows: torch.Tensor, labels: torch.Tensor, scale: torch.Tensor | None) -> None:
        """Gradient of the cross-entropy, in a linear layer (softmax - one-hot) x, for rows [N, batch] and their labels
        [N, 1, batch]; through hidden layers by back-propagation.

        `scale` [N, 1, batch] weighs the rows."""
        for start in range(0, len(rows), self.together):
            part = slice(start, start + self.together)
            numbers = rows[part].flatten()
            gathered = torch.index_select(self.X, 0, numbers, out=self.gathered[: len(numbers)])
            inputs = [gathered.float().view(-1, self.batch_size, self.X.shape[1]).transpose(1, 2)]  # of each layer
            weights, biases = ([parameter[part] for parameter in self.parameters[first::2]] for first in (0, 1))
            for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
                inputs.append(torch.baddbmm(bias[..., None], weight, inputs[-1]).relu_())
            residual = torch.baddbmm(biases[-1][..., None], weights[-1], inputs[-1]).softmax(dim=1)
            residual.scatter_add_(1, labels[part], self.minus_one[: len(residual)])
            if scale is not None:
                residual *= scale[part]
            for layer in reversed(range(len(weights))):
                torch.bmm(residual, inputs[layer].transpose(1, 2), out=self.gradients[2 * layer][part])
                torch.sum(residual, dim=2, out=self.gradients[2 * layer + 1][part])
                if layer:
                    residual = torch.bmm(weights[layer].transpose(1, 2), residual).mul_(inputs[layer] > 0)
