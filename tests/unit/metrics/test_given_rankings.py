"""Lists that somebody gives: the same exposure and shares as elsewhere, by query, and NFaiRR."""

import numpy as np
import pytest

from biasflow.corpora.rankings import read_rankings
from biasflow.metrics.given_rankings import score, summary
from biasflow.readouts import external_rankings

DISCOUNTS = 1 / np.log2(1 + np.arange(1, 5))


def test_scores_of_lists_by_hand(tmp_path):
    first = ["q1 Q0 m1 1 9 x", "q1 Q0 w1 2 8 x", "q1 Q0 n1 3 7 x", "q1 Q0 w2 4 6 x"]
    second = ["q2 Q0 n1 1 5 x", "q2 Q0 m1 2 4 x"]  # nobody but a man: no gap
    (tmp_path / "run").write_text("\n".join(first + second) + "\n")
    (tmp_path / "genders.csv").write_text("document,gender\nm1,M\nw1,F\nw2,F\nn1,\n")
    (tmp_path / "texts.csv").write_text("document,text\nm1,he and he\nw1,a person\nw2,he and she\n")
    files = {"genders": [tmp_path / "genders.csv"], "texts": [tmp_path / "texts.csv"]}
    facts = external_rankings.read([tmp_path / "run"], files, tmp_path / "readout")
    assert facts == {"queries": 2, "documents": 6}
    found = score(tmp_path / "readout").set_index(["metric", "part"])
    women = (DISCOUNTS[1] + DISCOUNTS[3]) / 2
    assert found["value"]["exposure_gap", "all"] == pytest.approx((DISCOUNTS[0] - women) / (DISCOUNTS[0] + women))
    assert found["n"]["exposure_gap", "all"] == 1 and found["n"]["list_share", "10"] == 2
    assert found["value"]["list_share", "10"] == pytest.approx(0)  # all are shown
    neutral = np.array([0, 1, 1])  # m1, w1, w2 of q1: two words of one gender, none, one of each
    fairest = DISCOUNTS[:3] @ np.sort(neutral)[::-1]
    assert found["value"]["nfairr", "all"] == pytest.approx(DISCOUNTS[:3] @ neutral / fairest)
    assert found["n"]["nfairr", "all"] == 1  # the list of q2 has no neutral document with a text


def test_women_first_and_then_men_in_lists_of_twenty(tmp_path):
    lines = [f"q{q} Q0 {'w' if r < 10 else 'm'}{r} {r + 1} {-r} x" for q in range(8) for r in range(20)]
    (tmp_path / "run").write_text("\n".join(lines) + "\n")
    genders = [
        f"{name}{r},{gender}" for name, gender, its in (("w", "F", range(10)), ("m", "M", range(10, 20))) for r in its
    ]
    (tmp_path / "genders.csv").write_text("document,gender\n" + "\n".join(genders) + "\n")
    table = read_rankings([tmp_path / "run"], genders=tmp_path / "genders.csv")
    found = summary(table).set_index(["metric", "part"])
    assert found["value"]["exposure_gap", "10"] == -1 and found["value"]["list_share", "10"] == 0.5
    assert found["low"]["list_share", "10"] == found["high"]["list_share", "10"] == 0.5
    assert "nfairr" not in found.index.get_level_values("metric")  # no texts
