"""What an architecture cannot have is a reason in the plan; what is no encoder ends before the first job."""

import json

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.plan.cells import plan
from biasflow.plan.choices import OF_FOLDER, with_folder
from biasflow.plan.configuration import load_schema, resolve
from biasflow.plan.facts import gather
from biasflow.plan.setup import Setup
from tests.unit.plan.configs import folder_of

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


@pytest.mark.parametrize(
    "about",
    [
        {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]},
        {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True},
        {"model_type": "gemma3_text", "architectures": ["Gemma3TextModel"], "use_bidirectional_attention": True},
    ],
)
def test_a_decoder_is_told_by_its_config_alone(tmp_path, about):
    """The sentence holds for all of them: not every decoder sees one side of a token alone."""
    (tmp_path / "config.json").write_text(json.dumps(about))
    with pytest.raises(
        BiasflowError, match=r"^config: key 'encoders\.mine\.path': .*config\.json: key .*: a decoder"
    ) as told:
        cells_of(str(tmp_path))
    line = str(told.value)
    assert "biasflow does not read this architecture" in line and "docs/howto/item_scores.md" in line
    assert "alone" not in line and "weights" not in line


# Weights of heads as folders of users have them -> what is measured, beside WEAT and SEAT.
DEBERTA_V3 = "lm_predictions.lm_head.dense.weight lm_predictions.lm_head.dense.bias lm_predictions.lm_head.bias "
DEBERTA_V3 += (
    "lm_predictions.lm_head.LayerNorm.weight lm_predictions.lm_head.LayerNorm.bias mask_predictions.dense.weight"
)
ELECTRA = "discriminator_predictions.dense.weight discriminator_predictions.dense_prediction.weight"
BERT_LM = "cls.predictions.transform.dense.weight cls.predictions.transform.dense.bias cls.predictions.bias "
OLD = BERT_LM + "cls.predictions.transform.LayerNorm.gamma cls.predictions.transform.LayerNorm.beta"
BOTH = OLD + " cls.seq_relationship.weight cls.seq_relationship.bias"
POOLER = " bert.pooler.dense.weight bert.pooler.dense.bias"
HEADS_OF = {
    "both heads": ("bert", BOTH + POOLER, {}, {"gest", "strength"}),
    "no pooler for the next sentence": ("bert", BOTH, {}, {"gest"}),
    "a part of a head": ("bert", BERT_LM, {}, set()),
    "an output layer of its own, which is not there": ("bert", OLD, {"tie_word_embeddings": False}, set()),
    "a sentence encoder": ("mpnet", "embeddings.word_embeddings.weight pooler.dense.weight", {}, set()),
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


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [("gpt2", "GPT2LMHeadModel"), ("llama", "LlamaForCausalLM"), ("t5", "T5EncoderModel"), ("new", "NewForCausalLM")],
)
def test_a_decoder_ends_before_the_first_job_with_what_would_measure_it(tmp_path, model_type, architecture):
    with pytest.raises(BiasflowError) as caught:
        cells_of(folder_of(tmp_path / "decoder", model_type=model_type, architectures=[architecture]))
    line = str(caught.value)
    assert line.startswith("config: key 'encoders.mine.path': ") and "\n" not in line
    assert "a decoder" in line and "source: external" in line
