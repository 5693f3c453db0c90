"""The targets made from a run for this paper, by the names of paper.yaml, and what the ledger asks.

Beside the scores, the plan and the names (kind method, attribute `setting`: the one setting of the grid that a method
of `during` is, such as "sent 0") they are made of these files of a run, by role and key:

    stimuli             <stimuli>                            triples with their swapped copies, CSV
    next_sentence       <encoder>/<stimuli>                  readout of the untouched model at least: Parquet with the
                                                             columns method, setting, triple, label, swapped, p
    stereoset-changes   stereoset-changes                    what the authors dropped or mended, CSV
    explained_variance  <encoder>                            method, subspace, upstream, head, component,
                                                             explained_variance; CSV
    sentence_pairs      <encoder>                            set, kept: the pairs that they were fitted to, CSV
    training            <encoder>/<task>/<strategy>/seed<n>  what a fine-tuning wrote of itself, JSON
    sources             <task>                               part, source, pairs, dropped of the task's data, CSV
    occupation_pairs    <task>                               the gender-occupation pairs, JSON

A role or key that is absent is a measurement that was not run; the last two are needed where there is a training.
Options of the run are those of papers.dawkins2024, and `tops` (shares of triples) and `selection` (of the pairs)."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from biasflow.papers.dawkins2024 import grid
from biasflow.papers.dawkins2024.examples import SWAPPED, table1, table2, table3, table4
from biasflow.papers.dawkins2024.figures import strength_distance, strength_fairness
from biasflow.papers.dawkins2024.tables import (
    finetuning,
    nli_intervals,
    rank_agreement,
    subspaces,
    table5,
    table6,
    table7,
)
from biasflow.papers.dawkins2024.text import correlations, text
from biasflow.papers.frames import Run
from biasflow.papers.printed import as_ours
from biasflow.results.scores import NA

TABLES = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": grid.with_own_levels(table5),
    "table6": grid.with_own_levels(table6),
    "table7": grid.with_own_levels(table7),
    "correlations": grid.with_own_levels(correlations),
    "nli_intervals": grid.with_own_levels(nli_intervals),
    "text": text,
    "rank_agreement": rank_agreement,
    "finetuning": finetuning,
    "subspaces": subspaces,
}
FIGURES = {"strength_distance": strength_distance, "strength_fairness": strength_fairness}
_WEIGHTING = ("model_pairs", "snli_accuracy_np0", "snli_accuracy_np1", "increase", "increase_sd")


def ours(run: Run) -> pd.DataFrame:
    """Our values by the keys of the printed numbers."""
    table = pd.concat(_ours(run), ignore_index=True)
    keys = ["level", "settings", "example", "label", "swapped"]
    return table.assign(**table[keys].astype(object).fillna("").astype(str))


def _ours(run: Run) -> Iterator[pd.DataFrame]:
    settings, best, nli = table7(run), table5(run), {"status": "nli_status"}
    yield _of_table(7, settings, grid.MEASURES, grid.SETTING)
    yield _of_table(7, settings, grid.PRINTED_SCORES, grid.SETTING, n="nli_seeds", **nli)
    yield _of_table(5, best, grid.MEASURES, ["level"])
    yield _of_table(5, best, ["fairness", "snli_accuracy"], ["level"], **nli)
    yield _of_table(6, table6(run), _WEIGHTING, ["level"], n="model_pairs")
    for number, examples, values in ((1, table1, ["p"]), (3, table3, ["p", "s"]), (4, table4, ["p", "d"])):
        yield _of_table(number, examples(run), values, ["example", "label", "swapped"], status="")
    for name, numbers in text(run).groupby("id", sort=False):
        yield as_ours(numbers, {"value": name}, {"table": "where"})


def _of_table(
    number: int, table: pd.DataFrame, values: Sequence[str], keys: Sequence[str], **columns: str
) -> pd.DataFrame:
    rows = as_ours(table, dict(zip(values, values, strict=True)), dict(zip(keys, keys, strict=True)), **columns)
    return rows.assign(table=f"table {number}")


def other_data(run: Run) -> Mapping[str, str]:
    """Why numbers are not comparable: other stimuli than the authors', other pairs than SNLI and Dev et al. (2020)."""
    nli = grid.other_nli_data(run, occupations=True)
    inside = {"stimuli": _other_stimuli(run, grid.AUTHORS), "stereoset": _other_stimuli(run, SWAPPED)}
    inside["encoder"] = ""  # what is counted in the encoder itself needs no data
    return inside | {"snli": grid.other_nli_data(run), "nli": nli, "occupations": nli}


def _other_stimuli(run: Run, printed: str) -> str:
    cells = run.plan[(run.plan["metric"] == grid.INSIDE) & (run.plan["dataset"] != NA)]
    read = list(dict.fromkeys(cells["dataset"]))
    return "" if printed in read or not read else f"other data: printed of {printed}, here {', '.join(read)}"
