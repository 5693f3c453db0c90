import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.papers.dawkins2024.table7 import cutoff, viable

SHARES = st.floats(0, 1)


def test_known_answers():
    assert cutoff(0.8889) == pytest.approx(0.8389)
    assert cutoff(0.8889, reading="relative") == pytest.approx(0.844455)
    accuracy = [0.8388, 0.8389, 0.8444, 0.8445, 0.8889]
    assert viable(accuracy, 0.8889).tolist() == [False, True, True, True, True]
    assert viable(accuracy, 0.8889, reading="relative").tolist() == [False, False, False, True, True]


@given(base=st.integers(0, 10_000), drop=st.integers(0, 10_000))
def test_a_model_at_the_cutoff_is_viable_and_one_count_below_is_not(base, drop):
    """Counts of 10,000: floating point must not decide."""
    drop = min(drop, base)
    accuracy = (base - drop) / 10_000
    assert viable(accuracy, base / 10_000, threshold=drop / 10_000)
    if accuracy > 0:
        assert not viable(accuracy - 1e-4, base / 10_000, threshold=drop / 10_000)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (([0.5], 0.8), {"reading": "percent"}),
        (([0.5], 88.9), {}),
        (([0.5], 0.8), {"threshold": 5}),
        (([0.5, 84.0], 0.8), {}),
        (([0.5, np.nan], 0.8), {}),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, options):
    with pytest.raises(BiasflowError):
        viable(*arguments, **options)
