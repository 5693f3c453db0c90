"""Scorers retrained on a frozen encoder, which reads every document once: all scorers learn from its stored vectors.

Segments are encoded one by one, so that the vectors of any window of a document are a slice of those of the whole."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from biasflow.base.tensors import save_tensors
from biasflow.tasks.coreference.model import Examples, Reading, Recipe, new_scorer, scorer_facts
from biasflow.tasks.coreference.scorer import CoarseToFine
from biasflow.tasks.coreference.segments import Pieces, with_words


@dataclass(frozen=True)
class StoredVectors:
    """Token vectors [pieces of all documents, d], where every document has its place (`Pieces.start`), in memory or
    mapped from a file: Pieces -> [n, d] in float32 on the device."""

    states: torch.Tensor
    device: torch.device

    def __call__(self, document: Pieces) -> torch.Tensor:
        return self.states[document.start : document.start + len(document)].to(self.device).float()


def train_heads(
    vectors: StoredVectors,
    train: Sequence[Pieces],
    dev: Examples,
    *,
    recipe: Recipe,
    seeds: Sequence[int],
    work: Path,
) -> Iterator[tuple[int, CoarseToFine, dict[str, object]]]:
    """Yield for each seed a scorer trained on the stored vectors of `train`, in evaluation mode, and how its training
    went (`CoreferenceTraining.facts`).

    A scorer does not depend on the other seeds. `work`: a folder for checkpoints, which is the caller's to claim
    (`training.checkpoints.claim`) and to remove; so are `encoders.device.flushed_denormals`, to begin with."""
    from biasflow.tasks.coreference.loop import CoreferenceTraining, Part  # most readouts need no Trainer

    train = with_words(train)
    for seed in seeds:
        scorer = new_scorer(vectors.states.shape[1], recipe.scorer, seed).to(vectors.device)
        options = {"recipe": recipe, "seed": seed, "work": work / f"head-{seed}"}
        parts = [Part(scorer, recipe.task_rate)]
        yield seed, scorer, CoreferenceTraining(scorer, scorer, vectors, parts, train, dev, **options).facts()


def save_heads(
    heads: Sequence[CoarseToFine], names: Sequence[Mapping[str, object]], reading: Reading, path: str | Path
) -> None:
    """Write scorers of the same sizes as one safetensors file: the weights as "<number>.<name>", and in its metadata
    what `model.save_scorer` says (scorer), and what each of them is called (heads)."""
    weights = {
        f"{number}.{name}": tensor.detach().cpu().contiguous()
        for number, head in enumerate(heads)
        for name, tensor in head.state_dict().items()
    }
    facts = {"scorer": json.dumps(scorer_facts(heads[0], reading)), "heads": json.dumps(list(names))}
    save_tensors(weights, path, facts)
