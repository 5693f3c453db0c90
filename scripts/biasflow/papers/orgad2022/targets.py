"""The targets of the paper, by the names of its paper.yaml, and what the ledger asks."""

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.orgad2022 import halves
from biasflow.papers.orgad2022.ceat import ceat, contexts
from biasflow.papers.orgad2022.figures import figure3, figure4, figure5, figure6, figure7
from biasflow.papers.orgad2022.fits import correlations, fitted, table2, table6
from biasflow.papers.orgad2022.runs import LABELS, REPLICA, encoders_of, select
from biasflow.papers.orgad2022.stages import compared, table1, table1b, table3, table4, table5, table7, table8
from biasflow.papers.orgad2022.words import data, data_coreference, figure2, gender_told, table9, table10
from biasflow.papers.printed import as_ours

_TABLES = (
    table1,
    table1b,
    table2,
    table3,
    table4,
    table5,
    table6,
    table7,
    table8,
    table9,
    table10,
    gender_told,
    correlations,
    ceat,
    contexts,
    data,
    data_coreference,
)
TABLES = {function.__name__: function for function in _TABLES}
TABLES |= {
    f"{function.__name__}_coreference": partial(function, half=halves.COREFERENCE)
    for function in (table2, correlations, ceat)
}
FIGURES = {
    function.__name__ + suffix: partial(function, tested=tested)
    for suffix, tested in (("", halves.RAW), ("_scrubbed", halves.SCRUBBED))
    for function in (figure3, figure5, figure7)
}
FIGURES |= {function.__name__: function for function in (figure4, figure6)}
PAGES = {"figure2": figure2}
# Attribute of a task in the run's names -> whose data the paper has, and how its value ends then.
_DATA = {
    halves.OCCUPATION: ("data.files", "Bias in Bios", "bias-in-bios-train bias-in-bios-dev bias-in-bios-test"),
    halves.COREFERENCE: ("data.train", "OntoNotes 5.0", ".v4_gold_conll"),
}


def ours(run: Run) -> pd.DataFrame:
    """Our values by the keys of the printed numbers; models have the names of strategies, as in print."""
    table = pd.concat(
        [block for half in (halves.OCCUPATION, halves.COREFERENCE) for block in _ours(run, half)], ignore_index=True
    )
    keys = ["stage", "model", "intrinsic", "dataset"]
    names = {label: name for name, label in LABELS.items()}
    return table.assign(**table[keys].astype(object).fillna("").replace({"model": names}))


def _ours(run: Run, half: halves.Half) -> Iterator[pd.DataFrame]:
    for stage in half.printed_in:
        keys = {"model": "model", "variant": "variant"}
        rows = as_ours(compared(run, half, stage), {"mean": ""}, keys, sd="sd", n="n")
        yield rows.assign(task=half.kind, stage=stage)
    encoders = dict.fromkeys([*encoders_of(select(run, half)), *run.options["encoders"][1:], REPLICA])
    fits = fitted(run, half, list(encoders))
    fits = fits.assign(intrinsic=fits["intrinsic"].str.split().str[0])
    for stage in (halves.BEFORE, halves.AFTER):
        rows = as_ours(fits, {stage: ""}, {"intrinsic": "intrinsic", "variant": "variant"}, n="n_{}")
        yield rows.assign(task=half.kind, stage=stage)
    table, models = table1(run) if half is halves.OCCUPATION else table1b(run), {"model": "model"}
    rows = as_ours(table, {"compression": halves.COMPRESSION_VALUE}, models, sd="{}_sd")
    yield rows.assign(task=half.kind, variant=halves.mixed(halves.RELEASED).variant)
    rows = as_ours(table, {"ceat": halves.CEAT_EFFECT}, models, sd="{}_sd")
    yield rows.assign(task=half.kind, variant=halves.CEAT_VARIANT, dataset=halves.CEAT_PRINTED)


def other_data(run: Run) -> Mapping[str, str]:
    """Why numbers are not comparable: a task has other data than the paper's, or CEAT contexts from another text."""
    text = run.options["ceat_text"] or "the run's own text"
    contexts = "" if "reddit" in text.lower() else f"other data: printed of Reddit comments, here {text}"
    return {"contexts": contexts} | {half.kind: _other(run, *about, half.task) for half, about in _DATA.items()}


def _other(run: Run, attribute: str, known: str, ending: str, task: str) -> str:
    name = run.options.get(task)
    if name is None:
        return ""
    task_data = run.attributes("task", attribute).get(name) or run.attributes("task", "data").get(name, "")
    return "" if task_data.endswith(ending) else f"other data: printed of {known}, here {task_data}"
