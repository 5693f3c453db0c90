"""The straightforward way to an online codelength and to linear heads: one probe, one head after the other.

Tests compare with it, and benchmarks times it. It takes the first weights and the order of the rows from the modules
under test, so that both ways have to end at the same numbers."""

import copy
import json
import math

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

from biasflow.metrics.codelength import online_codelength_of
from biasflow.readouts.linear_heads import LinearHeads, epoch_order
from biasflow.readouts.probe import CHECKPOINTS, FRACTIONS, Code, send, weight_seed


def load_linear_heads(path):
    """What `save_linear_heads` wrote: the heads and their names."""
    with safe_open(path, framework="pt") as file:
        names = json.loads(file.metadata()["heads"])
    return LinearHeads(**load_file(path)), names


def codelengths(X, z, train, dev, test, *, seeds, units="bits", **training):
    """Checkpoint -> compression of the labels of these rows, and test accuracy, each [seeds], by `probe.send`."""
    sent = send(X, [Code(z, train, dev, test, seed) for seed in seeds], **training)
    lengths = online_codelength_of(sent.n[:, 0], sent.nats[:, 0, :, 1:-1].sum(axis=-1), units=units)
    right = sent.right[:, 0, :, -1] / len(test)
    return dict(zip(CHECKPOINTS, zip(len(train) / lengths, right, strict=True), strict=True))


@torch.no_grad()
def summed_loss(probe, rows, batch_size=16):
    loss_function = nn.CrossEntropyLoss(reduction="sum")
    return sum(loss_function(probe(x), z).item() for x, z in DataLoader(rows, batch_size=batch_size))


def train_probe(probe, train, dev, *, epochs=50, patience=4, batch_size=16, learning_rate=1e-3):
    """Train in place; returns a copy of the probe as it was in its best epoch."""
    loss_function = nn.CrossEntropyLoss(reduction="sum")
    optimizer = torch.optim.AdamW(probe.parameters(), lr=learning_rate)
    best_loss, best, stale = math.inf, None, 0
    for _ in range(epochs):
        for x, z in DataLoader(train, batch_size=batch_size):
            optimizer.zero_grad()
            loss_function(probe(x), z).backward()
            optimizer.step()
        loss = summed_loss(probe, dev, batch_size)
        if loss <= best_loss - 1e-3:
            best_loss, best, stale = loss, copy.deepcopy(probe), 0
        else:
            stale += 1
        if stale > patience:
            break
    return best


def mlp(dimension, hidden):
    return nn.Sequential(nn.Linear(dimension, hidden), nn.ReLU(), nn.Linear(hidden, 2))


def codelength_one_by_one(X, z, *, seed, X_dev, z_dev, X_test, z_test, fractions=FRACTIONS, hidden=0, **training):
    """Online codelength in bits, and test accuracy, of one probe seed: {"best": (bits, accuracy), "last": ...}.

    `training`: options of `train_probe`."""
    data, dev, test = (
        TensorDataset(torch.as_tensor(vectors), torch.as_tensor(labels))
        for vectors, labels in ((X, z), (X_dev, z_dev), (X_test, z_test))
    )
    order = np.random.default_rng(seed).permutation(len(data)).tolist()
    ends = [int(fraction * len(data)) for fraction in fractions]
    bits = dict.fromkeys(("best", "last"), float(ends[0]))
    for portion, end in enumerate(ends):
        torch.manual_seed(weight_seed(seed, portion))
        last = nn.Linear(X.shape[1], 2) if not hidden else mlp(X.shape[1], hidden)
        best = train_probe(last, Subset(data, order[:end]), dev, **training)
        if portion + 1 < len(ends):
            following = Subset(data, order[end : ends[portion + 1]])
            for name, probe in (("best", best), ("last", last)):
                bits[name] += summed_loss(probe, following) / math.log(2)
    found = {}
    for name, probe in (("best", best), ("last", last)):
        right = sum((probe(x).argmax(1) == z).sum().item() for x, z in DataLoader(test, batch_size=16))
        found[name] = bits[name], right / len(test)
    return found


def train_head(X, y, X_valid, y_valid, *, n_classes, seed, epochs, batch_size=64, learning_rate=1e-3):
    """The head of one seed after its last epoch, its copy from the best epoch, and the accuracy after every epoch."""
    torch.manual_seed(seed)
    head = nn.Linear(X.shape[1], n_classes)
    optimizer = torch.optim.AdamW(head.parameters(), lr=learning_rate, eps=1e-6, weight_decay=0)
    loss_function = nn.CrossEntropyLoss()
    train, valid = TensorDataset(X, y), TensorDataset(X_valid, y_valid)
    accuracies, best = [], None
    for epoch in range(epochs):
        order = epoch_order(seed, epoch, len(train)).tolist()
        for x, gold in DataLoader(train, batch_size=batch_size, sampler=order):
            optimizer.zero_grad()
            loss_function(head(x), gold).backward()
            optimizer.step()
        with torch.no_grad():
            right = sum((head(x).argmax(1) == gold).sum().item() for x, gold in DataLoader(valid, batch_size))
        accuracies.append(right / len(valid))
        if accuracies[-1] == max(accuracies) and accuracies.count(accuracies[-1]) == 1:
            best = copy.deepcopy(head)
    return head, best, accuracies
