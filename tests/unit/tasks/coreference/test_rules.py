"""The baseline of rules: what it takes for a mention, and what for the same one."""

import pytest

from biasflow.tasks.coreference.rules import rule_clusters
from tests.unit.synthetic_conll import conll_text, documents_of


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
