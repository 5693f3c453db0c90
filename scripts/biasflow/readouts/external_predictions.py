"""What a classifier elsewhere predicted, made the readout `heads` that ours would give. Imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.genders import WOMEN_FIRST, pair_name
from biasflow.base.left_out import LeftOut
from biasflow.base.tabular import write_parquet
from biasflow.corpora.predictions import group_name, read_predictions
from biasflow.readouts.files import METHOD

NAMES = dict(zip(METHOD, ("none", "-"), strict=True)) | {"head": "own", "head_seed": "-", "split_seed": "-"}


def read(
    paths: Sequence[Path],
    data: Mapping[str, Sequence[Path]],
    output: Path,
    *,
    groups: Sequence[Sequence[object]] = (WOMEN_FIRST,),
) -> dict[str, object]:
    """Write the table of `readouts.heads` for the pairs of groups that are compared (corpora.predictions).

    All people are counted as they are, without balancing. The shares of the groups in the training data are not known
    (NaN)."""
    with (left_out := LeftOut()).told():
        everyone = read_predictions(paths, groups)
    people = everyone.rename(columns={"label": "gold", "prediction": "predicted"})
    people = people.assign(person=np.arange(len(people), dtype=np.int32))
    tables = []
    for pair in groups:
        named = people["group"].map(dict(zip(map(group_name, pair), pair, strict=True)))
        tables.append(counted(people.assign(group=named)[named.notna()], pair, **NAMES))
    write_parquet(pd.concat(tables, ignore_index=True), output)
    return {"people": len(people), **left_out.facts()}


def counted(people: pd.DataFrame, pair: Sequence[object], **names: str) -> pd.DataFrame:
    """The table of `readouts.heads` for a pair of groups and a classifier with these names, of which no training data
    are known. people: of the two groups: group, gold, predicted, and the number of the person."""
    gender_of = dict(zip(pair, WOMEN_FIRST, strict=True))
    people = people.assign(gender=people["group"].map(gender_of))
    shares = (people["gender"] == WOMEN_FIRST[0]).groupby(people["gold"]).mean()
    table = people.groupby(["gender", "gold", "predicted"])["person"].agg(list).rename("people").reset_index()
    table = table.assign(texts=table["people"].map(len), share_train=np.nan, share_test=table["gold"].map(shares))
    return table.assign(**names, pair=pair_name(pair))
