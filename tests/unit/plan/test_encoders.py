"""Encoders in the plan: where they come from, what lies on disk, and what an architecture or folder cannot have."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.encoders.configured import Encoder
from biasflow.encoders.described import Description, describe, hub_entry
from biasflow.encoders.sentence_transformers import MODULES, check_pooling, own_pooling
from biasflow.plan.cells import plan
from biasflow.plan.choices import OF_FOLDER, first_configuration, with_folder
from biasflow.plan.configuration import load_schema, resolve
from biasflow.plan.facts import gather
from biasflow.plan.setup import Facts, Setup
from tests.unit.plan.configs import BERT, SCHEMA, asking, changed, folder_of, setup_of

FILES = ("config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt")


def layers(kind, number=4):
    names = [f"bert.encoder.layer.{layer}.output.dense.weight" for layer in range(number)]
    return {name: np.ones((2, 2), kind) for name in names} | {"bert.embeddings.position_ids": np.arange(4)}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "models" / "own"
    folder.parent.mkdir()
    folder_of(folder, weights=layers(np.float32))
    for name in ("README.md", "pytorch_model.bin"):
        (folder / name).touch()
    (tmp_path / "data").mkdir()
    return folder


def local(path: str, mirror=None, **keys) -> dict:
    config = changed(("encoders.real", {"source": "local", "path": path, **keys}), ("mirror", mirror))
    return resolve(config, SCHEMA)


def test_the_files_of_a_local_encoder(folder):
    files = Encoder("own", {"source": "local"}, folder=folder).local_files
    assert files == [f"{folder}/{name}" for name in FILES]


@pytest.mark.parametrize(
    ("path", "mirror", "named"), [("{mirror}/x", None, "mirror"), ("/nowhere/x", None, "/nowhere/x")]
)
def test_a_missing_folder_is_an_error_or_a_reason(path, mirror, named):
    with pytest.raises(BiasflowError, match=rf"'encoders\.real\.path'.*{named}"):
        gather(local(path, mirror))
    reason = gather(local(path, mirror, optional=True)).missing["real"]
    assert named in reason and "encoders.real.path" in reason


def test_a_continued_encoder_is_like_the_one_that_it_goes_back_to():
    more = {"source": "continued", "from": "more"}
    config = resolve(changed(("encoders.more", more | {"from": "own"}), ("encoders.most", more)), SCHEMA)
    most, own, real = (setup_of(config).encoders[name] for name in ("most", "own", "real"))
    assert most.origin == own.origin == own
    assert most.is_planted and not real.is_planted
    assert most.depth == own.depth == 4 == real.depth
    assert most.has_head("masked_lm") and not most.has_head("next_sentence")


def test_an_encoder_without_heads_gets_those_that_are_asked_for():
    more = ("encoders.more", {"source": "continued", "from": "real"})
    both = ("encoders.both", {"source": "continued", "from": "real", "next_sentence": True, "head_steps": 5})
    later = ("encoders.later", {"source": "continued", "from": "both", "recipe": "cda"})
    config = resolve(changed(more, both, later), SCHEMA)
    bare = setup_of(config, heads=[]).encoders
    full = setup_of(config).encoders
    assert bare["more"].has_head("masked_lm") and not bare["more"].has_head("next_sentence")
    assert bare["both"].has_head("next_sentence") and not bare["later"].has_head("next_sentence")
    new = [bare[name].new_heads for name in ("real", "more", "both", "later")]
    assert new == [[], ["masked_lm"], ["masked_lm", "next_sentence"], ["masked_lm"]]
    assert full["more"].new_heads == full["both"].new_heads == []


ENDS = {"without documents": ("one\ntwo\n" * 9, 1), "of single sentences": ("one\n\n" * 9, 0), "empty": ("\n", 0)}


@pytest.mark.parametrize("text", [*ENDS, None])
def test_a_text_without_documents_gives_no_next_sentence_head(folder, tmp_path, text):
    """The encoder is trained without that head, and what needs it is a cell with the reason."""
    written, found = ENDS[text] if text else ("one\ntwo\n\n" * 4, 4)
    (tmp_path / "text.txt").write_text(written)
    more = {"source": "continued", "from": "real", "next_sentence": True, "text": str(tmp_path / "text.txt")}
    about = {"encoders.real": {"source": "local", "path": str(folder)}, "encoders.more": more}
    about["ask.inside"] = {"encoders": ["more"], "metrics": ["strength", "occtmp"]}
    config = resolve(changed(*about.items()), SCHEMA)
    setup = Setup(config, gather(config))
    reasons = {cell.metric: cell.reason for cell in plan(setup).cells}
    assert reasons["occtmp"] == "" and setup.encoders["more"].about["next_sentence"] == (text is None)
    assert setup.encoders["more"].new_heads == ["masked_lm", "next_sentence"][: 1 + (text is None)]
    if text is None:
        assert reasons["strength"] == ""
        return
    assert reasons["strength"].startswith(f"encoders.more.text: {tmp_path / 'text.txt'} has {found} documents of two")
    assert "need 4" in reasons["strength"] and "an empty line between documents" in reasons["strength"]


def test_a_task_for_each_bias_that_encoders_are_trained_on():
    paper = {
        "encoder": {"corpus": "planted"},
        "bias": [0.0, 0.5],
        "seeds": [1],
        "task_bias": [0.0, 0.5],
        "tasks": {"who": {"kind": "coreference", "planted": {"train": 7}}},
    }
    config = resolve(changed(("papers.planted", paper)), SCHEMA)
    tasks = {name: about["planted"] for name, about in config["tasks"].items() if name.startswith("planted-")}
    assert {name: (about["bias"], about["train"]) for name, about in tasks.items()} == {
        "planted-who-bias0": (0.0, 7), "planted-who-bias0.5": (0.5, 7),
    }  # fmt: skip
    trained = plan(setup_of(config)).trained
    assert set(trained) == {
        (f"planted-bias{bias}-seed1", f"planted-who-bias{other}/plain/seed1")
        for bias in ("0", "0.5")
        for other in ("0", "0.5")
    }


OLD = {"word_embedding_dimension": 384, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
NEW = {"embedding_dimension": 384, "pooling_mode": "mean", "include_prompt": True}
SEAT = {"encoders": ["real"], "methods": ["none"], "metrics": ["seat"]}


@pytest.fixture
def pooling_folder(tmp_path):
    """An encoder's pooling_folder, whose pooling is as given."""

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
        ({"pooling_mode": ["mean"]}, "mean"),
        ({"pooling_mode": ["cls", "mean"]}, "cls+mean"),
        ({"pooling_mode": "weightedmean"}, "weightedmean"),
        ({"pooling_mode_mean_tokens": False}, "unnamed"),
        ({"pooling_mode": [3]}, "unnamed"),
    ],
)
def test_a_folder_says_what_stands_for_a_sentence(pooling_folder, about, pooling):
    assert own_pooling(pooling_folder(about)) == pooling


