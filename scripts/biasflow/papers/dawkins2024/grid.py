"""A run's scores in the terms of this paper: by level and settings of its grid, inside the encoders and in NLI.

Beside the scores, the plan and the names (kind method, attribute `setting`: the one setting of the grid that a method
of `during` is, such as "sent 0") they are made of these files of a run, by role and key:

    stimuli             <stimuli>                            triples with their swapped copies, CSV
    next_sentence       <encoder>/<stimuli>                  readout of the untouched model at least: Parquet with the
                                                             columns method, setting, triple, label (of the original,
                                                             also where swapped is True), swapped, p
    stereoset-changes   stereoset-changes                    what the authors dropped or mended, CSV
    explained_variance  <encoder>                            method, subspace, upstream, head, component,
                                                             explained_variance; CSV
    sentence_pairs      <encoder>                            set, kept: the pairs that they were fitted to, CSV
    occupation_pairs    <task>                               the gender-occupation pairs, JSON

A role or key that is absent is a measurement that was not run. Options of the run are those of papers.dawkins2024, and
`tops` (shares of triples)."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from biasflow.methods.grid import LEVELS
from biasflow.metrics.stereoset import part_of
from biasflow.papers.frames import Run, status, wide
from biasflow.papers.paper import load
from biasflow.papers.rows import CONSTRUCTION, STANDS_IN, same_encoders
from biasflow.registry import METRICS, WITH
from biasflow.results.scores import NA, NONE
from biasflow.results.tables import DIFFERENCE, PUBLISHED, arranged

BASE, DEBIAS, SENT, LAYER_12, LAYER_11, ATTENTION = LEVELS
INSIDE, NLI = "strength", "nli_fairness"  # the metrics that tables on stimuli, and on NLI, need
SETTING = ["level", "settings"]  # as printed: settings are (n_11, c_11, n_12, c_12, n_p) as far as the level goes
BLOCK = ["encoder", "stimuli"]
READING = ["encoder", "interventions"]
MEASURES = ["strength", "distance"]
CONTROLS = ["stereotype_score", "language_model_score"]
AFTER = "after fine-tuning"  # the paper's reading: its introduction applies the interventions to the fine-tuned model
DURING = "during fine-tuning"
HEADS = {"own": AFTER, "retrained": f"{AFTER}, head retrained"}  # head of a plainly fine-tuned model -> reading
INTERVENTIONS = (*HEADS.values(), DURING)  # the readings, the main one first
SCORES = {  # column of the tables -> metric, dataset, variant
    "parity": ("nli_parity", "occupation-pairs", "majority"),
    "parity_templates": ("nli_parity", "occupation-pairs", "templates"),
    "accuracy": ("nli_accuracy", "occupation-pairs", NA),
    "fairness": ("nli_fairness", "occupation-pairs", "majority"),
    "fairness_templates": ("nli_fairness", "occupation-pairs", "templates"),
    "snli_accuracy": ("accuracy", "test", NA),
}
PRINTED = "printed"  # what the paper prints itself: an encoder in tables, a way in which an example was chosen
AUTHORS = "stereoset-authors"  # the paper's stimuli: the authors' swapped development file
SWAPPED = "stereoset-swapped"
_PAPERS_ENCODER, _PAPERS_LAYERS = "bert-base-uncased", 12
_SNLI = ["snli-train", "snli-test"]  # its task's data
_OCCUPATIONS = "dev2020"
PRINTED_SCORES = ["parity", "accuracy", "fairness", "snli_accuracy"]  # what the paper's table 7 prints of these


def encoders_of_nli(options: Mapping) -> list[str]:
    """The encoders that are fine-tuned: `nli_encoders`, or all; none where no task is named."""
    named = options["encoders"] if options["nli_encoders"] is None else options["nli_encoders"]
    return [] if options["task"] is None else list(named)


def encoders(run: Run) -> list[str]:
    """The encoders that the paper was asked for, in the order of the configuration."""
    return list(dict.fromkeys([*run.options["encoders"], *encoders_of_nli(run.options)]))


def papers_encoders(run: Run) -> list[str]:
    """The encoders of the run that are that of the paper (`rows.same_encoders`)."""
    return same_encoders(load("dawkins2024"), run)[_PAPERS_ENCODER]


def printed_inside(run: Run, rows: pd.DataFrame) -> pd.Series:
    """Return which rows (encoder, stimuli, "" for none) the printed numbers on stimuli describe: bool [rows]."""
    stimuli = {AUTHORS, ""}
    if run.options.get(STANDS_IN) and AUTHORS not in set(rows["stimuli"]):
        stimuli |= {*rows["stimuli"]}
    return rows["encoder"].isin(papers_encoders(run)) & rows["stimuli"].isin(stimuli)


def printed_nli(run: Run, rows: pd.DataFrame) -> pd.Series:
    """Return which rows (encoder) the printed NLI scores describe, if the task is SNLI: bool [rows]."""
    return rows["encoder"].isin(papers_encoders(run)) & (bool(run.options.get(STANDS_IN)) or not other_nli_data(run))


def other_nli_data(run: Run) -> str:
    """Return which data the run's NLI task has instead of SNLI; "" if it has them."""
    about = {key: run.attributes("task", key).get(run.options["task"]) for key in ("data", "data.train", "data.test")}
    if [about["data.train"], about["data.test"]] != _SNLI:
        in_run = ", ".join(dict.fromkeys(filter(None, about.values()))) or "no task"
        return f"other data: printed of SNLI, here {in_run}"
    return ""


