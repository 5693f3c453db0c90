"""The scores of a run that Liang, Dufter & Schütze's tables (2020) are made of: methods, places, what was not run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.frames import NOT_ASKED, RUN, Run, status
from scripts.biasflow.papers.liang2020.blocks import EACH, METHODS, PLAIN, finetuned, of_pretrained, with_defaults
from scripts.biasflow.results.scores import KEYS, NA, NONE
from scripts.biasflow.results.tables import arranged

KEY = ["encoder", "method", "setting"]  # of the tables: setting is where a method acts
PRETRAINED, FINETUNED = "pretrained", "finetuned"
CHINESE = "chinese-professions"
# Measure of the tables -> its cells in the plan; the others are named as their metric.
_CELLS = {
    "any": {},
    "association": {"metric": ["weat", "seat"]},
    "chinese": {"metric": "occtmp", "dataset": CHINESE},
    "intrinsic": {"metric": "strength"},
    "nli": {"metric": "nli_fairness"},
    "glue": {"metric": "accuracy"},
}
_TRAINED = {"nli", "glue"}  # measures of fine-tuned models
# Columns of the tables that hold text: empty, not NaN, where there is none.
_TEXT = {*KEY, "set", "test", "pooling", "verdict", "exact", "text", "stage", "task", "strategy", "metric", "stimuli"}
_TEXT |= {"place", "highest_head", "nli_status"}


@dataclass(frozen=True)
class Rows:
    """What a run has of this paper.

    scores: those of its encoders and methods with methods and places as the tables show them, and the columns `stage`
    (of the language model: FINETUNED for the encoder after masked-LM training, whose rows have its parent's name) and
    `set` (the dataset); layers: the same of DensRay in single layers; encoders: those that were scored, then the
    others; names: method as shown -> its names; places: -> where the first of them acts. Both in the order of rows."""

    run: Run
    scores: pd.DataFrame
    layers: pd.DataFrame
    encoders: list[str]
    places: Mapping[str, str]
    names: Mapping[str, Sequence[str]]

    @property
    def inside(self) -> pd.DataFrame:
        """The scores of the encoders themselves, not of models that were fine-tuned on a task."""
        return self.scores[(self.scores["task"] == NA) & (self.scores["strategy"] == NA)]

    def tasks(self, kind: str) -> list[str]:
        """The names of the run's tasks of a kind, such as "glue"."""
        return [name for name, own in self.run.attributes("task", "kind").items() if own == kind]

    def reason(self, encoder: str, measure: str, method: str | None = None, **unit: str) -> str:
        """Why there are no scores of a measure; "" if the plan says that it was run.

        `unit`: set (dataset, or the task) and strategy, if only one is meant. An encoder without any score has the
        reason of all its cells."""
        if encoder not in set(self.scores["encoder"]) and (alone := self.run.reason(encoder=encoder)):
            return alone
        cells = dict(_CELLS.get(measure, {"metric": measure}))
        names = self.names.get(method, [method]) if method else []
        if measure in _TRAINED:
            cells |= {"encoder": encoder}
            cells |= {"training": self._trainings(measure, unit.get("set"), unit.get("strategy"))}
        else:
            cells |= {"encoder": [encoder, finetuned(encoder)], "training": PRETRAINED}
            cells |= {"dataset": unit["set"]} if "set" in unit else {}
            names = [*names, *map(of_pretrained, names)]
        return self.run.reason(**cells, **({"method": names} if names else {}))

    def _trainings(self, kind: str, task: str | None, strategy: str | None) -> list[str]:
        trainings = self.run.plan["training"].drop_duplicates()
        parts = trainings.str.split("/")
        chosen = parts.str[0].isin(self.tasks(kind) if task is None else [task])
        if strategy is not None:
            chosen &= (parts.str[1] == PLAIN) == (strategy != "in_training")
        return list(trainings[chosen])


def of_paper(run: Run, *, chinese: bool = False) -> Rows:
    """The paper's part of a run; with `chinese` also that of encoders that are there for the Chinese occupations alone.

    Raises BiasflowError where its options name no encoder."""
    options = with_defaults(run.options)
    if not options.get("encoders"):
        raise BiasflowError("config: key 'papers.liang2020.encoders' names no encoder; name one")
    encoders = list(dict.fromkeys([*options["encoders"], *(options["chinese"] if chinese else [])]))
    shown = _methods(run, options["methods"])
    scores = _decoded(run.scores, encoders, shown)
    layers = _decoded(run.scores, encoders, {EACH: (EACH, "")})
    scored = sorted(set(scores["encoder"]))
    places = dict(reversed(shown.values()))
    return Rows(
        run,
        scores,
        layers[layers["task"] == NA],
        [*scored, *(name for name in encoders if name not in scored)],
        {label: places[label] for label, _ in shown.values()},
        {label: [name for name, (own, _) in shown.items() if own == label] for label, _ in shown.values()},
    )


def published_rows(ours: Rows) -> pd.DataFrame:
    """The printed values in the form of `Rows.scores`, at the paper's own places, of the encoders that are shown."""
    labels = {name: label for label, names in ours.names.items() for name in names}
    shown = {name: (labels.get(name, name), place) for name, place in METHODS.items()}
    printed = ours.run.published("values")
    return _decoded(printed.assign(**{key: NA for key in KEYS if key not in printed}), ours.encoders, shown)


def _methods(run: Run, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name -> label and place; the paper's methods first."""
    labels, places = (run.attributes("method", attribute) for attribute in ("label", "places"))
    places = METHODS | {name: "" if place == NA else place for name, place in places.items()}
    return {name: (labels.get(name, name), places.get(name, "")) for name in dict.fromkeys([*METHODS, *names])}


def _decoded(scores: pd.DataFrame, encoders: Sequence[str], methods: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """The rows of these encoders and methods, with stage and set; a setting of its own stands for the place."""
    children = {finetuned(encoder): encoder for encoder in encoders}
    before = scores[scores["encoder"].isin(encoders) & scores["method"].isin(methods)]
    fitted = {of_pretrained(name): name for name in methods}
    after = scores[scores["encoder"].isin(children) & scores["method"].isin(fitted)]
    after = after.assign(encoder=after["encoder"].map(children), method=after["method"].map(fitted))
    rows = pd.concat([before.assign(stage=PRETRAINED), after.assign(stage=FINETUNED)], ignore_index=True)
    labels, places = ({name: shown[i] for name, shown in methods.items()} for i in (0, 1))
    setting = rows["method"].map(places).where(rows["setting"] == NA, rows["setting"])
    return rows.assign(method=rows["method"].map(labels), setting=setting, set=rows["dataset"])


def of_metrics(rows: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """The rows of the metrics `<prefix>_<metric>`, with `metric` without the prefix."""
    own = rows[rows["metric"].str.startswith(f"{prefix}_")]
    return own.assign(metric=own["metric"].str.removeprefix(f"{prefix}_"))


def wide(rows: pd.DataFrame, index: Sequence[str], metrics: Sequence[str], *, complete: bool = True) -> pd.DataFrame:
    """One row per `index` (which includes KEY) and a column per metric; with `complete` none of them may be absent.

    Raises BiasflowError that names encoder and method where a metric is given twice or, if `complete`, missing."""
    rows = rows[rows["metric"].isin(metrics)]
    refuse_doubles(rows, [*index, "metric"])
    table = rows.pivot(index=[*index], columns="metric", values="value").reindex(columns=[*metrics]).astype(float)
    there = rows.assign(value=1).pivot(index=[*index], columns="metric", values="value").reindex(columns=[*metrics])
    holes = there.isna().stack() if complete else pd.Series(dtype=bool)
    for *key, metric in holes.index[holes][:1]:
        raise BiasflowError(f"{_named(dict(zip(index, key, strict=True)), index)}: no {metric}; score it first")
    return table.rename_axis(columns=None).reset_index()


def refuse_doubles(rows: pd.DataFrame, index: Sequence[str]) -> None:
    """BiasflowError where two rows have the same `index`, naming it: a mean of the two would hide a mistake."""
    for row in rows[rows.duplicated([*index])].head(1).to_dict("records"):
        raise BiasflowError(f"{_named(row, index)}: more than one {row['metric']}; score it once")


def places_of_methods(ours: Rows) -> dict[str, list[tuple[str, str]]]:
    """Encoder -> the (method, setting) that it was run with, in the order of the methods."""
    own = ordered(ours.scores[KEY].drop_duplicates(), ["encoder"], ours)
    return {name: list(zip(block["method"], block["setting"], strict=True)) for name, block in own.groupby("encoder")}


def check_methods(table: pd.DataFrame, ours: Rows, measure: str, unit: Sequence[str]) -> None:
    """In every `unit` of `table` an encoder has a row for the untouched encoder and each method that it was run with.

    A hole is a mistake in a run, unless the plan says why the cell was not run. Raises BiasflowError that names encoder
    and method."""
    expected = places_of_methods(ours)
    for key, block in table.groupby(["encoder", *unit]):
        found = set(zip(block["method"], block["setting"], strict=True))
        named = dict(zip(unit, key[1:], strict=True))
        for method, setting in dict.fromkeys([(NONE, ""), *expected[key[0]]]):
            if (method, setting) in found or ours.reason(key[0], measure, method, **named):
                continue
            what = ", ".join(f"{name} {value}" for name, value in named.items() if value != NA)
            place = f" ({setting})" if setting else ""
            raise BiasflowError(
                f"encoder {key[0]}, method {method}{place}: no scores of {what or 'this measure'}; score it first"
            )


def change_from_none(table: pd.DataFrame, unit: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """`table` with `<column>_change` after each of `columns`: minus the value of the untouched encoder in that unit."""
    table, keys = table.copy(), ["encoder", *unit]
    untouched = table.loc[table["method"] == NONE, [*keys, *columns]]
    base = table[keys].merge(untouched, on=keys, how="left", validate="many_to_one").set_axis(table.index)
    for column in columns:
        table.insert(table.columns.get_loc(column) + 1, f"{column}_change", table[column] - base[column])
    return table


def first(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The table with these columns before the others."""
    return table[[*columns, *(column for column in table if column not in columns)]]


def ordered(table: pd.DataFrame, by: Sequence[str], ours: Rows) -> pd.DataFrame:
    """Rows sorted by `by`, then in the order of the methods, the main place of each first."""
    elsewhere = table["setting"] != table["method"].map(ours.places)
    orders = dict.fromkeys(by) | {"method": ours.places, "_elsewhere": None, "setting": None}
    return arranged(table.assign(_elsewhere=elsewhere), **orders)[list(table)]


def with_not_run(table: pd.DataFrame, ours: Rows, measure: str, printed: pd.DataFrame | None = None) -> pd.DataFrame:
    """`table` with a column `status`, and rows with the reason for what is not in it.

    A method of an encoder that the plan has a reason for has one row; so has an encoder without any, or it has a row
    for each of the keys that `printed` has for it."""
    blocks = []
    for encoder, block in table.groupby("encoder", sort=False):
        absent = [method for method in ours.places if "method" in block and method not in set(block["method"])]
        reasons = {method: ours.reason(encoder, measure, method) for method in absent}
        rows = [
            {"encoder": encoder, "method": method, "setting": ours.places[method], "status": status(reason)}
            for method, reason in reasons.items()
            if reason not in ("", NOT_ASKED)
        ]
        blocks += [block.assign(status=RUN), pd.DataFrame(rows)]
    for encoder in ours.encoders:
        if encoder in set(table["encoder"]):
            continue
        keys = pd.DataFrame() if printed is None else printed[printed["encoder"] == encoder]
        unit = [column for column in keys if column not in KEY]
        keys = ordered(keys, unit, ours) if len(keys) else pd.DataFrame({"encoder": [encoder]})
        blocks.append(keys.assign(status=not_run(ours, encoder, measure)))
    rows = pd.concat([block for block in blocks if len(block)], ignore_index=True).reindex(columns=[*table, "status"])
    text = [column for column in rows if column in _TEXT]
    return rows.astype(dict.fromkeys(text, object)).fillna(dict.fromkeys(text, ""))


def not_run(ours: Rows, encoder: str, measure: str, method: str | None = None) -> str:
    """The status of what has no scores: the plan's reason, also where it has none."""
    return status(ours.reason(encoder, measure, method) or "no scores came of it")


def _named(row: Mapping, index: Sequence[str]) -> str:
    return ", ".join(f"{name} {row[name]}" for name in index if row[name] not in ("", NA))
