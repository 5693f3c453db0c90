"""CrowS-Pairs: shares of pairs, what is neutral, and who stands in which denominator."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.crows_pairs import score, stereotype_share

# log p of the sentence that stereotypes more and less, and the direction of the pair
PAIRS = [(-10.0, -11.0, "stereo"), (-10.0, -9.0, "stereo"), (-5.0001, -5.0, "stereo"), (-3.0, -4.0, "antistereo")]


def readout(path, pairs=PAIRS):
    """The same sums for every masking; the second sentence has twice as many tokens."""
    rows = [
        ("none", "-", item, direction, masking, first, second, 1, 2)
        for masking in ("shared", "nothing", "attended")
        for item, (first, second, direction) in enumerate(pairs)
    ]
    sides = [f"{what}_{side}" for what in ("log_p", "tokens") for side in ("first", "second")]
    columns = ["method", "setting", "item", "direction", "masking", *sides]
    pd.DataFrame(rows, columns=columns).to_parquet(path)
    return path


def test_known_answer(tmp_path):
    found = score(readout(tmp_path / "p.parquet")).set_index(["metric", "part", "variant"])
    value, n = found["value"], found["n"]
    assert value["crows_pairs_score", "all", "exact"] == 2 / 4
    assert value["crows_pairs_score", "stereo", "exact"] == 1 / 3
    assert value["crows_pairs_neutral", "-", "exact"] == 0
    # Rounded to three decimals the third pair is equal: in the sum of all pairs, and not in that of its direction.
    assert value["crows_pairs_score", "all", "released"] == 2 / 4 and n["crows_pairs_score", "all", "released"] == 4
    assert (
        value["crows_pairs_score", "stereo", "released"] == 1 / 2 and n["crows_pairs_score", "stereo", "released"] == 2
    )
    assert value["crows_pairs_score", "antistereo", "released"] == 1
    assert value["crows_pairs_neutral", "-", "released"] == 1 / 4
    # Per token: -10 against -5.5, -10 against -4.5, -5.0001 against -2.5, -3 against -2.
    assert value["crows_pairs_score", "all", "aul"] == value["crows_pairs_score", "all", "aula"] == 0


@pytest.mark.parametrize(("more", "less"), [([], []), ([1.0], [1.0, 2.0]), ([np.nan], [1.0])])
def test_what_has_no_share_is_refused(more, less):
    with pytest.raises(BiasflowError):
        stereotype_share(more, less)


def test_a_reading_whose_masking_is_not_there_has_no_scores(tmp_path):
    path = readout(tmp_path / "p.parquet")
    whole = pd.read_parquet(path)
    whole.query("masking == 'shared'").to_parquet(path)
    assert set(score(path)["variant"]) == {"exact", "released"}
    whole.assign(masking="differing").to_parquet(path)
    with pytest.raises(BiasflowError, match="nothing"):
        score(path)
