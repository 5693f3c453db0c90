"""What stands for a sentence: as the encoder's folder says it, both ways in scores, and never two in one column."""

import json
import shutil

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.encoders.described import Description
from biasflow.encoders.sentence_transformers import MODULES, own_pooling
from biasflow.plan.cells import plan
from biasflow.plan.configuration import resolve
from biasflow.plan.facts import gather
from biasflow.plan.setup import Facts, Setup
from tests.unit.plan.configs import BERT, SCHEMA, asking, changed, folder_of

OLD = {"word_embedding_dimension": 384, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
NEW = {"embedding_dimension": 384, "pooling_mode": "mean", "include_prompt": True}
SEAT = {"encoders": ["real"], "methods": ["none"], "metrics": ["seat"]}


@pytest.fixture
def folder(tmp_path):
    """An encoder's folder, whose pooling is as given."""

    def made(about=None):
        folder_of(tmp_path)
        if about is not None:
            (tmp_path / "1_Pooling").mkdir()
            (tmp_path / "1_Pooling/config.json").write_text(json.dumps(about))
        return tmp_path

    return made


@pytest.mark.parametrize(
    ("about", "pooling"),
    [
        (None, "cls"),
        (OLD, "mean"),
        (NEW, "mean"),
        ({"pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, "cls+max_tokens"),
    ],
)
def test_a_folder_says_what_stands_for_a_sentence(folder, about, pooling):
    assert own_pooling(folder(about)) == pooling


def test_a_folder_that_says_nothing_in_it_is_named(folder):
    with pytest.raises(BiasflowError, match="1_Pooling"):
        own_pooling(folder({"pooling_mode_mean_tokens": False}))


def module(kind, path):
    return {"idx": 0, "name": "0", "path": path, "type": f"sentence_transformers.models.{kind}"}


def test_an_encoder_in_a_part_of_its_folder_is_read_there_with_the_pooling_beside_it(folder):
    """The layout of old versions; later modules that change a vector are named."""
    whole = folder(OLD)
    (whole / "0_Transformer").mkdir()
    for path in [path for path in whole.iterdir() if path.is_file()]:
        path.rename(whole / "0_Transformer" / path.name)
    (whole / "config.json").write_text(json.dumps({"__version__": "0.2.5.1"}))
    parts = [("Transformer", "0_Transformer"), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"), ("Normalize", "3_Norm")]
    (whole / MODULES).write_text(json.dumps([module(*part) for part in parts]))
    config = resolve(asking(SEAT, ("encoders.real.path", str(whole))), SCHEMA)
    encoder = Setup(config, gather(config)).encoders["real"]
    assert encoder.pooling == "mean" and encoder.model_type == "bert"
    assert encoder.local_files[0] == str(whole / "0_Transformer/config.json")
    assert encoder.not_applied == ("the module Dense of sentence-transformers",)
    shutil.rmtree(whole / "1_Pooling")
    assert "1_Pooling" in Setup(config, gather(config)).encoders["real"].not_applied[1]


@pytest.mark.parametrize(
    "modules", [[module("Transformer", "../other")], [module("Transformer", "/other")], {"0": "Transformer"}, [3]]
)
def test_modules_elsewhere_or_none_are_one_line(folder, modules):
    (folder() / MODULES).write_text(json.dumps(modules))
    config = resolve(asking(SEAT, ("encoders.real.path", str(folder()))), SCHEMA)
    with pytest.raises(BiasflowError, match=r"'encoders\.real\.path'.*modules\.json"):
        gather(config)


def seat_of(pooling, *changes):
    """The readings of SEAT of an encoder of that pooling, by the name of the dataset."""
    config = resolve(asking(SEAT, ("metrics.seat.tests", ["sent-weat6"]), *changes), SCHEMA)
    found = plan(Setup(config, Facts({"real": Description(BERT, pooling=pooling)})))
    return {cell.dataset for cell in found.cells}, [reading.dataset.options for reading in found.readings.values()]


def test_seat_takes_the_encoders_own_pooling_and_the_other_beside_it():
    cls, mean = {"sentence_pooling": "cls", "others": ["mean"]}, {"sentence_pooling": "mean", "others": ["cls"]}
    assert seat_of("cls") == ({"sent-weat6"}, [cls])
    assert seat_of("mean") == ({"sent-weat6-mean"}, [mean])
    assert seat_of("mean", ("metrics.seat.pooling", "cls")) == ({"sent-weat6"}, [cls])


def test_the_entry_of_a_hub_encoder_says_its_pooling():
    entry = {"source": "hub", "id": "owner/sentences", "revision": "a" * 40}
    for pooling, name in (({}, "sent-weat6"), ({"pooling": "mean"}, "sent-weat6-mean")):
        changes = ("metrics.seat.tests", ["sent-weat6"]), ("encoders.real", entry | pooling)
        found = plan(Setup(resolve(asking(SEAT, *changes), SCHEMA), Facts()))
        assert {cell.dataset for cell in found.cells} == {name}


def test_a_pooling_that_seat_does_not_know_ends_the_plan_with_the_key():
    with pytest.raises(BiasflowError, match=r"metrics\.seat\.pooling.*encoders\.real pools by max_tokens"):
        seat_of("max_tokens")
    assert seat_of("max_tokens", ("metrics.seat.pooling", "mean"))[0] == {"sent-weat6-mean"}


def test_a_paper_says_its_pooling_itself():
    config = resolve(changed(("papers.liang2020", {"encoders": ["real"]}), ("ask", {})), SCHEMA)
    found = plan(Setup(config, Facts({"real": Description(BERT, pooling="mean")})))
    seat = [score.dataset for scores in found.scored.values() for score in scores if score.metric == "seat"]
    assert seat and all(each.options == {"sentence_pooling": "cls", "others": []} for each in seat)
    assert not any(each.suffix for each in seat)


@pytest.mark.parametrize(
    ("pooling", "named", "expected"),
    [("mean", None, "mean"), ("cls", None, "cls"), ("mean", "first-piece", "first-piece")],
)
def test_the_similarity_of_sentences_is_of_the_vectors_that_seat_takes(pooling, named, expected):
    asked = {**SEAT, "metrics": ["similarity"]}
    config = resolve(asking(asked, ("metrics.seat.pooling", named)), SCHEMA)
    found = plan(Setup(config, Facts({"real": Description(BERT, pooling=pooling)})))
    (reading,) = found.readings.values()
    assert reading.dataset.options["pooling"] == expected
    assert bool(reading.dataset.reads_states) == (expected == "mean")  # whose last layer acts on all tokens
