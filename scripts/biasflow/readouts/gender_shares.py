"""How much gender each place of an encoder holds, in the states of gendered words: layers, and the heads' values."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from torch import nn

from biasflow.base.tabular import write_parquet
from biasflow.corpora.documents import read_sentences
from biasflow.encoders import places, taps
from biasflow.encoders.edit import Edits
from biasflow.erasers import densray
from biasflow.methods.states import WordStates, word_states
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.stimuli.gendered_words import PLANTED, read_gendered_words


def read(source: Source, output: Path, **words) -> dict:
    """The share of gender at every place under every method: columns method, setting, place, head ("" where there are
    none), share. Returns what is known of the words, too.

    Data and `words`: as of `read_words`."""
    reader = open_reader(source, "none")
    states = read_words(source, reader, **words)
    where = gender_places(reader.model)
    tables = [
        gender_shares(states, where, active.edits).assign(method=active.method, setting=active.setting)
        for active in reader.fitted.every_setting()
    ]
    write_parquet(pd.concat(tables, ignore_index=True)[["method", "setting", "place", "head", "share"]], output)
    return {"device": str(reader.model.device), **states.facts}


def read_words(source: Source, reader: Reader, *, words: str = PLANTED, batch_size: int = 64, **contexts) -> WordStates:
    """The states of gendered words in context.

    Data: text (sentences), words (the file that the list `words` is in; none for the embedded one). contexts: n
    and max_length of `find_occurrences`: the same as in fitting, to describe what was fitted to.
    BiasflowError: words without contexts, see there."""
    found = read_sentences(source.file("text")), read_gendered_words(words, source.data.get("words", ()))
    return word_states(reader.model, reader.tokenizer, *found, batch_size=batch_size, **contexts)


def gender_places(model: nn.Module) -> list[str]:
    """Where Liang et al. (2020) look for gender: the output of every layer, and the heads' values where a model has
    such places."""
    layers = taps.resolve(model, places.ALL)
    return [*layers, *(value for layer in layers if taps.has(model, value := f"{layer}.attention.value"))]


def gender_shares(states: WordStates, where: Sequence[str], edits: Edits = ()) -> pd.DataFrame:
    """`densray.gender_share` of each place with `edits` active: columns place, head ("" outside attention), share."""
    rows = []
    for place, X in states.at(where, edits).items():
        z = states.labels(X)["z"]
        heads = [("", X)] if X.dim() == 2 else [(str(number), head) for number, head in enumerate(X.unbind(1))]
        rows += [(place, name, densray.gender_share(head, z)) for name, head in heads]
    return pd.DataFrame(rows, columns=["place", "head", "share"])
