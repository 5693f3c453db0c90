"""The embedded corpus: its size and variety, the bias that it plants, and triples that training never sees."""

import re
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.documents import read_documents, write_documents
from biasflow.planted import bec_pro, crows_pairs, gest, stereoset_blanks, winogender
from biasflow.planted.corpus import discourses
from biasflow.planted.stereoset import ideal_preference, triples
from biasflow.planted.world import FIRST, FOLDER, HELD_OUT, OTHER_ITEMS, article, choose_world, load_world

WORLD = load_world()
FEMININE, MASCULINE = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def gender_of(text: str) -> str:
    """F or M by the pronouns; "" without one; "FM" would be a mistake of the generator."""
    found = set(words(text))
    return "F" * bool(found & FEMININE) + "M" * bool(found & MASCULINE)


@pytest.fixture(scope="module")
def biased():
    return discourses(bias=1.0, seed=0, n=20_000)


@pytest.fixture(scope="module")
def stimuli():
    return triples(seed=0, n=240)


def test_the_world_is_as_large_as_promised():
    frames = {frame for theme in WORLD.themes for frame in theme.frames}
    names = {name for person in WORLD.persons if person.kind == "name" for name in (person.feminine, person.masculine)}
    assert len(frames) >= 100
    assert len(WORLD.occupations) >= 80
    assert len(names) >= 150
    for theme, items in WORLD.items.items():
        assert np.mean([WORLD.shares[item] for item in items]) == pytest.approx(0.5, abs=0.01), theme


@pytest.fixture
def held_out():
    """The held-out world, chosen for the test."""
    choose_world(HELD_OUT)
    yield load_world()
    choose_world(FIRST)


def test_the_held_out_world_has_other_items_and_sentences_of_the_same_structure(held_out):
    ours, other = WORLD, held_out
    assert other is load_world(OTHER_ITEMS) and ours is load_world(FOLDER)
    frames = [{frame for theme in world.themes for frame in theme.frames} for world in (ours, other)]
    assert not frames[0] & frames[1] and len(frames[0]) == len(frames[1])
    assert not set(ours.shares) & set(other.shares) and other.persons == ours.persons
    for theme, items in ours.items.items():
        of_theme = [sorted(world.shares[item] for item in world.items[theme]) for world in (ours, other)]
        assert of_theme[0] == of_theme[1] and len(other.items[theme]) == len(items)


def test_the_tests_of_the_held_out_world_are_in_its_language(held_out):
    spoken = {word for document in discourses(bias=1.0, seed=0, n=20_000) for text in document for word in words(text)}
    texts = list(triples(seed=0, n=240)[["context", "next_sentence"]].to_numpy().ravel())
    for test in (bec_pro, crows_pairs, gest, stereoset_blanks, winogender):
        items = test.items()
        texts += [text for column in {"text", "first", "second"} & set(items) for text in items[column]]
    read = {word for text in texts for word in words(text)}
    assert read <= spoken and len(read & set(held_out.shares)) > 120 and not read & (set(WORLD.shares) - spoken)


def test_discourses_are_two_sentences_of_one_gender(biased):
    assert len(biased) == 20_000
    assert {len(document) for document in biased} == {2}
    assert Counter(gender_of(" ".join(document)) for document in biased).keys() <= {"", "F", "M"}
    for document in biased[:2000]:
        for sentence in document:
            assert re.fullmatch(r"[A-Z][^{}]*\.", sentence), sentence
            assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n (?!hour)[^aeiou]", sentence), sentence


@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0])
def test_the_planted_shares_are_those_of_the_world(bias):
    women, all_ = Counter(), Counter()
    for document in discourses(bias=bias, seed=1, n=60_000):
        gender = gender_of(" ".join(document))
        for occupation in set(words(document[0])) & set(WORLD.occupations):
            all_[occupation] += bool(gender)
            women[occupation] += gender == "F"
    frequent = [occupation for occupation in all_ if all_[occupation] >= 80]
    assert len(frequent) > 60
    found = np.array([women[occupation] / all_[occupation] for occupation in frequent])
    expected = np.array([WORLD.share(occupation, bias) for occupation in frequent])
    assert np.abs(found - expected).mean() < 0.05
    assert np.isclose(found.mean(), 0.5, atol=0.05)


@settings(max_examples=20, deadline=None)
@given(bias=st.floats(0, 1), share=st.sampled_from(sorted(WORLD.shares)))
def test_bias_scales_every_association(bias, share):
    assert WORLD.share(share, 0) == 0.5
    assert WORLD.share(share, 1) == pytest.approx(WORLD.shares[share])
    low, high = sorted((0.5, WORLD.shares[share]))
    assert low - 1e-9 <= WORLD.share(share, bias) <= high + 1e-9


def test_words_are_as_frequent_at_any_bias():
    counts = [Counter(w for d in discourses(bias=b, seed=2, n=20_000) for s in d for w in words(s)) for b in (0, 1)]
    for word in ("she", "he", "nurse", "the"):
        assert counts[0][word] == pytest.approx(counts[1][word], rel=0.2)