def module(kind, path):
    return {"idx": 0, "name": "0", "path": path, "type": f"sentence_transformers.models.{kind}"}


def test_an_encoder_in_a_part_of_its_folder_is_read_there_with_the_pooling_beside_it(pooling_folder):
    """The layout of old versions; what later modules do to a vector is said."""
    whole = pooling_folder(OLD)
    (whole / "0_Transformer").mkdir()
    for path in [path for path in whole.iterdir() if path.is_file()]:
        path.rename(whole / "0_Transformer" / path.name)
    (whole / "config.json").write_text(json.dumps({"__version__": "0.2.5.1"}))
    parts = [("Transformer", "0_Transformer"), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"), ("Normalize", "3_Norm")]
    (whole / MODULES).write_text(json.dumps([module(*part) for part in parts]))
    (whole / "2_Dense").mkdir()
    (whole / "2_Dense/config.json").write_text('{"in_features": 384, "out_features": 20}')
    (whole / "2_Dense/model.safetensors").write_text("weights")
    config = resolve(asking(SEAT, ("encoders.real.path", str(whole))), SCHEMA)
    encoder = Setup(config, gather(config)).encoders["real"]
    assert encoder.pooling == "sentence" and encoder.model_type == "bert" and encoder.is_sentence_encoder
    assert encoder.local_files[0] == str(whole / "0_Transformer/config.json")
    beside = [MODULES, "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"]
    assert encoder.local_files[-4:] == [str(whole / name) for name in beside]
    assert encoder.described.sentence == "mean pooling, Dense 384 to 20 (Tanh), normalised" and not encoder.not_applied
    (whole / MODULES).write_text(json.dumps([module(*part) for part in (*parts[:2], parts[3])]))
    assert Setup(config, gather(config)).encoders["real"].pooling == "mean"


@pytest.mark.parametrize(
    "modules", [[module("Transformer", "../other")], [module("Transformer", "/other")], {"0": "Transformer"}, [3]]
)
def test_modules_elsewhere_or_none_are_one_line(pooling_folder, modules):
    (pooling_folder() / MODULES).write_text(json.dumps(modules))
    config = resolve(asking(SEAT, ("encoders.real.path", str(pooling_folder()))), SCHEMA)
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
    for pooling, ending in (({}, ""), ({"pooling": "cls"}, ""), ({"pooling": "mean"}, "-mean")):
        changes = ("metrics.seat.tests", ["sent-weat6"]), ("encoders.real", entry | pooling)
        setup = Setup(resolve(asking(SEAT, *changes), SCHEMA), Facts())
        assert {cell.dataset for cell in plan(setup).cells} == {f"sent-weat6{ending}"}
        assert setup.encoders["real"].is_sentence_encoder == bool(pooling)  # also one that pools by its first token


def test_the_entry_that_measure_writes_names_the_pooling_of_every_sentence_encoder(tmp_path):
    folder = Path(folder_of(tmp_path / "encoder"))
    assert "pooling" not in hub_entry(folder, set())
    (folder / "1_Pooling").mkdir()
    (folder / MODULES).write_text(json.dumps([module("Transformer", ""), module("Pooling", "1_Pooling")]))
    for pooling in ("cls", "mean"):
        (folder / "1_Pooling/config.json").write_text(json.dumps(NEW | {"pooling_mode": pooling}))
        assert hub_entry(folder, set())["pooling"] == pooling
        check_pooling(folder, pooling, key="k")
    (folder / MODULES).unlink()
    (folder / "1_Pooling/config.json").unlink()
    with pytest.raises(BiasflowError, match="'k': the encoder is no sentence encoder"):
        check_pooling(folder, "cls", key="k")


def test_the_own_vectors_of_a_sentence_encoder_are_read_where_more_than_a_mean_makes_them_and_always_ranked(tmp_path):
    """And methods act on them there alone; of an encoder that is continued from it they cannot be made."""
    folder = folder_of(tmp_path / "encoder")
    methods = ("none", "leace-sentence", "last")
    cells = cells_of(folder, ("seat", "retrieval"), methods)
    assert "has no modules.json" in cells["seat", "leace-sentence"]
    assert "is no sentence encoder: for the mean of its tokens write" in cells["retrieval", "none"]
    (tmp_path / "encoder/1_Pooling").mkdir()
    for pooling, reads in (("mean", "mean"), ("max", "sentence")):
        (tmp_path / "encoder/1_Pooling/config.json").write_text(json.dumps(NEW | {"pooling_mode": pooling}))
        (tmp_path / "encoder" / MODULES).write_text(
            json.dumps([module("Transformer", ""), module("Pooling", "1_Pooling")])
        )
        config = resolve(asking(SEAT, ("encoders.real.path", folder), ("metrics.seat.tests", ["sent-weat6"])), SCHEMA)
        found = plan(Setup(config, gather(config)))
        assert {cell.dataset for cell in found.cells} == {f"sent-weat6-{reads}"}
        cells = cells_of(folder, ("seat", "retrieval", "weat"), methods)  # retrieval: the own vectors, always
        reason = "" if reads == "sentence" else "which seat reads"
        assert reason in cells["seat", "leace-sentence"] and bool(cells["seat", "leace-sentence"]) == bool(reason)
        assert cells["retrieval", "leace-sentence"] == cells["retrieval", "last"] == cells["weat", "last"] == ""
        assert "acts at sentence only" in cells["weat", "leace-sentence"]


@pytest.mark.parametrize("pooling", ["max_tokens", "cls+mean", "unnamed"])
def test_a_pooling_that_is_not_known_is_the_reason_of_its_cells_until_another_is_named(pooling_folder, pooling):
    """Nothing else of the encoder waits for it, and the reason says what to write."""
    folder = str(pooling_folder({"pooling_mode": 3 if pooling == "unnamed" else pooling.split("+")}))
    reasons = cells_of(folder, metrics=("weat", "seat", "similarity"), methods=["none"])
    assert reasons.pop(("weat", "none")) == ""
    for reason in reasons.values():
        assert re.match(rf"metrics\.seat\.pooling: encoders\.mine .* by {re.escape(pooling)}, .*pooling: mean", reason)
    assert seat_of(pooling, ("metrics.seat.pooling", "mean"))[0] == {"sent-weat6-mean"}
    assert "# Cannot be measured: seat, because metrics.seat.pooling" in first_configuration(folder, "f.yaml").text


def test_what_sentence_transformers_does_to_a_text_before_the_encoder_is_named(pooling_folder):
    folder = pooling_folder(NEW)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    (folder / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\nHe\n")
    (folder / MODULES).write_text(json.dumps([module("Transformer", ""), module("Pooling", "1_Pooling")]))
    assert describe(folder).not_applied == ()
    prompts = {"prompts": {"query": "query: ", "document": "", "none": None}}
    for name, pooling in ((None, "mean"), ("document", "mean"), ("none", "mean"), ("query", "sentence")):
        (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts | {"default_prompt_name": name}))
        assert describe(folder).pooling == pooling and not describe(folder).not_applied
    assert describe(folder).sentence == 'mean pooling; prompt "query: "'
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 384, "do_lower_case": true}')
    assert "lower case" in describe(folder).not_applied[0]
    files = Encoder("real", {"source": "local"}, folder=folder, described=describe(folder)).local_files
    assert {*map(Path, files)} == {path for path in folder.rglob("*") if path.is_file()}  # all of them are read


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


