"""The lists of docs/words on a small encoder that was trained on real text: what docs/howto/own_data.md says."""

from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from tokenizers import BertWordPieceTokenizer

from biasflow.corpora.word_sets import read_word_pairs, read_word_sets, split_words
from biasflow.encoders.described import FOREIGN, english_split
from biasflow.encoders.load import load_encoder
from biasflow.metrics.association import score
from biasflow.readouts import vectors
from biasflow.readouts.source import Source
from tests.real.files import DATA, LITWIKI, SPLADE, needs

LISTS = Path(__file__).parents[2] / "docs/words"
pytestmark = needs(SPLADE)


def found(tmp_path, name, **options):
    source = Source(SPLADE, ("none",), name, {"own": (LISTS / f"{name}.csv",)})
    vectors.read(source, tmp_path / "vectors", **options)
    return score(tmp_path / "vectors").set_index("metric")


def test_religion_differs_from_neutral_and_race_does_not(tmp_path):
    religion, race = (found(tmp_path, name) for name in ("religion", "race"))
    of_religion, of_race = (table.loc["weat_effect_size"] for table in (religion, race))
    assert of_religion["value"] == pytest.approx(1.387, abs=5e-3) and of_religion["n"] == 16
    assert of_religion["low"] > 0.5
    assert of_race["value"] == pytest.approx(-0.443, abs=5e-3) and of_race["low"] < 0 < of_race["high"]
    assert religion.loc["weat_split_words", ["value", "n"]].tolist() == [2, 32]
    assert race.loc["weat_split_words", ["value", "n"]].tolist() == [11, 48]


def test_the_lists_are_balanced_and_their_pairs_known_to_the_vocabulary():
    for name, single in product(("race", "religion"), (False, True)):
        test = read_word_sets(LISTS / f"{name}.csv", name, single=single)
        assert len(test.X.examples) == len(test.Y.examples) and len(test.A.examples) == len(test.B.examples) == 8
    _, tokenizer = load_encoder(SPLADE, head="none")
    pairs = read_word_pairs(LISTS / "religion_pairs.csv")
    assert pairs.groups == ("Christianity", "Islam")
    assert split_words(tokenizer.backend_tokenizer, [word for words in pairs.words for word in words]) == []


def test_the_vocabulary_of_french_sentences_splits_most_english_words_and_those_of_english_do_not(tmp_path):
    pairs = pd.read_csv(DATA / "published_items/crows_pairs_other/crows_french.csv", sep=None, engine="python")
    french = BertWordPieceTokenizer(lowercase=True)
    french.train_from_iterator(
        pairs[["sent_more", "sent_less"]].stack().dropna(), vocab_size=8000, min_frequency=1, show_progress=False
    )
    french.save(str(tmp_path / "tokenizer.json"))
    assert english_split(SPLADE) == 0
    assert english_split(LITWIKI) < FOREIGN < english_split(tmp_path)
