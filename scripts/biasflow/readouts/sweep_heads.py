"""Classification heads retrained on the sentence vectors of every method, all of them as one batched problem."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from biasflow.base.by_name import module_named
from biasflow.base.errors import BiasflowError
from biasflow.base.progress import progress
from biasflow.encoders import taps
from biasflow.encoders.batches import batchwise, grouped_by_length, padded
from biasflow.readouts.files import TRUNCATED, load_arrays, save_arrays
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.training.examples import Examples


@dataclass(frozen=True)
class Heads:
    """One linear head per method: weight [methods, classes, hidden], bias [methods, classes]."""

    weight: torch.Tensor
    bias: torch.Tensor

    def logits(self, vectors: torch.Tensor) -> torch.Tensor:
        """Logits [methods, batch, classes] of sentence vectors [methods, batch, hidden]."""
        return torch.baddbmm(self.bias[:, None], vectors, self.weight.transpose(1, 2))


def read(
    source: Source,
    output: Path,
    *,
    task: str,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    max_length: int | None = None,
    **options,
) -> dict:
    """Retrain the head of a fine-tuned encoder under every method, on the labelled examples that
    `examples(source.data, **options)` of the task's module gives; the seed is that of the training.

    Arrays weight [methods, classes, hidden] and bias [methods, classes], which the readout of predictions reads. The
    file says of itself how it was trained, and under `truncated` how many texts were cut, of how many."""
    examples = module_named(task).examples(source.data, **options)
    reader = open_reader(source, "classification")
    check_classes(reader, examples)
    training = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "max_length": max_length}
    training["seed"] = int(source.training.rpartition("/seed")[2])
    heads = retrain_heads(reader, examples, **training)
    arrays = {name: tensor.cpu().numpy() for name, tensor in vars(heads).items()}
    truncated = [reader.truncation["cut"], reader.truncation["texts"]]
    save_arrays(output, arrays, reader.axis, classes=examples.classes, **{TRUNCATED: truncated}, **training)
    return reader.facts()


def load_heads(path: str | Path, reader: Reader) -> Heads:
    """The heads of the reader's methods, in their order; BiasflowError names the file that lacks one, or is damaged."""
    stored = load_arrays(path)
    missing = [" ".join(pair) for pair in reader.axis if pair not in stored.axis]
    if missing:
        raise BiasflowError(f"{path}: no head was retrained under {missing[0]}; retrain the heads again.")
    rows = [stored.axis.index(pair) for pair in reader.axis]
    return Heads(*(torch.from_numpy(stored.arrays[name][rows]).to(reader.model.device) for name in ("weight", "bias")))


def own_heads(model: nn.Module, n: int) -> Heads:
    """The model's own classification layer, n times."""
    layer = taps.classification_layer(model)
    if layer is None:
        raise BiasflowError(f"{taps.name_of(model)} has no classification layer; use a fine-tuned encoder")
    return Heads(layer.weight.detach().repeat(n, 1, 1), layer.bias.detach().repeat(n, 1))


def classes_of(reader: Reader) -> tuple[str, ...] | None:
    """The names of a classifier's classes, by their numbers; None where it predicts a number."""
    config = reader.model.config
    return tuple(config.id2label[i] for i in sorted(config.id2label)) if config.num_labels > 1 else None


def check_classes(reader: Reader, examples: Examples) -> None:
    """BiasflowError unless the classifier's classes are those of the examples, in their order, or both are numbers."""
    model_classes = classes_of(reader)
    if model_classes != examples.classes:
        names = [", ".join(classes) if classes else "a number" for classes in (model_classes, examples.classes)]
        raise BiasflowError(f"{taps.name_of(reader.model)} predicts {names[0]}; the data need {names[1]}.")


def retrain_heads(
    reader: Reader,
    examples: Examples,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    max_length: int | None = None,
) -> Heads:
    """Go on training the model's classification layer, once per method, on the sentence vectors under that method.

    The encoder stays as it is. Each batch is encoded once for all methods; the loss is the sum over methods of the mean
    cross-entropy, and Adam works on each number by itself, so every head ends as if it had been trained alone. Memory:
    one batch of vectors above the token ids of the examples. BiasflowError for examples without classes, and for a loss
    that is not finite."""
    if not examples.classes or examples.gold is None:
        raise BiasflowError("head retraining: the examples have no gold classes; name others.")
    model, tokenizer = reader.model, reader.tokenizer
    tokens = reader.tokenised(*examples.texts(0, len(examples)), max_length=max_length)
    gold = torch.tensor(examples.gold, device=model.device)
    lengths = tokens.lengths
    start = own_heads(model, len(reader.axis))
    heads = Heads(start.weight.clone().requires_grad_(), start.bias.clone().requires_grad_())
    optimizer = torch.optim.Adam([heads.weight, heads.bias], lr=learning_rate)

    def read(rows: list[int]) -> torch.Tensor:
        return reader.sentence_vectors(padded(tokens.of_all(rows), range(len(rows)), model, tokenizer))

    def name(row: int) -> str:
        return f"heads: {taps.name_of(model)}: a text of {lengths[row]} tokens"

    options = {"batch_size": batch_size, "name": name}
    for epoch in range(epochs):
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(examples))
        order = order[grouped_by_length(lengths[order], batch_size=batch_size, rng=rng)]
        batches = [order[i : i + batch_size].tolist() for i in range(0, len(order), batch_size)]
        for rows in progress(batches, total=len(batches), description=f"heads, epoch {epoch + 1} of {epochs}"):
            vectors = torch.cat([part for _, part in batchwise(read, rows, **options)], dim=1)
            targets = gold[rows].expand(len(reader.axis), -1)
            loss = cross_entropy(heads.logits(vectors).flatten(0, 1), targets.flatten(), reduction="sum") / len(rows)
            if not torch.isfinite(loss):
                raise BiasflowError(f"head retraining: the loss is {loss.item()}; lower its learning_rate")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Heads(heads.weight.detach(), heads.bias.detach())
