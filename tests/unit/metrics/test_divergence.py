"""KLDivS and JSDivS: known answers, what does not change them, and what has none."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import AbsentError
from biasflow.metrics import divergence as module
from biasflow.metrics.divergence import divergence, jsdivs, kldivs, score_jsdivs, score_kldivs
from biasflow.metrics.items import scorer
from biasflow.plan import datasets
from biasflow.registry import METRICS

FIRST, SECOND = [-1.0, -3.0], [-2.0, -6.0]  # N(-2, sqrt 2) and N(-4, sqrt 8)
KL = 100 * (2.5 - np.log(2)) / 2.375  # KL(A||P) = 12/4 - 1/2 - ln 2, and both together are 6/16 + 12/4 - 1
JS = 100 * (1 - (np.log(5 / 4) + 0.2) / 2) / (1 + 1 / np.sqrt(2))  # M = N(-3, sqrt 5); C = sqrt 2 counts as its inverse
NORMAL = st.tuples(st.floats(-9, 0), st.floats(0.1, 3))


def readout(path, first=FIRST, second=SECOND, **columns):
    """Sentences of four tokens; pairs with masks do not count."""
    table = pd.DataFrame({"log_p_first": 4 * np.array(first), "log_p_second": 4 * np.array(second), **columns})
    table = table.assign(method="none", setting="-", masking="nothing", tokens_first=4, tokens_second=4)
    pd.concat([table, table.assign(masking="shared", log_p_first=-99.0)]).to_parquet(path)
    return path


def test_known_answers(tmp_path):
    path = readout(tmp_path / "p.parquet")
    for name, value in (("kldivs", KL), ("jsdivs", JS)):
        (row,) = scorer(module, name)(path).itertuples()
        assert (row.metric, row.part, row.variant, row.n) == (name, "all", "released", 2)
        assert row.value == pytest.approx(value)


def test_types_are_parts_and_their_mean_is_weighted_by_pairs(tmp_path):
    first, second = [*FIRST, -1.0, -2.0, -3.0], [*SECOND, -1.5, -2.0, -2.5]
    types = ["gender"] * 2 + ["age"] * 3
    found = score_kldivs(readout(tmp_path / "p.parquet", first, second, bias_type=types)).set_index("part")["value"]
    # Of equal means and standard deviations 1 and 1/2: KL = ln(1/2) + 2 - 1/2 and ln 2 + 1/8 - 1/2.
    age = 100 * (1.5 - np.log(2)) / (1.5 - np.log(2) + np.log(2) - 0.375)
    assert found["gender"] == pytest.approx(KL) and found["age"] == pytest.approx(age)
    assert found["all"] == pytest.approx((2 * KL + 3 * age) / 5)


def test_a_type_with_one_pair_has_no_score_and_no_part_in_that_of_all(tmp_path):
    path = readout(tmp_path / "p.parquet", [*FIRST, -1.0], [*SECOND, -2.0], bias_type=["gender"] * 2 + ["age"])
    for score, value in ((score_kldivs, KL), (score_jsdivs, JS)):
        found = score(path).set_index("part")
        assert found["value"].tolist() == pytest.approx([value, value, np.nan], nan_ok=True)
        assert found["n"].tolist() == [2, 2, 1]


@pytest.mark.parametrize("likelihood", [-3.0, -30.1 / 9])  # of the second one the sum of squares is not exact
def test_a_type_without_a_spread_has_no_score_whatever_rounding_makes_of_it(likelihood, tmp_path):
    alike = [likelihood] * 10
    first, second = [*FIRST, *alike], [*SECOND, *np.linspace(-5, -3, 10)]
    path = readout(tmp_path / "p.parquet", first, second, bias_type=["gender"] * 2 + ["age"] * 10)
    for score, value in ((score_kldivs, KL), (score_jsdivs, JS)):
        assert score(path)["value"].tolist() == pytest.approx([value, value, np.nan], nan_ok=True)


@given(NORMAL, NORMAL, st.floats(-5, 5))
def test_they_do_not_depend_on_the_order_or_on_a_shift_and_stay_in_range(P, A, shift):
    P, A = np.array(P), np.array(A)
    moved = [(side[0] + shift, side[1]) for side in (P, A)]
    assert divergence(P, P) == pytest.approx(0, abs=1e-12) and jsdivs(P, P) == pytest.approx(100)
    for measure, low in ((kldivs, 50), (jsdivs, 0)):
        if not np.allclose(P, A, atol=1e-3):
            assert measure(P, A) == pytest.approx(measure(A, P)) == pytest.approx(measure(*moved), rel=1e-6)
            assert low - 1e-9 <= measure(P, A) <= 100 + 1e-9


def test_equal_distributions_have_one_of_the_two(tmp_path):
    path = readout(tmp_path / "p.parquet", FIRST, FIRST)
    assert score_jsdivs(path)["value"].tolist() == pytest.approx([100])
    with pytest.raises(AbsentError, match="equally likely"):
        score_kldivs(path)
    assert {METRICS[name].datasets for name in ("kldivs", "jsdivs")} <= set(datasets.DATASETS)
