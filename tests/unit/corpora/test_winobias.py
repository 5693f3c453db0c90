"""WinoBias: gold professions and genders, pairs by position, and files that are something else."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora import winobias
from tests.unit.synthetic_conll import conll_text

PRO = "The construction worker thanked the nurse because he is kind .".split()
ANTI = "The construction worker thanked the nurse because She is kind .".split()
GOLD = [((0, 2), (7, 7))]


@pytest.fixture
def write(tmp_path):
    def write(name: str, *documents):
        (tmp_path / name).write_text(
            "".join(conll_text(f"nw/{name}/{number}", [words], gold) for number, (words, gold) in enumerate(documents))
        )
        return tmp_path / name

    return write


def test_professions_are_20_of_either_stereotype():
    table = winobias.professions()
    assert table["stereotype"].value_counts().to_dict() == {"M": 20, "F": 20} and table.index.str.lower().is_unique
    assert table["share_of_women"].between(0.02, 0.95).all() and table.at["CEO", "share_of_women"] == 0.39


def test_sentences_are_paired_by_position(write):
    two = ["The", "nurse", "told", "her", "boss", "that", "she", "left"], [((0, 1), (3, 3), (6, 6))]
    his = ["A", "nurse", "told", "him", "that", "he", "left"], [((0, 1), (3, 3), (5, 5))]
    pairs = winobias.read_pairs(write("pro", (PRO, GOLD), two), write("anti", (ANTI, GOLD), his))
    first, second = pairs
    assert (first.pro.profession, first.pro.gender, first.pro.pronouns) == ("construction worker", "M", ((7, 7),))
    assert (first.anti.profession, first.anti.gender) == ("construction worker", "F")
    assert (second.pro.pronouns, second.anti.pronouns) == (((3, 3), (6, 6)), ((3, 3), (5, 5)))
    assert second.anti.document.key == "nw/anti/1"
    assert (first.pro.named, second.anti.named) == ((1, 2), (1, 1))


@pytest.mark.parametrize(
    ("words", "gold", "reason"),
    [
        (PRO, [], "0 clusters"),
        (PRO, [*GOLD, ((4, 5),)], "2 clusters"),
        (PRO, [((0, 2), (4, 5), (7, 7))], "needs one profession"),
        (PRO, [((7, 7),)], "needs one profession"),
        (PRO, [((0, 2), (8, 8))], "is kind|, is;"),
        (["The", "surgeon", "saw", "him"], [((0, 1), (3, 3))], "The surgeon, him"),
        (["The", "cook", "saw", "him", "and", "her"], [((0, 1), (3, 3), (5, 5))], "one gender"),
        (ANTI, GOLD, "construction worker with F is no stereotype"),
    ],
)
def test_a_document_that_is_no_sentence_of_winobias_is_named(write, words, gold, reason):
    with pytest.raises(BiasflowError, match=rf"document \(nw/pro/1\); part 000: .*({reason})"):
        winobias.read_pairs(write("pro", (PRO, GOLD), (words, gold)), write("anti", (ANTI, GOLD), (ANTI, GOLD)))


def test_files_that_do_not_belong_together(write):
    pro, anti, longer = write("pro", (PRO, GOLD)), write("anti", (ANTI, GOLD)), write("two", *[(ANTI, GOLD)] * 2)
    with pytest.raises(BiasflowError, match="2 documents, but 1"):
        winobias.read_pairs(pro, longer)
    with pytest.raises(BiasflowError, match="with M is the stereotype"):
        winobias.read_pairs(pro, pro)
    with pytest.raises(BiasflowError, match="with F is no stereotype"):
        winobias.read_pairs(anti, pro)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The CEO and the ceo", {"CEO": (1, 1)}),
        ("a Construction worker works in construction", {"construction worker": (1, 2)}),
        ("the teachers ' cook", {"cook": (3, 3)}),
        ("the worker construction", {}),
        ("", {}),
    ],
)
def test_professions_are_whole_words(words, expected):
    assert winobias.professions_in(words.split()) == expected


def test_what_a_probe_asks_of_a_sentence(write):
    words = "The farmer told the nurse that his nurse and the construction worker saw Him".split()
    pairs = winobias.read_pairs(
        write("pro", (words, [((0, 1), (6, 6))])),
        write("anti", ([{"his": "her", "Him": "her"}.get(word, word) for word in words], [((0, 1), (6, 6))])),
    )
    assert winobias.two_professions(pairs[0].pro) == {"M": ("construction worker", (10, 11)), "F": ("nurse", (4, 4))}
    masked = winobias.masked_words(pairs[0].pro, "[MASK]")
    assert masked == winobias.masked_words(pairs[0].anti, "[MASK]")
    assert [at for at, word in enumerate(masked) if word == "[MASK]"] == [6, 13]
