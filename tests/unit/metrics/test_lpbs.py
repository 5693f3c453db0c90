"""LPBS: what professions add to the probability of feminine words, beyond what they add to that of masculine ones."""

import pytest

from biasflow.metrics.lpbs import score
from tests.unit.metrics.test_bec_pro import fitting, words


def test_known_answer(tmp_path):
    # 1 nat where the genders of person and profession fit, 0.25 more for women: 1.25 in typically female professions,
    # -0.75 in typically male ones, 0.25 in balanced ones, four of each.
    words(fitting).assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
    found = score(tmp_path / "p.parquet").set_index("metric")
    assert found["value"]["lpbs"] == pytest.approx(0.25) and found["n"]["lpbs"] == 12
    assert found["value"]["lpbs_absolute"] == pytest.approx(0.75)
    assert found["low"]["lpbs"] < 0.25 < found["high"]["lpbs"]
