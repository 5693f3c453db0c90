"""Gender shares as scores."""

import pandas as pd

from biasflow.metrics.gender_share import score
from biasflow.results.scores import tidy


def test_a_place_and_its_heads_are_parts(tmp_path):
    rows = {
        "method": "none",
        "setting": "-",
        "place": ["layer[0]", "layer[0].attention.value", "layer[0].attention.value"],
        "head": ["", "0", "1"],
        "share": [0.5, 0.25, 0.125],
    }
    pd.DataFrame(rows).to_parquet(tmp_path / "shares.parquet")
    found = tidy(score(tmp_path / "shares.parquet"), encoder="tiny", dataset="words")
    assert found.set_index("part")["value"].to_dict() == {
        "layer[0]": 0.5,
        "layer[0].attention.value[0]": 0.25,
        "layer[0].attention.value[1]": 0.125,
    }
    assert set(found["metric"]) == {"gender_share"} and set(found["method"]) == {"none"}
