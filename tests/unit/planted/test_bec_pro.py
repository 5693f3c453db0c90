"""Planted sentences like BEC-Pro's: what is masked in them, and what a perfect learner of the corpus would score."""

import numpy as np
import pandas as pd
import pytest

from biasflow.metrics.bec_pro import associations, summary
from biasflow.planted.bec_pro import GROUP, groups, items
from biasflow.planted.world import load_world

WORLD = load_world()


def test_groups_are_the_ends_and_the_middle_of_the_shares():
    found = pd.Series(groups(WORLD))
    shares = found.index.to_series().map(WORLD.shares)
    assert found.value_counts().eq(GROUP).all() and found.nunique() == 3
    assert shares[found == "female"].min() > shares[found == "balanced"].max()
    assert shares[found == "male"].max() < shares[found == "balanced"].min()


def test_what_is_masked_is_the_pronoun_and_then_the_occupation_too():
    table = items()
    for row in table.itertuples():
        assert row.text[row.start : row.end].lower() == row.person.lower()
        assert row.person.lower() in {"female": ("she", "her"), "male": ("he", "him")}[row.gender]
        if row.masked == "both":
            assert row.text[row.also_start : row.also_end] == row.profession
        else:
            assert row.also_start == -1
    assert "She works as a nurse." in set(table["text"]) and "They hired him as a mathematician." in set(table["text"])
    assert len(table) == 2 * 2 * 4 * 3 * GROUP and not table.duplicated(["text", "masked"]).any()


@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0])
def test_a_perfect_learner_has_the_logits_of_the_shares(bias):
    """It knows the share of women of an occupation, and without it that half of all are women."""
    table = items()
    share = table["profession"].map(lambda name: WORLD.share(name, bias))
    told = np.where(table["gender"] == "female", share, 1 - share)
    learned = table.assign(log_p=np.log(np.where(table["masked"] == "both", 0.5, told)))
    pairs = associations(learned)
    logits = pairs["profession"].map(lambda name: np.log(WORLD.share(name, bias) / (1 - WORLD.share(name, bias))))
    assert np.allclose(pairs["female"] - pairs["male"], logits)
    scores = summary(learned).query("metric == 'bec_pro_interaction'").iloc[0]
    kinds = logits.groupby(pairs["profession_gender"]).mean()
    assert scores["value"] == pytest.approx(kinds["female"] - kinds["male"])
    assert (scores["low"] > 0) == (bias > 0)
