"""Debiased training documents: which words change, and that nothing else does."""

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll
from biasflow.corpora.winobias import read_pairs
from biasflow.tasks.coreference import collect, pairs
from biasflow.tasks.coreference.collect import PARTS, rule_clusters
from biasflow.tasks.coreference.pairs import SIDES
from biasflow.tasks.coreference.strategies import debias
from tests.unit.synthetic_conll import conll_text, documents_of
from tests.unit.tasks.coreference.made_up import save_file, text

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


@pytest.mark.parametrize(("cell", "told"), [("*)", "word 5: a name ends"), ("(PERSON*", "type PERSON begins")])
def test_a_name_that_only_ends_or_only_begins_is_told(tmp_path, cell, told):
    names = ["*"] * 4 + [cell] + ["*"] * 8
    with pytest.raises(BiasflowError, match=f"nw/lee.*: .*{told}"):
        debias("anon", documents_of(tmp_path, conll_text("nw/lee", SENTENCES, CLUSTERS, pos=POS, names=names)))


def test_augmenting_adds_a_swapped_copy_of_every_document(documents):
    found = debias("ca", documents)
    assert found.documents[:2] == documents
    assert [document.key for document in found.documents[2:]] == ["nw/lee/swapped", "nw/rain/swapped"]
    assert words(found.documents[2]) == "Mary Lee 's father saw him . Lee told his dog 9 ."
    assert found.documents[3].words == documents[1].words
    assert found.counts == {"swapped": 3, "left": 0}
    assert debias("ca", documents, names="swap").documents[2].words[0] != "Mary"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
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


def mentions(folder, *sentences: str) -> list[list[str]]:
    """The clusters in words; sentences: word/tag word/tag ..., a tag of "-" may be left out."""
    tokens = [[token.partition("/") for token in sentence.split()] for sentence in sentences]
    pos = [tag or "-" for sentence in tokens for _, _, tag in sentence]
    (document,) = documents_of(folder, conll_text("k", [[w for w, _, _ in sentence] for sentence in tokens], pos=pos))
    return [[" ".join(document.words[a : b + 1]) for a, b in cluster] for cluster in rule_clusters(document)]


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        (["She saw her dog", "He hurt himself"], [["She", "her"], ["He", "himself"]]),
        (["Mary/NNP Lee/NNP left", "Mr./NNP LEE/NNP 's/POS hat"], [["Mary Lee", "Mr. LEE 's"]]),
        (["the/DT old/JJ red/JJ car/NN", "a/DT car/NN , this/DT car/NN"], [["the old red car", "this car"]]),
        (["my/PRP$ car/NN", "the/DT car/NN"], [["my car", "the car"]]),
        (["the/DT poor/JJ", "the/DT poor/JJ"], []),
        (["the/DT car/NN", "the/DT car/NN park/NN"], []),
        (["the/DT Lee/NNP", "Lee/NNP"], [["the Lee", "Lee"]]),
        (["the/DT", "car/NN the/DT car/NN"], []),
        (["US/NNP law", "us/PRP and US/NNP"], [["US", "US"]]),
        (["It rained", "he left"], []),
        ([], []),
    ],
)
def test_clusters(tmp_path, sentences, expected):
    assert mentions(tmp_path, *sentences) == expected


BROKEN = text(9).replace("(1)", "(1", 1)


def prepared(module, tmp_path, names, tables, sources=None, **options):
    """The files that a step makes, tables as frames."""
    folder = tmp_path / "made"
    folder.mkdir(exist_ok=True)
    outputs = {name: folder / f"{name}.conll" for name in names} | {name: folder / f"{name}.csv" for name in tables}
    module.prepare(sources or {}, outputs, **options)
    return {**outputs, **{name: pd.read_csv(outputs[name], keep_default_na=False) for name in tables}}


def documents_made(tmp_path, sources=None, *, planted=None, broken="error"):
    tables = ("sources", "baseline")
    return prepared(collect, tmp_path, PARTS, tables, sources, planted=planted, broken=broken)


def pairs_made(tmp_path, sources=None, *, planted=None, files=()):
    return prepared(pairs, tmp_path, SIDES, ("pairs", "pairs_baseline"), sources, planted=planted, files=files)


@pytest.fixture
def sources(tmp_path):
    """Two files to train on, the second with a broken document, a cluster of one and a span of two clusters."""
    odd = conll_text("nw/odd", [["a", "b", "c"]], [[(0, 0), (1, 1)], [(1, 1), (2, 2)], [(0, 2)]])
    texts = {"train": (text(0), text(1)), "more": (text(2), BROKEN, odd), "validation": (text(3),), "test": (text(4),)}
    files = {name: save_file(tmp_path / f"{name}.conll", *each) for name, each in texts.items()}
    return {"train": (files["train"], files["more"]), "validation": (files["validation"],), "test": (files["test"],)}


def test_files_are_joined_and_what_was_left_out_is_counted(tmp_path, sources):
    made = documents_made(tmp_path, sources, broken="drop")
    assert [document.key for document in read_conll(made["train"]).documents] == ["nw/0", "nw/1", "nw/2", "nw/odd"]
    table = made["sources"].set_index("source")
    assert list(table["documents"]) == [2, 2, 1, 1]
    odd = table.loc["more.conll"]
    assert (odd["singletons"], odd["repeated"], odd["dropped"]) == (1, 1, 1)
    assert odd["dropped_documents"] == "(nw/9); part 000"
    assert (odd["clusters"], odd["mentions"]) == (2 + 1, 4 + 3)
    assert (table.drop("more.conll")["dropped"] == 0).all()


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_embedded_pairs_stand_row_by_row(tmp_path, bias):
    made = pairs_made(tmp_path, planted={"bias": bias, "seed": 0, "pairs": 30})
    found = read_pairs(made["pro"], made["anti"])
    table = made["pairs"]
    assert list(table["pair"]) == list(range(30)) and set(table["type"]) == {"planted"} and set(table["part"]) == {"-"}
    for side in SIDES:
        assert list(table[side]) == [getattr(pair, side).document.name for pair in found]
    best = made["pairs_baseline"].query("predictor == 'best possible'").set_index(["metric", "part"])["value"]
    difference = 100 * (best["conll_f1", "pro"] - best["conll_f1", "anti"])
    assert best["f1_difference", "-"] == pytest.approx(difference, abs=15) and (difference > 20) == (bias == 1.0)


def test_the_files_of_winobias_are_joined_with_their_type_and_part(tmp_path):
    def sentence(key, pronoun):
        words = ["The", "nurse", "met", "the", "sheriff", "and", pronoun, "left"]
        return conll_text(f"nw/{key}", [words], [[(0, 1), (6, 6)]])

    files = [{"part": "dev", "type": "type1"}, {"part": "test", "type": "type2"}]
    sources = {
        side: [
            save_file(
                tmp_path / f"{side}{each['type']}",
                *(sentence(f"{each['type']}/{side}//{n}", pronoun) for n in range(2)),
            )
            for each in files
        ]
        for side, pronoun in (("pro", "she"), ("anti", "he"))
    }
    table = pairs_made(tmp_path, sources, files=files)["pairs"]
    assert list(table["type"]) == ["type1", "type1", "type2", "type2"]
    assert list(table["part"]) == ["dev", "dev", "test", "test"]
    assert list(table["anti"])[2] == "(nw/type2/anti//0); part 000"
    with pytest.raises(BiasflowError, match="stereotype"):
        pairs_made(tmp_path, {"pro": sources["anti"], "anti": sources["pro"]}, files=files)
