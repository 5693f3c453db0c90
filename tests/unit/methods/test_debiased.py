"""A debiased model to keep: other programs load it, and it computes what the edited model does."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from sentence_transformers import SentenceTransformer
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
)

from biasflow.base.errors import BiasflowError
from biasflow.base.files import write_json
from biasflow.encoders.edit import edited
from biasflow.encoders.first_token import new_first_token_classifier
from biasflow.encoders.load import load_encoder
from biasflow.methods.debiased import write_debiased
from biasflow.methods.fitted import Active, Fitted
from biasflow.overview.card import card
from biasflow.readouts.reader import Reader
from tests.unit.conftest import DISTILBERT, SIZES, random_eraser, save_random, with_modules
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.overview import made_up

TEXTS = ["a nurse said that she was tired", "he is a doctor", "the teacher"]
PROBES = "Gender may still be found"


@pytest.fixture
def tokenizer():
    return word_tokenizer(" ".join(TEXTS).split())


@pytest.fixture
def method():
    torch.manual_seed(3)
    eraser = replace(random_eraser(2, SIZES["hidden_size"]), center=torch.randn(SIZES["hidden_size"]))
    return Active("leace", edits=((f"layer[{SIZES['num_hidden_layers'] - 1}]", eraser),))


def outputs(model, tokenizer):
    with torch.inference_mode():
        return model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits


@pytest.mark.parametrize(
    ("kind", "loads", "head"),
    [
        (BertForMaskedLM, AutoModelForMaskedLM, "masked_lm"),
        (BertForSequenceClassification, AutoModelForSequenceClassification, "classification"),
    ],
)
def test_a_model_with_a_head_is_loaded_by_transformers_alone(tmp_path, tokenizer, method, kind, loads, head):
    folder = save_random(tmp_path / "base", lambda: kind(BertConfig(**SIZES, num_labels=3)), tokenizer)
    (folder / "notes.txt").write_text("kept")
    (folder / "onnx").mkdir()
    for name in ("pytorch_model.bin", "onnx/model.onnx"):  # the same weights, without the method
        (folder / name).write_text("weights")
    model, pieces = load_encoder(folder, head=head)
    with edited(model, method.edits):
        wanted = outputs(model, pieces)
    changed = write_debiased(folder, method, tmp_path / "new", lambda changed: f"changed {changed}")
    kept = loads.from_pretrained(tmp_path / "new").eval()
    torch.testing.assert_close(outputs(kept, pieces), wanted, rtol=1e-5, atol=1e-5)
    assert (tmp_path / "new/README.md").read_text() == f"changed {changed}"
    for name in ("config.json", "tokenizer_config.json", "notes.txt"):
        assert (tmp_path / "new" / name).read_bytes() == (folder / name).read_bytes()
    assert not (tmp_path / "new/pytorch_model.bin").exists() and not (tmp_path / "new/onnx").exists()
    with pytest.raises(BiasflowError, match="there already"):
        write_debiased(folder, method, tmp_path / "new", str)


def test_a_linear_layer_of_biasflow_is_changed_and_its_encoder_is_not(tmp_path, tokenizer, method):
    base = save_random(tmp_path / "base", lambda: BertModel(BertConfig(**SIZES)), tokenizer)
    model, pieces = new_first_token_classifier(base, ["a", "b", "c"], seed=0)
    model.eval().save_pretrained(tmp_path / "mine")
    tokenizer.save_pretrained(tmp_path / "mine")
    pooled = replace(method, edits=tuple(("pooled", eraser) for _, eraser in method.edits))
    tokens = pieces(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode(), edited(model, pooled.edits):
        wanted = model(**tokens)["logits"]
    assert write_debiased(tmp_path / "mine", pooled, tmp_path / "new", str) == ["head"]
    new, _ = load_encoder(tmp_path / "new", head="classification")
    with torch.inference_mode():
        torch.testing.assert_close(new(**tokens)["logits"], wanted, rtol=1e-5, atol=1e-5)
        assert not torch.allclose(model(**tokens)["logits"], wanted, atol=1e-3)
    before, after = model.base_model.state_dict(), new.base_model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    with pytest.raises(BiasflowError, match="cannot be written"):
        write_debiased(
            tmp_path / "mine", replace(method, edits=(("layer[0]", method.edits[0][1]),)), tmp_path / "x", str
        )


@pytest.fixture(params=["bert", "distilbert"])  # whose config.json has other names for its sizes
def sentence_encoder(request, tmp_path, tokenizer):
    other = DistilBertConfig(**DISTILBERT)
    make = {"bert": lambda: BertModel(BertConfig(**SIZES)), "distilbert": lambda: DistilBertModel(other)}
    return with_modules(save_random(tmp_path / "base", make[request.param], tokenizer), "Pooling", "Normalize")


def pooled_by(folder, pooling):
    about = {"word_embedding_dimension": SIZES["hidden_size"], "pooling_mode_cls_token": False}
    write_json(folder / "1_Pooling/config.json", about | {"pooling_mode_mean_tokens": False, pooling: True})
    return SentenceTransformer(str(folder), device="cpu")


def test_what_acts_at_the_vector_of_a_sentence_is_a_module_before_it_is_normalised(tmp_path, sentence_encoder, method):
    """With any pooling."""
    at_sentence = replace(method, edits=tuple(("sentence", eraser) for _, eraser in method.edits))
    pooled_by(sentence_encoder, "pooling_mode_max_tokens")
    model, tokenizer = load_encoder(sentence_encoder, head="none")
    fitted = Fitted({"none": (Active("none"),), "method": (at_sentence,)}, {})
    untouched, wanted = Reader(model, tokenizer, fitted).sentences(TEXTS)
    write_debiased(sentence_encoder, at_sentence, tmp_path / "new", str)
    found = SentenceTransformer(str(tmp_path / "new"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    assert np.abs(found - untouched).max() > 1e-3


@pytest.mark.parametrize("pooling", ["pooling_mode_mean_tokens", "pooling_mode_cls_token"])
def test_a_sentence_encoder_is_loaded_by_sentence_transformers_alone(tmp_path, sentence_encoder, method, pooling):
    model = pooled_by(sentence_encoder, pooling)
    untouched = model.encode(TEXTS, convert_to_tensor=True)
    with edited(model[0].auto_model, method.edits):
        wanted = model.encode(TEXTS, convert_to_tensor=True)
    write_debiased(sentence_encoder, method, tmp_path / "new", str)
    found = SentenceTransformer(str(tmp_path / "new"), device="cpu").encode(TEXTS, convert_to_tensor=True)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(found, untouched, atol=1e-3)


def test_what_no_weight_can_do_is_refused_with_nothing_written(tmp_path, sentence_encoder, method, tokenizer):
    pooled_by(sentence_encoder, "pooling_mode_max_tokens")
    plain = save_random(tmp_path / "plain", lambda: BertModel(BertConfig(**SIZES)), tokenizer)
    inner = replace(method, edits=tuple(("layer[0]", eraser) for _, eraser in method.edits))
    with_head = save_random(tmp_path / "head", lambda: BertForMaskedLM(BertConfig(**SIZES)), tokenizer)
    for folder, chosen, why in (
        (sentence_encoder, method, "pooled by max"),
        (plain, method, "no head of masked words or classes"),
        (with_head, inner, "cannot be written into weights"),
    ):
        with pytest.raises(BiasflowError, match=why):
            write_debiased(folder, chosen, tmp_path / "new", str)
    assert not (tmp_path / "new").exists()


def test_the_card_has_the_scores_of_the_run_and_what_the_method_does_not_do(tmp_path):
    matrix = made_up.run()[0].assign(verdict="helps", less_evidence="yes", disputed="")
    (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n# bert\n")
    about = {"run": "mine", "changed": ["head"], "sentence": False, "sha256": "0", "commit": "", "name": "new"}
    options = {"base": tmp_path, "specification": [{"eraser": "leace", "places": "last"}], "base_name": "owner/bert"}
    text = card(matrix, "bert", "zeta", **options, **about)
    known = ModelCard(text).data  # as the model hub reads it
    assert (known.base_model, known.license, known.model_name) == ("owner/bert", "apache-2.0", "new") and PROBES in text
    row = matrix[(matrix["method"] == "zeta") & (matrix["measure"] == "strength")].iloc[0]
    base = matrix[(matrix["method"] == "none") & (matrix["measure"] == "strength")].iloc[0]
    ends = [f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]" for one in (base, row)]
    assert f"| {ends[0]} | {ends[1]} |  | helps (less evidence) |" in text
    (result,) = [one for one in known.eval_results if one.metric_type == "strength"]
    assert (result.task_type, result.dataset_type, result.metric_value) == ("fill-mask", row["dataset"], row["value"])
    beside = {"low": row["low"], "high": row["high"], "untouched": base["value"], "base_low": base["low"]}
    assert beside.items() <= result.metric_args.items() and result.metric_args["verdict"] == "helps"
    with pytest.raises(BiasflowError, match="no score of bert under nothing"):
        card(matrix, "bert", "nothing", **options, **about)
