"""Where the numbers of Orgad, Goldfarb-Tarrant & Belinkov (2022) stand beside ours, and whose data they are of, for the
ledger."""

from functools import partial

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.ledger import AGREES, DISAGREES, Beside
from biasflow.papers.orgad2022.fits import table2, table6
from biasflow.papers.orgad2022.halves import AFTER, BEFORE, CEAT, COREFERENCE, OCCUPATION
from biasflow.papers.orgad2022.measures import CEAT_EFFECT
from biasflow.papers.orgad2022.overview import table1, table1b
from biasflow.papers.orgad2022.stages import table3, table4, table5, table7, table8
from biasflow.results.rounding import around, rounded

_STAGE_TABLES = (table3, table4, table5, table7, table8)
_FITS = (table2, table6, partial(table2, half=COREFERENCE))
BESIDE = [
    *(Beside("values", table, ["mean"], sd="sd", n="n") for table in _STAGE_TABLES),
    *(Beside("values", table, [BEFORE, AFTER], n="n_{}") for table in _FITS),
    *(Beside("values", table, ["compression", "ceat"], sd="{}_sd") for table in (table1, table1b)),
]
# Attribute of a task in the run's names -> whose data the paper has, and how its value ends then.
_DATA = {
    OCCUPATION.kind: ("data.files", "Bias in Bios", "bias-in-bios-train bias-in-bios-dev bias-in-bios-test"),
    COREFERENCE.kind: ("data.train", "OntoNotes 5.0", ".v4_gold_conll"),
}
_COMMENTS = "reddit"  # CEAT's text is a file that its user names so


def other_data(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """Return why numbers are not comparable: the task has other data than the paper's, or CEAT contexts from another
    text."""
    text = run.options["ceat_text"] or "the run's own text"
    contexts = "" if _COMMENTS in text.lower() else f"other data: printed of Reddit comments, here {text}"
    ceat = (numbers["measure"] == CEAT_EFFECT) | numbers["row"].str.contains(f"intrinsic {CEAT}")
    task = pd.Series("", index=numbers.index)
    for half in (OCCUPATION, COREFERENCE):
        task = task.mask(numbers["row"].str.contains(f"task {half.kind}"), _other(run, half))
    inside = ceat & (numbers["measure"] == CEAT_EFFECT)  # of encoders before fine-tuning, too
    return task.mask(ceat & ((task == "") | inside), contexts)


def _other(run: Run, half) -> str:
    attribute, known, ending = _DATA[half.kind]
    name = run.options.get(half.task)
    if name is None:
        return ""
    task_data = run.attributes("task", attribute).get(name) or run.attributes("task", "data").get(name, "")
    return "" if task_data.endswith(ending) else f"other data: printed of {known}, here {task_data}"


def audited(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """Check the printed share of professions without labour statistics against the printed counts."""
    text = run.published("text").set_index("id")["value"]
    share = 100 * text["unmapped-professions"] / text["mapped-from"]
    agrees = rounded(text["unmapped-share"], decimals=1).meets(around(share))
    verdict = f"{AGREES if agrees else DISAGREES}: the printed counts give {share:.2f}"
    return (numbers["measure"] == "unmapped-share").map({True: verdict, False: ""})
