"""SSS, CRR and Delta P: shares of pairs in which the sentence that stereotypes more is preferred."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.preferences import preferences, score_prediction_quality, score_sss

DIRECTIONS = ["stereo", "stereo", "stereo", "antistereo"]
NAN = float("nan")


def scores(score, tmp_path, **columns):
    table = pd.DataFrame({"direction": DIRECTIONS, **columns}).assign(method="none", setting="-")
    table.to_parquet(tmp_path / "p.parquet")
    return score(tmp_path / "p.parquet").set_index(["metric", "part"])


def test_known_answer_of_sss(tmp_path):
    # The first sentence has the likelier words in pairs 1 and 4; the third pair has none that differ; equal is no win.
    found = scores(score_sss, tmp_path, differing_first=[-1.0, -2, -1, -3], differing_second=[-2.0, -2, NAN, -4])
    assert found["value"]["sss_score", "all"] == pytest.approx(2 / 3) and found["n"]["sss_score", "all"] == 3
    assert found["value"]["sss_score", "stereo"] == 1 / 2 and found["value"]["sss_score", "antistereo"] == 1
    assert found["low"]["sss_score", "all"] < 2 / 3 < found["high"]["sss_score", "all"]


def test_known_answer_of_crr_and_delta_p(tmp_path):
    # Of two tokens with ranks 1 and 4, CRR is (0 + 3/4) / 2; the sentence with the lower number is preferred.
    found = scores(
        score_prediction_quality,
        tmp_path,
        crr_first=[3 / 8, 0.5, 0.2, 0.0],
        crr_second=[0.5, 3 / 8, 0.2, 0.9],
        delta_p_first=[2.0, 2, 2, 2],
        delta_p_second=[3.0, 3, 3, 1],
    )
    assert found["value"]["crr_score", "all"] == 2 / 4 and found["value"]["crr_score", "stereo"] == 1 / 3
    assert found["value"]["delta_p_score", "all"] == 3 / 4 and found["value"]["delta_p_score", "antistereo"] == 0


@given(st.lists(st.tuples(st.floats(-50, 0), st.floats(-50, 0)), min_size=1, max_size=30))
def test_swapping_the_sentences_or_the_sign_gives_the_rest(pairs):
    first, second = np.array(pairs).T
    table = pd.DataFrame({"direction": "stereo", "x_first": first, "x_second": second})
    swapped = table.rename(columns={"x_first": "x_second", "x_second": "x_first"})
    ours, theirs = (preferences(one, "score", "x")["value"][0] for one in (table, swapped))
    assert ours + theirs + (first == second).mean() == pytest.approx(1)
    assert preferences(table, "score", "x", sign=-1)["value"][0] == theirs


def test_no_pair_is_one_clear_line(tmp_path):
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: sss_score: no pair has differing of both sentences"):
        scores(score_sss, tmp_path, differing_first=[NAN] * 4, differing_second=[-1.0] * 4)
