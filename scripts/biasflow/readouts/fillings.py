"""The readout `fillings`: with which tokens does a masked-LM head fill a blank, under every method?"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from transformers import BatchEncoding, PreTrainedModel

from biasflow.base.errors import AbsentError
from biasflow.readouts.cloze import Cloze, distributions_at, items_of, made_of, read_at
from biasflow.readouts.reader import open_reader
from biasflow.readouts.source import Source

BEST = 3  # fillings of a sentence


def read(
    source: Source, output: Path, *, items: str, of: dict[str, str] | None = None, blank: str, limit: int | None = None
) -> dict[str, object]:
    """Read the sentences that the module `items` lists, by its items(**of): column text, in which `blank` stands once.

    Columns of the file: method, setting, those of the list, and filling_1 to filling_3: the likeliest tokens in the
    place of the blank, the likeliest first. limit: as `items_of` takes it. A sentence without the blank is left out, as
    are those that `made_of` leaves out."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    table, tokenizer = items_of(reader, source, items, of, limit), reader.tokenizer

    def cloze(_: tuple, encoding: Mapping[str, list]) -> Cloze:
        ids = encoding["input_ids"]
        if ids.count(tokenizer.mask_token_id) != 1:
            raise AbsentError(f"not one {blank}")
        place = ids.index(tokenizer.mask_token_id)
        return Cloze(tuple(ids), (place,), (ids[place],))

    table = table.assign(masked=table["text"].str.replace(blank, tokenizer.mask_token, regex=False))
    table, clozes = made_of(reader, table, ["masked"], cloze)
    best = read_at(reader, clozes, "blanks", _best_at, BEST).astype(int)
    names = np.array(tokenizer.convert_ids_to_tokens(range(len(tokenizer))), dtype=object)
    columns = {f"filling_{number + 1}": names[best[..., number]] for number in range(BEST)}
    return reader.write(output, table.drop(columns="masked"), **columns)


def _best_at(
    model: PreTrainedModel, batch: BatchEncoding, rows: torch.Tensor, at: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    """The numbers of the likeliest tokens at these rows and positions: [positions, BEST]."""
    distributions, place = distributions_at(model, batch, rows, at)
    return distributions.topk(BEST, dim=1).indices[place]
