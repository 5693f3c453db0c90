"""The embedded corpus: its size and variety, the bias that it plants, triples never seen, files that fit together."""

import re
from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE
from biasflow.corpora.documents import read_documents, write_documents
from biasflow.planted.bios import biographies
from biasflow.planted.coreference import _held_out_pairs, coreference_documents, coreference_pairs
from biasflow.planted.coreference import load_grammar as coreference_grammar
from biasflow.planted.corpus import discourses
from biasflow.planted.frames import ITEM_SLOTS, PERSON_SLOTS, PRONOUNS, SCENERY_SLOTS, slots
from biasflow.planted.nli import planted_parts
from biasflow.planted.stereoset import ideal_preference, triples
from biasflow.planted.world import DETERMINERS, FIRST, WORLDS, choose_world, load_world

WORLD = load_world()
FEMININE, MASCULINE = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def gender_of(text: str) -> str:
    """F or M by the pronouns; "" without one; "FM" would be a mistake of the generator."""
    found = set(words(text))
    return "F" * bool(found & FEMININE) + "M" * bool(found & MASCULINE)


@pytest.fixture(scope="module")
def stimuli():
    return triples(seed=0, n=240)


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


def test_a_perfect_next_sentence_head_prefers_by_the_shares_alone():
    assert ideal_preference(0) == 0
    # By hand, of one theme with a woman's item of share 0.8 and a man's of 0.2: log(0.8 / 0.2) either way.
    world = load_world()
    shares = {item: 0.8 if share > 0.5 else 0.2 for item, share in world.shares.items()}
    assert ideal_preference(1, replace(world, shares=shares)) == pytest.approx(np.log(4))


MADE = {
    "discourses": lambda seed: discourses(bias=1.0, seed=seed, n=20),
    "triples": lambda seed: triples(seed=seed, n=24).to_csv(),
    "pairs": lambda seed: planted_parts(bias=1.0, seed=seed, train=9, validation=9, test=9)[0]["train"].to_csv(),
    "biographies": lambda seed: biographies(bias=1.0, seed=seed, n=20).to_csv(),
    "documents": lambda seed: str(coreference_documents(bias=1.0, seed=seed, n=9)),
    "clusters": lambda seed: str(coreference_pairs(bias=1.0, seed=seed, n=9)),
}


@pytest.mark.parametrize("what", MADE)
def test_a_seed_makes_the_same_again_and_another_seed_something_else(what):
    assert MADE[what](1) == MADE[what](1) != MADE[what](2)


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


SHE = set(PRONOUNS[FEMALE])


@pytest.fixture(params=WORLDS)
def world(request):
    choose_world(request.param)
    yield load_world()
    choose_world(FIRST)


def test_a_world_is_balanced_and_all_its_slots_are_filled(world):
    items = list(chain(*world.items.values()))
    assert len(items) == len(set(items)) == len(world.shares)
    assert all(0 <= share <= 1 for share in world.shares.values())
    for members in world.items.values():  # otherwise a corpus would hold more of one gender
        assert sum(world.shares[item] for item in members) / len(members) == pytest.approx(0.5, abs=0.01)
    assert {person.kind for person in world.persons} <= {*DETERMINERS, "title"}
    for theme in world.themes:
        allowed = SCENERY_SLOTS if theme.is_scenery else PERSON_SLOTS | SHE | (ITEM_SLOTS if theme.items else set())
        assert theme.weight > 0 and theme.opening and theme.continuations and theme.items in {"", *world.items}
        assert all(slots(frame) <= allowed for frame in theme.frames), theme.name
        assert not any(slots(frame) & (PERSON_SLOTS | SHE) for frame in theme.neutral), theme.name


def test_documents_have_scenes_pronouns_and_combinations_that_are_held_out():
    grammar, occupations = coreference_grammar(), load_world().occupations
    needed = [({"person"}, frame) for frame in grammar.openings] + [(set(), frame) for frame in grammar.continuations]
    for names, frame in needed + [({"one", "other"}, two.frame) for two in grammar.two]:
        assert names <= slots(frame) <= names | SHE and slots(frame) & SHE, frame
    named = list(chain(*grammar.occupations.values()))
    assert set(named) <= set(occupations) and len(set(named)) == len(named) and all(grammar.occupations.values())
    assert sum(grammar.scenes) == pytest.approx(1) and 0 < grammar.per_document[0] <= grammar.per_document[1]
    assert all(0 < one < 1 for one in (*grammar.scenes, grammar.again, *(two.one for two in grammar.two)))
    kept = list(chain(*_held_out_pairs(grammar).values()))
    assert kept and max(map(kept.count, kept)) < len(grammar.two)  # some combination is kept, of none all
