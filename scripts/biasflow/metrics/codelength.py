"""How easily gender is read off a representation: the online code (minimum description length) of a linear probe.

The labels are sent in portions. The first one is sent at log2(K) bits a label; a probe trained on all labels sent so
far then encodes the next portion, and its cross-entropy there is the length of that portion. A representation that
gives gender away at once needs few bits: compression = uniform codelength / online codelength.

Sources: Voita & Titov (2020; the online code), Orgad et al. (2022; section 4.1 and the released probe: its portions,
its early stopping, AdamW). The released code adds losses in nats to terms in bits ("mixed"), and by keeping a reference
to the weights instead of a copy of them it evaluates those of the last epoch, not of the best one ("last"); both
readings come from one training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.nn.functional import softplus

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.readouts import lockstep

FRACTIONS = (0.02, 0.03, 0.044, 0.065, 0.095, 0.14, 0.21, 0.31, 0.457, 0.676, 1.0)
UNITS = ("bits", "mixed")
CHECKPOINTS = ("best", "last")
CLASSES = 2
IMPROVEMENT = 1e-3  # least fall of the loss, summed over the dev set, that counts

Units = Literal["bits", "mixed"]
Checkpoint = Literal["best", "last"]


@dataclass(frozen=True)
class CodeLength:
    """One reading, by probe seed.

    compression [seeds] = uniform / online, 1 at chance, at most 1 / the first fraction; online [seeds] and uniform are
    codelengths of all labels; accuracy [seeds] on the test set of the probe trained on all rows, NaN without one."""

    compression: np.ndarray
    online: np.ndarray
    uniform: float
    accuracy: np.ndarray


@dataclass(frozen=True)
class Codelengths:
    """All readings of one training.

    n, first  number of labels, and how many of them were sent at log2(2) = 1 bit each, before any probe
    losses  [checkpoint, seeds, portions - 1] cross-entropy in nats, summed over the portion after the one trained on
    test_accuracy  [checkpoint, seeds], NaN without a test set
    epochs  [checkpoint, seeds, probes] epoch, from 1, of the weights; there are portions - 1 probes, and one more
            (trained on all rows) with a test set

    The checkpoints are in the order of CHECKPOINTS."""

    n: int
    first: int
    losses: np.ndarray
    test_accuracy: np.ndarray
    epochs: np.ndarray

    @property
    def uniform(self) -> float:
        """Length of all labels without a probe, in bits: n log2(2)."""
        return float(self.n)

    def online(self, *, units: Units = "bits", keep: Checkpoint = "best") -> np.ndarray:
        """Online codelength [seeds]: the first portion in bits + the losses, in bits or ("mixed") left in nats."""
        _check_reading(units, keep)
        nats = self.losses[CHECKPOINTS.index(keep)].sum(axis=-1)
        return self.first + (nats / np.log(2) if units == "bits" else nats)

    def compression(self, *, units: Units = "bits", keep: Checkpoint = "best") -> np.ndarray:
        """uniform / online [seeds]."""
        return self.uniform / self.online(units=units, keep=keep)

    def accuracy(self, *, keep: Checkpoint = "best") -> np.ndarray:
        """Test accuracy [seeds]."""
        _check_reading("bits", keep)
        return self.test_accuracy[CHECKPOINTS.index(keep)]

    def reading(self, *, units: Units = "bits", keep: Checkpoint = "best") -> CodeLength:
        """One reading of all that was measured."""
        online = self.online(units=units, keep=keep)
        return CodeLength(self.uniform / online, online, self.uniform, self.accuracy(keep=keep))


def online_codelength(
    X: ArrayLike | torch.Tensor,
    z: ArrayLike,
    *,
    seeds: Sequence[int],
    X_dev: ArrayLike | torch.Tensor,
    z_dev: ArrayLike,
    X_test: ArrayLike | torch.Tensor | None = None,
    z_test: ArrayLike | None = None,
    fractions: Sequence[float] = FRACTIONS,
    units: Units = "bits",
    keep: Checkpoint = "best",
    **training,
) -> CodeLength:
    """Compression, codelengths and accuracy of the probe in one reading; arguments and errors as in `codelengths`."""
    _check_reading(units, keep)
    data = {"X_dev": X_dev, "z_dev": z_dev, "X_test": X_test, "z_test": z_test}
    return codelengths(X, z, seeds=seeds, **data, fractions=fractions, **training).reading(units=units, keep=keep)


def codelengths(
    X: ArrayLike | torch.Tensor,
    z: ArrayLike,
    *,
    seeds: Sequence[int],
    X_dev: ArrayLike | torch.Tensor,
    z_dev: ArrayLike,
    X_test: ArrayLike | torch.Tensor | None = None,
    z_test: ArrayLike | None = None,
    fractions: Sequence[float] = FRACTIONS,
    epochs: int = 50,
    patience: int = 4,
    batch_size: int = 16,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.01,
    shuffle: bool = True,
    device: torch.device | str = "cpu",
) -> Codelengths:
    """Online code of labels z given representations X, for several probe seeds, in all readings.

    X [n, d], z [n]  representations (float32 or float16, kept as they are) and labels 0 or 1; likewise _dev, whose
                     loss stops the training, and _test; the probe on all rows is trained only if there is a test set
    seeds      of the permutation of the rows (with shuffle) and, with the portion's number, of each probe's weights
    fractions  ends of the portions: probe i is trained on rows [0, int(f_i n)) of the permutation and encodes the rows
               up to int(f_{i+1} n)
    epochs, patience  at most so many epochs; after more than `patience` in a row without a fall of the dev loss (its
               sum) by at least 0.001, training stops
    batch_size, learning_rate, weight_decay  of AdamW on the loss summed over the batch; batches are never reshuffled

        online = int(f_0 n) log2(2) + sum over portions of -log2 p(z | x)        uniform = n log2(2)

    The number of classes is 2, whatever the probe predicts. All portions of all seeds are trained together.

    Source: Orgad et al. (2022), section 4.1 and released code. Raises BiasflowError for labels other than 0 and 1, z
    with one class only, rows that do not fit, a number that is not finite (its row is named), too few rows for the
    first portion, fractions that do not rise to 1, and training that diverges."""
    if not len(seeds) or epochs < 1:
        raise BiasflowError(f"{len(seeds)} probe seeds, {epochs} epochs: give at least one of each")
    if (X_test is None) != (z_test is None):
        raise BiasflowError("X_test and z_test: give both or neither")
    X, z = _checked("X", X, "z", z, device)
    X_dev, z_dev = _checked("X_dev", X_dev, "z_dev", z_dev, device, dimension=X.shape[1])
    if len(z.unique()) < CLASSES:
        raise BiasflowError(f"z: all {len(z)} labels are {int(z[0])}; the probe needs both classes")
    ends = _ends(len(z), fractions)
    orders = [np.random.default_rng(seed).permutation(len(z)) if shuffle else np.arange(len(z)) for seed in seeds]
    if X_test is not None:
        X_test, z_test = _checked("X_test", X_test, "z_test", z_test, device, dimension=X.shape[1])
    trained = ends if X_test is not None else ends[:-1]

    probes = [(portion, seed) for portion in range(len(trained)) for seed in range(len(seeds))]
    visited = [lockstep.in_batches(orders[seed][: trained[portion]], batch_size) for portion, seed in probes]
    weight, bias = lockstep.linear_start(
        [weight_seed(seeds[seed], portion) for portion, seed in probes], X.shape[1], CLASSES, device
    )
    checkpoints = _Checkpoints(X_dev, z_dev, weight, bias, patience)
    lockstep.train(
        X,
        z,
        weight,
        bias,
        batches=lambda probe, epoch: visited[probe],
        epochs=epochs,
        epoch_ended=checkpoints.epoch_ended,
        names=[f"probe seed {seeds[seed]}, first {trained[portion]} rows" for portion, seed in probes],
        optimisation=lockstep.Optimisation(learning_rate, 1e-8, weight_decay, "sum"),
        description=f"probe: {len(trained)} portions, {len(seeds)} seeds",
    )

    losses = np.zeros((len(CHECKPOINTS), len(seeds), len(ends) - 1))
    accuracy = np.full((len(CHECKPOINTS), len(seeds)), np.nan)
    for probe, (portion, seed) in enumerate(probes):
        direction, offset = checkpoints.directions(probe)
        if portion + 1 < len(ends):
            rows = torch.from_numpy(orders[seed][ends[portion] : ends[portion + 1]]).to(device)
            losses[:, seed, portion] = _nats(X[rows], z[rows], direction, offset)
        else:
            chosen = X_test.float() @ direction.T + offset > 0
            accuracy[:, seed] = (chosen == z_test[:, None].bool()).double().mean(dim=0).cpu().numpy()
    kept = checkpoints.epochs.reshape(len(CHECKPOINTS), len(trained), len(seeds)).transpose(0, 2, 1)
    return Codelengths(len(z), ends[0], losses, accuracy, kept)


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
        self, X_dev: torch.Tensor, z_dev: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, patience: int
    ) -> None:
        self.X_dev, self.z_dev, self.patience = X_dev.float(), z_dev, patience
        self.weight = torch.stack([weight] * len(CHECKPOINTS))  # [checkpoint, probes, 2, d]
        self.bias = torch.stack([bias] * len(CHECKPOINTS))
        self.epochs = np.zeros((len(CHECKPOINTS), len(weight)), dtype=int)
        self.best = np.full(len(weight), np.inf)
        self.without_improvement = np.zeros(len(weight), dtype=int)

    def epoch_ended(
        self, probes: np.ndarray, epochs: np.ndarray, weight: torch.Tensor, bias: torch.Tensor
    ) -> np.ndarray:
        """Keep the weights of `probes` that ended an epoch; returns which of them stop (`lockstep.EpochEnded`)."""
        losses = _nats(self.X_dev, self.z_dev, *_logit_difference(weight, bias))
        improved = losses <= self.best[probes] - IMPROVEMENT
        self.best[probes[improved]] = losses[improved]
        self.without_improvement[probes] = np.where(improved, 0, self.without_improvement[probes] + 1)
        for checkpoint, name in enumerate(CHECKPOINTS):
            places = np.flatnonzero(improved) if name == "best" else np.arange(len(probes))
            self.weight[checkpoint, probes[places]] = weight[places]
            self.bias[checkpoint, probes[places]] = bias[places]
            self.epochs[checkpoint, probes[places]] = epochs[places] + 1
        return self.without_improvement[probes] > self.patience

    def directions(self, probe: int) -> tuple[torch.Tensor, torch.Tensor]:
        """`_logit_difference` of one probe's checkpoints."""
        return _logit_difference(self.weight[:, probe], self.bias[:, probe])


