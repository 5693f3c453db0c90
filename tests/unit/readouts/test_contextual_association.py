"""CEAT of an encoder: from texts to rows of scores."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.seat import AssociationTest, ExampleSet
from scripts.biasflow.readouts.contextual_association import ceat_scores
from scripts.biasflow.readouts.word_contexts import find_word_contexts
from tests.unit.conftest import SIZES
from tests.unit.fake_tokenizer import word_tokenizer

SETS = {"X": ("rose", "lily"), "Y": ("ant", "wasp"), "A": ("love", "peace"), "B": ("hate", "war")}
WORDS = [word for words in SETS.values() for word in words]
FILLERS = ["the", "was", "here", "again"]
TEST = AssociationTest(name="flowers", **{role: ExampleSet(role, words) for role, words in SETS.items()})


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return BertModel(BertConfig(**SIZES)).eval(), word_tokenizer([*WORDS, *FILLERS])


def contexts(tokenizer, words=WORDS):
    rng = np.random.default_rng(0)
    texts = [" ".join([*rng.choice(FILLERS, size=3), word, *rng.choice(FILLERS, size=2)]) for word in words * 5]
    return find_word_contexts(tokenizer, texts, WORDS, max_length=32, missing="drop").table


def scored(encoder, table, **options):
    return ceat_scores(*encoder, table, {"flowers": TEST}, **{"draws": 60, "seed": 1, "missing": "error"} | options)


def test_every_reading_of_a_test_is_a_row(encoder):
    rows = scored(encoder, contexts(encoder[1]))
    assert set(rows["task"]) == {"ceat:flowers"} and set(rows["paper"]) == {"internal"}
    variants = {f"{order}-{kind}" for order in ("weat", "swapped") for kind in ("spread", "sampling")}
    assert set(rows["variant"]) == variants
    assert (rows.loc[rows["metric"] == "draws", "value"] == 60).all()
    assert rows["value"].notna().all()


def test_the_seed_decides_the_draws(encoder):
    table = contexts(encoder[1])
    first, again, other = (scored(encoder, table, seed=seed) for seed in (1, 1, 2))
    assert first.equals(again) and not first.equals(other)


def test_exchanged_targets_turn_the_effect_round(encoder):
    table = contexts(encoder[1])
    turned = AssociationTest(name="turned", X=TEST.Y, Y=TEST.X, A=TEST.A, B=TEST.B)
    options = {"draws": 4000, "seed": 0, "missing": "error"}
    both = [ceat_scores(*encoder, table, {"t": test}, **options) for test in (TEST, turned)]
    one, other = (
        rows[(rows["metric"] == "effect_size") & (rows["variant"] == "weat-sampling")]["value"].item() for rows in both
    )
    assert one == pytest.approx(-other, abs=0.1)


def test_a_word_without_contexts_is_named(encoder):
    table = contexts(encoder[1], [word for word in WORDS if word != "wasp"])
    with pytest.raises(BiasflowError, match="wasp"):
        scored(encoder, table)
