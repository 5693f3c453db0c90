"""Debiased training documents: which words change, and that nothing else does."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll, write_conll
from biasflow.tasks.coreference.strategies import STRATEGIES, debias, person_words
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


def test_a_token_with_a_blank_in_it_is_swapped_too(tmp_path):
    documents = documents_of(tmp_path, conll_text("k", [["her dog", "saw", "the best man"]], pos=["NN", "VBD", "NN"]))
    found = debias("ca", documents)
    assert found.documents[1].words == ("his dog", "saw", "the best man")
    assert found.counts == {"swapped": 1, "left": 1}


def test_both(documents):
    found = debias("anon+ca", documents)
    assert found.documents[:2] == debias("anon", documents).documents
    assert words(found.documents[2]) == "ANON_0 ANON_1 's father saw him . ANON_1 told his dog 9 ."
    assert found.counts == {"anonymised": 3, "swapped": 3, "left": 0}


def test_doubled_is_the_control_of_as_many_documents(documents):
    found = debias("doubled", documents).documents
    assert [document.words for document in found[2:]] == [document.words for document in documents]
    assert len(found) == len(debias("ca", documents).documents) == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_a_strategy_makes_is_a_corpus(documents, strategy, tmp_path):
    """The last document is there too, every name is one document's, and only words differ."""
    found = debias(strategy, documents).documents
    write_conll(found, tmp_path / "debiased.conll")
    again = read_conll(tmp_path / "debiased.conll").documents
    assert again == found and len({document.name for document in found}) == len(found)
    for number, document in enumerate(found):
        original = documents[number % 2]
        for column in ("part", "pos", "speakers", "names", "sentences", "clusters"):
            assert getattr(document, column) == getattr(original, column)


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


def test_names_are_found_in_nested_and_other_spans(tmp_path):
    names = ["(ORG(PERSON*", "*)", "*)", "(GPE*", "(PERSON))", "-", "_"]
    (document,) = documents_of(tmp_path, conll_text("k", [list("abcdefg")], names=names))
    assert person_words(document) == [0, 1, 4]


@pytest.mark.parametrize(("names", "reason"), [(["*)", "*"], "word 1: "), (["*", "(PERSON*"], "PERSON begins")])
def test_broken_names_are_named(tmp_path, names, reason):
    (document,) = documents_of(tmp_path, conll_text("nw/k", [["a", "b"]], names=names))
    with pytest.raises(BiasflowError, match=r"document \(nw/k\); part 000: .*" + reason):
        debias("anon", [document])


def test_documents_without_names_cannot_be_anonymised(tmp_path):
    for strategy in ("anon", "anon+ca"):
        with pytest.raises(BiasflowError, match="11th column of 1 documents"):
            debias(strategy, documents_of(tmp_path, RAIN))
    with pytest.raises(BiasflowError, match="strategy"):
        debias("scrubbing", documents_of(tmp_path, RAIN))
