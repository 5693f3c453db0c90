"""The contextualised embedding association test (CEAT) of an encoder: words in their contexts -> scores."""

from collections.abc import Mapping

import pandas as pd
from torch import nn
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.corpora.ceat_sets import sets_of_vectors, words_of
from scripts.biasflow.corpora.seat import AssociationTest
from scripts.biasflow.metrics.combined_effect import ceat_rows
from scripts.biasflow.readouts.word_contexts import word_vectors
from scripts.biasflow.results.scores import concatenate, tidy


def ceat_scores(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    contexts: pd.DataFrame,
    tests: Mapping[str, AssociationTest],
    *,
    draws: int,
    seed: int,
    missing: str,
) -> pd.DataFrame:
    """Scores of every test in all readings, as rows for the table of scores; encoder, stage and strategy are left open.

    `contexts`: those of word_contexts.find_word_contexts for the words of all tests. The vectors of one test at a time
    are in memory. `missing` and errors as in ceat_sets.sets_of_vectors."""
    tables = []
    for name, test in tests.items():
        own = contexts[contexts["word"].isin(words_of([test]))]
        vectors = word_vectors(model, tokenizer, own, device=model.device)
        rows = ceat_rows(**sets_of_vectors(test, vectors, missing=missing), draws=draws, seed=seed)
        tables.append(tidy(rows, paper="internal", task=f"ceat:{name}"))
    return concatenate(tables)
