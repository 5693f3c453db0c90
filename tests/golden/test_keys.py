"""Where the rows of the first version's scores stand in the one table."""

from pathlib import Path

import pandas as pd
import pytest

from biasflow.results.scores import KEYS
from tests.golden.keys import new_keys, read_old
from tests.golden.tiny import TOLERANCE, differences, expected

OLD = read_old(Path(__file__).parent / "tiny_scores.csv")


def test_every_old_row_is_a_row_or_an_n():
    alone = OLD[~OLD["metric"].isin(["tokens", "draws", "test_size"])]
    untouched_glue = alone["task"].str.startswith("glue:") & (alone["method"] == "none")
    twice = (untouched_glue & (alone["strategy"] == "at_evaluation")).sum()  # the same row as in_training
    measured_by_two_papers = 14
    assert len(expected()) == len(alone) - twice - measured_by_two_papers == 2807
    assert expected()["n"].notna().sum() > 0


def test_what_two_papers_measured_otherwise_is_refused():
    two = OLD[(OLD["task"] == "planted") & OLD["method"].isin(["base", "none"]) & (OLD["metric"] == "strength")]
    apart = two.assign(value=two["value"] + (two["paper"] == "densray"))
    assert len(new_keys(two)) < len(two)
    with pytest.raises(ValueError, match="two papers"):
        new_keys(apart)


def test_rows_of_an_unknown_kind_are_refused():
    with pytest.raises(KeyError):
        new_keys(OLD[:1].assign(paper="nobody"))


def test_a_run_is_compared_row_by_row():
    scores = expected()
    assert differences(pd.concat([scores, scores[:1].assign(metric="another")])).empty
    counted = scores.index[scores["n"].notna()][0]
    far, near = scores.copy(), scores.copy()
    far.loc[[5], "value"] += 2 * TOLERANCE
    near.loc[[5], "value"] += TOLERANCE / 2
    for changed, row in (
        (far, 5),
        (scores.drop(index=7), 7),
        (scores.assign(n=scores["n"].drop(index=counted)), counted),
    ):
        found = differences(changed)
        assert found[KEYS].to_numpy().tolist() == [scores.loc[row, KEYS].tolist()]
    assert differences(near).empty


def test_a_method_is_named_by_the_model_that_it_was_fitted_to():
    scores = expected().set_index(["encoder", "task", "method"]).index.unique()
    assert ("tiny-bert", "nli", "densray-pretrained") in scores and ("tiny-bert", "-", "densray") in scores
    assert ("tiny-bert-mlm", "-", "hard-pretrained") in scores and ("tiny-bert-mlm", "-", "none") in scores
    assert ("tiny-bert", "planted-nli", "conceptor") in scores  # it was active in that training
