"""The linear probe of the online code: labels are sent in portions, each one encoded by a probe of those before it.

Source: Voita & Titov (2020; the online code), Orgad et al. (2022; section 4.1 and the released probe: its portions, its
early stopping, AdamW). The released code evaluates the weights of the last epoch where it means those of the best one
(it keeps a reference to them instead of a copy); both checkpoints come from one training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.nn.functional import softplus

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.readouts import lockstep

FRACTIONS = (0.02, 0.03, 0.044, 0.065, 0.095, 0.14, 0.21, 0.31, 0.457, 0.676, 1.0)
CHECKPOINTS = ("best", "last")
CLASSES = 2
IMPROVEMENT = 1e-3  # least fall of the loss, summed over the dev set, that counts


@dataclass(frozen=True)
class Code:
    """What is sent: labels z [n], 0 or 1, of all rows, and the numbers of the rows that are sent (train), whose loss
    stops the training (dev), and that test the probe on all of train (may be none: then there is no such probe)."""

    z: np.ndarray
    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Sent:
    """How much it took to send the labels of C codes by M matrices with S probe seeds, in P portions.

    n       [C, P + 1] labels of each portion; those of portion 0 are sent before any probe; column P: the test rows
    nats    [checkpoint, M, C, S, P + 1] cross-entropy, summed over the portion; n log(2) in portion 0
    right   likewise, how many labels of the portion the probe has right; NaN in portion 0, and without test rows
    epochs  likewise, epoch (from 1) whose weights the probe has; 0 where there is no probe

    The checkpoints are in the order of CHECKPOINTS."""

    n: np.ndarray
    nats: np.ndarray
    right: np.ndarray
    epochs: np.ndarray


def send(
    X: ArrayLike | torch.Tensor,
    codes: Sequence[Code],
    *,
    seeds: Sequence[int],
    fractions: Sequence[float] = FRACTIONS,
    epochs: int = 50,
    patience: int = 4,
    batch_size: int = 16,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.01,
    shuffle: bool = True,
    device: torch.device | str = "cpu",
) -> Sent:
    """Send the labels of each code, given the rows of each matrix X [M, n, d] (float32 or float16, kept as they are).

    seeds      of the permutation of the rows (with shuffle) and, with the portion's number, of each probe's weights
    fractions  ends of the portions: probe i is trained on rows [0, int(f_i n)) of the permuted train rows and encodes
               those up to int(f_{i+1} n); the last one is trained on all of them and tested on the test rows
    epochs, patience  at most so many epochs; after more than `patience` in a row without a fall of the dev loss (its
               sum) by at least 0.001, training stops
    batch_size, learning_rate, weight_decay  of AdamW on the loss summed over the batch; batches are never reshuffled

    All probes are trained together, each as if it were alone. Raises BiasflowError for labels other than 0 and 1, train
    rows with one class only, a number in X that is not finite, too few rows for the first portion, fractions that do
    not rise to 1, and training that diverges."""
    if not len(seeds) or epochs < 1:
        raise BiasflowError(f"{len(seeds)} probe seeds, {epochs} epochs: give at least one of each")
    X = lockstep.as_rows("X", X, matrices=True).to(device)
    codes = [replace(code, z=lockstep.as_classes("z", code.z, X.shape[1], CLASSES)) for code in codes]
    y = torch.from_numpy(np.stack([code.z for code in codes])).to(device)
    for code in codes:
        if len(np.unique(code.z[code.train])) < CLASSES:
            raise BiasflowError(f"z: all {len(code.train)} labels are {code.z[code.train[0]]}; give both classes")
    ends = np.array([_ends(len(code.train), fractions) for code in codes])
    portions = ends.shape[1]
    trained = portions if all(len(code.test) for code in codes) else portions - 1

    orders = [[_order(code.train, seed if shuffle else None) for seed in seeds] for code in codes]
    visited = [
        [[lockstep.in_batches(order[:end], batch_size) for end in its_ends[:trained]] for order in its_orders]
        for its_orders, its_ends in zip(orders, ends, strict=True)
    ]
    shape = (len(X), len(codes), len(seeds), trained)
    probes = np.array(list(np.ndindex(shape)))  # matrix, code, seed, portion
    start = lockstep.linear_start(
        [weight_seed(*pair) for pair in product(seeds, range(trained))], X.shape[2], CLASSES, device
    )
    weight, bias = (part.repeat(len(X) * len(codes), *[1] * (part.dim() - 1)) for part in start)
    checkpoints = _Checkpoints(X, codes, probes, weight, bias, patience)
    lockstep.train(
        X,
        y,
        weight,
        bias,
        reads=probes[:, :2],
        batches=lambda probe, epoch: visited[probes[probe, 1]][probes[probe, 2]][probes[probe, 3]],
        epochs=epochs,
        epoch_ended=checkpoints.epoch_ended,
        names=[f"probe seed {seeds[seed]}, first {ends[code, portion]} rows" for _, code, seed, portion in probes],
        optimisation=lockstep.Optimisation(learning_rate, 1e-8, weight_decay, "sum"),
        description=f"probes: {shape[0]} x {shape[1]} codes, {shape[2]} seeds, {trained} portions",
    )

    found = np.zeros((3, len(CHECKPOINTS), *shape[:3], portions + 1))
    nats, right, kept = found
    n = np.array([[*np.diff(its_ends, prepend=0), len(code.test)] for code, its_ends in zip(codes, ends, strict=True)])
    nats[..., 0] = n[:, 0, None] * log(CLASSES)
    right[..., 0] = right[..., trained + 1 :] = np.nan
    kept[..., 1 : trained + 1] = checkpoints.epochs.reshape(len(CHECKPOINTS), *shape)
    for probe, (matrix, code, seed, portion) in enumerate(probes):
        last = portion + 1 == portions
        rows = codes[code].test if last else orders[code][seed][ends[code, portion] : ends[code, portion + 1]]
        lead = _lead(X[matrix], codes[code].z, rows, *checkpoints.directions(probe))
        nats[:, matrix, code, seed, portion + 1] = softplus(lead).sum(dim=0).cpu().numpy()
        right[:, matrix, code, seed, portion + 1] = _right(lead, codes[code].z[rows])
    return Sent(n, nats, right, kept.astype(int))


def stacked(
    sets: Mapping[str, tuple[ArrayLike | torch.Tensor, ArrayLike]],
) -> tuple[torch.Tensor, np.ndarray, dict[str, np.ndarray]]:
    """Sets of vectors [n, d] with their labels in one matrix [all, d] with all labels [all], and the rows of each set.

    Raises BiasflowError that names set and row: labels that do not fit or are not 0 and 1, vectors of another dimension
    than the first set's or that are not finite."""
    matrices, labels, parts, first = [], [], {}, 0
    for name, (X, z) in sets.items():
        matrices.append(lockstep.as_rows(name, X, dimension=matrices[0].shape[1] if matrices else None))
        labels.append(lockstep.as_classes(name.replace("X", "z"), z, len(matrices[-1]), CLASSES))
        parts[name] = np.arange(first, first + len(labels[-1]))
        first += len(labels[-1])
    return torch.cat(matrices), np.concatenate(labels), parts