def _logit_difference(weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Direction [N, d] and offset [N] of logit 1 - logit 0, from weight [N, 2, d] and bias [N, 2]."""
    return weight[:, 1] - weight[:, 0], bias[:, 1] - bias[:, 0]


def _nats(X: torch.Tensor, z: torch.Tensor, direction: torch.Tensor, offset: torch.Tensor) -> np.ndarray:
    """Cross-entropy [N] of N probes, summed over the rows of X [n, d]: softplus of the wrong class's lead."""
    lead = (X.float() @ direction.T + offset).double() * (1 - 2 * z[:, None])
    return softplus(lead).sum(dim=0).cpu().numpy()


def _check_reading(units: str, keep: str) -> None:
    for name, value, allowed in (("units", units, UNITS), ("keep", keep, CHECKPOINTS)):
        if value not in allowed:
            raise BiasflowError(f"{name} '{value}' is unknown; choose {' or '.join(allowed)}")


def _checked(
    name: str,
    X: ArrayLike | torch.Tensor,
    label: str,
    z: ArrayLike,
    device: torch.device | str,
    dimension: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and labels on the device, after all checks of them alone; X is not copied if it is there already."""
    X, z = lockstep.as_rows(name, X, dimension=dimension), np.asarray(z)
    if z.shape != (len(X),):
        raise BiasflowError(f"{label} of shape {z.shape}: {name} has {len(X)} rows; give one label for each")
    strange = np.flatnonzero(~np.isin(z, (0, 1)))
    if strange.size:
        raise BiasflowError(f"{label}: row {strange[0]} holds {z[strange[0]]!r}; the labels must be 0 and 1")
    return X.to(device), torch.from_numpy(z.astype(np.int64)).to(device)


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
