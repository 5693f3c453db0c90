"""The probe of the online code, linear or with a hidden layer.

The labels are sent in portions, each one encoded by a probe of those before it.

Source: Voita & Titov (2020; the online code), Orgad et al. (2022; section 4.1 and the released probe: its portions, its
early stopping, AdamW). The released code evaluates the weights of the last epoch where it means those of the best one
(it keeps a reference to them instead of a copy); both checkpoints come from one training."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.nn.functional import softplus

from biasflow.base.errors import BiasflowError
from biasflow.readouts import lockstep

FRACTIONS = (0.02, 0.03, 0.044, 0.065, 0.095, 0.14, 0.21, 0.31, 0.457, 0.676, 1.0)
CHECKPOINTS = ("best", "last")
CLASSES = 2
IMPROVEMENT = 1e-3  # least fall of the loss, summed over the dev set, that counts


@dataclass(frozen=True)
class Code:
    """What is sent: labels z [n], 0 or 1, of all rows, and the numbers of the rows that are sent (train), whose loss
    stops the training (dev), and that test the probe on all of train (may be none: then there is no such probe).

    seed: of the random orders below and, with the portion's number, of each probe's weights. Codes may share arrays;
    then they are checked and kept once.
    shuffled: whether rows are sent in random order, or as they are listed
    mixed: whether a probe learns from the rows sent so far in a random order of its own, or as they were sent. (Rows
    sorted by what their labels follow from make batches of one label.)"""

    z: np.ndarray
    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray
    seed: int
    shuffled: bool = True
    mixed: bool = False


@dataclass(frozen=True)
class Sent:
    """How much it took to send the labels of C codes by M matrices, in P portions.

    n       [C, P + 1] labels of each portion; those of portion 0 are sent before any probe; column P: the test rows
    nats    [checkpoint, M, C, P + 1] cross-entropy, summed over the portion; n log(2) in portion 0
    right   likewise, how many labels of the portion the probe has right; NaN in portion 0, and without test rows
    epochs  likewise, epoch (from 1) whose weights the probe has; 0 where there is no probe
    answers [checkpoint, M, C] whether the label of each test row is right, a bit each (numpy.packbits)

    The checkpoints are in the order of CHECKPOINTS."""

    n: np.ndarray
    nats: np.ndarray
    right: np.ndarray
    epochs: np.ndarray
    answers: np.ndarray


def send(
    X: ArrayLike | torch.Tensor,
    codes: Sequence[Code],
    *,
    fractions: Sequence[float] = FRACTIONS,
    epochs: int = 50,
    patience: int = 4,
    batch_size: int = 16,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.01,
    hidden: int = 0,
    device: torch.device | str = "cpu",
) -> Sent:
    """Send the labels of each code, given the rows of each matrix X [M, n, d] (float32 or float16, kept as they are).

    fractions  ends of the portions, rising to 1: probe i is trained on rows [0, int(f_i n)) of the train rows as they
               are sent and encodes those up to int(f_{i+1} n); the last one is trained on all of them and tested on the
               test rows
    epochs, patience  at most so many epochs; after more than `patience` in a row without a fall of the dev loss (its
               sum) by at least 0.001, training stops
    batch_size, learning_rate, weight_decay  of AdamW on the loss summed over the batch; batches are never reshuffled
    hidden     units (ReLU) of the probe's hidden layer; 0: the probe is linear

    All probes are trained together, each as if it were alone. Raises BiasflowError for labels other than 0 and 1, train
    rows with one class only, a number in X that is not finite, too few rows for the first portion, and training
    that diverges."""
    if not len(codes) or epochs < 1:
        raise BiasflowError(f"{len(codes)} probe seeds, {epochs} epochs: give at least one of each")
    X = lockstep.as_rows(X, matrices=True).to(device)
    labels = {id(code.z): code.z for code in codes}
    labels = {name: lockstep.as_classes("z", z, X.shape[1], CLASSES) for name, z in labels.items()}
    y = torch.from_numpy(np.stack([*labels.values()])).to(device)
    labelling = np.array([[*labels].index(id(code.z)) for code in codes])
    for code in codes:
        if len(np.unique(code.z[code.train])) < CLASSES:
            raise BiasflowError(f"z: all {len(code.train)} labels are {code.z[code.train[0]]}; give both classes")
    ends = np.array([_ends(len(code.train), fractions) for code in codes])
    trained = ends.shape[1] if all(len(code.test) for code in codes) else ends.shape[1] - 1

    orders = [_sent_order(code) for code in codes]
    visited = [
        [
            lockstep.in_batches(_learnt_order(code, order[:end], portion), batch_size)
            for portion, end in enumerate(its_ends[:trained])
        ]
        for code, order, its_ends in zip(codes, orders, ends, strict=True)
    ]
    shape = (len(X), len(codes), trained)
    probes = np.array(list(np.ndindex(shape)))  # matrix, code, portion
    seeds = [weight_seed(code.seed, portion) for code in codes for portion in range(trained)]
    start = lockstep.start(seeds, [X.shape[2], *([hidden] if hidden else []), CLASSES], device)
    parameters = [part.repeat(len(X), *[1] * (part.dim() - 1)) for part in start]
    reads = np.stack([probes[:, 0], labelling[probes[:, 1]]], axis=1)
    checkpoints = _Checkpoints(X, y, reads, [codes[code].dev for code in probes[:, 1]], parameters, patience)
    lockstep.train(
        X,
        y,
        parameters,
        reads=reads,
        batches=lambda probe, epoch: visited[probes[probe, 1]][probes[probe, 2]],
        epochs=epochs,
        epoch_ended=checkpoints.epoch_ended,
        names=[f"probe seed {codes[code].seed}, first {ends[code, portion]} rows" for _, code, portion in probes],
        optimisation=lockstep.Optimisation(learning_rate, 1e-8, weight_decay, "sum"),
        description=f"probes: {shape[0]} x {shape[1]} codes, {trained} portions",
    )

    return checkpoints.sent(codes, orders, ends, probes)


def weight_seed(seed: int, portion: int) -> int:
    """The seed, for torch, of the first weights of a probe: every portion (from 0) of every probe seed has its own."""
    return int(np.random.SeedSequence([seed, portion]).generate_state(1)[0])


class _Checkpoints:
    """Best and last parameters of every probe by its dev loss, and which probes have to stop.

    reads: matrix and labelling (row of y) of each probe; dev: the rows of its dev set, one array where probes
    share it."""

    def __init__(
        self,
        X: torch.Tensor,
        y: torch.Tensor,
        reads: np.ndarray,
        dev: Sequence[np.ndarray],
        parameters: lockstep.Parameters,
        patience: int,
    ) -> None:
        self.X, self.y, self.reads, self.patience = X, y, reads, patience
        self.dev = dev
        self.parameters = [torch.stack([part] * len(CHECKPOINTS)) for part in parameters]  # [checkpoint, probes, ...]
        self.epochs = np.zeros((len(CHECKPOINTS), len(reads)), dtype=int)
        self.best = np.full(len(reads), np.inf)
        self.without_improvement = np.zeros(len(reads), dtype=int)

    def epoch_ended(self, probes: np.ndarray, epochs: np.ndarray, parameters: lockstep.Parameters) -> np.ndarray:
        """Keep the parameters of `probes` that ended an epoch; returns which of them stop (`lockstep.EpochEnded`)."""
        losses = self._dev_losses(probes, parameters)
        improved = losses <= self.best[probes] - IMPROVEMENT
        self.best[probes[improved]] = losses[improved]
        self.without_improvement[probes] = np.where(improved, 0, self.without_improvement[probes] + 1)
        for checkpoint, name in enumerate(CHECKPOINTS):
            places = np.flatnonzero(improved) if name == "best" else np.arange(len(probes))
            for kept, part in zip(self.parameters, parameters, strict=True):
                kept[checkpoint, probes[places]] = part[places]
            self.epochs[checkpoint, probes[places]] = epochs[places] + 1
        return self.without_improvement[probes] > self.patience

    def _dev_losses(self, probes: np.ndarray, parameters: lockstep.Parameters) -> np.ndarray:
        """Summed cross-entropy of probes [N] on their dev rows: [N]."""
        losses = np.empty(len(probes))
        for places in lockstep.alike([(self.reads[probe, 0], id(self.dev[probe])) for probe in probes]):
            rows, (matrix, _) = self.dev[probes[places[0]]], self.reads[probes[places[0]]]
            labellings = torch.from_numpy(self.reads[probes[places], 1]).to(self.y.device)
            labels = self.y[:, torch.from_numpy(rows).to(self.y.device)][labellings].T
            lead = _lead(self.X[matrix], labels, rows, [part[places] for part in parameters])
            losses[places] = softplus(lead).sum(dim=0).cpu().numpy()
        return losses

    def sent(self, codes: Sequence[Code], orders: Sequence[np.ndarray], ends: np.ndarray, probes: np.ndarray) -> Sent:
        """What the trained probes [N, (matrix, code, portion)] send. orders: the rows of each code in the order in
        which they are sent, whose portions end at ends [C, P]."""
        shape, portions = tuple(probes.max(axis=0) + 1), ends.shape[1]
        nats, right, kept = np.zeros((3, len(CHECKPOINTS), *shape[:2], portions + 1))
        sizes = np.diff(ends, axis=1, prepend=0)
        n = np.column_stack([sizes, [len(code.test) for code in codes]])
        nats[..., 0] = n[:, 0] * log(CLASSES)
        right[..., 0] = right[..., shape[2] + 1 :] = np.nan
        kept[..., 1 : shape[2] + 1] = self.epochs.reshape(len(CHECKPOINTS), *shape)
        answers = np.full(nats.shape[:-1], b"", dtype=object)
        for probe, (matrix, code, portion) in enumerate(probes):
            last = portion + 1 == portions
            rows = codes[code].test if last else orders[code][ends[code, portion] : ends[code, portion + 1]]
            labels = self.y[self.reads[probe, 1], torch.from_numpy(rows).to(self.y.device)][:, None]
            lead = _lead(self.X[matrix], labels, rows, [part[:, probe] for part in self.parameters])
            nats[:, matrix, code, portion + 1] = softplus(lead).sum(dim=0).cpu().numpy()
            of_rows = _right(lead, labels)
            right[:, matrix, code, portion + 1] = of_rows.sum(axis=0)
            if last:
                answers[:, matrix, code] = [np.packbits(of_checkpoint).tobytes() for of_checkpoint in of_rows.T]
        return Sent(n, nats, right, kept.astype(int), answers)


def _lead(X: torch.Tensor, labels: torch.Tensor, rows: np.ndarray, parameters: lockstep.Parameters) -> torch.Tensor:
    """By how much the wrong class's logit leads, [rows, N], for N probes; softplus of it is the cross-entropy.

    labels: of the rows, [rows, N], or [rows, 1] where all probes have the same."""
    vectors, (*hidden, weight, bias) = X[torch.from_numpy(rows).to(X.device)].float(), parameters
    direction, offset = weight[:, 1] - weight[:, 0], bias[:, 1] - bias[:, 0]
    if hidden:
        first, its_bias = hidden
        states = ((vectors @ first.flatten(0, 1).T).unflatten(1, its_bias.shape) + its_bias).relu()
        lead = (states * direction).sum(dim=2) + offset
    else:
        lead = vectors @ direction.T + offset
    return lead.double() * (1 - 2 * labels)


def _right(lead: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """Which labels [rows, 1] N probes have right, [rows, N]; of equal logits class 0 is taken."""
    tied = (lead == 0) & (labels == 0)
    return ((lead < 0) | tied).cpu().numpy()


def _sent_order(code: Code) -> np.ndarray:
    """The train rows in the order in which they are sent."""
    if not code.shuffled:
        return code.train
    return code.train[np.random.default_rng(code.seed).permutation(len(code.train))]


def _learnt_order(code: Code, sent: np.ndarray, portion: int) -> np.ndarray:
    """The rows sent so far in the order in which the probe of that portion visits them."""
    if not code.mixed:
        return sent
    return sent[np.random.default_rng([code.seed, portion]).permutation(len(sent))]


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