METHODS = {
    "keys": [{"eraser": "densray", "places": "layer[1].attention.key"}],
    "last": [{"eraser": "densray", "places": "last"}],
}


def cells_of(folder, metrics=("weat", "seat", "gest", "strength"), methods=("none", "last", "keys")):
    """(metric, method) -> why it is not measured, "" where it is."""
    block = {"encoders": ["mine"], "metrics": list(metrics), "methods": list(methods)}
    config = {"run": "r", "encoders": {"mine": {"source": "local", "path": folder}}, "methods": METHODS}
    config = resolve(config | {"ask": {"all": block}}, load_schema())
    return {(cell.metric, cell.method): cell.reason for cell in plan(Setup(config, gather(config))).cells}


def test_an_unknown_architecture_is_measured_as_it_is(tmp_path):
    weights = {"lm_head.bias": np.ones(90, np.float32)}
    cells = cells_of(folder_of(tmp_path / "funnel", model_type="funnel", weights=weights))
    assert cells["weat", "none"] == cells["seat", "none"] == cells["gest", "none"] == ""
    assert cells["weat", "last"] == (
        "methods.last: the layers of encoders.mine (model type funnel) are not known; measure it as it is"
    )
    assert "no next-sentence head" in cells["strength", "none"]
    places = dict(OF_FOLDER["places"](with_folder(str(tmp_path / "funnel"))))
    assert set(places.values()) == {"no: the layers of the model type funnel are not known"}


