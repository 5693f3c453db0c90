"""Lists of words: association tests and pairs of a user's own, those of WEAT and SEAT, the Google analogy test set."""

import json

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora import seat
from biasflow.corpora.seat import in_sentences, words_about
from biasflow.corpora.word_sets import read_family_pairs, read_word_pairs, read_word_sets, split_words
from biasflow.stimuli.densray_sets import items, read_occupation_set
from biasflow.stimuli.gendered_words import read_gendered_words, read_word_groups
from tests.unit.fake_tokenizer import byte_tokenizer, word_tokenizer

SETS = ["X,names,Ann", "X,names,May Lee", "Y,places,Rome", "Y,places,Oslo", "A,good,joy", "A,good,love", "B,bad,war"]
SETS += ["B,bad,evil"]


@pytest.fixture
def write(tmp_path):
    def written(*lines: str, header="role,set_name,word", name="words.csv", encoding="utf-8") -> str:
        (tmp_path / name).write_text("\n".join([header, *lines]) + "\n", encoding=encoding)
        return str(tmp_path / name)

    return written


def test_a_test_is_its_four_sets_in_the_order_of_the_file(write):
    test = read_word_sets(write(*SETS), "mine")
    assert test.name == "mine" and [getattr(test, role).category for role in "XYAB"] == [
        "names",
        "places",
        "good",
        "bad",
    ]
    assert test.X.examples == ("Ann", "May Lee") and test.B.examples == ("war", "evil")


def test_the_sentences_of_a_test_are_its_words_in_every_template(write):
    test = in_sentences(read_word_sets(write(*SETS), "mine"), ["{word} is here.", "This is {word}."])
    assert test.A.examples == ("Joy is here.", "This is joy.", "Love is here.", "This is love.")
    whole = in_sentences(read_word_sets(write(*SETS), "mine"), ["{word}"])
    assert whole.Y.examples == ("Rome", "Oslo")


def test_a_sentence_of_several_is_about_the_word_of_the_one_before_it():
    sentences = ["This is a man.", "That is a man.", "These are men.", "This is a boy.", "The men are here.", "A man."]
    assert words_about(sentences) == (0, 0, 0, 1, 1, 0)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([*SETS, "Z,bad,hate"], "line 10: column role: 'Z' is none of X, Y, A, B"),
        ([*SETS, "A,,hope"], "line 10: column set_name: '' is an empty cell"),
        ([*SETS, "A,good, "], "line 10: column word: '' is an empty cell"),
        ([*SETS, "B,bad,Joy"], "line 10: column word: 'Joy' is in test mine twice"),  # in two sets, but for a capital
        ([*SETS, "B,worse,hate"], "role B has two names"),
        (SETS[:-1], "role B has 1 word"),
        (SETS[:4], "role A has 0 word"),
    ],
)
def test_what_is_wrong_in_a_test_is_named(write, lines, said):
    with pytest.raises(BiasflowError, match=said) as caught:
        read_word_sets(write(*lines), "mine")
    assert "words.csv" in str(caught.value)


def test_pairs_are_headed_by_the_names_of_their_groups(write):
    path = write("church,mosque", "bible,quran", "church,minaret", header="Christianity,Islam")
    pairs = read_word_pairs(path)
    assert pairs.groups == ("Christianity", "Islam")
    assert pairs.words == (("church", "bible", "church"), ("mosque", "quran", "minaret"))
    groups, words = read_word_groups("own", [path])
    assert groups == pairs.groups and words == (["church", "bible"], ["mosque", "quran", "minaret"])
    assert read_gendered_words("own", [path]) == words
    assert read_word_groups("planted", [])[0] == ("masculine", "feminine")


@pytest.mark.parametrize(
    ("header", "lines", "said"),
    [
        ("a", ["x"], "1 columns; give two"),
        ("a,", ["x,y"], "give two, headed by the names"),
        ("a,a", ["x,y"], "'a' appears twice"),
        ("a,b", ["x,y", "z,"], "line 3: column b: '' is an empty cell"),
        ("a,b", ["x,y", "Y,z"], "line 3: column a: 'Y' is in the column b, too"),
        ("a,b", ["x,y", "x,z", "X,y"], "line 4: column a: 'X' appears twice"),
        ("a,b", ["x,new york"], "line 2: column b: 'new york' is more than one word"),
    ],
)
def test_what_is_wrong_in_pairs_is_named(write, header, lines, said):
    with pytest.raises(BiasflowError, match=said) as caught:
        read_word_pairs(write(*lines, header=header))
    assert "words.csv" in str(caught.value)


OCCTMP = {"templates": ["[MASK] is a {occupation}."], "pronouns": ["he", "she"]}


