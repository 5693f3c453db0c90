"""Scores for other tools: tables that are exported, and Every Eval Ever."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.results.export import ABOUT, COLUMNS, FORMATS, described, write_records
from biasflow.results.scores import KEYS, VALUES, tidy

FRAME = tidy(
    pd.DataFrame(
        [
            {
                "metric": "weat_effect_size",
                "value": 1 / 3,
                "n": 16,
                "low": -0.1,
                "high": 0.9,
                "seed": "01",
                "dataset": "C6",
            },
            {"metric": "perplexity", "value": 1e-7, "dataset": "=HYPERLINK(x)", "seed": "none"},
            {"metric": "tokens", "value": np.nan, "dataset": 'é, "quoted"', "seed": "-"},
        ]
    ),
    encoder="NA",
)
READ = {
    "csv": lambda path: pd.read_csv(
        path,
        dtype=dict.fromkeys([*KEYS, "label", "group", "better"], str),
        keep_default_na=False,
        na_values={name: [""] for name in [*VALUES, "neutral"]},
    ),
    "json": lambda path: pd.DataFrame(json.loads(path.read_text("utf-8"))),
    "parquet": pd.read_parquet,
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_read_back_is_what_was_written(tmp_path, name):
    suffix, write = FORMATS[name]
    path = tmp_path / f"scores{suffix}"
    write(described(FRAME), path)
    found = READ[name](path)
    assert list(found) == COLUMNS and found[KEYS].map(type).eq(str).all(axis=None)
    found["dataset"] = found["dataset"].str.removeprefix("'")  # what spreadsheets would run (base.tabular)
    pd.testing.assert_frame_equal(found, described(FRAME), check_dtype=False, rtol=1e-9)
    first = path.read_bytes()
    write(described(FRAME), path)
    assert path.read_bytes() == first


def test_measures_are_described_and_other_scores_are_not():
    found = described(FRAME).set_index("metric")[ABOUT]
    assert found.loc["weat_effect_size"].tolist() == ["WEAT", "inside", 0.0, "neutral"]
    assert found.loc["tokens", ["label", "group", "better"]].tolist() == ["", "", ""]
    assert np.isnan(found.loc["tokens", "neutral"])


EXAMPLE = Path(__file__).parents[3] / "docs/every_eval_ever.json"
ROWS = [
    {
        "metric": "weat_effect_size",
        "variant": "target",
        "dataset": "C6",
        "value": 0.5,
        "low": 0.1,
        "high": 0.9,
        "n": 16,
    },
    {"metric": "weat_effect_size", "variant": "target", "dataset": "C7", "value": float("nan"), "head": "-"},
    {"metric": "occtmp_diff", "dataset": "professions", "value": 1.98, "n": 320},
    {"metric": "occtmp_diff_distance_change", "dataset": "professions", "value": -0.2, "n": 320},
    {"metric": "tpr_gap_sum", "dataset": "bios-raw", "value": 2.0, "head": "own"},
]


@pytest.fixture
def records(tmp_path):
    """Path below the folder -> record, of an encoder of the hub and a local one, each under two methods."""
    about = [{"encoder": "bert", "method": "none"}, {"encoder": "bert", "method": "leace", "setting": "a:b/c"}]
    about += [{"encoder": "mine", "task": "bios", "strategy": "plain", "seed": "0", "method": "none"}]
    rows = pd.DataFrame(ROWS).fillna({"variant": "-", "head": "-"})
    scores = pd.concat([tidy(rows, **keys) for keys in about], ignore_index=True)
    names = pd.DataFrame([["bert", "encoder", "id", "google-bert/bert-base-uncased"]])
    names.columns = ["name", "kind", "attribute", "value"]
    out = tmp_path / "out"
    assert write_records(described(scores), out, run="demo", names=names, written=1.7e9) == 12
    with pytest.raises(BiasflowError, match="is there already"):
        write_records(described(scores), out, run="demo", names=names, written=1.7e9)
    again = tmp_path / "again"
    write_records(described(scores), again, run="demo", names=names, written=1.7e9)
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.json")}
    assert found == {str(path.relative_to(again)): path.read_bytes() for path in again.rglob("*.json")}
    return {path: json.loads(text) for path, text in found.items()}


def test_the_documented_record_is_what_is_written(tmp_path):
    example = json.loads(EXAMPLE.read_text())
    (result,) = example["evaluation_results"]
    interval = result["score_details"]["uncertainty"]["confidence_interval"]
    row = {"metric": "crows_pairs_score", "part": "all", "variant": "released", "dataset": "crows-pairs-all"}
    row |= {"value": result["score_details"]["score"], "n": 1508, "low": interval["lower"], "high": interval["upper"]}
    scores = tidy(pd.DataFrame([row]), encoder="crows-pairs-bert", method="none")
    names, written = pd.DataFrame(columns=["name", "kind", "attribute", "value"]), int(example["evaluation_timestamp"])
    write_records(described(scores), tmp_path / "out", run="conformance", names=names, written=written)
    (path,) = (tmp_path / "out").rglob("*.json")
    record = json.loads(path.read_text())
    assert record["eval_library"].pop("version") and example["eval_library"].pop("version")
    assert record == example


def test_a_record_lies_where_its_model_is_looked_for(records):
    folders = sorted(path.rpartition("/")[0] for path in records)
    assert folders == [
        "data/biasflow-demo/google-bert/bert-base-uncased",
        "data/biasflow-demo/google-bert/bert-base-uncased--leace-a_b_c",
        "data/biasflow-demo/local/mine--bios-plain-0",
    ]
    for path, record in records.items():
        assert path.startswith(f"data/biasflow-demo/{record['model_info']['id']}/")
        assert record["evaluation_id"] == f"biasflow-demo/{record['model_info']['id']}/1700000000"


def test_scores_that_are_there_are_in_the_record_with_their_direction(records):
    (record,) = (record for path, record in records.items() if "bert-base-uncased/" in path)
    lower = {
        result["evaluation_result_id"]: result["metric_config"]["lower_is_better"]
        for result in record["evaluation_results"]
    }
    assert lower == {
        "metric=weat_effect_size/variant=target/dataset=C6": False,  # nearer to the neutral value
        "metric=occtmp_diff/dataset=professions": True,
        "metric=occtmp_diff_distance_change/dataset=professions": True,
        "metric=tpr_gap_sum/dataset=bios-raw/head=own": True,
    }