def _other_occupations(run: Run) -> str:
    pairs = run.attributes("task", "occupations").get(run.options["task"], "no task")
    return "" if pairs == _OCCUPATIONS else f"other data: printed of {_OCCUPATIONS}, here {pairs}"


def other_data(run: Run) -> Mapping[str, str]:
    """Why numbers are not comparable: other stimuli than the authors', other pairs than SNLI and Dev et al. (2020)."""
    snli, occupations = other_nli_data(run), _other_occupations(run)
    inside = {"stimuli": _other_stimuli(run, AUTHORS), "stereoset": _other_stimuli(run, SWAPPED)}
    inside |= {"encoder": "", CONSTRUCTION: ""}  # what is counted in the encoder, or in the grid, needs no data
    return inside | {"snli": snli, "nli": snli or occupations, "occupations": occupations}


def _other_stimuli(run: Run, printed: str) -> str:
    cells = run.plan[(run.plan["metric"] == INSIDE) & (run.plan["dataset"] != NA)]
    read = list(dict.fromkeys(cells["dataset"]))
    return "" if printed in read or not read else f"other data: printed of {printed}, here {', '.join(read)}"


def printed_table(printed: pd.DataFrame, number: int, keys: Sequence[str] = ("level",)) -> pd.DataFrame:
    """A printed table, its rows by `keys` in their order: a column per measure, and `<measure>_settings` for what
    stands beside a number."""
    rows = printed[(printed["table"] == f"table {number}") & (printed["quantity"] == "")]
    values = rows.pivot(index=[*keys], columns="metric", values="value")
    settings = rows.pivot(index=[*keys], columns="metric", values="at").replace("", np.nan).dropna(axis=1, how="all")
    settings = settings.fillna("").add_suffix("_settings")
    table = values[rows["metric"].unique()].join(settings).reset_index()
    return rows[[*keys]].drop_duplicates().merge(table, on=[*keys])


def printed_settings(run: Run) -> pd.DataFrame:
    """The printed table 7: a row per setting, in their order."""
    return printed_table(run.printed, 7, SETTING)


def published_where(same: pd.Series, table: pd.DataFrame, values: Iterable[str]) -> pd.DataFrame:
    """`table` with published numbers beside `values`, and the differences, in those rows alone that are the `same`."""
    columns = [value + end for value in values for end in (PUBLISHED, DIFFERENCE) if value + end in table]
    return table.assign(**{column: table[column].where(same) for column in columns})


def layers_of(run: Run, encoder: str) -> int | None:
    """Return the number of layers of an encoder; None if the run does not say."""
    layers = run.attributes("encoder", "layers")
    if encoder in layers:
        return int(layers[encoder])
    return _PAPERS_LAYERS if encoder in (PRINTED, *papers_encoders(run)) else None


def level_names(layers: int | None) -> dict[str, str]:
    """Level -> its name in an encoder of so many layers. The paper's "layer 12" is the last layer of any encoder."""
    last, before = ("last-layer", "layer-before") if layers is None else (f"layer-{layers}", f"layer-{layers - 1}")
    return dict(zip(LEVELS, (BASE, DEBIAS, SENT, last, before, f"{before}+attention"), strict=True))


def own_levels(run: Run, table: pd.DataFrame) -> pd.DataFrame:
    """A table of encoders and levels, with the levels named for the encoder of the row; one that stands for the paper's
    has the paper's names, as its last two layers stand beside the paper's layers 12 and 11."""
    standing = run.options.get(STANDS_IN, ())
    layers = {name: _PAPERS_LAYERS if name in standing else layers_of(run, name) for name in table["encoder"].unique()}
    names = {encoder: level_names(of_encoder) for encoder, of_encoder in layers.items()}
    pairs = zip(table["encoder"], table["level"], strict=True)
    return table.assign(level=[names[encoder].get(level, level) for encoder, level in pairs])


