"""The readout `heads`: what a classifier's own head, and linear heads trained anew, predict of texts.

File: a table with the columns method, setting, head ("own", "retrained", or "frozen-<strategy>" on an encoder that was
not fine-tuned), head_seed, split_seed, pair (of groups that are compared, as F-M; the others are as if the first were
women and the second men), gender, gold, predicted, texts (how many; cells without any are left out),
people (which: their numbers, from 0, in the file of texts),
share_train and share_test (of women among the gold class's texts in these parts, before any balancing).
Beside it lie the heads that were trained, `<name>.heads.safetensors`.

Source: Orgad et al. (2022; section 3, "retraining", and table 5)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.genders import GENDERS, WOMEN_FIRST, pair_name
from biasflow.base.tabular import read_parquet, write_parquet
from biasflow.encoders.device import resolve_device
from biasflow.encoders.linear_head import load_head
from biasflow.readouts.external_predictions import NAMES as NAMES_OF_OTHERS
from biasflow.readouts.external_predictions import counted
from biasflow.readouts.files import METHOD, NA, OWN, RETRAINED, load_arrays
from biasflow.readouts.linear_heads import LinearHeads, save_linear_heads, train_heads
from biasflow.readouts.source import Source, load_for
from biasflow.readouts.states import States
from biasflow.strategies import Strategy
from biasflow.tasks.classification.given import ORIGINAL, class_of
from biasflow.tasks.classification.splits import (
    RAW,
    classes_of,
    comparable,
    held_out,
    labels_of,
    rows_of,
    shares_of_women,
    split,
)

FROZEN = "frozen-"
NAMES = [*METHOD, "head", "head_seed", "split_seed"]
COLUMNS = [*NAMES, "pair", "gender", "gold", "predicted", "texts", "people", "share_train", "share_test"]


@dataclass(frozen=True)
class Head:
    """A head to be trained, by its names in the table, and the rows of the texts that it learns from."""

    name: str
    seed: int
    split_seed: int
    text: str
    train: np.ndarray
    validation: np.ndarray


def read(
    source: Source,
    output: Path,
    *,
    text: str,
    split_seeds: Sequence[int],
    head_seeds: Sequence[int] = (),
    strategies: Sequence[Mapping[str, str]] = (),
    groups: Sequence[Sequence[str]] = (WOMEN_FIRST,),
    **training,
) -> dict:
    """Count what heads predict of each split's balanced test texts, given the vectors of `text`, under every
    method of the block. groups: the pairs of groups that are compared, each on texts of its own (`splits.held_out`); a
    pair with too few of them has no rows.

    Roles: `texts`; `vectors`, those of `text` (readouts.first_token); and under the name of each other
    text (`raw`, `scrubbed`) that heads are trained on, its vectors by the same model.

    Without `strategies` the model is a fine-tuned one: its own head, and one of each of `head_seeds` for each split
    (that of its training), trained on the raw texts of the split's training part as it is. With `strategies` (name,
    module and text of each) it is an encoder that was not fine-tuned, and there is a head "frozen-<strategy>" for each
    strategy and split, whose seed is the split's; it is tested on the raw texts, and on those that it was trained on.
    With a file of the role `predictions` (readouts.predictions, of a classifier of the user's) it is counted what that
    one predicts of `texts` (tasks.classification.given), with as many women as men of every label; gold is "" where
    texts have no label.
    training: epochs, batch_size, learning_rate and keep of `train_heads`. BiasflowError: whatever the split, the
    strategies and `train_heads` refuse, and a method that changes nothing."""
    if "predictions" in source.data:
        return _of_given(source, output, groups)
    device = resolve_device(source.device)
    examples, fitted = read_parquet(source.file("texts")), load_for(source)
    if strategies:
        known = [Strategy(**options) for options in strategies]
        asked = [strategy for strategy in known if text in (RAW, strategy.text)]
        heads = [_frozen(examples, strategy, seed) for strategy in asked for seed in split_seeds]
        heads.sort(key=lambda head: head.text)
        own_heads = None
    else:
        parts = {seed: split(examples, seed) for seed in split_seeds}
        heads = [
            Head(RETRAINED, seed, split_seed, RAW, part.train, part.validation)
            for split_seed, part in parts.items()
            for seed in head_seeds
        ]
        own_heads = LinearHeads.of(*load_head(source.model_folder))
    if not heads:
        raise BiasflowError(f"heads: none is to be tested on {text} texts; give head_seeds, or another strategy.")

    trained: dict[tuple[str, str], LinearHeads] = {}
    for its_text, alike in groupby(heads, key=lambda head: head.text):
        vectors = States(source.file("vectors" if its_text == text else its_text), fitted)
        for pair, new_heads in _trained(vectors, list(alike), classes_of(examples), device, training):
            trained[pair] = trained[pair].joined(new_heads) if pair in trained else new_heads
    tests = {(tuple(pair), seed): held_out(examples, seed, pair) for pair in groups for seed in split_seeds}
    table = _counted(examples, States(source.file("vectors"), fitted), heads, trained, own_heads, tests, device)
    shares = [_shares(examples, seed, pair) for pair in groups for seed in split_seeds]
    table = table.merge(pd.concat(shares), on=["pair", "split_seed", "gold"], how="left")[COLUMNS]
    names = [{**dict(zip(METHOD, pair, strict=True)), **_names(head)} for pair in trained for head in heads]
    save_linear_heads(reduce(LinearHeads.joined, trained.values()), output.with_suffix(".heads.safetensors"), names)
    write_parquet(table, output)
    return {"device": str(device), "heads": len(names)}


def _of_given(source: Source, output: Path, groups: Sequence[Sequence[str]]) -> dict:
    """The table of the readout, of a classifier that is given."""
    texts, predictions = read_parquet(source.file("texts")), load_arrays(source.file("predictions"))
    texts = texts[texts["tested"] & (texts["version"] == ORIGINAL)]
    classes = predictions.meta["classes"]
    gold = ["" if label == "" else classes[class_of(classes)(label)] for label in texts["label"]]
    people = pd.DataFrame({"gold": gold, "group": texts["gender"], "person": texts.index.astype(np.int32)})
    tables, compared = [], [_compared(texts, pair) for pair in groups]
    for (method, setting), predicted in zip(predictions.axis, predictions.arrays["own"], strict=True):
        named = NAMES_OF_OTHERS | {"method": method, "setting": setting}
        by_text = people.assign(predicted=np.array(classes)[predicted[people.index]])
        tables += [counted(by_text.iloc[rows], pair, **named) for pair, rows in zip(groups, compared, strict=True)]
    table = pd.concat(tables, ignore_index=True)
    if table.empty:
        raise AbsentError("no two labels have enough tested texts of both genders for a gap (data.least of the task)")
    write_parquet(table[[*METHOD, *COLUMNS[2:]]], output)
    return {"people": len(np.unique(np.concatenate(compared)))}


def _compared(texts: pd.DataFrame, pair: Sequence[str]) -> np.ndarray:
    """The rows of tested texts in which a pair of groups is compared, in their order: as many of both of every label,
    or all where texts have no label; none where one of the groups has none."""
    if (texts["label"] != "").all():
        return np.sort(comparable(texts, np.arange(len(texts)), pair, np.random.RandomState(0)))
    rows = np.flatnonzero(texts["compared"] & texts["gender"].isin(pair))
    return rows if texts["gender"].iloc[rows].nunique() == len(pair) else rows[:0]


def _frozen(examples: pd.DataFrame, strategy: Strategy, seed: int) -> Head:
    rows = rows_of(examples, strategy, seed)
    return Head(FROZEN + strategy.name, seed, seed, strategy.text, rows.train, rows.validation)


def _names(head: Head) -> dict[str, str]:
    return {"head": head.name, "head_seed": str(head.seed), "split_seed": str(head.split_seed)}


def _trained(
    vectors: States, heads: Sequence[Head], gold: np.ndarray, device: torch.device, training: Mapping
) -> Iterator[tuple[tuple[str, str], LinearHeads]]:
    """(method, setting) -> the heads trained on the vectors of one text under it, along the axis."""
    used = np.unique(np.concatenate([np.concatenate([head.train, head.validation]) for head in heads]))
    # The heads of one split share their rows: looked up once.
    places = {id(rows): np.searchsorted(used, rows) for head in heads for rows in (head.train, head.validation)}
    for axis, X in vectors.in_groups(used, device=device):
        trained = train_heads(
            X,
            gold[used],
            n_classes=gold.max() + 1,
            seeds=[head.seed for head in heads] * len(axis),
            rows=[places[id(head.train)] for head in heads] * len(axis),
            valid_rows=[places[id(head.validation)] for head in heads] * len(axis),
            matrices=np.repeat(np.arange(len(axis)), len(heads)),
            device=device,
            **training,
        )
        for number, pair in enumerate(axis):
            yield pair, trained.part(slice(number * len(heads), (number + 1) * len(heads)))


def _counted(
    examples: pd.DataFrame,
    vectors: States,
    heads: Sequence[Head],
    trained: Mapping[tuple[str, str], LinearHeads],
    own_heads: LinearHeads | None,
    tests: Mapping[tuple[tuple[str, str], int], np.ndarray],
    device: torch.device,
) -> pd.DataFrame:
    """The table of the readout without shares: what the trained heads, and the model's own if there is one, predict of
    test parts. tests: rows of the texts by the pair that is compared and the seed of the split."""
    gold, genders, labels = classes_of(examples), examples["gender"].to_numpy(), np.array(labels_of(examples))
    tests = {name: rows for name, rows in tests.items() if len(rows)}
    everyone = np.unique(np.concatenate(list(tests.values())))
    tables = []
    for method, setting, X in vectors.under_each(everyone, device=device):
        for (pair, split_seed), rows in tests.items():
            its = [number for number, head in enumerate(heads) if head.split_seed == split_seed]
            tested, names = trained[method, setting].part(its), [_names(heads[number]) for number in its]
            if own_heads is not None:
                tested = own_heads.joined(tested)
                names = [{"head": OWN, "head_seed": NA, "split_seed": str(split_seed)}, *names]
            predicted = tested.predict(X[np.searchsorted(everyone, rows)], device=device)
            is_first = (genders[rows] == pair[0]).astype(int)
            cells = _cells(predicted, gold[rows], is_first, rows)
            about = {name: labels[cells[name]] for name in ("gold", "predicted")} | {"people": cells["people"]}
            about |= {"method": method, "setting": setting, "gender": np.array(GENDERS)[cells["gender"]]}
            table = pd.DataFrame(names).iloc[cells["head"]].reset_index(drop=True).assign(**about)
            tables.append(table.assign(pair=pair_name(pair), texts=table["people"].map(len)))
    return pd.concat(tables, ignore_index=True)


def _cells(
    predicted: np.ndarray, gold: np.ndarray, is_first: np.ndarray, rows: np.ndarray
) -> dict[str, Sequence[np.ndarray]]:
    """Which texts are in each cell that has any: numbers of head, gender, gold and predicted class, and people.

    predicted [heads, rows]; gold, is_first (of the pair: 1), rows (the numbers of the texts) [rows]."""
    shape = (len(predicted), 2, gold.max() + 1, max(gold.max(), predicted.max()) + 1)
    head = np.arange(len(predicted))[:, None]
    of = np.ravel_multi_index((head, is_first, gold, predicted), shape).ravel()
    order = np.argsort(of, kind="stable")
    cells, starts = np.unique(of[order], return_index=True)
    people = np.split(np.tile(rows, len(predicted))[order].astype(np.int32), starts[1:])
    names = ("head", "gender", "gold", "predicted")
    return dict(zip(names, np.unravel_index(cells, shape), strict=True)) | {"people": people}


def _shares(examples: pd.DataFrame, split_seed: int, pair: Sequence[str]) -> pd.DataFrame:
    """Share of women, or of the first group of another pair, by label in a split's training and test part, before these
    are balanced."""
    parts = split(examples, split_seed)
    shares = {
        f"share_{part}": shares_of_women(examples["label"], examples["gender"], getattr(parts, part), pair)
        for part in ("train", "test")
    }
    names = {"split_seed": str(split_seed), "pair": pair_name(pair)}
    return pd.DataFrame(shares).rename_axis("gold").reset_index().assign(**names)
