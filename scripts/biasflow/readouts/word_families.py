"""The readout `word_families`: of which gendered words in context probes of four families tell the gender.

File: as that of readouts.families. The words are those that methods are fitted to. A probe is tested on contexts that
it has not seen, of words that it has: of these it can also learn the words. So the same is done with words of which it
has seen no context; then `labels` begin with "unseen"."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from biasflow.base.tabular import write_parquet
from biasflow.encoders import taps
from biasflow.methods.states import WordStates
from biasflow.readouts.families import TRUE, tables
from biasflow.readouts.gender_shares import read_words
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.states import applied, at_the_end
from biasflow.tasks.cuts import BALANCED, Cut, control_labels, probe_split

UNSEEN = "unseen"
FREQUENT = 0.2  # share of a gender's contexts: words with more are always learnt from


def read(source: Source, output: Path, *, hidden: int, seeds: Sequence[int], **words) -> dict:
    """Train probes on four fifths of the contexts under every method, and test them on a tenth, once for each of
    `seeds`, which draw these parts; and likewise on words of which they have seen no context (`cut_by_words`).

    Data and `words`: as of `gender_shares.read_words`."""
    reader = open_reader(source, "none")
    states = read_words(source, reader, **words)
    occurrences = states.occurrences.table
    z = (occurrences["gender"] == states.occurrences.groups[1]).to_numpy(dtype=int)
    vectors = list(_under_each(reader, states))
    cuts = [Cut(BALANCED, str(s), [s], *probe_split(len(z), s), control_labels(z, s)) for s in seeds]
    by_words = [cut for seed in seeds if (cut := cut_by_words(z, occurrences["word"], seed))]
    made = [tables(vectors, z, cuts, hidden)]
    if by_words:
        unseen = tables(vectors, z, by_words, hidden)
        labels = ("-" + unseen["labels"]).where(unseen["labels"] != TRUE, "")
        made.append(unseen.assign(labels=UNSEEN + labels))
    write_parquet(pd.concat(made, ignore_index=True), output)
    return {"device": str(reader.model.device), "splits_of_words": len(by_words), **states.facts}


def cut_by_words(z: np.ndarray, words: Sequence[str], seed: int) -> Cut | None:
    """The contexts of genders z [n] and words [n], cut so that a probe is tested on other words than it learns from.

    Half of the words, at random, test, of those that have at most a FREQUENT share of their gender's contexts ("he" and
    "she" have more); a tenth of all other contexts choose. None where one gender alone would be tested."""
    rng, words = np.random.default_rng(seed), pd.Series(words)
    tested = np.zeros(len(z), dtype=bool)
    for gender in (0, 1):
        shares = words[z == gender].value_counts(normalize=True).sort_index()
        rare = rng.permutation(shares.index[shares <= FREQUENT])
        tested |= (z == gender) & words.isin(rare[: len(rare) // 2]).to_numpy()
    others = rng.permutation(np.flatnonzero(~tested))
    dev = len(others) // 10
    cut = Cut(UNSEEN, str(seed), [seed], others[dev:], others[:dev], np.flatnonzero(tested), control_labels(z, seed))
    return cut if len(set(z[tested])) == 2 else None


def _under_each(reader: Reader, states: WordStates) -> Iterator[tuple[str, str, torch.Tensor]]:
    """(method, setting, vectors of the words in the last layer)."""
    (place,), layers = taps.resolve(reader.model, "last"), taps.depth(reader.model)
    plain = states.at([place])[place]
    for active in reader.fitted.every_setting():
        made = not active.edits or at_the_end(active, layers)
        yield active.method, active.setting, applied(active, plain) if made else states.at([place], active.edits)[place]
