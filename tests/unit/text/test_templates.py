"""Templates filled with words: the gender-occupation pairs, and sentences that a tokenizer can use."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.text.articles import article
from biasflow.text.occupation_pairs import (
    LISTS,
    OccupationPairs,
    WordLists,
    all_templates,
    load_pairs,
    read_word_lists,
    save_pairs,
    select,
)
from biasflow.text.sentence_pairs import check_pairs, expand, load_sentence_pairs

MASCULINE, FEMININE = ("man", "gentleman", "guy"), ("woman", "lady", "girl")
WORDS = {
    "occupations": ["doctor", "accountant"],
    "commerce-verbs": ["bought", "can afford"],
    "interaction-verbs": ["spoke to"],
    "driving-verbs": ["drove"],
    "eating-verbs": ["prepared"],
    "clothes": ["apron"],
    "farm-animals": ["cow"],
    "food": ["pie"],
    "furniture": ["bed"],
    "household": ["TV", "headphones"],
    "vehicles": ["SUV"],
    "person-hyponyms": ["relative", "adult"],
    "rulers": ["VIP", "adult"],
}
OBJECTS = ["apron", "cow", "pie", "bed", "TV", "headphones", "SUV"]
TEMPLATES = [
    *((verb, thing) for verb in WORDS["commerce-verbs"] for thing in OBJECTS),
    *(("spoke to", person) for person in ("VIP", "adult", "relative")),
    ("drove", "SUV"),
    ("prepared", "pie"),
]


@pytest.fixture
def paths(tmp_path):
    for name, words in WORDS.items():
        (tmp_path / name).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    return {name: tmp_path / name for name in WORDS}


@pytest.fixture
def lists(paths):
    return read_word_lists(paths)


def chosen(lists, **changes):
    options = {"templates": None, "masculine": MASCULINE, "feminine": FEMININE, "form": "the"}
    return select(lists.occupations, all_templates(lists), **{**options, **changes})


def sentences_of(pairs, verb, thing):
    """The first pair of a template, as (premise, hypothesis)."""
    number = pairs.templates.index((verb, thing)) * 2 * pairs.shape[3]
    return tuple(side[0] for side in pairs.sentences(number, number + 1))


@pytest.mark.parametrize(
    ("verb", "thing", "paper", "released"),
    [
        ("prepared", "pie", "prepared a pie.", "prepared a pie ."),
        ("can afford", "apron", "can afford an apron.", "can afford an apron ."),
        ("drove", "SUV", "drove an SUV.", "drove a SUV ."),
        ("bought", "TV", "bought a TV.", "bought a TV ."),
        ("bought", "headphones", "bought headphones.", "bought a headphones ."),
        ("spoke to", "VIP", "spoke to a VIP.", "spoke to a VIP ."),
    ],
)
def test_both_forms_of_a_sentence(lists, verb, thing, paper, released):
    assert sentences_of(chosen(lists), verb, thing) == (f"The doctor {paper}", f"The man {paper}")
    assert sentences_of(chosen(lists, form="a"), verb, thing) == (f"A doctor {released}", f"A man {released}")


words = st.text("abcdeAEU", min_size=1, max_size=4)


@st.composite
def occupation_pairs(draw):
    gendered = draw(st.lists(words, min_size=2, max_size=6, unique=True))
    half = len(gendered) // 2
    return OccupationPairs(
        occupations=tuple(draw(st.lists(words, min_size=1, max_size=4, unique=True))),
        templates=tuple(draw(st.lists(st.tuples(words, words), min_size=1, max_size=5, unique=True))),
        masculine=tuple(gendered[:half]),
        feminine=tuple(gendered[half : 2 * half]),
        form=draw(st.sampled_from(["the", "a"])),
    )


@given(occupation_pairs())
def test_the_number_gives_the_words_back_and_every_pair_occurs_once(pairs):
    premises, hypotheses = pairs.sentences(0, len(pairs))
    seen = set()
    for number, (premise, hypothesis) in enumerate(zip(premises, hypotheses, strict=True)):
        occupation, template, gender, word = np.unravel_index(number, pairs.shape)
        verb, thing = pairs.templates[template]
        subjects = pairs.occupations[occupation], (pairs.masculine, pairs.feminine)[gender][word]
        for subject, sentence in zip(subjects, (premise, hypothesis), strict=True):
            start, _, rest = sentence.partition(" ")
            assert start == ("The" if pairs.form == "the" else article(subject).split()[0].title())
            assert rest.startswith(f"{subject} {verb} a") and rest.rstrip(" .").endswith(f" {thing}")
        seen.add((subjects, template))
    assert len(seen) == len(pairs)


@given(st.integers(1, len(TEMPLATES)))
def test_a_number_of_templates_is_spread_evenly(number):
    lists = WordLists(
        ("doctor",),
        {"commerce": ("bought",), "interaction": (), "driving": (), "eating": ()},
        {"clothes": tuple(f"thing{i}" for i in range(len(TEMPLATES))), **dict.fromkeys(LISTS[6:11], ())},
        (),
    )
    places = [int(thing.removeprefix("thing")) for _, thing in chosen(lists, templates=number).templates]
    assert len(places) == number and places[0] == 0
    gaps = np.diff([*places, len(TEMPLATES)])
    assert gaps.min() >= 1 and gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"templates": len(TEMPLATES) + 1}, f"{len(TEMPLATES) + 1}.*{len(TEMPLATES)}"),
        ({"templates": 0}, "templates: 0"),
        ({"masculine": ["man"]}, "1 masculine and 3 feminine"),
        ({"masculine": [], "feminine": []}, "no gendered word"),
        ({"masculine": ["man"], "feminine": ["man"]}, "'man' occurs twice"),
    ],
)
def test_a_selection_that_cannot_be(lists, changes, named):
    with pytest.raises(BiasflowError, match=named):
        chosen(lists, **changes)


def test_pairs_come_back_from_disk(tmp_path):
    pairs = OccupationPairs(("nurse", "chef"), (("saw", "dog"), ("ate", "egg")), ("man",), ("woman",), "a")
    save_pairs(pairs, tmp_path / "pairs.json")
    assert load_pairs(tmp_path / "pairs.json") == pairs
    (tmp_path / "pairs.json").write_text("{}")
    with pytest.raises(BiasflowError, match="pairs"):
        load_pairs(tmp_path / "pairs.json")


CONFIG = Path(__file__).parents[3] / "scripts/biasflow/data/sentence_pairs.yaml"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("words"),
        lambda c: c["words"].update(person=[["man"]]),
        lambda c: c["words"].update(person=[["man", "man"]]),
        lambda c: c["words"].update(person=[]),
        lambda c: c["templates"].update(interventions=["no slot"]),
        lambda c: c["templates"].update(interventions=["the {robot}"]),
        lambda c: c["templates"].update(interventions=[]),
        lambda c: c["templates"].pop("sentence-debias"),
    ],
)
def test_a_bad_file_is_named(tmp_path, change):
    content = yaml.safe_load(CONFIG.read_text())
    change(content)
    path = tmp_path / "pairs.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(BiasflowError, match=r"pairs\.yaml"):
        load_sentence_pairs(path)


def test_pairs_that_tokenise_differently_are_dropped_with_the_reason():
    pairs = expand(
        ["{person} is here"], {"person": [["man", "woman"], ["he", "grandmother"], ["x", "y"]]}, where="here"
    )
    tokens = {"Man": [1], "Woman": [2], "He": [3], "Grandmother": [4, 5], "X": [0], "Y": [0]}

    def encode(sentences):
        return [tokens[sentence.split()[0]] for sentence in sentences]

    checked = check_pairs(pairs, encode, encoder="small")
    assert checked["kept"].tolist() == [True, False, False]
    assert checked["reason"][0] == ""
    assert all(checked["reason"][1:])
