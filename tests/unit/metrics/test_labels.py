"""Is a classifier right more often than an answer that is always the most frequent class?"""

import numpy as np
import pytest

from biasflow.metrics.labels import majority


@pytest.mark.parametrize(
    ("classes", "hits", "share", "p"),  # p: sums of binomial probabilities
    [
        ([18, 18], 20, 0.5, 0.30886),  # 34 of 36 predictions are one label
        ([18, 18], 18, 0.5, 0.56603),  # all are
        ([18, 18], 25, 0.5, 0.01441),
        ([3, 1], 4, 0.75, 0.75**4),
        ([2, 2], 0, 0.5, 1),
        ([5], 5, 1, 1),  # one class: nobody can be better
    ],
)
def test_the_exact_p_of_a_binomial_of_the_majority_share(classes, hits, share, p):
    assert majority(classes, hits) == (pytest.approx(share), pytest.approx(p, abs=5e-6))


def test_many_classifiers_at_once_and_none_without_items():
    share, p = majority([[18, 18], [30, 6]], [[20], [31]])
    assert share.tolist() == pytest.approx([0.5, 5 / 6]) and p.shape == (2, 2)
    assert np.isnan(majority([0, 0], 0)).all()