def test_attention_in_one_matrix_has_no_parts(tmp_path):
    cells = cells_of(folder_of(tmp_path / "deberta", model_type="deberta"))
    assert cells["weat", "last"] == "" and "makes query, key and value in one matrix" in cells["weat", "keys"]
    cells = cells_of(folder_of(tmp_path / "modern", model_type="modernbert"))
    assert cells["weat", "keys"] == ""  # one matrix, too, of which each part is a slice


# Weights of heads as folders of users have them -> what is measured, beside WEAT and SEAT.
DEBERTA_V3 = "lm_predictions.lm_head.dense.weight lm_predictions.lm_head.dense.bias lm_predictions.lm_head.bias "
DEBERTA_V3 += (
    "lm_predictions.lm_head.LayerNorm.weight lm_predictions.lm_head.LayerNorm.bias mask_predictions.dense.weight"
)
ELECTRA = "discriminator_predictions.dense.weight discriminator_predictions.dense_prediction.weight"
OLD_NAMES = "cls.predictions.transform.dense.weight cls.predictions.transform.dense.bias cls.predictions.bias "
OLD_NAMES += "cls.predictions.transform.LayerNorm.gamma cls.predictions.transform.LayerNorm.beta"
HEADS_OF = {
    "old names of a normalisation": ("bert", OLD_NAMES, {}, {"gest"}),
    "a discriminator": ("electra", ELECTRA, {}, set()),
    "DeBERTa v3 as it is published": ("deberta-v2", DEBERTA_V3, {}, set()),
    "DeBERTa v3 whose config.json names that head": ("deberta-v2", DEBERTA_V3, {"legacy": False}, {"gest"}),
}


@pytest.mark.parametrize(("model_type", "names", "about", "measured"), HEADS_OF.values(), ids=HEADS_OF)
def test_heads_are_those_that_would_be_loaded_from_the_weights(tmp_path, model_type, names, about, measured):
    weights = {name: np.ones(90 if name.endswith("predictions.bias") else 1, np.float32) for name in names.split()}
    cells = cells_of(folder_of(tmp_path / "it", weights=weights, model_type=model_type, **about), methods=["none"])
    assert {metric for (metric, _), reason in cells.items() if not reason} == {"weat", "seat", *measured}


def test_a_tokenizer_without_a_mask_token_hides_no_word(tmp_path):
    folder = folder_of(tmp_path / "bert", "masked_lm", tokenizer={"mask_token": None})
    cells = cells_of(folder, methods=["none"])
    assert cells["gest", "none"] == "encoders.mine has no mask token in its tokenizer, so no word can be masked"
    assert cells["weat", "none"] == ""
    fast = folder_of(tmp_path / "fast", "masked_lm", tokenizer={"tokenizer_class": "PreTrainedTokenizerFast"})
    assert "no mask token" in cells_of(fast)["gest", "none"]
