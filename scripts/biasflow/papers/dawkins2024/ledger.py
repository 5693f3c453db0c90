"""For the ledger: which of our tables has the numbers of Dawkins et al. (2024), on which data, and their audit."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from biasflow.papers.dawkins2024.audit import audit
from biasflow.papers.dawkins2024.downstream import table6
from biasflow.papers.dawkins2024.examples import SWAPPED, table1, table3, table4
from biasflow.papers.dawkins2024.rows import AUTHORS, INSIDE, MEASURES, PRINTED_SCORES, model_name, other_nli_data
from biasflow.papers.dawkins2024.table7 import table7
from biasflow.papers.dawkins2024.tables import table5
from biasflow.papers.dawkins2024.text import OF_OCCUPATIONS, OF_STEREOSET, ON_BOTH, ON_NLI, ON_SNLI, ON_STIMULI, text
from biasflow.papers.frames import Run
from biasflow.papers.ledger import AGREES, DISAGREES, Beside
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
# File and column of a printed number -> the claims of the audit that are about it.
_CLAIMS = {
    ("table6", "model_pairs"): ["number-of-pairs"],
    ("table6", "snli_accuracy_np0"): ["mean-accuracy-n_p-0"],
    ("table6", "snli_accuracy_np1"): ["mean-accuracy-n_p-1"],
    ("table6", "increase"): ["mean-increase", "increase-is-difference-of-means"],
    ("table6", "increase_sd"): ["spread-of-increase"],
    ("table7", "parity"): ["parity-is-a-share-of-occupations"],
    ("table7", "fairness"): ["fairness-is-accuracy-x-parity"],
    ("table7", "snli_accuracy"): ["snli-accuracy-is-a-share-of-test-pairs"],
    ("tables1_3_4", "p"): ["example-order"],
    ("tables1_3_4", "s"): ["example-s"],
    ("tables1_3_4", "d"): ["example-d"],
}


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
    """Return for each number what the audit recomputes from other printed ones."""
    table = audit(run)
    checks = dict(list(table.groupby(["where", "claim"])))
    rows = {file: run.published(file).to_dict("records") for file in numbers["file"].unique()}
    checked = [
        [checks.get((_where(number, rows[number.file][number.line]), claim)) for claim in _claims(number)]
        for number in numbers.itertuples()
    ]
    return pd.Series(["; ".join(_verdicts(claims)) for claims in checked], index=numbers.index)


def _claims(number: NamedTuple) -> list[str]:
    """The claims of the audit that are about a number."""
    named = number.column.replace("_", "-")
    if number.file == "text":
        return [number.measure]
    if number.file == "table5":
        return [f"best-{named}", f"same-{named}-in-table-7"]
    return _CLAIMS.get((number.file, number.column), [])


def _where(number: NamedTuple, row: Mapping[str, str]) -> str:
    """The place that the audit calls a number's by."""
    if "level" in row:
        return f"{number.table}, {model_name(row['level'], row.get('settings', ''))}"
    return number.table + (f" ({row['example']})" if row.get("example") else "")


def _verdicts(claims: Iterable[pd.DataFrame | None]) -> list[str]:
    """A text for each claim, those that do not hold first; one that holds under some readings only names these."""
    texts = []
    for rows in claims:
        if rows is not None:
            overall, claim = rows["overall"].iloc[0], rows["claim"].iloc[0]
            others = rows[rows["verdict"] != AGREES]
            results = [row for row in others.itertuples() if row.recomputed]
            gives = ", ".join(row.recomputed + (f" ({row.reading})" if row.reading else "") for row in results)
            texts.append(f"{overall}: {claim}" + (f" gives {gives}" if gives else ""))
    return sorted(texts, key=lambda text: not text.startswith(DISAGREES))
