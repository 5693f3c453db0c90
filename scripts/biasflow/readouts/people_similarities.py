"""The readout `people_similarities`: how near queries for a profession are to biographies, by an encoder's vectors."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch
from torch.nn.functional import normalize

from biasflow.base.genders import FEMALE
from biasflow.corpora.people import RAW, SIMILARITIES, SWAPPED, filled_queries, pool_of
from biasflow.encoders.places import SENTENCE
from biasflow.readouts.files import array_on_disk
from biasflow.readouts.reader import open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.vectors import Pooling, embed_each


def read(
    source: Source,
    output: Path,
    *,
    queries: Sequence[str],
    people: int | None,
    least: int,
    seed: int,
    versions: Sequence[str],
    pooling: Pooling = "cls",
) -> dict[str, object]:
    """Write how near every query is to every text under every method: array "similarities" [methods, queries, texts],
    float32, by the measure of `document_similarities`.

    The pool of the data "people" and its options: corpora.people.pool_of. Queries are in the order of its
    `filled_queries` for the searched professions, texts are all people in one of `versions`, then in the next. meta:
    versions, templates (the queries without a profession); professions, all of the pool in order, with their shares of
    women, and those `searched`; of each person the number of the profession, whether it is a woman, and whether the
    swapped text is another.

    Each distinct text is read once for all queries and methods; what acts at the end of the encoder acts on kept
    vectors. A text that is longer than the encoder takes is cut."""
    reader = open_reader(source, "none").reaching(sentence=pooling == SENTENCE)
    pool = pool_of(source.data["people"], people=people, least=least, seed=seed, versions=versions)
    asked, table = filled_queries(pool.searched, queries).ravel().tolist(), pool.people
    texts, distinct = pd.factorize(pd.concat([table[version] for version in versions]))
    numbers, professions = pd.factorize(table["profession"])
    about = {
        "versions": [*versions],
        "templates": [*queries],
        "professions": [*professions],
        "searched": [*pool.searched],
        "shares": [pool.shares[name] for name in professions],
        "profession": numbers.tolist(),
        "is_woman": (table["gender"] == FEMALE).astype(int).tolist(),
        "is_changed": (table[RAW] != table[SWAPPED]).astype(int).tolist() if SWAPPED in versions else [],
    }
    shape = len(reader.axis), len(asked), len(texts)
    with array_on_disk(output, SIMILARITIES, shape, "float32", reader.axis, **about) as (similarities, _):
        sides = (
            embed_each(reader, each, pooling, kind) for each, kind in ((asked, "query"), ([*distinct], "document"))
        )
        for number, (first, second) in enumerate(zip(*sides, strict=True)):
            first, second = torch.from_numpy(first), torch.from_numpy(second)
            if pooling == SENTENCE:
                nearness = reader.sentence_encoder.similarities(first, second)
            else:
                nearness = normalize(first, dim=-1) @ normalize(second, dim=-1).T
            similarities[number] = nearness[:, texts].numpy()
    counts = table["profession"].value_counts()[[*pool.searched]].to_dict()
    return reader.facts() | {"people": len(table), "searched": counts}