def weight_seed(seed: int, portion: int) -> int:
    """The seed, for torch, of the first weights of a probe: every portion (from 0) of every probe seed has its own."""
    return int(np.random.SeedSequence([seed, portion]).generate_state(1)[0])


def control_labels(z: ArrayLike, seed: int) -> np.ndarray:
    """Labels in random order: as many of each as in z, none of them related to its row.

    A probe cannot compress them, so their compression says what the code costs by itself (1 in bits, if nothing).
    Source: Hewitt & Liang (2019), control tasks; here with labels drawn for rows, as a row occurs only once."""
    return np.random.default_rng(seed).permutation(np.asarray(z))


def probe_split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers of the probe's train, dev and test set: a random 80 %, and the two halves of what is left.

    Together they hold each of 0 ... n - 1 once. Raises BiasflowError if a part would be empty (n < 6)."""
    train = int(0.8 * n)
    dev = (n - train) // 2
    if min(train, dev) < 1:
        raise BiasflowError(f"{n} rows cannot be cut into train, dev and test set of a probe; give more texts")
    order = np.random.default_rng(seed).permutation(n)
    return order[:train], order[train : train + dev], order[train + dev :]


class _Checkpoints:
    """Best and last weights of every probe by its dev loss, and which probes have to stop."""

    def __init__(
        self,
        X: torch.Tensor,
        codes: Sequence[Code],
        probes: np.ndarray,
        weight: torch.Tensor,
        bias: torch.Tensor,
        patience: int,
    ) -> None:
        self.X, self.codes, self.reads, self.patience = X, codes, probes[:, :2], patience
        self.weight = torch.stack([weight] * len(CHECKPOINTS))  # [checkpoint, probes, 2, d]
        self.bias = torch.stack([bias] * len(CHECKPOINTS))
        self.epochs = np.zeros((len(CHECKPOINTS), len(weight)), dtype=int)
        self.best = np.full(len(weight), np.inf)
        self.without_improvement = np.zeros(len(weight), dtype=int)

    def epoch_ended(
        self, probes: np.ndarray, epochs: np.ndarray, weight: torch.Tensor, bias: torch.Tensor
    ) -> np.ndarray:
        """Keep the weights of `probes` that ended an epoch; returns which of them stop (`lockstep.EpochEnded`)."""
        losses = self._dev_losses(self.reads[probes], *_logit_difference(weight, bias))
        improved = losses <= self.best[probes] - IMPROVEMENT
        self.best[probes[improved]] = losses[improved]
        self.without_improvement[probes] = np.where(improved, 0, self.without_improvement[probes] + 1)
        for checkpoint, name in enumerate(CHECKPOINTS):
            places = np.flatnonzero(improved) if name == "best" else np.arange(len(probes))
            self.weight[checkpoint, probes[places]] = weight[places]
            self.bias[checkpoint, probes[places]] = bias[places]
            self.epochs[checkpoint, probes[places]] = epochs[places] + 1
        return self.without_improvement[probes] > self.patience

    def _dev_losses(self, reads: np.ndarray, direction: torch.Tensor, offset: torch.Tensor) -> np.ndarray:
        """Summed cross-entropy on the dev rows of probes that read (matrix, code) `reads` [N, 2]: [N]."""
        losses = np.empty(len(reads))
        pairs, of_pair = np.unique(reads, axis=0, return_inverse=True)
        for number, (matrix, code) in enumerate(pairs):
            places = np.flatnonzero(of_pair == number)
            own = self.codes[code]
            lead = _lead(self.X[matrix], own.z, own.dev, direction[places], offset[places])
            losses[places] = softplus(lead).sum(dim=0).cpu().numpy()
        return losses

    def directions(self, probe: int) -> tuple[torch.Tensor, torch.Tensor]:
        """`_logit_difference` of one probe's checkpoints."""
        return _logit_difference(self.weight[:, probe], self.bias[:, probe])


