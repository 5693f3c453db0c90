"""The pairs of sentences that measure the bias of coreference: those of WinoBias, or embedded ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.tabular import write_csv
from biasflow.corpora.conll import write_conll
from biasflow.corpora.winobias import read_pairs
from biasflow.planted.coreference import all_pairs, coreference_pairs
from biasflow.tasks.coreference.collect import BEST, Part, baselines
from biasflow.tasks.coreference.f1 import conll_average, conll_f1

SIDES = ("pro", "anti")
PAIRS = ["pair", "type", "part", *SIDES]


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    planted: Mapping[str, object] | None,
    files: Sequence[Mapping[str, str]],
) -> dict[str, object]:
    """Write the sentences of both sides, row by row a pair, the table of pairs, and that of the baselines.

    planted: bias, seed and number of pairs of embedded ones; None for the files of the roles pro and anti in `sources`,
    whose parts and types `files` says. Table of pairs: pair (from 0), type, part, and the names of the documents, pro
    and anti. BiasflowError: what `read_pairs` refuses."""
    sides, about = from_files(sources, files) if planted is None else from_world(**planted)
    for side in SIDES:
        write_conll(sides[side].documents, outputs[side])
    names = {side: [document.name for document in sides[side].documents] for side in SIDES}
    write_csv(about.assign(pair=range(len(about)), **names)[PAIRS], outputs["pairs"])
    rows = baselines(sides)
    if planted is not None:
        difference = {"part": "-", "predictor": BEST, "metric": "f1_difference"}  # of all there can be, in points
        rows = pd.concat([rows, pd.DataFrame([difference | {"value": best_difference(bias=planted["bias"])}])])
    write_csv(rows, outputs["pairs_baseline"])
    return {"pairs": len(about)}


def best_difference(*, bias: float) -> float:
    """Return the F1 difference pro - anti, in points (0 to 100), of the best possible predictor on embedded pairs.

    Every frame, pair of occupations and meaning is counted with its probability, so there is no sampling error. 0 at
    bias 0, where the frame alone decides; it grows in steps, when the gender outweighs one more frame."""
    *sides, weights = all_pairs(bias=bias)
    counts = (conll_f1(*map(list, zip(*side, strict=True))).per_document for side in sides)
    pro, anti = (float(conll_average(np.tensordot(weights, of_side, axes=1))) for of_side in counts)
    return 100 * (pro - anti)


def from_world(*, bias: float, seed: int, pairs: int) -> tuple[dict[str, Part], pd.DataFrame]:
    """The planted sentences of either side, with their best answers; and type and part of each pair."""
    both = coreference_pairs(bias=bias, seed=seed, n=pairs)
    sides = {side: Part(answered.documents, [], answered.best) for side, answered in zip(SIDES, both, strict=True)}
    return sides, pd.DataFrame({"type": ["planted"] * pairs, "part": "-"})


def from_files(
    sources: Mapping[str, Sequence[Path]], files: Sequence[Mapping[str, str]]
) -> tuple[dict[str, Part], pd.DataFrame]:
    """Read the sentences of either side from files; files: type and part of each file of a side, in their order."""
    of_files = zip(files, *(sources[side] for side in SIDES), strict=True)
    pairs = [(names, pair) for names, *paths in of_files for pair in read_pairs(*paths)]
    sides = {side: Part([getattr(pair, side).document for _, pair in pairs], []) for side in SIDES}
    return sides, pd.DataFrame([names for names, _ in pairs])
