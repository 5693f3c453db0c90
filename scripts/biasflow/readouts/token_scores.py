"""The bias score of every token of sentences, for a page on which they are coloured by it."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.corpora.documents import read_sentences, sample_sentences
from biasflow.encoders.edit import watched
from biasflow.encoders.places import POOLED, layer_of
from biasflow.erasers import densray
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active
from biasflow.readouts.files import METHOD
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source

SEED = 0  # of the sample


def read(source: Source, output: Path, *, sentences: int) -> dict[str, object]:
    """The scores of the tokens of so many sentences of the data "text" (a sentence a line), along each method's first
    direction at the last place where it acts.

    Columns: method, setting, place, sentence (number in the sample, from 0), truncated (whether it was too long for the
    encoder, and cut), piece, score."""
    reader = open_reader(source, "none")
    chosen = sample_sentences(read_sentences(source.file("text")), sentences, seed=SEED)
    write_parquet(token_scores(reader, chosen), output)
    return {"device": str(reader.model.device), **reader.truncated()}


@torch.inference_mode()
def token_scores(reader: Reader, sentences: Sequence[str]) -> pd.DataFrame:
    """The table of `read`: `densray.scores` of the untouched encoder's states at the last layer that a method edits.

    Special tokens are left out; a sentence longer than the encoder takes is cut. A sentence's score is the mean over
    its pieces. Methods that edit no layer's output have no rows; BiasflowError where that is all of them."""
    directions = {(active.method, active.setting): _last_of_a_layer(active) for active in reader.fitted.every_setting()}
    directions = {method: edit for method, edit in directions.items() if edit is not None}
    if not directions:
        raise BiasflowError("token scores: no method edits the output of a layer; name one that does, such as densray")
    rows, cut = [], reader.tokenised(sentences).cut.tolist()
    options = {"return_special_tokens_mask": True, "truncation": True, "max_length": reader.longest_input}
    for number, sentence in enumerate(sentences):
        batch = reader.tokenizer(sentence, return_tensors="pt", **options)
        words = ~batch.pop("special_tokens_mask")[0].bool()
        pieces = [reader.tokenizer.decode([piece]).strip() for piece in batch["input_ids"][0][words].tolist()]
        with watched(reader.model, {place for place, _ in directions.values()}) as states:
            reader.model(**batch.to(reader.model.device))
        for method, (place, eraser) in directions.items():
            scores = densray.scores(eraser, states[place][0].float().cpu())[words].tolist()
            rows += [(*method, place, number, cut[number], *pair) for pair in zip(pieces, scores, strict=True)]
    return pd.DataFrame(rows, columns=[*METHOD, "place", "sentence", "truncated", "piece", "score"])


def _last_of_a_layer(active: Active) -> tuple[str, Eraser] | None:
    """The last edit of a whole layer's output, or None."""
    of_layers = [edit for edit in active.edits if edit[0] != POOLED and layer_of(edit[0])[1] is None]
    return of_layers[-1] if of_layers else None
