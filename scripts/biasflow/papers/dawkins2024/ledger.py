"""For the ledger: which of our tables has the numbers of Dawkins et al. (2024), on which data, and which of them other
printed numbers contradict."""

import pandas as pd

from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv
from biasflow.papers.dawkins2024.downstream import table6
from biasflow.papers.dawkins2024.examples import SWAPPED, table1, table3, table4
from biasflow.papers.dawkins2024.rows import AUTHORS, INSIDE, MEASURES, PRINTED_SCORES, other_nli_data
from biasflow.papers.dawkins2024.table7 import table7
from biasflow.papers.dawkins2024.tables import table5
from biasflow.papers.dawkins2024.text import OF_OCCUPATIONS, OF_STEREOSET, ON_BOTH, ON_NLI, ON_SNLI, ON_STIMULI, text
from biasflow.papers.frames import Run
from biasflow.papers.ledger import DISAGREES, Beside
from biasflow.results.scores import NA

_NLI_STATUS = "nli_status"
_WEIGHTING = ["model_pairs", "snli_accuracy_np0", "snli_accuracy_np1", "increase", "increase_sd"]
BESIDE = [
    Beside("table7", table7, MEASURES),
    Beside("table7", table7, PRINTED_SCORES, n="nli_seeds", status=_NLI_STATUS),
    Beside("table5", table5, MEASURES),
    Beside("table5", table5, ["fairness", "snli_accuracy"], status=_NLI_STATUS),
    Beside("table6", table6, _WEIGHTING, n="model_pairs"),
    Beside("tables1_3_4", table1, ["p"], status=""),
    Beside("tables1_3_4", table3, ["p", "s"], status=""),
    Beside("tables1_3_4", table4, ["p", "d"], status=""),
    Beside("text", text, ["value"]),
]
# Column of a printed table -> what its numbers are of; the file of the text has a column of its own.
_OF = dict.fromkeys([*MEASURES, "p", "s", "d"], ON_STIMULI) | dict.fromkeys(PRINTED_SCORES, ON_NLI)
_OF |= dict.fromkeys(["snli_accuracy", *_WEIGHTING], ON_SNLI)
_DISPUTED = shipped("papers/dawkins2024/disputed.csv")


def other_data(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """Why numbers are not comparable: other stimuli than the authors', other pairs than SNLI and Dev et al. (2020)."""
    nli = other_nli_data(run, occupations=True)
    stimuli = _other_stimuli(run, AUTHORS)
    reasons = {
        ON_STIMULI: stimuli,
        ON_SNLI: other_nli_data(run),
        ON_NLI: nli,
        ON_BOTH: stimuli or nli,
        OF_STEREOSET: _other_stimuli(run, SWAPPED),
        OF_OCCUPATIONS: nli,
    }
    made_of = numbers["of"].where(numbers["of"] != "", numbers["column"].map(_OF))
    return made_of.map(reasons).fillna("")


def _other_stimuli(run: Run, printed: str) -> str:
    cells = run.plan[(run.plan["metric"] == INSIDE) & (run.plan["dataset"] != NA)]
    read = list(dict.fromkeys(cells["dataset"]))
    return "" if printed in read or not read else f"other data: printed of {printed}, here {', '.join(read)}"


def audited(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """Return what other printed numbers give in place of a number, for those that they contradict; "" for the others.
    (docs/papers/contradictions.md has all that was checked.)"""
    disputed = read_text_csv(_DISPUTED).set_index(["table", "row", "measure"])["others_give"]
    verdicts = f"{DISAGREES}: " + disputed.reindex(pd.MultiIndex.from_frame(numbers[disputed.index.names]))
    return verdicts.fillna("").set_axis(numbers.index)
