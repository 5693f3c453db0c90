"""The gender-occupation pairs: sentences of both forms, numbering, selections, and articles."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.text.articles import article, article_by_sound
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


def test_the_templates_come_in_the_generators_order(lists):
    assert list(all_templates(lists)) == TEMPLATES
    assert chosen(lists).templates == tuple(TEMPLATES)


def test_a_template_that_two_lists_make_counts_once(lists):
    again = dataclasses.replace(lists, verbs={**lists.verbs, "eating": ("bought", "prepared")})
    assert list(all_templates(again)) == TEMPLATES


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


def test_the_released_form_has_an_by_spelling(lists):
    premises, _ = chosen(lists, form="a").sentences(len(TEMPLATES) * 6, len(TEMPLATES) * 6 + 1)
    assert premises == ["An accountant bought an apron ."]


def test_words_are_paired_by_gender(lists):
    _, hypotheses = chosen(lists, verbs=["drove"]).sentences(0, 6)
    subjects = [hypothesis.split()[1] for hypothesis in hypotheses]
    assert subjects == ["man", "gentleman", "guy", "woman", "lady", "girl"]


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


@settings(deadline=None)
@given(occupation_pairs(), st.data())
def test_batches_concatenate_to_the_whole(pairs, data):
    cut = data.draw(st.integers(0, len(pairs)))
    whole, first, second = pairs.sentences(0, len(pairs)), pairs.sentences(0, cut), pairs.sentences(cut, len(pairs))
    for side in range(2):
        assert first[side] + second[side] == whole[side]
    assert len(whole[0]) == len(whole[1]) == len(pairs) == np.prod(pairs.shape)


@settings(deadline=None)
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


def test_only_the_pairs_asked_for_are_made(lists):
    many = tuple(f"worker{number}" for number in range(10_000))
    pairs = dataclasses.replace(chosen(lists), occupations=many)
    assert len(pairs) == 10_000 * len(TEMPLATES) * 6
    premises, hypotheses = pairs.sentences(len(pairs) - 1, len(pairs))
    assert premises == ["The worker9999 prepared a pie."] and hypotheses == ["The girl prepared a pie."]


@pytest.mark.parametrize(("start", "stop"), [(-1, 1), (2, 1), (0, 10**6)])
def test_numbers_outside_the_set(lists, start, stop):
    with pytest.raises(BiasflowError, match=str(len(TEMPLATES) * 2 * 6)):
        chosen(lists).sentences(start, stop)


@settings(deadline=None)
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


def test_verbs_and_objects_restrict(lists):
    pairs = chosen(lists, verbs=["bought", "drove"], objects=["SUV", "cow"])
    assert pairs.templates == (("bought", "cow"), ("bought", "SUV"), ("drove", "SUV"))
    assert pairs.shape == (2, 3, 2, 3)
    assert chosen(lists, verbs=["bought", "drove"], objects=["SUV", "cow"], templates=1).shape == (2, 1, 2, 3)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"templates": len(TEMPLATES) + 1}, f"{len(TEMPLATES) + 1}.*{len(TEMPLATES)}"),
        ({"templates": 0}, "templates: 0"),
        ({"verbs": ["flew"]}, "flew"),
        ({"objects": ["plane"]}, "plane"),
        ({"verbs": []}, "no template"),
        ({"verbs": ["drove"], "objects": ["cow"]}, "no template"),
        ({"masculine": ["man"]}, "1 masculine and 3 feminine"),
        ({"masculine": [], "feminine": []}, "no gendered word"),
        ({"masculine": ["man"], "feminine": ["man"]}, "'man' occurs twice"),
        ({"form": "an"}, "form: 'an'"),
    ],
)
def test_a_selection_that_cannot_be(lists, changes, named):
    with pytest.raises(BiasflowError, match=named):
        chosen(lists, **changes)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_missing_empty_or_not_there_is_named(paths, name):
    with pytest.raises(BiasflowError, match=name):
        read_word_lists({key: path for key, path in paths.items() if key != name})
    paths[name].write_text("\n \n")
    with pytest.raises(BiasflowError, match=f"{name}: .*empty"):
        read_word_lists(paths)
    paths[name].unlink()
    with pytest.raises(BiasflowError, match=name):
        read_word_lists(paths)


def test_a_word_that_occurs_twice_is_named(paths):
    paths["occupations"].write_text("nurse\nbaker\nnurse \n")
    with pytest.raises(BiasflowError, match="occupations: 'nurse'"):
        read_word_lists(paths)


def test_an_unknown_list_is_named(paths):
    with pytest.raises(BiasflowError, match="planes"):
        read_word_lists({**paths, "planes": paths["food"]})


@pytest.mark.parametrize(
    "phrase",
    ["an SUV", "a TV", "an MP", "a VIP", "an hour", "an heir", "a house", "a unit", "an unidentified thing",
     "an urchin", "a European", "a one-off", "an onlooker", "a user", "an usher", "a utensil", "an umbrella", "an ox"],
)  # fmt: skip
def test_articles_by_sound(phrase):
    assert article_by_sound(phrase.split(" ", 1)[1]) == phrase


def test_pairs_come_back_from_disk(tmp_path):
    pairs = OccupationPairs(("nurse", "chef"), (("saw", "dog"), ("ate", "egg")), ("man",), ("woman",), "a")
    save_pairs(pairs, tmp_path / "pairs.json")
    assert load_pairs(tmp_path / "pairs.json") == pairs
    (tmp_path / "pairs.json").write_text("{}")
    with pytest.raises(BiasflowError, match="pairs"):
        load_pairs(tmp_path / "pairs.json")
