"""A sentence encoder as its users have it: sentence-transformers loads its folder and makes the vectors of texts.

The library applies all that the folder says: pooling, Dense layers, prompts, the longest text, fewer dimensions.
Between what makes a vector and what divides it by its length lies the place `sentence`, at which erasers act."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from biasflow.base.errors import AbsentError
from biasflow.encoders.batches import encode, over_batches
from biasflow.encoders.device import as_trained
from biasflow.encoders.load import OFFLINE, explained
from biasflow.encoders.places import SENTENCE
from biasflow.encoders.sentence_transformers import HARMLESS, files_beside, whole_folder_of
from biasflow.encoders.static import StaticEncoder
from biasflow.encoders.stored import MODULES
from biasflow.encoders.taps import name_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Kind = Literal["query", "document", ""]  # which of the folder's prompts stands before a text; "": the default one
WEIGHTED = ("cls", "mean", "weightedmean", "lasttoken")  # poolings that are means with weights of the sum 1


@dataclass(frozen=True)
class SentenceEncoder:
    """pipeline: what makes vectors, up to the place `sentence`; last: the modules behind it."""

    pipeline: "SentenceTransformer"
    last: Sequence[nn.Module]

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The last edits that act on vectors, and not in the model (see `states.parted`): with those at `sentence`
        those of all tokens of the last layer, where nothing but a mean of these makes the vector."""
        kinds, pooling = [type(module).__name__ for module in self.pipeline], self.pipeline[-1]
        is_mean = kinds == ["Transformer", "Pooling"] and pooling.pooling_mode in WEIGHTED
        return (None, SENTENCE) if is_mean else (SENTENCE,)

    @property
    def behind(self) -> dict[str, object]:
        """What comes behind the place `sentence`, as files of vectors say it (`states.States`): parts, and what
        `finished` does."""
        normalised = any(type(module).__name__ == "Normalize" for module in self.last)
        return {"parts": self.parts, "normalised": normalised, "dimensions": self.pipeline.truncate_dim}

    def prompt(self, kind: Kind) -> str:
        """What stands before every text."""
        return self.pipeline.prompts.get(kind or self.pipeline.default_prompt_name) or ""

    def vectors(self, texts: Sequence[str], kind: Kind = "") -> torch.Tensor:
        """The vectors of a batch of texts at the place `sentence`, [n, d]."""
        task = {"task": kind} if kind else {}
        features = self.pipeline.preprocess(list(texts), prompt=self.prompt(kind), **task)
        device = self.pipeline.device
        features = {name: one.to(device) if isinstance(one, torch.Tensor) else one for name, one in features.items()}
        return self.pipeline(features, **task)["sentence_embedding"].float()

    def save(self, folder: str | Path) -> None:
        """Save it as sentence-transformers does, with the modules behind the place `sentence`, which it has again."""
        self.pipeline.extend(self.last)
        self.pipeline.save_pretrained(str(folder), create_model_card=False)

    def finished(self, vectors: torch.Tensor) -> torch.Tensor:
        """The vectors [..., d] as users have them: normalised where the folder says so, and cut to its dimensions."""
        for module in self.last:
            vectors = module({"sentence_embedding": vectors})["sentence_embedding"]
        return vectors[..., : self.pipeline.truncate_dim]

    def similarity(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """How near vectors [n, d] are to others, row by row, by the folder's own measure: [n]."""
        return self.pipeline.similarity_pairwise(first, second)

    def similarities(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """How near each of the vectors [n, d] is to each of others [m, d] by that measure: [n, m]."""
        return self.pipeline.similarity(first, second)


def sentence_encoder(model: PreTrainedModel) -> SentenceEncoder:
    """The sentence encoder of the folder that a model was loaded from (`load`), around the model: edits in it are seen.

    The library runs no code of the folder, asks no network, and reads weights in safetensors alone. AbsentError for a
    folder without a list of modules; BiasflowError in one line for one that the library cannot read."""
    folder = whole_folder_of(Path(model.name_or_path))
    if folder is None:
        raise AbsentError(f"{name_of(model)}: no {MODULES}, so it has no sentence vector of its own; name a pooling")
    from sentence_transformers import SentenceTransformer  # slow to load

    read_as = {"use_safetensors": True, "dtype": torch.float32}
    beside, advice = files_beside(folder), "get the encoder again"
    with explained(folder, "sentence-transformers cannot read it", advice, beside) as files:
        pipeline = SentenceTransformer(str(files), device="cpu", model_kwargs=read_as, **OFFLINE)
        if not isinstance(model, StaticEncoder):
            pipeline[0].model = model.base_model
    first = len(pipeline)
    while type(pipeline[first - 1]).__name__ in HARMLESS:
        first -= 1
    last = list(pipeline)[first:]
    del pipeline[first:]
    return SentenceEncoder(pipeline.to(model.device).eval(), last)


@torch.inference_mode()
def vectors_of(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, batch_size: int = 64
) -> torch.Tensor:
    """The vectors of texts at the place `sentence`, [n, d] on the CPU, under the edits that are active in the model."""
    encoder, encoded = sentence_encoder(model), encode(tokenizer, texts, truncation=True)

    def of_texts(rows: list[int], batch: BatchEncoding) -> torch.Tensor:
        return encoder.vectors([texts[row] for row in rows]).cpu()

    options = {"batch_size": batch_size, "description": "sentence vectors"}
    with as_trained(model):
        order, vectors = zip(*over_batches(of_texts, encoded, model, tokenizer, **options), strict=True)
    return torch.cat(vectors)[np.argsort(np.concatenate(order))]
