"""The readout `word_families`: of which gendered words in context probes of four families tell the gender.

File: as that of readouts.families. The words are those that methods are fitted to; a probe is tested on contexts that
it has not seen, of words that it has."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from biasflow.base.tabular import write_parquet
from biasflow.encoders import taps
from biasflow.methods.states import WordStates
from biasflow.readouts.families import tables
from biasflow.readouts.gender_shares import read_words
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.states import applied, at_the_end
from biasflow.tasks.cuts import BALANCED, Cut, control_labels, probe_split


def read(source: Source, output: Path, *, hidden: int, seeds: Sequence[int], **words) -> dict:
    """Train probes on four fifths of the contexts under every method, and test them on a tenth, once for each of
    `seeds`, which draw these parts.

    Data and `words`: as of `gender_shares.read_words`."""
    reader = open_reader(source, "none")
    states = read_words(source, reader, **words)
    z = (states.occurrences.table["gender"] == states.occurrences.groups[1]).to_numpy(dtype=int)
    cuts = [Cut(BALANCED, str(s), [s], *probe_split(len(z), s), control_labels(z, s)) for s in seeds]
    write_parquet(tables(_under_each(reader, states), z, cuts, hidden), output)
    return {"device": str(reader.model.device), **states.facts}


def _under_each(reader: Reader, states: WordStates) -> Iterator[tuple[str, str, torch.Tensor]]:
    """(method, setting, vectors of the words in the last layer)."""
    (place,), layers = taps.resolve(reader.model, "last"), taps.depth(reader.model)
    plain = states.at([place])[place]
    for active in reader.fitted.every_setting():
        made = not active.edits or at_the_end(active, layers)
        yield active.method, active.setting, applied(active, plain) if made else states.at([place], active.edits)[place]
