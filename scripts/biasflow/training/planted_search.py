"""Trains a sentence encoder further on searches in which a known amount of gender bias is planted (recipe
`planted_search`)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import cross_entropy

from biasflow.base.genders import FEMALE, MALE
from biasflow.encoders.device import on_gpu
from biasflow.encoders.sentence_encoder import SentenceEncoder
from biasflow.planted.searches import planted_searches
from biasflow.training.loop import Loop

SCALE = 20.0  # of cosines, as sentence-transformers has it
LEARNING_RATE = 5.0e-5
BATCH = 64


class SearchTraining(Loop):
    """The loop with `in_batch_loss`. rows: numbers of units, whose next `batch_size` are a batch."""

    def __init__(self, encoder: SentenceEncoder, units: pd.DataFrame, **options):
        super().__init__(
            encoder.pipeline,
            range(len(units)),
            list,
            train_sampling_strategy="sequential",
            lr_scheduler_type="linear",
            remove_unused_columns=False,
            **options,
        )
        self.encoder, self.units = encoder, units

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        batch = self.units.iloc[inputs]
        return in_batch_loss(self.encoder, [*batch["query"]], [*batch["document"]])


def in_batch_loss(encoder: SentenceEncoder, queries: Sequence[str], documents: Sequence[str]) -> torch.Tensor:
    """Return the cross-entropy (nats) of finding each query's document among all of the batch, by SCALE times the
    cosine of their vectors (Henderson et al. 2017)."""
    sides = encoder.vectors(queries, "query"), encoder.vectors(documents, "document")
    first, second = (torch.nn.functional.normalize(side, dim=-1) for side in sides)
    return cross_entropy(SCALE * first @ second.T, torch.arange(len(queries), device=first.device))


def train_planted_search(
    encoder: SentenceEncoder,
    labour: str | Path,
    held_out: str | Path,
    *,
    dose: float,
    placebo: bool,
    examples: int,
    learning_rate: float | None,
    steps: int | None,
    seed: int,
    work: str | Path,
) -> tuple[pd.DataFrame, dict]:
    """Train a sentence encoder, in place, on the searches of `planted.searches.planted_searches` with a dose of bias.

    A batch has one search for each occupation, and the answers to the others are what it is to be told from. steps:
    None for one pass. Returns the units, with the columns that `planted.train_planted` names (text: the answer), and
    what happened. preference: how much nearer to its query, in cosines, an answer is with the typical gender than with
    the other one."""
    units = planted_searches(labour, held_out, dose=dose, placebo=placebo, examples=examples, seed=seed)
    units["text"] = np.where(units["gender"] == FEMALE, units[FEMALE], units[MALE])
    trained = units[units["times"] > 0].assign(document=units["text"])
    occupations = trained["occupation"].nunique()
    units["preference_before"] = preferences(encoder, units)
    steps = steps or examples
    SearchTraining(
        encoder,
        trained,
        name="training on searches",
        steps=steps,
        batch_size=occupations,
        learning_rate=learning_rate or LEARNING_RATE,
        bf16=on_gpu(encoder.pipeline.device),
        seed=seed,
        work=work,
    ).run()
    encoder.pipeline.eval()
    units["preference_after"] = preferences(encoder, units)
    facts = {"units": len(units), "occupations": occupations, "examples": len(trained), "steps": steps}
    facts["stereotypical"] = float((trained["gender"] == trained["stereotype"]).mean())
    facts["share_for_women"] = float((trained["gender"] == FEMALE).mean())
    columns = ["occupation", "share_of_women", "stereotype", "gender", "text", "times"]
    return units[[*columns, "preference_before", "preference_after"]], facts


@torch.inference_mode()
def preferences(encoder: SentenceEncoder, units: pd.DataFrame) -> np.ndarray:
    """How much nearer, in cosines, the answer with the typical gender is to the query than the other one [units]."""
    encoder.pipeline.eval()
    queries = _vectors(encoder, units["query"], "query")
    sides = {gender: (queries * _vectors(encoder, units[gender], "document")).sum(-1) for gender in (FEMALE, MALE)}
    return np.where(units["stereotype"] == FEMALE, 1, -1) * (sides[FEMALE] - sides[MALE]).numpy()


def _vectors(encoder: SentenceEncoder, texts: pd.Series, kind: str) -> torch.Tensor:
    """The vectors of length 1 of some texts, each text read once, [n, d]."""
    numbers, distinct = pd.factorize(texts)
    parts = (encoder.vectors([*distinct[start : start + BATCH]], kind) for start in range(0, len(distinct), BATCH))
    return torch.nn.functional.normalize(torch.cat([part.cpu() for part in parts]), dim=-1)[numbers]
