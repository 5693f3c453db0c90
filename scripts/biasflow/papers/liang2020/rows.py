"""Paper A's scores (Liang, Dufter & Schütze 2020) as rows of tables: methods, places, and what was not run."""

from collections.abc import Mapping, Sequence

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.dawkins2024.downstream import NOT_ASKED, RUN

PAPER, NONE = "densray", "none"
# Method -> where the paper has it active; the conceptor in all layers ruins the language model.
MAIN_PLACE = {NONE: "", "hard": "all", "conceptor": "last", "densray": "all"}
KEY = ["encoder", "method", "setting"]
# Columns of the tables that hold text: empty, not NaN, where there is none.
_TEXT = {*KEY, "set", "test", "pooling", "verdict", "exact", "text", "stage", "task", "strategy", "metric", "stimuli"}
_TEXT |= {"place", "highest_head", "nli_status"}


def of_paper(scores: pd.DataFrame) -> pd.DataFrame:
    """The tidy scores of this paper. Raises BiasflowError for a method that it does not have, naming the encoder."""
    ours = scores[scores["paper"] == PAPER]
    for row in ours[~ours["method"].isin(MAIN_PLACE)].head(1).itertuples():
        known = ", ".join(MAIN_PLACE)
        raise BiasflowError(
            f"encoder {row.encoder}, {row.task}: method {row.method!r} is unknown; the methods are {known}"
        )
    return ours


def of_measure(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The rows whose task is `<measure>:<set>`, with the set as column `set`, without those of single layers."""
    own = rows[rows["task"].str.startswith(f"{measure}:") & ~is_layer(rows["setting"])]
    return own.assign(set=own["task"].str.removeprefix(f"{measure}:"))


def is_layer(setting: pd.Series) -> pd.Series:
    """Whether a setting is one layer by itself: "layer[3]"."""
    return setting.str.startswith("layer[")


def wide(rows: pd.DataFrame, index: Sequence[str], metrics: Sequence[str], *, complete: bool = True) -> pd.DataFrame:
    """One row per `index` (which includes KEY) and a column per metric; with `complete` none of them may be absent.

    Raises BiasflowError that names encoder and method where a metric is given twice or, if `complete`, missing."""
    rows = rows[rows["metric"].isin(metrics)]
    refuse_doubles(rows, [*index, "metric"])
    table = rows.pivot(index=[*index], columns="metric", values="value").reindex(columns=[*metrics]).astype(float)
    if complete:
        expected = pd.MultiIndex.from_product([range(len(table)), metrics])
        found = pd.MultiIndex.from_arrays([table.index.get_indexer(rows.set_index([*index]).index), rows["metric"]])
        for row, metric in expected.difference(found, sort=False)[:1]:
            named = _named(dict(zip(index, table.index[row], strict=True)), index)
            raise BiasflowError(f"{named}: no {metric}; score it first")
    return table.rename_axis(columns=None).reset_index()


def refuse_doubles(rows: pd.DataFrame, index: Sequence[str]) -> None:
    """BiasflowError where two rows have the same `index`, naming it: a mean of the two would hide a mistake."""
    for row in rows[rows.duplicated([*index])].head(1).to_dict("records"):
        raise BiasflowError(f"{_named(row, index)}: more than one {row['metric']}; score it once")


def places_of_methods(scores: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """Encoder -> the (method, setting) that it was run with, in the order of the methods, without single layers."""
    own = scores.loc[~is_layer(scores["setting"]), KEY].drop_duplicates()
    own = ordered(own, ["encoder"])
    return {name: list(zip(block["method"], block["setting"], strict=True)) for name, block in own.groupby("encoder")}


def check_methods(table: pd.DataFrame, scores: pd.DataFrame, unit: Sequence[str]) -> None:
    """In every `unit` of `table` an encoder has a row for the untouched encoder and each method that it was run with.

    A hole in a run is a mistake in it, not a measure that was left out. `scores`: tidy scores of the paper, from which
    the methods of each encoder follow. Raises BiasflowError that names encoder and method."""
    expected = places_of_methods(scores)
    for key, block in table.groupby(["encoder", *unit]):
        found = set(zip(block["method"], block["setting"], strict=True))
        for method, setting in [(NONE, ""), *expected[key[0]]]:
            if (method, setting) not in found:
                what = ", ".join(f"{name} {value}" for name, value in zip(unit, key[1:], strict=True) if value)
                place = f" ({setting})" if setting else ""
                raise BiasflowError(
                    f"encoder {key[0]}, method {method}{place}: no scores of {what or 'this measure'}; score it first"
                )


def change_from_none(table: pd.DataFrame, unit: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """`table` with `<column>_change` after each of `columns`: minus the value of the untouched encoder in that unit."""
    keys = ["encoder", *unit]
    untouched = table.loc[table["method"] == NONE, [*keys, *columns]]
    base = table[keys].merge(untouched, on=keys, how="left", validate="many_to_one").set_axis(table.index)
    for column in columns:
        place = table.columns.get_loc(column) + 1
        table = pd.concat(
            [
                table.iloc[:, :place],
                (table[column] - base[column]).rename(f"{column}_change"),
                table.iloc[:, place:],
            ],
            axis=1,
        )
    return table


def ordered(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Rows sorted by `by`, then in the order of the methods, the main place of each first."""
    rank = table["method"].map({name: number for number, name in enumerate(MAIN_PLACE)})
    elsewhere = table["setting"] != table["method"].map(MAIN_PLACE)
    sorting = table.assign(_rank=rank, _elsewhere=elsewhere)
    return sorting.sort_values([*by, "_rank", "_elsewhere", "setting"], kind="stable", ignore_index=True)[list(table)]


def encoders(scores: pd.DataFrame, not_run: Mapping[str, str] | None) -> list[str]:
    """The encoders with scores of this paper, then those of `not_run`; BiasflowError if there are none."""
    names = list(dict.fromkeys([*sorted(set(of_paper(scores)["encoder"])), *(not_run or {})]))
    if not names:
        raise BiasflowError("no scores of the paper `densray` and no encoder that was not run; score one encoder first")
    return names


def with_not_run(
    table: pd.DataFrame,
    scores: pd.DataFrame,
    measure: str,
    *,
    not_run: Mapping[str, str] | None,
    measures_not_run: Mapping[str, str] | None,
    printed: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """`table` with a column `status`, and rows with the reason for the encoders that are not in it.

    An encoder of `not_run` was not run at all, any other lacks this measure (`measures_not_run`: measure -> reason).
    Its rows have the keys that `printed` has for it, or one row has nothing but its name."""
    blocks = [table.assign(status=RUN)] if len(table) else []
    for encoder in encoders(scores, not_run):
        if encoder in set(table["encoder"]):
            continue
        reason = (not_run or {}).get(encoder) or (measures_not_run or {}).get(measure, NOT_ASKED)
        keys = pd.DataFrame() if printed is None else printed[printed["encoder"] == encoder]
        unit = [column for column in keys if column not in KEY]
        keys = ordered(keys, unit) if len(keys) else pd.DataFrame({"encoder": [encoder]})
        blocks.append(keys.assign(status=f"not run: {reason}"))
    rows = pd.concat(blocks, ignore_index=True).reindex(columns=[*table, "status"])
    text = [column for column in rows if column in _TEXT]
    return rows.astype(dict.fromkeys(text, object)).fillna(dict.fromkeys(text, ""))


def _named(row: Mapping, index: Sequence[str]) -> str:
    return ", ".join(f"{name} {row[name]}" for name in index if row[name])
