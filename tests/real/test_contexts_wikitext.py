"""Family pairs of the real analogy file, where they occur in WikiText-2, and DensRay on a small BERT of real text."""

import pytest
import torch

from biasflow.corpora.word_sets import read_family_pairs
from biasflow.encoders.load import load_encoder
from biasflow.erasers import densray
from biasflow.methods.occurrences import find_occurrences
from biasflow.methods.states import WordStates
from tests.real.files import DATA, LITWIKI, needs, needs_data, read_wikitext

pytestmark = needs_data
with_encoder = needs(LITWIKI)


@pytest.fixture(scope="module")
def pairs():
    return read_family_pairs(DATA / "analogies/questions-words.txt")


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(LITWIKI, head="none")


@pytest.fixture(scope="module")
def sentences():
    return [sentence for article in read_wikitext(DATA / "wikitext-2/wiki.train.tokens") for sentence in article]


@pytest.fixture(scope="module")
def occurrences(encoder, sentences, pairs):
    return find_occurrences(encoder[1], sentences, *zip(*pairs, strict=True), n=2000, max_length=64)


@pytest.fixture(scope="module")
def states(encoder, sentences, occurrences):
    return WordStates(*encoder, 32, sentences, occurrences)


@with_encoder
def test_densray_separates_the_genders_of_words_that_it_has_not_seen(states):
    X = states.at(["layer[3]"])["layer[3]"]
    z = states.labels(X)["z"]
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(0))
    seen, unseen = order[: len(X) // 2], order[len(X) // 2 :]
    eraser = densray.fit(X[seen], z[seen])
    scores = densray.scores(eraser, X)
    middle = (scores[seen][z[seen]].mean() + scores[seen][~z[seen]].mean()) / 2
    assert ((scores[unseen] > middle) == z[unseen]).float().mean() > 0.85
