"""Debiased training documents: which words change, and that nothing else does."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasflow.tasks.coreference.strategies import debias
from tests.unit.synthetic_conll import conll_text, documents_of

SENTENCES = [["Mary", "Lee", "'s", "mother", "saw", "her", "."], ["Lee", "told", "her", "dog", "9", "."]]
POS = "NNP NNP POS NN VBD PRP . NNP VBD PRP$ NN CD .".split()
NAMES = ["(PERSON*", "*", "*)", "*", "*", "*", "*", "(PERSON)", "*", "*", "*", "(DATE)", "*"]
CLUSTERS = [((0, 2), (7, 7)), ((0, 3), (5, 5))]
LEE = conll_text("nw/lee", SENTENCES, CLUSTERS, pos=POS, names=NAMES)
RAIN = conll_text("nw/rain", [["It", "rained"]])


@pytest.fixture
def documents(tmp_path):
    return documents_of(tmp_path, LEE, RAIN)


def words(document) -> str:
    return " ".join(document.words)


def test_anonymised_tokens_are_numbered_by_their_first_appearance(documents):
    found = debias("anon", documents)
    assert words(found.documents[0]) == "ANON_0 ANON_1 's mother saw her . ANON_1 told her dog 9 ."
    assert found.documents[1] == documents[1]
    assert found.counts == {"anonymised": 3}


def test_augmenting_adds_a_swapped_copy_of_every_document(documents):
    found = debias("ca", documents)
    assert found.documents[:2] == documents
    assert [document.key for document in found.documents[2:]] == ["nw/lee/swapped", "nw/rain/swapped"]
    assert words(found.documents[2]) == "Mary Lee 's father saw him . Lee told his dog 9 ."
    assert found.documents[3].words == documents[1].words
    assert found.counts == {"swapped": 3, "left": 0}
    assert debias("ca", documents, names="swap").documents[2].words[0] != "Mary"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.sampled_from("he her His best man maid of honor policeman dog . Mr. Smith".split()), max_size=6),
        max_size=4,
    )
)
def test_swapping_keeps_sentences_and_clusters(tmp_path, sentences):
    sentences = [["The", *sentence] for sentence in sentences]
    spans = [[(0, 0), (len(sentences) - 1, len(sentences) - 1)]] if len(sentences) > 1 else []
    (document,) = documents_of(tmp_path, conll_text("nw/any", sentences, spans))
    copy = debias("ca", [document]).documents[1]
    assert (copy.clusters, copy.sentences) == (document.clusters, document.sentences)
    assert len(copy.words) == len(document.words)
