"""Scores in formats that other programs read: what is read back is what was written."""

import json

import numpy as np
import pandas as pd
import pytest

from biasflow.results.export import ABOUT, COLUMNS, FORMATS, described
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
