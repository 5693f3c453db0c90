"""The matrix cut into maps for readers: one for the models of an encoder and a task, methods in rows, measures in
columns; those of retrained and frozen heads apart."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.base.sample import SUFFIX
from biasflow.matrix import RANDOM
from biasflow.overview import costs
from biasflow.overview.judgements import VIABLE, WEAK, left, printed
from biasflow.registry import COST, GIVEN, INSIDE, METRICS, OUTSIDE, READOUTS, WITH
from biasflow.results.first_table import SETTINGS
from biasflow.results.matrix import OWN, PLAIN, UNTRAINED, measures
from biasflow.results.page import meanings
from biasflow.results.scores import NA, NONE

UNTOUCHED = "none (untouched)"
ROW = ["strategy", "method", "setting"]
COLUMN = ["measure", "dataset"]
VECTORS, HEADS = "vectors", "heads"
GROUPS = {  # of columns, in their order: the vectors of an encoder, what is made of them, and the price of a method
    VECTORS: "Bias in vectors",
    HEADS: "Bias in predictions of words and sentences",
    OUTSIDE: "Bias in tasks",
    COST: "Cost",
}


@dataclass(frozen=True)
class Map:
    """Cells of one encoder, task and head. cells: rows of the matrix that have a value, with the columns name (of the
    row), header (of the measure), left (judgements.left), weak (whether it is read from a weak head: `weak_head`),
    quality (of the row: `costs.quality`), grid (one of many settings of a method) and section (of GROUPS)."""

    encoder: str
    task: str
    head: str
    cells: pd.DataFrame

    @property
    def is_own(self) -> bool:
        """Whether these are the model's own heads, or no heads at all."""
        return self.head in OWN

    @property
    def is_given(self) -> bool:
        """Whether it is of a classifier that was not trained here."""
        return self.task != NA and bool((self.cells["strategy"] == GIVEN).any())

    @property
    def title(self) -> str:
        model = (
            "as pre-trained" if self.task == NA else f"{'as given' if self.is_given else 'fine-tuned'} on {self.task}"
        )
        return f"{self.encoder}, {model}" + ("" if self.is_own else f", {self.head} heads")

    @cached_property
    def columns(self) -> pd.DataFrame:
        """Its measures: header, section, group, label, neutral, better, measure, weak; in the order of GROUPS, then of
        the registry."""
        columns = self.cells.drop_duplicates("header").set_index("header")
        columns = columns[["section", "group", "label", "neutral", "better", "measure", "weak"]]
        registered = [name for _, name in measures()]
        keys = [(list(GROUPS).index(about.section), registered.index(about.measure)) for about in columns.itertuples()]
        return columns.iloc[sorted(range(len(keys)), key=keys.__getitem__)]

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Its rows: name, quality, grid; the untouched model first."""
        return self.cells.drop_duplicates("name").set_index("name")[["quality", "grid"]]


def maps(matrix: pd.DataFrame) -> Iterator[Map]:
    """All maps of a matrix (results.matrix.matrix), in its order; an encoder's own heads before the others."""
    measured = matrix[matrix["value"].notna()]
    for (encoder, task), block in measured.groupby(["encoder", "task"], sort=False):
        has_own_head = block["head"].isin(OWN)
        if has_own_head.any():
            yield Map(encoder, task, OWN[0], _judged(block[has_own_head]))
        for head, cells in block[~has_own_head].groupby("head", sort=False):
            yield Map(encoder, task, head, _judged(cells))


def name_of(strategy: str, method: str, setting: str) -> str:
    """A row's name: "none (untouched)", "leace", "densray-each layer[0]", "scrubbing + leace", "hard, in training"; an
    encoder with random weights is "untrained"."""
    if strategy == f"{WITH}{method}":
        return f"{method}, in training"
    done = f"{method} {setting}".removesuffix(f" {NA}")
    if strategy in PLAIN:
        return UNTOUCHED if method == NONE else done
    trained = UNTRAINED if strategy == RANDOM else strategy
    return trained if method == NONE else f"{trained} + {done}"


def _judged(cells: pd.DataFrame) -> pd.DataFrame:
    cells = cells.assign(
        name=[name_of(*keys) for keys in cells[ROW].itertuples(index=False, name=None)],
        header=headers(cells),
        grid=cells.groupby("method")["setting"].transform("nunique") > SETTINGS,
        section=[_section(measure, group) for measure, group in zip(cells["measure"], cells["group"], strict=True)],
    )
    cells["left"] = left(cells["distance"], cells["distance_untouched"])
    is_weak = bool(weak_head(cells[cells["name"] == UNTOUCHED].itertuples()))
    cells["weak"] = is_weak & (cells["measure"].map(head_of) == "masked_lm")
    cells["quality"] = cells["name"].map(costs.quality(costs.costs(cells), cells["name"].unique()))
    cells.loc[cells["name"] == UNTOUCHED, "quality"] = VIABLE  # nothing is taken from it
    return cells.iloc[np.argsort(cells["name"] != UNTOUCHED, kind="stable")]


def headers(cells: pd.DataFrame) -> list[str]:
    """The label of a measure, with what its test compares, or with its dataset where it has several here; and whether
    it is a sample."""
    datasets = cells[COLUMN].drop_duplicates()
    several = datasets["measure"].value_counts() > 1
    alike = Counter(zip(datasets["measure"], map(_compares, datasets["dataset"]), strict=True))

    def header(row) -> str:
        dataset, _, limit = row.dataset.partition(SUFFIX)
        test = _compares(row.dataset)
        if test and alike[row.measure, test] == 1:
            name = f"{row.label}: {test}"
        else:
            name = f"{row.label} ({dataset})" if several[row.measure] else row.label
        return f"{name}, sampled" if limit else name

    return [header(row) for row in cells[["label", *COLUMN]].itertuples()]


def _compares(dataset: str) -> str:
    """What a known test compares, whatever its sentences are pooled by ("sent-weat6", "sent-weat6-mean"), or ""."""
    return next((text for name, text in meanings("tests").items() if f"{dataset}-".startswith(f"{name}-")), "")


def head_of(measure: str) -> str:
    """The head that a measure reads, as `registry.Readout` names it; "none" of one that reads vectors."""
    readouts = (READOUTS.get(entry.readout) for entry in METRICS.values() if measure in entry.measures)
    return next((readout.head for readout in readouts if readout and readout.head != "none"), "none")


def weak_head(untouched: Iterable[NamedTuple]) -> list[str]:
    """What says that the masked-LM head of a model is weak: the better of its perplexities, and the score beside a
    measure that asks for care; empty if nothing does. untouched: the cells of the untouched model."""
    cells = list(untouched)
    perplexities = [cell for cell in cells if cell.measure in ("perplexity", "pseudo_perplexity")]
    best = min(perplexities, key=lambda cell: cell.value, default=None)
    said = [f"{best.label} {printed(best.value)}"] if best is not None and best.value > WEAK else []
    return said + [cell.beside for cell in cells if "with care" in cell.caution][:1]


def _section(measure: str, group: str) -> str:
    """The key of GROUPS: of bias inside of an encoder, whether a head is read or the vectors themselves."""
    return group if group != INSIDE else HEADS if head_of(measure) != "none" else VECTORS
