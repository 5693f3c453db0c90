"""What the plan says of methods is what fits and readouts do with them."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.encoders import places
from biasflow.methods.fitted import Active
from biasflow.methods.grid import PLACES, all_settings, edits_of, name_of_setting
from biasflow.plan.methods import (
    control_of,
    is_matched,
    methods_of_erasers,
    unseen_setting,
    with_variants,
)
from biasflow.readouts.states import reaching
from biasflow.registry import FIRST_TOKEN, SENTENCE, WORDS

DEPTH = 4
NAMES = ["all", "each", "last", "last.cls", "pooled", "layer[3]", "layer[-1].cls", "layer[3].cls", "layer[2].cls"]
NAMES += ["layer[0]", "layer[3].attention.query", "layer[-2].attention.value"]


def changes_nothing(edited: list[str], *, words: bool) -> bool:
    """Whether a readout refuses a method with edits at these places."""
    try:
        reaching(Active("mine", edits=tuple((place, None) for place in edited)), DEPTH, words=words)
    except BiasflowError:
        return True
    return False


def with_places(*names: str) -> list[dict]:
    return [{"eraser": "hard", "places": name, "fitted_to": "pairs"} for name in names]


@pytest.mark.parametrize("second", [None, "pooled", "last.cls"])
@pytest.mark.parametrize("first", NAMES)
def test_what_a_metric_does_not_see_is_what_its_readout_refuses(first, second):
    method = with_places(*[first] + ([second] if second else []))
    edited = [place for step in method for place in places.resolve(step["places"], DEPTH)]
    for sees, words in ((WORDS, True), (FIRST_TOKEN, False)):
        assert (unseen_setting(method, sees, DEPTH) is not None) == changes_nothing(edited, words=words)
    assert unseen_setting(method, SENTENCE, DEPTH) is None


@pytest.mark.parametrize("setting", all_settings()[1:], ids=name_of_setting)
def test_every_setting_of_the_grid_is_seen_where_its_edits_are(setting):
    class Anything:
        sequential = False

        def active(self, setting):
            return dict.fromkeys(setting.subspaces)

    edited = [place for place, _ in edits_of(setting, Anything())]
    assert edited == [PLACES[name] for name in setting.subspaces]
    method = {"grid": "dawkins2024", "settings": [name_of_setting(setting)]}
    for sees, words in ((WORDS, True), (FIRST_TOKEN, False)):
        unseen = unseen_setting(method, sees, DEPTH)
        assert (unseen is not None) == changes_nothing(edited, words=words)
        assert unseen is None or unseen[0] == name_of_setting(setting)


def test_controls_are_known_by_their_names():
    methods = with_variants(methods_of_erasers())
    of = {name: base for name in methods if (base := control_of(name)) is not None}
    assert of.pop("random") == ""
    assert set(of.values()) <= set(methods_of_erasers()) and "leace-pretrained" not in of
    assert set(of) == {name for name, (step, *_) in methods.items() if step.get("control") is not None}
    assert of["leace-random-matched1"] == of["leace-random1"] == "leace"
    matched = {name for name, (step, *_) in methods.items() if step.get("matched")}
    assert {name for name in methods if is_matched(name)} == matched and len(matched) == len(of) / 2