def not_run(run: Run, encoder: str, metric: str, otherwise: str = "no scores") -> str:
    """The status of an encoder without a metric under the grid, such as "not run: no NSP head"; `otherwise`: the reason
    of one that was planned to run."""
    return status(run.reason(encoder=encoder, method=run.options["method"], metric=metric) or otherwise)


def with_absent(run: Run, table: pd.DataFrame, encoders: Sequence[str], metric: str, *otherwise: str) -> pd.DataFrame:
    """The table with a row for each of these encoders that has none, whose status is `not_run`; sorted by encoder."""
    absent = [name for name in encoders if name not in set(table["encoder"])]
    status = [not_run(run, name, metric, *otherwise) for name in absent]
    return arranged(pd.concat([table, pd.DataFrame({"encoder": absent, "status": status})]), encoder=encoders)


def key_of(measure: str) -> tuple[str, str, str]:
    """metric, part and variant of a measure on stimuli, as the tables and the matrix show it."""
    entry = METRICS["strength"].measures[measure]
    return measure, entry.part, entry.variant


def inside(run: Run) -> pd.DataFrame:
    """Scores on stimuli by setting: index encoder, stimuli, level, settings; columns (metric, part, variant).

    Encoders and stimuli that the grid was not measured on are left out."""
    scores = run.scores
    on_stimuli = (scores["task"] == NA) & (scores["strategy"] == NA) & scores["metric"].isin([*MEASURES, *CONTROLS])
    rows = scores[on_stimuli & scores["encoder"].isin(run.options["encoders"])]
    rows = _of_grid(rows, run.options["method"], per=["encoder", "dataset"]).rename(columns={"dataset": "stimuli"})
    return wide(rows, [*BLOCK, *SETTING], ["metric", "part", "variant"])


def shares(run: Run) -> list[str]:
    """The shares of triples that Strength and Distance average over, as the scores name them, the smallest first."""
    return [part_of(top) for top in sorted(run.options["tops"])]


def nli(run: Run) -> pd.DataFrame:
    """NLI scores: a row per encoder, reading of the interventions, setting and seed, a column per entry of SCORES.

    Encoders whose NLI was not measured under the grid are left out."""
    scores, options = run.scores, run.options
    scores = scores[(scores["task"] == options["task"]) & scores["encoder"].isin(encoders_of_nli(options))]
    columns, keys = {key: column for column, key in SCORES.items()}, ["metric", "dataset", "variant"]
    of_task = scores.assign(metric=[columns.get(key) for key in scores[keys].itertuples(index=False, name=None)])
    of_task = of_task.dropna(subset="metric")
    after = _of_grid(of_task[of_task["strategy"] == "plain"], options["method"], per=["encoder"])
    rows = pd.concat([after.assign(interventions=after["head"].map(HEADS)), _in_training(of_task, run)])
    rows = rows.dropna(subset="interventions")
    table = wide(rows, [*READING, *SETTING, "seed"]).reindex(columns=list(SCORES))
    return table.rename_axis(columns=None).reset_index()


def _in_training(rows: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The rows of models that were fine-tuned with one setting of the grid active."""
    settings = run.attributes("method", "setting")
    trained = {WITH + name: settings[name] for name in run.options["during"] if name in settings}
    rows = rows[rows["strategy"].isin(trained)]
    return _named(rows, rows["strategy"].map(trained)).assign(interventions=DURING)


def _of_grid(rows: pd.DataFrame, method: str, per: list[str]) -> pd.DataFrame:
    """The rows of the untouched model and of the grid `method`, where it was measured: in each group of the keys `per`
    that has one of its rows."""
    rows = rows[rows["method"].isin([NONE, method])]
    of_grid = rows["method"] == method
    measured = of_grid.groupby([rows[key] for key in per]).transform("any").astype(bool)
    return _named(rows, rows["setting"].where(of_grid, BASE))[measured]


def _named(rows: pd.DataFrame, settings: Iterable[str]) -> pd.DataFrame:
    """`rows` with the columns level and settings: "layer-12 0,1,0" is layer-12 and "0,1,0", "base" has none."""
    split = [name.partition(" ") for name in settings]
    return rows.assign(level=[level for level, _, _ in split], settings=[text for _, _, text in split])