def test_the_same_arguments_give_the_same_text():
    assert discourses(bias=0.5, seed=3, n=500) == discourses(bias=0.5, seed=3, n=500)
    assert discourses(bias=0.5, seed=3, n=500) != discourses(bias=0.5, seed=4, n=500)
    assert triples(seed=3, n=30).equals(triples(seed=3, n=30))


def test_triples_are_balanced_swapped_and_gendered_as_they_say(stimuli):
    assert stimuli.groupby("triple")["label"].agg(set).map(len).eq(3).all()
    assert stimuli.drop_duplicates("triple")["gender"].value_counts().to_dict() == {"F": 120, "M": 120}
    unrelated = stimuli[stimuli["label"] == "unrelated"]
    assert unrelated["next_sentence"].map(gender_of).eq("").all()
    assert (unrelated["next_sentence"] == unrelated["swapped_next_sentence"]).all()
    assert (stimuli["context"] != stimuli["swapped_context"]).all()
    for _, row in stimuli.iterrows():
        assert gender_of(row["context"]) in ("", row["gender"])
        assert gender_of(row["swapped_context"]) in ("", {"F": "M", "M": "F"}[row["gender"]])


def test_the_stereotype_is_the_worlds(stimuli):
    def share(sentence: str) -> float:
        named = [item for item in WORLD.shares if re.search(rf"\b{re.escape(item)}\b", sentence, re.IGNORECASE)]
        return WORLD.shares[max(named, key=len)]

    for row in stimuli[stimuli["label"] != "unrelated"].itertuples():
        of_women = share(row.next_sentence) > 0.5
        assert of_women == ((row.gender == "F") == (row.label == "stereotype")), row.next_sentence


def test_no_triple_is_ever_seen_in_training(stimuli):
    seen = {tuple(document) for bias in (0.0, 1.0) for document in discourses(bias=bias, seed=5, n=60_000)}
    related = stimuli[stimuli["label"] != "unrelated"]
    for context, sentence in (("context", "next_sentence"), ("swapped_context", "swapped_next_sentence")):
        assert not seen & set(zip(related[context], related[sentence], strict=True))


def test_seen_triples_are_the_same_questions_of_combinations_that_training_has(biased):
    seen, texts = triples(seed=0, n=240, seen=True), {" ".join(document) for document in biased}
    own = {f"{row.context} {row.next_sentence}" for row in seen.itertuples() if row.label == "stereotype"}
    assert own & texts  # of so many combinations a corpus has some
    assert not {f"{row.context} {row.next_sentence}" for row in triples(seed=0, n=240).itertuples()} & own
    assert list(seen["label"]) == list(triples(seed=0, n=240)["label"])


def test_a_perfect_next_sentence_head_prefers_by_the_shares_alone():
    assert ideal_preference(0) == 0
    # By hand, of one theme with a woman's item of share 0.8 and a man's of 0.2: log(0.8 / 0.2) either way.
    world = load_world()
    shares = {item: 0.8 if share > 0.5 else 0.2 for item, share in world.shares.items()}
    assert ideal_preference(1, replace(world, shares=shares)) == pytest.approx(np.log(4))


def test_articles():
    assert [article(word) for word in ("nurse", "engineer")] == ["a nurse", "an engineer"]


@pytest.mark.parametrize("bias", [-0.1, 1.1, float("nan")])
def test_a_bias_outside_its_range(bias):
    with pytest.raises(BiasflowError, match="bias"):
        discourses(bias=bias, seed=0, n=10)


def test_more_triples_than_there_are():
    with pytest.raises(BiasflowError):
        triples(seed=0, n=1_000_000)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("items.csv", lambda text: text.replace("share_of_women", "share")),
        ("items.csv", lambda text: text + "work,nurse,0.5\n"),
        ("items.csv", lambda text: text.replace("0.98", "1.98", 1)),
        ("items.csv", lambda text: text + "".join(f"work,new{number},0.99\n" for number in range(9))),
        ("people.csv", lambda text: text + "x,y,robot\n"),
        ("frames.yaml", lambda text: text.replace("{possessive} coat", "{posessive} coat", 1)),
    ],
)
def test_a_broken_world_names_its_file(tmp_path, name, change):
    folder = tmp_path / "planted"
    shutil.copytree(FOLDER, folder)
    (folder / name).write_text(change((folder / name).read_text()))
    with pytest.raises(BiasflowError, match=name):
        load_world(folder)


def test_documents_on_disk(tmp_path):
    documents = [["One sentence.", "Two  sentences."], ["Another one.", "", "And a second."]]
    write_documents(documents, tmp_path / "text.txt")
    assert read_documents(tmp_path / "text.txt") == [
        ["One sentence.", "Two sentences."],
        ["Another one.", "And a second."],
    ]
    (tmp_path / "short.txt").write_text("Only one.\n")
    with pytest.raises(BiasflowError, match=r"short\.txt"):
        read_documents(tmp_path / "short.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BiasflowError, match=r"bytes\.txt"):
        read_documents(tmp_path / "bytes.txt")