def _logit_difference(weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Direction [N, d] and offset [N] of logit 1 - logit 0, from weight [N, 2, d] and bias [N, 2]."""
    return weight[:, 1] - weight[:, 0], bias[:, 1] - bias[:, 0]


def _lead(
    X: torch.Tensor, z: np.ndarray, rows: np.ndarray, direction: torch.Tensor, offset: torch.Tensor
) -> torch.Tensor:
    """By how much the wrong class's logit leads, [rows, N], for N probes; softplus of it is the cross-entropy."""
    numbers = torch.from_numpy(rows).to(X.device)
    sign = torch.from_numpy(1 - 2 * z[rows]).to(X.device)[:, None]
    return (X[numbers].float() @ direction.T + offset).double() * sign


def _right(lead: torch.Tensor, z: np.ndarray) -> np.ndarray:
    """How many labels N probes have right, [N]; of equal logits class 0 is taken."""
    tied = (lead == 0) & torch.from_numpy(z == 0).to(lead.device)[:, None]
    return ((lead < 0) | tied).sum(dim=0).cpu().numpy()


def _order(rows: np.ndarray, seed: int | None) -> np.ndarray:
    """The rows in the order in which they are sent."""
    return rows if seed is None else rows[np.random.default_rng(seed).permutation(len(rows))]


def _ends(n: int, fractions: Sequence[float]) -> list[int]:
    """The row before which each portion ends."""
    if len(fractions) < 2 or min(fractions) <= 0 or fractions[-1] != 1 or (np.diff(fractions) <= 0).any():
        raise BiasflowError(f"fractions {tuple(fractions)}: give at least two, rising, above 0, the last of them 1")
    ends = [int(fraction * n) for fraction in fractions]
    if ends[0] < 1:
        raise BiasflowError(
            f"{n} rows are too few: the first portion is {fractions[0]:g} of them; give at least {1 / fractions[0]:.0f}"
        )
    return ends
