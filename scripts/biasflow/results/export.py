"""The scores of a run in formats that other programs read, with what their metrics are beside them."""

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_folder, write_text
from biasflow.base.provenance import versions
from biasflow.base.tabular import write_csv, write_parquet
from biasflow.results.comparison import DISTANCE_CHANGED
from biasflow.results.matrix import about_measure, measures
from biasflow.results.scores import KEYS, METHOD, MODEL, NA, NONE, VALUES

ABOUT = ["label", "group", "neutral", "better"]
COLUMNS = [*KEYS, *VALUES, *ABOUT]


def described(scores: pd.DataFrame) -> pd.DataFrame:
    """A table of scores with four further columns: the label, group (inside, outside, cost), neutral value and better
    direction of each measure of the matrix; "" and NaN for all other scores."""
    known = {name: about_measure(measure) for (_, name), measure in measures().items()}
    about = pd.DataFrame([known.get(metric, {}) for metric in scores["metric"]], scores.index, ABOUT)
    about = about.fillna(dict.fromkeys(["label", "group", "better"], "")).astype({"neutral": float})
    return scores.join(about)[COLUMNS]


def _write_json(frame: pd.DataFrame, path: Path) -> None:
    """A list with an object for each score; a number that there is not is null."""
    write_text(path, frame.to_json(orient="records", indent=1, double_precision=15, force_ascii=False) + "\n")


FORMATS: Mapping[str, tuple[str, Callable[[pd.DataFrame, Path], None]]] = {  # name -> suffix of the file, its writer
    "csv": (".csv", write_csv),
    "json": (".json", _write_json),
    "parquet": (".parquet", write_parquet),
}


SCHEMA_VERSION = "0.3.0"
LOCAL = "local"  # stands for the developer of an encoder that is not from the hub
_NOT_PORTABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f]')  # not allowed in the names of folders
_DIRECTIONS = {  # what `lower_is_better` cannot say
    "low": "lower is better",
    "high": "higher is better",
    "neutral": "nearer to the neutral value (metric_parameters) is better; neither lower nor higher is",
}
_WITHIN = ["head", "head_seed", "split_seed", "readout_seed"]  # keys that tell scores of one measure of a model apart


def write_records(scores: pd.DataFrame, folder: Path, *, run: str, names: pd.DataFrame, written: float) -> int:
    """Write the records of a table of `export.described` to data/biasflow-<run>/<developer>/<model>/<uuid>.json below a
    new folder, and return how many scores they hold; those that are NaN are left out.

    names: name, kind, attribute, value (names.csv); written: when the run wrote its scores, in seconds since 1970. The
    same scores give the same files. BiasflowError if there is such a folder already."""
    if folder.exists():
        raise BiasflowError(f"--output {folder}: it is there already; name a new folder")
    ids = names[(names["kind"] == "encoder") & (names["attribute"] == "id")].set_index("name")["value"].to_dict()
    defined = scores[scores["value"].notna()]
    with whole_folder(folder) as temporary:
        for keys, rows in defined.groupby([*MODEL, *METHOD], sort=False):
            model = dict(zip([*MODEL, *METHOD], keys, strict=True))
            record = _record(model, rows, run=run, hub_id=ids.get(model["encoder"]), written=written)
            text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            digest = uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)
            path = Path(temporary, "data", f"biasflow-{run}", *record["model_info"]["id"].split("/"), f"{digest}.json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return len(defined)


def _record(model: Mapping[str, str], rows: pd.DataFrame, *, run: str, hub_id: str | None, written: float) -> dict:
    developer, name = hub_id.split("/") if hub_id and hub_id.count("/") == 1 else (LOCAL, hub_id or model["encoder"])
    said = [model[key] for key in ("task", "strategy", "seed", "method", "setting")]
    told = "-".join(word for word in said if word not in (NA, NONE))
    identity = f"{developer}/" + _NOT_PORTABLE.sub("_", name + (f"--{told}" if told else ""))
    timestamp = f"{written:.0f}"
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"biasflow-{run}/{identity}/{timestamp}",
        "evaluation_timestamp": timestamp,
        "retrieved_timestamp": timestamp,
        "source_metadata": {
            "source_name": f"biasflow run {run}",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "biasflow", "version": versions().get("biasflow", "unknown")},
        "model_info": {
            "name": model["encoder"],
            "id": identity,
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "open_weights" if hub_id else "unknown",
                **{key: value for key, value in model.items() if value != NA},
            },
        },
        "evaluation_results": list(_results(rows)),
    }


def _results(rows: pd.DataFrame) -> Iterator[dict]:
    for row in rows.to_dict("records"):
        keys = ["metric", "part", "variant", "dataset", *_WITHIN]
        better = "low" if row["metric"].endswith(DISTANCE_CHANGED) else row["better"]
        told = {key: row[key] for key in keys if row[key] != NA}
        neutral = {} if pd.isna(row["neutral"]) else {"neutral": row["neutral"]}
        uncertainty = {} if pd.isna(row["n"]) else {"num_samples": int(row["n"])}
        if not (pd.isna(row["low"]) or pd.isna(row["high"])):
            ends = {"lower": row["low"], "upper": row["high"], "confidence_level": 0.95}
            uncertainty["confidence_interval"] = ends
        yield {
            "evaluation_result_id": "/".join(f"{key}={value}" for key, value in told.items()),
            "evaluation_name": row["dataset"] if row["dataset"] != NA else row["metric"],
            "source_data": {"dataset_name": row["dataset"], "source_type": "other"},
            "metric_config": {
                "evaluation_description": _DIRECTIONS.get(better, "no direction is better"),
                "metric_id": f"biasflow.{row['metric']}",
                "metric_name": row["label"] or row["metric"],
                "metric_parameters": {key: told[key] for key in ("part", "variant") if key in told} | neutral,
                "lower_is_better": better == "low",
            },
            "score_details": {
                "score": row["value"],
                "details": {key: told[key] for key in _WITHIN if key in told},
                "uncertainty": uncertainty,
            },
        }
