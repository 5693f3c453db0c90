"""The matrix: every method by every measure, for every encoder, task and strategy; a reason where a cell is empty."""

from collections.abc import Iterable

import pandas as pd

from scripts.biasflow.registry import METRICS, Measure
from scripts.biasflow.results.scores import NA, NONE
from scripts.biasflow.results.statistics import t_interval

ROW = ["encoder", "task", "strategy", "method", "setting", "measure", "dataset", "head"]
COLUMNS = [*ROW, "label", "group", "value", "n", "unit", "low", "high", "neutral", "better", "in_training", "reason"]
SEEDS, ITEMS = "seeds", "items"
UNDEFINED = "measured, but not defined for what was found"


def matrix(scores: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """One row per cell: COLUMNS.

    value: mean over seeds of fine-tuning, splits, readouts and heads. n and unit: how many seeds of the model, where
    there are several (low, high: Student's t interval of their mean), otherwise how many items (low, high: those of the
    score). neutral: the value without bias or cost; better: "low", "high", or "neutral" for nearer to it. in_training:
    "yes" where the method was active in the training. reason: why a cell that was asked for has no value.

    Rows are in the order of the plan, measures in that of the registry."""
    rows = pd.concat([_measured(scores), _holes(plan)], ignore_index=True).reindex(columns=COLUMNS)
    known = {column: plan[column].tolist() for column in ROW if column in plan}
    known["measure"] = [name for _, name in measures()]
    rank = {column: _ranks([*known.get(column, ()), *sorted(rows[column])]) for column in ROW}
    rows = rows.sort_values(ROW, key=lambda column: column.map(rank[column.name]), ignore_index=True, kind="stable")
    return rows.astype({"n": "Int64"} | dict.fromkeys(["value", "low", "high", "neutral"], float))


def _ranks(names: Iterable[str]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(dict.fromkeys(names))}


def measures() -> dict[tuple[str, str], Measure]:
    """(metric family, metric) -> its measure, in the order of the registry."""
    return {(family, name): measure for family, entry in METRICS.items() for name, measure in entry.measures.items()}


def _measured(scores: pd.DataFrame) -> pd.DataFrame:
    found = []
    for name, measure in {name: measure for (_, name), measure in measures().items()}.items():
        own = scores[(scores["metric"] == name) & (scores["part"] == measure.part)]
        if name != "accuracy":
            own = own[own["variant"] == measure.variant]
        for keys, block in own.groupby(["encoder", "task", "strategy", "method", "setting", "dataset", "head"]):
            encoder, task, strategy, method, setting, dataset, head = keys
            found.append(
                {
                    **dict(zip(ROW, (encoder, task, strategy, method, setting, name, dataset, head), strict=True)),
                    **_summary(block),
                    **_about(measure),
                    "in_training": "yes" if strategy == f"with-{method}" else "no",
                    "reason": "" if block["value"].notna().any() else UNDEFINED,
                }
            )
    return pd.DataFrame(found, columns=COLUMNS)


def _summary(block: pd.DataFrame) -> dict[str, object]:
    block = block[block["value"].notna()] if block["value"].notna().any() else block
    seeds = block.groupby("seed")["value"].mean()
    if len(seeds) > 1:
        low, high = t_interval(seeds.to_numpy())
        return {"value": seeds.mean(), "n": len(seeds), "unit": SEEDS, "low": low, "high": high}
    one = block.iloc[0] if len(block) == 1 else None
    low, high = (one["low"], one["high"]) if one is not None else (float("nan"), float("nan"))
    return {"value": block["value"].mean(), "n": block["n"].max(), "unit": ITEMS, "low": low, "high": high}


def _about(measure: Measure) -> dict[str, object]:
    return {
        "label": measure.label,
        "group": measure.group,
        "neutral": measure.neutral,
        "better": measure.better,
    }


def _holes(plan: pd.DataFrame) -> pd.DataFrame:
    """The cells of the plan that cannot run, once for every strategy, with the reason."""
    absent = plan[plan["status"] != "run"].drop_duplicates(["encoder", "task", "strategy", "method", "metric", "dataset"])
    found = [
        {
            **dict(zip(ROW, (row.encoder, row.task, row.strategy, row.method, NA, name, row.dataset, NA), strict=True)),
            **_about(measure),
            "in_training": "yes" if row.strategy == f"with-{row.method}" and row.method != NONE else "no",
            "reason": row.reason,
        }
        for row in absent.itertuples()
        for name, measure in METRICS[row.metric].measures.items()
    ]
    return pd.DataFrame(found, columns=COLUMNS)