def test_occupations_are_lines_or_a_column(write):
    lines = write("nurse", "baker", header="judge", name="jobs.txt")
    column = write("7,nurse", "8,baker", header="id,occupation", name="jobs.csv")
    assert read_occupation_set("mine", lines, **OCCTMP).occupations == ["judge", "nurse", "baker"]
    assert read_occupation_set("mine", column, **OCCTMP).occupations == ["nurse", "baker"]
    with pytest.raises(BiasflowError, match="no column occupation"):
        read_occupation_set("mine", write("nurse", header="job", name="jobs.csv"), **OCCTMP)
    with pytest.raises(BiasflowError, match=r"jobs\.txt: line 4: .*'nurse' is there already"):
        read_occupation_set("mine", write("nurse", "baker", "nurse", header="judge", name="jobs.txt"), **OCCTMP)


def test_every_occupation_stands_in_every_template_and_says_in_which(write):
    about = {"templates": ["[MASK] is a {occupation}.", "The {occupation} saw [MASK]."], "pronouns": ["he", "she"]}
    listed = items(write("nurse", header="judge", name="jobs.txt"), name="mine", **about)
    of_he = listed[listed["word"] == "he"]
    assert of_he[["item", "template", "sentence"]].to_numpy().tolist() == [
        ["judge", 0, "[MASK] is a judge."],
        ["nurse", 0, "[MASK] is a nurse."],
        ["judge", 1, "The judge saw [MASK]."],
        ["nurse", 1, "The nurse saw [MASK]."],
    ]
    assert len(listed) == 8


def test_words_without_a_piece_of_their_own():
    """In word pieces, whatever the case, and in bytes, where a word within a text has the space before it."""
    words = word_tokenizer(["joy", "may", "##be"]).backend_tokenizer
    assert split_words(words, ["joy", "Joy", "maybe", "war", "maybe"]) == ["maybe", "war"]
    words.enable_padding(length=8)  # as tokenizer.json of a sentence encoder may have it
    words.enable_truncation(1)
    assert split_words(words, ["joy", "Joy", "maybe", "war", "maybe"]) == ["maybe", "war"]
    several = byte_tokenizer(["joy and joy"]).backend_tokenizer
    assert split_words(several, ["joy", "and", "maybe"]) == ["maybe"]


TEXT = """: capitals
Paris France Rome Italy
: family
boy girl Uncle aunt
uncle aunt boy girl

king queen his her
: plural
car cars dog dogs
"""


def test_each_pair_once_in_the_order_of_first_appearance(save):
    expected = (("boy", "girl"), ("uncle", "aunt"), ("king", "queen"), ("his", "her"))
    assert read_family_pairs(save(TEXT)) == expected
    assert read_family_pairs(save(TEXT.replace("\n", "\r\n"))) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TEXT.replace("king queen his her", "king queen his"), "line 7"),
        (TEXT.replace("king queen his her", "king queen his her hers"), "line 7"),
        (TEXT.replace("king queen", "girl queen"), "line 7"),
        (TEXT.replace(": family", ": families"), "family"),
        (": family\n: plural\ncar cars dog dogs\n", "family"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(save, text, line):
    with pytest.raises(BiasflowError, match=rf"analogies\.txt.*{line}"):
        read_family_pairs(save(text, "analogies.txt"))


KEYS = {
    "targ1": {"category": "Fruit", "examples": ["Apple", "pear"]},
    "targ2": {"category": "Tools", "examples": ["saw", "hammer", "drill"]},
    "attr1": {"category": "Sweet", "examples": ["honey", "jam"]},
    "attr2": {"category": "Hard", "examples": ["steel", "oak"]},
}


def changed(key, **values):
    return json.dumps(KEYS | {key: KEYS[key] | values})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (json.dumps(KEYS)[:-9], "line 1, column .*JSON"),
        ("[1]", "targ1"),
        (json.dumps({key: KEYS[key] for key in ("targ1", "targ2", "attr2")}), "key attr1"),
        (json.dumps(KEYS | {"attr1": "honey"}), "key attr1"),
        (changed("attr2", category=" "), "key attr2"),
        (changed("targ2", examples=[]), "key targ2"),
        (changed("targ2", examples="saw"), "key targ2"),
        (changed("attr1", examples=["honey", "  "]), "key attr1: example 2"),
        (changed("attr1", examples=["honey", 7]), "key attr1: example 2, 7"),
        (json.dumps(KEYS).replace('"attr2"', '"attr1"'), "'attr1' appears twice"),
        (json.dumps(KEYS).replace('"Hard",', '"Hard", "category": "Old",'), "'category' appears twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(save, text, named):
    path = save(text)
    with pytest.raises(BiasflowError, match=f"{path}: .*{named}"):
        seat.read_association_test(path)
