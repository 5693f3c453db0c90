"""Vectors of texts as sentence-transformers makes them, equal to its own `encode`, and erasers that act on them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.encoders.described import describe
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.encoders.sentence_encoder import sentence_encoder
from biasflow.encoders.sentence_transformers import own_pooling, sentence_vector
from biasflow.methods.fitted import Active, Fitted
from biasflow.methods.fitting import fit_block
from biasflow.readouts.document_similarities import similarities
from biasflow.readouts.reader import Reader
from tests.unit.conftest import HIDDEN, SIZES, random_eraser, save_random
from tests.unit.fake_tokenizer import bos_tokenizer, word_tokenizer
from tests.unit.readouts.conftest import projection

TEXTS = ["she is a nurse .", "he", "the man and the woman were here .", "the chef " * 20]
WORDS = [*"she he is a nurse . the man and woman were here , it was late chef query : text".split()]
LONGEST = 16
PROMPTS = {"query": "query : ", "document": "text : "}
CASES = {  # pooling, Dense, options of the sentence encoder; what is said of it
    "mean": ("mean", False, {}, "mean pooling"),
    "cls": ("cls", False, {}, "cls pooling"),
    "max": ("max", False, {}, "max pooling"),
    "weighted": ("weightedmean", False, {}, "weightedmean pooling"),
    "last": ("lasttoken", False, {}, "lasttoken pooling"),
    "both": (("cls", "mean"), False, {}, "cls and mean pooling"),
    "dense": ("mean", True, {}, f"mean pooling, Dense {HIDDEN} to 20 (Tanh), normalised"),
    "prompts": ("mean", False, {"prompts": PROMPTS, "default_prompt_name": "query"}, "mean pooling; "),
    "short": (
        "mean",
        True,
        {"truncate_dim": 7},
        f"mean pooling, Dense {HIDDEN} to 20 (Tanh), normalised, the first 7 ",
    ),
    "dot": ("mean", False, {"similarity_fn_name": "euclidean"}, "mean pooling"),
}
PLAIN = ("mean", "cls", "dot")  # of which biasflow's own pooling has the vectors, too


def saved(folder, transformer, case, width=HIDDEN):
    pooling, dense, options, _ = CASES[case]
    torch.manual_seed(1)
    modules = [Transformer(str(transformer)), Pooling(width, pooling), *([Dense(width, 20), Normalize()] * dense)]
    modules[0].max_seq_length = LONGEST
    SentenceTransformer(modules=modules, device="cpu", **options).save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain")
    return save_random(path, lambda: BertModel(BertConfig(**SIZES)), word_tokenizer(WORDS))


@pytest.fixture(params=CASES)
def folder(request, tmp_path, plain):
    return saved(tmp_path / request.param, plain, request.param)


def reading(folder, size=64, **methods):
    active = {name: (Active(name, edits=tuple(edits)),) for name, edits in (methods or {"none": ()}).items()}
    return Reader(*load_encoder(folder, head="none"), Fitted(active, {name: [] for name in active}), size)


def assert_equal(found, wanted):
    """To 1e-6 of a vector's length."""
    assert found.shape == wanted.shape
    assert (np.abs(found - wanted).max(axis=1) <= 1e-6 * np.linalg.norm(wanted, axis=1)).all()


def assert_equal_to_the_library(folder):
    library = SentenceTransformer(str(folder), device="cpu")
    for size in (1, 64):
        read = reading(folder, size)
        for kind, encode in (("", library.encode), ("query", library.encode_query)):
            assert_equal(read.sentences(TEXTS, kind)[0], encode(TEXTS, batch_size=3))
    documents = read.sentences(TEXTS, "document")[0]
    assert_equal(documents, library.encode_document(TEXTS))
    assert read.truncation["cut"] == 3 and read.truncation["texts"] == 3 * len(TEXTS)
    both = torch.from_numpy(documents)
    found = read.sentence_encoder.similarity(both, both.flip(0))
    torch.testing.assert_close(found, library.similarity_pairwise(both, both.flip(0)))


