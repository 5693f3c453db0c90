"""What is drawn at random follows its seed; shares and directions are of the right gender, and of the right column."""

import numpy as np
import pandas as pd
import pytest

from biasflow.corpora.documents import sample_sentences
from biasflow.tasks.cuts import control_labels, probe_split
from biasflow.tasks.occupation.data import profession_table

TEXTS = [f"text {number}" for number in range(40)]


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: sample_sentences(TEXTS, 10, seed=seed),
        lambda seed: control_labels(np.arange(40), seed).tolist(),
        lambda seed: probe_split(40, seed).test.tolist(),
    ],
    ids=["sentences", "control labels", "probe split"],
)
def test_another_seed_draws_otherwise_and_the_same_seed_the_same(draw):
    assert draw(3) == draw(3) and len({tuple(draw(seed)) for seed in range(5)}) == 5


def test_the_share_of_women_is_of_all_people_of_a_profession():
    counts = {"profession": ["nurse", "surgeon"], "women": [9, 1], "men": [1, 3], "kept": [True, True], "reason": ""}
    table = profession_table(pd.DataFrame(counts), pd.Series({"nurse": 0.87}))
    assert table["share_of_women"].tolist() == [0.9, 0.25] and table["labour_share"].round(2).tolist()[0] == 0.87
