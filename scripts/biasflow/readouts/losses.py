"""Masked-LM losses on a text under every method, with masks that are the same for all of them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text
from biasflow.base.sample import sampled
from biasflow.base.tabular import write_parquet
from biasflow.encoders.examples import IGNORED, blocks_of, mask_tokens
from biasflow.readouts.cloze import Cloze, read_at
from biasflow.readouts.files import under_methods
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source

SHARE = 0.15  # of the pieces that are masked
TOKENS = 25  # of a text for each of a limited number of sentences


def read(
    source: Source,
    output: Path,
    *,
    mask_seeds: Sequence[int],
    max_length: int | None = None,
    batch_size: int = 8,
    limit: int | None = None,
) -> dict[str, object]:
    """The loss at every masked position of the data "text", read as one string as it is, for every mask seed.

    Columns: method, setting, readout_seed (of the masks), block (number, from 0), loss (nats, float32). max_length: of
    the blocks that the text is cut into (`blocks_of`), the longest that the encoder takes by default. batch_size
    changes the speed alone. limit: so many blocks that they have TOKENS tokens for each of that many sentences;
    their masks are those that they have among all.

    Source: Liang, Dufter & Schütze (2020, section on model performance), on WikiText-2; their masks were drawn anew in
    each run, which alone moved the perplexity by as much as some of the methods."""
    reader = open_reader(source, "masked_lm", batch_size=batch_size).reaching(words=True)
    text = read_text(source.file("text"))
    write_parquet(masked_losses(reader, text, seeds=mask_seeds, max_length=max_length, limit=limit), output)
    return reader.facts()


def masked_losses(
    reader: Reader, text: str, *, seeds: Sequence[int], max_length: int | None = None, limit: int | None = None
) -> pd.DataFrame:
    """The table of `read`. The masks are drawn from text, length and seed alone: compared methods see the same.

    BiasflowError: a max_length beyond the encoder's, or the errors of `blocks_of` and `draw_masks`."""
    longest = reader.longest_input
    length = longest if max_length is None else max_length
    if length > longest:
        raise BiasflowError(f"max_length: {length} is more than the {longest} tokens that the encoder takes.")
    blocks = blocks_of(reader.tokenizer, text, max_length=length)
    some = sampled(pd.DataFrame({"row": range(len(blocks))}), limit and -(-limit * TOKENS // length))["row"].to_numpy()
    tables = []
    for seed in seeds:
        ids, labels = (array[some] for array in draw_masks(reader.tokenizer, blocks, seed=seed))
        block = np.nonzero(labels != IGNORED)[0].astype(np.int32)
        items = pd.DataFrame({"readout_seed": seed, "block": block})
        losses = losses_at(reader, ids, labels).astype(np.float32)
        tables.append(under_methods(reader.axis, items, loss=losses))
    return pd.concat(tables, ignore_index=True)


def draw_masks(tokenizer: PreTrainedTokenizerBase, blocks: np.ndarray, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Input ids and labels [blocks, length] with SHARE of the pieces masked, as in `examples.mask_tokens`.

    The same blocks, seed and vocabulary give the same masks: neither the model nor a random state plays a part.
    BiasflowError if nothing was masked."""
    input_ids, labels = mask_tokens(blocks, tokenizer, share=SHARE, rng=np.random.default_rng(seed))
    if (labels == IGNORED).all():
        raise BiasflowError(f"mask seed {seed}: none of {blocks.size} tokens was masked; give more text.")
    return input_ids, labels


def losses_at(reader: Reader, input_ids: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """-log p of the label at every masked position in reading order, in nats, [methods, positions]; only these are
    scored."""
    places = [np.flatnonzero(of_block != IGNORED) for of_block in labels]
    blocks = zip(input_ids.tolist(), places, labels, strict=True)
    clozes = [Cloze(tuple(ids), tuple(at), tuple(of_block[at])) for ids, at, of_block in blocks]
    return -read_at(reader, clozes, "masked tokens")