def test_vectors_are_those_that_the_library_encodes(folder):
    assert_equal_to_the_library(folder)
    said = sentence_vector(folder)
    assert said.startswith(CASES[folder.name][-1])
    assert own_pooling(folder) == (CASES[folder.name][0] if folder.name in PLAIN else "sentence")
    if folder.name == "prompts":
        assert said == 'mean pooling; prompt "query : ", prompt "text : " (document)'


@pytest.mark.parametrize("case", ["prompts", "dot"])
def test_queries_and_documents_have_their_prompts_and_are_compared_as_the_folder_says(tmp_path, plain, case):
    folder = saved(tmp_path / "encoder", plain, case)
    library = SentenceTransformer(str(folder), device="cpu")
    table = pd.DataFrame({"query": [TEXTS[0], TEXTS[0], TEXTS[1]], "text": [TEXTS[2], TEXTS[0], TEXTS[2]]})
    found = similarities(reading(folder), table, "sentence")[0]
    queries, documents = library.encode_query(list(table["query"])), library.encode_document(list(table["text"]))
    np.testing.assert_allclose(found, library.similarity_pairwise(queries, documents), rtol=0, atol=2e-5)
    assert abs(found[1] - library.similarity_pairwise(queries, queries)[1]) > 1e-3 or case == "dot"


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
@pytest.mark.parametrize("case", ["last", "mean", "prompts"])
def test_decoders_are_read_as_the_library_reads_them(tmp_path, kind, case):
    sizes = {name: SIZES[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    tokenizer = bos_tokenizer(TEXTS, adds="$A </s>")
    sizes |= {"vocab_size": len(tokenizer), "intermediate_size": 40, "num_key_value_heads": 2, "head_dim": 8}
    config = AutoConfig.for_model(kind, **sizes, pad_token_id=tokenizer.pad_token_id)
    transformer = save_random(tmp_path / "decoder", lambda: AutoModel.from_config(config), tokenizer)
    with pytest.raises(BiasflowError, match="decoder"):
        describe(transformer)  # without a list of modules
    folder = saved(tmp_path / kind, transformer, case)
    assert describe(folder).sentence
    assert_equal_to_the_library(folder)
    eraser = projection(1)
    none, erased = reading(folder, none=(), erased=[("sentence", eraser)]).sentences(TEXTS)
    np.testing.assert_allclose(erased, eraser.apply(none), rtol=0, atol=1e-5)


@pytest.mark.parametrize("case", ["mean", "max", "dense"])
def test_erasers_act_before_vectors_are_normalised_and_in_the_model(tmp_path, plain, case):
    folder = saved(tmp_path / "encoder", plain, case)
    library, width = SentenceTransformer(str(folder), device="cpu"), 20 if case == "dense" else HIDDEN
    at_sentence = replace(random_eraser(2, width), center=torch.randn(width))
    in_model = {
        name: [(place, random_eraser(1, HIDDEN))] for name, place in (("first", "layer[0]"), ("last", "layer[-1]"))
    }
    methods = {"none": [], "sentence": [("sentence", at_sentence)], **in_model}
    methods["all"] = [*in_model["first"], *in_model["last"], *methods["sentence"]]
    found = reading(folder, **methods).sentences(TEXTS)
    before = library[2 if case == "dense" else 1]
    for vectors, edits in zip(found, methods.values(), strict=True):
        of_layers, hooks = [edit for edit in edits if edit[0] != "sentence"], []
        if len(of_layers) < len(edits):

            def erase(module, args, features):
                return features | {"sentence_embedding": at_sentence.apply(features["sentence_embedding"])}

            hooks.append(before.register_forward_hook(erase))
        with edited(library[0].model, of_layers):
            assert_equal(vectors, library.encode(TEXTS))
        for hook in hooks:
            hook.remove()
    assert len({tuple(vectors.ravel().tolist()) for vectors in found}) == len(methods)


def test_erasers_are_fitted_to_the_vectors_of_the_sentences_with_the_words(tmp_path, plain):
    folder = saved(tmp_path / "encoder", plain, "dense")
    model, tokenizer = load_encoder(folder, head="none")
    sentences = [f"{word} is a {end} ." for end in ("nurse", "chef") for word in ("he", "she", "the man", "the woman")]
    steps = [{"eraser": "mean_projection", "module": "biasflow.erasers.mean_projection", "places": "sentence"}]
    methods = {"own": steps, "own-random-matched": [{**steps[0], "control": [0, 1], "matched": True}]}
    words = ([*"he man".split()], [*"she woman".split()])
    fitted = fit_block(model, tokenizer, methods, sentences=sentences, words=words, n=8)
    ((place, eraser),) = fitted.methods["own"][0].edits
    X, table = sentence_encoder(model).vectors(sentences), fitted.tables["occurrences"]
    at = X[table["sentence"].tolist()]
    z = torch.tensor((table["gender"] == "feminine").to_numpy())
    erased = eraser.apply(at)
    assert place == "sentence" and len(table) == len(sentences)
    torch.testing.assert_close(erased[z].mean(0), erased[~z].mean(0), rtol=0, atol=1e-5)
    assert (at[z].mean(0) - at[~z].mean(0)).abs().max() > 1e-3
    moved = fitted.tables["movements"].set_index(["method", "setting"])["sentences of words"]
    assert len(moved) == 3 and (moved > 0).all()


def test_what_the_library_would_have_to_trust_or_cannot_read_is_one_line(tmp_path, plain):
    folder = saved(tmp_path / "encoder", plain, "dense")
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "2_Dense/model.safetensors").rename(folder / "2_Dense/pytorch_model.bin")  # links show records alone
    with pytest.raises(BiasflowError, match=r"encoder: sentence-transformers cannot read it .*; get the encoder again"):
        reading(folder).sentences(TEXTS)
    with pytest.raises(BiasflowError, match=r"2_Dense: no model\.safetensors; save"):
        describe(folder)
    (folder / "modules.json").write_text(json.dumps([modules[0], {**modules[1], "type": "os.path"}]))
    with pytest.raises(BiasflowError, match="cannot read it"):
        reading(folder).sentences(TEXTS)
    with pytest.raises(BiasflowError, match=r"os\.path is code of its own"):
        describe(folder)
    (folder / "modules.json").write_text(json.dumps(modules[:2]))
    for about, why in (
        ({"prompts": ["a"]}, "names with texts"),
        ({"prompts": {"query": 3}}, "names with texts"),
        ({"prompts": {"query": "q"}, "default_prompt_name": "document"}, "no prompt 'document'"),
        ({"prompts": {"query": "q"}, "default_prompt_name": ["query"]}, r"no prompt \['query'\]"),
        ({"truncate_dim": -3}, "truncate_dim is -3"),
        ({"truncate_dim": "many"}, "truncate_dim is 'many'"),
        ({"similarity_fn_name": "near"}, "similarity_fn_name is 'near'"),
    ):
        (folder / "config_sentence_transformers.json").write_text(json.dumps(about))
        with pytest.raises(BiasflowError, match=why):
            describe(folder)
    with pytest.raises(AbsentError, match=r"no modules\.json"):
        reading(plain).sentences(TEXTS)


@pytest.mark.parametrize(
    ("key", "value"),
    [("tokenizer_name_or_path", "/elsewhere"), ("model_args", {"attn_implementation": "somebody/kernel"})],
)
def test_what_would_be_loaded_from_elsewhere_is_refused(tmp_path, plain, key, value):
    folder = saved(tmp_path / "encoder", plain, "mean")
    settings = folder / "sentence_bert_config.json"
    about = json.loads(settings.read_text())
    settings.write_text(json.dumps(about | {"model_args": {"trust_remote_code": True}}))
    describe(folder)
    settings.write_text(json.dumps(about | {key: value}))
    with pytest.raises(BiasflowError, match=f"sentence_bert_config.json: key '{key}' is .*remove the key"):
        describe(folder)
