"""The files of the planted language fit together: every slot is filled, and no word gives away what it must not."""

from itertools import chain

import pytest

from biasflow.base.genders import FEMALE, MALE
from biasflow.planted.bios import load_grammar as bios_grammar
from biasflow.planted.coreference import _held_out_pairs
from biasflow.planted.coreference import load_grammar as coreference_grammar
from biasflow.planted.frames import ITEM_SLOTS, PERSON_SLOTS, PRONOUNS, SCENERY_SLOTS, slots
from biasflow.planted.nli import _differ
from biasflow.planted.nli import load_grammar as nli_grammar
from biasflow.planted.world import DETERMINERS, FIRST, WORLDS, choose_world, load_world

SHE = set(PRONOUNS[FEMALE])
NLI_SLOTS = {"subject", "anyone", "verb", "object", "a_object", "new_verb", "new_object", "a_new_object", "place"}


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


def test_hints_of_biographies_go_with_a_profession_and_no_gender():
    grammar, world = bios_grammar(), load_world()
    allowed = {"opening": {"name", "title", "surname"}, "hint": {"hint"}, "family": {"relation"}}
    for part, frames in grammar.frames.items():
        assert frames and all(slots(frame) <= allowed[part] | SHE for frame in frames), part
    assert set(grammar.professions) <= set(world.occupations) and all(grammar.relations.values())
    assert len(set(grammar.professions)) == len(grammar.professions) and not set(grammar.hints) & set(world.shares)
    assert len(set(grammar.hints)) == len(grammar.hints) and 0 < grammar.family_share < 1
    assert grammar.p_hint.sum(axis=1) == pytest.approx(1) and (grammar.p_hint >= 0).all()


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


def test_inference_pairs_name_no_gender_but_that_of_their_subject():
    grammar, world = nli_grammar(), load_world()
    assert len(grammar.words[FEMALE]) == len(grammar.words[MALE]) > 0 and grammar.places
    assert grammar.occupation_pair.subject == "occupation" and all(grammar.frames.values())
    assert not {noun for _, noun in grammar.predicates} & set(world.shares)
    assert all(any(_differ(one, other) for other in grammar.predicates) for one in grammar.predicates)
    for frame in chain([grammar.occupation_pair], *grammar.frames.values()):
        allowed = NLI_SLOTS | ({"own", "other"} if frame.subject == "person" else set())
        assert frame.subject in ("person", "occupation", "either")
        assert slots(frame.premise) | slots(frame.hypothesis) <= allowed, frame
