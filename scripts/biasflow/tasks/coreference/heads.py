"""Scorers trained anew on a frozen encoder: it reads every document once, and all of them learn from what is stored.

Segments are encoded one by one, so that the vectors of any window of a document are a slice of those of the whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import whole_file
from scripts.biasflow.base.progress import progress
from scripts.biasflow.tasks.coreference.loop import (
    Course,
    Examples,
    Recipe,
    fit,
    flushed_denormals,
    scorer_part,
    with_words,
)
from scripts.biasflow.tasks.coreference.model import Vectors, new_scorer
from scripts.biasflow.tasks.coreference.scorer import CoarseToFine
from scripts.biasflow.tasks.coreference.segments import Pieces


@dataclass(frozen=True)
class StoredVectors:
    """Token vectors in a file, where every document has its place (`Pieces.start`): Pieces -> [n, d] in float32."""

    path: Path
    device: torch.device

    def __call__(self, document: Pieces) -> torch.Tensor:
        rows = self._array[document.start : document.start + len(document)]
        return torch.from_numpy(rows.astype(np.float32)).to(self.device)

    @cached_property
    def _array(self) -> np.ndarray:
        return np.load(self.path, mmap_mode="r", allow_pickle=False)

    @property
    def hidden(self) -> int:
        return self._array.shape[1]


@torch.inference_mode()
def store_vectors(vectors: Vectors, documents: Sequence[Pieces], path: Path) -> None:
    """Encode every document once, as the encoder is (in evaluation mode, with the edits active around the call), into
    a .npy file [pieces of all documents, d] in half precision.

    documents: in one row, as one call of `segments.Segmenter` gives them. BiasflowError: vectors that are not finite in
    half precision, or no document with a word."""
    found = with_words(documents)
    total = found[-1].start + len(found[-1])
    with whole_file(path) as temporary:
        array = None
        for document in progress(found, total=len(found), description="coreference: vectors"):
            states = vectors(document).half().cpu().numpy()
            if array is None:
                shape = (total, states.shape[1])
                array = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float16, shape=shape)
            if not np.isfinite(states).all():
                raise BiasflowError("coreference: the encoder's states are not finite; check its training.")
            array[document.start : document.start + len(document)] = states
        array.flush()


def train_heads(
    vectors: StoredVectors,
    train: Sequence[Pieces],
    dev: Examples,
    *,
    recipe: Recipe,
    seeds: Sequence[int],
    work: Path,
) -> Iterator[tuple[int, CoarseToFine, Course]]:
    """For each seed a scorer trained on the stored vectors of `train`, in evaluation mode, and how its training went.

    A scorer does not depend on the other seeds. `work`: a folder for checkpoints, which is the caller's to claim
    (`tasks.training.claim`) and to remove."""
    train = with_words(train)
    with flushed_denormals():
        for seed in seeds:
            scorer = new_scorer(vectors.hidden, recipe.scorer, seed).to(vectors.device)
            parts = [scorer_part(scorer, recipe)]
            checkpoint = work / f"head-{seed}.safetensors"
            done = fit(scorer, scorer, vectors, parts, train, dev, recipe=recipe, seed=seed, checkpoint=checkpoint)
            yield seed, scorer, done
