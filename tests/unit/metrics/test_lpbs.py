"""LPBS: what professions add to the probability of feminine words, beyond what they add to that of masculine ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.metrics.lpbs import score, summary
from tests.unit.metrics.test_bec_pro import PROFESSIONS, fitting, words


def test_known_answer(tmp_path):
    # 1 nat where the genders of person and profession fit, 0.25 more for women: 1.25 in typically female professions,
    # -0.75 in typically male ones, 0.25 in balanced ones, four of each.
    words(fitting).assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
    found = score(tmp_path / "p.parquet").set_index("metric")
    assert found["value"]["lpbs"] == pytest.approx(0.25) and found["n"]["lpbs"] == 12
    assert found["value"]["lpbs_absolute"] == pytest.approx(0.75)
    assert found["low"]["lpbs"] < 0.25 < found["high"]["lpbs"]


@given(prior=st.floats(-20, -1), seed=st.integers(0, 99))
def test_what_the_model_expects_without_the_profession_plays_no_part(prior, seed):
    own = dict(zip(PROFESSIONS, np.random.default_rng(seed).normal(size=12), strict=True))

    def association(gender, profession, pair):
        return own[profession] * (gender == "female") + pair

    found = summary(words(association, prior=prior)).set_index("metric")["value"]
    assert found["lpbs"] == pytest.approx(np.mean([*own.values()]), abs=1e-9)
    assert abs(found["lpbs"]) <= found["lpbs_absolute"] + 1e-12
    assert found["lpbs_absolute"] == pytest.approx(np.abs([*own.values()]).mean(), abs=1e-9)
