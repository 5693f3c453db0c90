"""Winogender: she-he log-odds by occupation against shares of women, by whom the pronoun stands for."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.winogender import score

SHARES = {"nurse": 0.9, "clerk": 0.7, "baker": 0.6, "judge": 0.4, "guard": 0.3, "pilot": 0.1}


def words(odds, *, pieces=1):
    """odds(occupation, whom the pronoun stands for, sentence) -> nats; two sentences each."""
    rows = [
        (f"{name}.{refers}.{k}", name, refers, gender, share, 1 - share, piece, value / pieces)
        for name, share in SHARES.items()
        for refers in ("occupation", "participant")
        for k in range(2)
        for gender, value in (("male", -4.0), ("female", -4.0 + odds(name, refers, k)))
        for piece in range(pieces)
    ]
    return pd.DataFrame(rows, columns=["item", "occupation", "refers_to", "gender", "bls", "bergsma", "piece", "log_p"])


def test_known_answer(tmp_path):
    table = words(lambda name, refers, k: (2 * SHARES[name] - 1) * (refers == "occupation") + k - 0.5, pieces=2)
    table.assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
    found = score(tmp_path / "p.parquet").set_index(["metric", "part", "variant"])
    assert found["value"]["winogender_r", "occupation", "bls"] == pytest.approx(1)
    assert found["value"]["winogender_r", "occupation", "bergsma"] == pytest.approx(-1)
    assert np.isnan(found["value"]["winogender_r", "participant", "bls"])  # the same for all occupations
    expected = np.mean([2 * share - 1 for share in SHARES.values()])
    assert found["value"]["winogender_log_odds", "occupation", "-"] == pytest.approx(expected)
    row = found.loc[("winogender_log_odds", "participant", "-")]
    assert (row["value"], row["low"], row["high"], row["n"]) == pytest.approx((0, 0, 0, 6), abs=1e-12)


def test_a_sentence_without_a_pronoun_is_refused(tmp_path):
    table = words(lambda name, refers, k: 1.0).iloc[1:].assign(method="none", setting="-")
    table.to_parquet(tmp_path / "p.parquet")
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: Winogender"):
        score(tmp_path / "p.parquet")
