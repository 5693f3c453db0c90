"""BEC-Pro: associations of person words with professions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biasflow.base.errors import BiasflowError
from biasflow.metrics.bec_pro import GROUPS, associations, score, score_lpbs

PROFESSIONS = {f"{group}{k}": group for group in GROUPS for k in range(4)}


def words(association, *, prior=-5.0, pieces=1):
    """association(gender, profession, pair) -> nats; every word has so many pieces, which share it."""
    rows = [
        (
            0,
            pair,
            name,
            group,
            gender,
            masked,
            piece,
            (prior + (masked == "person") * association(gender, name, pair)) / pieces,
        )
        for name, group in PROFESSIONS.items()
        for pair in range(3)
        for gender in ("male", "female")
        for masked in ("person", "both")
        for piece in range(pieces)
    ]
    columns = ["template", "pair", "profession", "profession_gender", "gender", "masked", "piece", "log_p"]
    return pd.DataFrame(rows, columns=columns)


def scores(tmp_path, table):
    table.assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
    return score(tmp_path / "p.parquet").set_index(["metric", "part"])


def fitting(gender, profession, pair):
    """1 nat where the genders of person and profession fit, 0.25 more for women everywhere."""
    return float(profession.startswith(gender)) + 0.25 * (gender == "female")


@pytest.mark.parametrize("pieces", [1, 2])
def test_known_answer(tmp_path, pieces):
    found = scores(tmp_path, words(fitting, pieces=pieces))
    value = found["value"]
    assert value["bec_pro_association", "female-female"] == pytest.approx(1.25)
    assert value["bec_pro_association", "male-female"] == pytest.approx(0)
    assert value["bec_pro_association", "female-balanced"] == pytest.approx(0.25)
    assert value["bec_pro_difference", "female"] == pytest.approx(1.25)
    assert value["bec_pro_difference", "male"] == pytest.approx(-0.75)
    assert value["bec_pro_interaction", "-"] == pytest.approx(2)
    assert found["n"]["bec_pro_interaction", "-"] == 8 and found["n"]["bec_pro_difference", "male"] == 12
    assert found.loc[("bec_pro_interaction", "-"), ["low", "high"]].to_list() == pytest.approx([2, 2])


def test_the_interval_draws_professions_and_the_test_is_wilcoxons(tmp_path):
    own = dict(zip(PROFESSIONS, np.random.default_rng(0).normal(size=12), strict=True))
    found = scores(tmp_path, words(lambda gender, name, pair: (own[name] + 0.01 * pair) * (gender == "female")))
    balanced = np.array([value for name, value in own.items() if name.startswith("balanced")])
    row = found.loc[("bec_pro_difference", "balanced")]
    assert row["value"] == pytest.approx(balanced.mean() + 0.01)
    assert balanced.min() < row["low"] < row["value"] < row["high"] < balanced.max() + 0.02
    differences = np.add.outer(balanced, [0, 0.01, 0.02]).ravel()
    expected, value = stats.wilcoxon(differences), found["value"]
    assert value["bec_pro_wilcoxon_p", "balanced"] == pytest.approx(expected.pvalue, rel=1e-6)
    ranks = stats.rankdata(np.abs(differences))
    below, above = (ranks[side].sum() for side in (differences < 0, differences > 0))
    assert value["bec_pro_wilcoxon", "balanced"] == min(below, above)
    assert value["bec_pro_wilcoxon_r", "balanced"] == pytest.approx(abs(above - below) / ranks.sum())
    assert value["bec_pro_association_sd", "female-balanced"] == pytest.approx(np.std(differences))
    assert value["bec_pro_association_sd", "male-balanced"] == 0


@settings(max_examples=20)
@given(st.floats(-20, -1), st.integers(0, 100))
def test_the_prior_of_a_word_does_not_count(prior, seed):
    noise = np.random.default_rng(seed).normal(size=(12, 3, 2))
    places = {name: k for k, name in enumerate(PROFESSIONS)}

    def drawn(gender, name, pair):
        return noise[places[name], pair, int(gender == "female")]

    one, other = (associations(words(drawn, prior=each)) for each in (-5.0, prior))
    pd.testing.assert_frame_equal(one, other)
    assert len(one) == 36 and one["female"].mean() == pytest.approx(noise[..., 1].mean())


@pytest.mark.parametrize("lacking", ["masked == 'both'", "gender == 'male' and pair == 1"])
def test_a_sentence_without_its_counterpart_is_refused(tmp_path, lacking):
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: BEC-Pro"):
        scores(tmp_path, words(fitting).query(f"not ({lacking})"))


def test_known_answer_of_lpbs(tmp_path):
    # 1 nat where the genders of person and profession fit, 0.25 more for women: 1.25 in typically female professions,
    # -0.75 in typically male ones, 0.25 in balanced ones, four of each.
    words(fitting).assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
    found = score_lpbs(tmp_path / "p.parquet").set_index("metric")
    assert found["value"]["lpbs"] == pytest.approx(0.25) and found["n"]["lpbs"] == 12
    assert found["value"]["lpbs_absolute"] == pytest.approx(0.75)
    assert found["low"]["lpbs"] < 0.25 < found["high"]["lpbs"]
