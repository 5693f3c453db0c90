"""A sentence encoder without layers: its vectors are the library's, and erasers act on them."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.encoders.configured import Encoder
from biasflow.encoders.described import describe, table_row
from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import save
from biasflow.methods.fitting import fit_block
from biasflow.plan.cells import plan
from biasflow.plan.choices import first_configuration
from biasflow.plan.configuration import resolve
from biasflow.plan.facts import gather
from biasflow.plan.setup import Setup
from biasflow.readouts import sentence_vectors, vectors
from biasflow.readouts.document_similarities import similarities
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from tests.unit.conftest import random_eraser
from tests.unit.encoders.test_sentence_encoder import TEXTS, WORDS, assert_equal, reading
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.plan.configs import SCHEMA, asking

WIDTH = 12


@pytest.fixture(params=["", "normalised", "prompts"])
def folder(request, tmp_path):
    torch.manual_seed(1)
    tokenizer = word_tokenizer(WORDS)
    table = StaticEmbedding(tokenizer.backend_tokenizer, embedding_weights=torch.randn(len(tokenizer), WIDTH))
    modules = [table, *[Normalize()] * (request.param == "normalised")]
    prompts = {"prompts": {"query": "query : ", "document": "text : "}} if request.param == "prompts" else {}
    path = tmp_path / "encoder"
    SentenceTransformer(modules=modules, device="cpu", **prompts).save(str(path), create_model_card=False)
    if request.param == "normalised":  # as model2vec names its place
        listed = json.loads((path / "modules.json").read_text())
        listed[0]["path"] = "."
        (path / "modules.json").write_text(json.dumps(listed))
        (path / "config.json").write_text('{"model_type": "model2vec"}')
    return path


def test_vectors_are_those_that_the_library_encodes_and_erasers_act_before_they_are_normalised(folder):
    library, eraser = SentenceTransformer(str(folder), device="cpu"), random_eraser(2, WIDTH)
    read = reading(folder, none=[], erased=[("sentence", eraser)])
    for kind, encode in (("", library.encode), ("query", library.encode_query), ("document", library.encode_document)):
        plain, erased = read.sentences(TEXTS, kind)
        assert_equal(plain, encode(TEXTS))
        wanted = eraser.apply(
            library[0](library.preprocess(TEXTS, prompt=read.sentence_encoder.prompt(kind)))[
                "sentence_embedding"
            ].detach()
        )
        if len(library) > 1:
            wanted = torch.nn.functional.normalize(wanted, dim=-1)
        assert_equal(erased, wanted.numpy())
    assert read.truncation["cut"] == 0
    pairs = pd.DataFrame({"query": TEXTS, "text": TEXTS[::-1]})
    found = similarities(reading(folder), pairs, "sentence")[0]
    wanted = library.similarity_pairwise(library.encode_query(TEXTS), library.encode_document(TEXTS[::-1]))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_its_folder_says_what_it_is_and_what_is_measured_on_it(folder):
    about, row = describe(folder), table_row(folder)
    assert about.sentence.startswith("mean of static vectors") and about.pooling == "sentence"
    assert (row["width"], row["layers"], row["architecture"]) == (WIDTH, "", "StaticEmbedding")
    files = Encoder("real", {"source": "local"}, folder=folder, described=about).local_files
    assert {*files} == {str(path) for path in folder.rglob("*") if path.is_file()}
    methods = ["none", "leace", "leace-sentence", "leace-sentence-random-matched"]
    block = {"encoders": ["real"], "methods": methods, "trainings": ["pretrained", "random"], "seeds": [0]}
    block |= {"metrics": ["weat", "seat", "similarity", "retrieval", "people_search", "crows_pairs"]}
    assert (
        "methods: [none, leace-sentence, leace-sentence-random-matched]" in first_configuration(str(folder), "f").text
    )
    config = resolve(asking(block, ("encoders.real.path", str(folder))), SCHEMA)
    reasons = {}
    for cell in plan(Setup(config, gather(config))).cells:
        reasons.setdefault((cell.metric, cell.method, cell.model.training), set()).add(cell.reason)
    for (metric, method, training), why in reasons.items():
        (reason,) = why
        if metric in ("weat", "crows_pairs"):
            assert "has no layers" in reason or "no mask token" in reason
        elif training != "pretrained":
            assert "no layers to draw" in reason
        else:
            assert ("layers of encoders.real" in reason) if method == "leace" else reason == ""


def test_methods_are_fitted_to_the_vectors_of_sentences_and_read_with_them(folder, tmp_path):
    model, tokenizer = load_encoder(folder, head="none")
    sentences = [f"{word} is a {end} ." for end in ("nurse", "chef") for word in ("he", "she", "the man", "the woman")]
    step = {"eraser": "mean_projection", "module": "biasflow.erasers.mean_projection", "places": "sentence"}
    words = ([*"he man king".split()], [*"she woman queen".split()])  # two are no pieces
    fitted = fit_block(model, tokenizer, {"own": [step]}, sentences=sentences, words=words, n=8)
    assert set(fitted.facts["words_left_out"]) == {"king", "queen"}
    save(fitted, tmp_path / "methods")
    (tmp_path / "text.txt").write_text("\n".join(sentences))
    source = Source(folder, ("none", "own"), "text", {"text": (tmp_path / "text.txt",)}, tmp_path / "methods")
    sentence_vectors.read(source, tmp_path / "vectors", sentences=8, pooling="sentence")
    found = load_arrays(tmp_path / "vectors").arrays["vectors"]
    assert found.shape == (2, 8, WIDTH) and np.abs(found[0] - found[1]).max() > 1e-3
    own = tmp_path / "test.csv"
    rows = [
        f"{role},{role.lower()},{word}"
        for role, both in (("X", "he man"), ("Y", "she woman"), ("A", "nurse a"), ("B", "chef the"))
        for word in both.split()
    ]
    own.write_text("\n".join(["role,set_name,word", *rows]))
    seat = Source(folder, ("none", "own"), "sent-own", {"own": (own,)}, tmp_path / "methods")
    facts = vectors.read(seat, tmp_path / "seat", sentence_pooling="sentence", templates=["{word} is here ."])
    assert facts["words"] == 8
    X = load_arrays(tmp_path / "seat").arrays["X"][0]
    assert_equal(X, SentenceTransformer(str(folder), device="cpu").encode(["he is here .", "man is here ."]))


def test_what_cannot_be_read_is_one_line(folder):
    with pytest.raises(AbsentError, match="without layers has no masked_lm head"):
        load_encoder(folder, head="masked_lm")
    table = load_file(folder / "model.safetensors")["embedding.weight"]
    for weights, why in (
        ({"embedding.weight": table[:3]}, "pieces, but the table 3"),
        ({"embedding.weight": table * torch.nan}, "NaN or infinite"),
        ({"other": table}, "no table of the vectors"),
    ):
        save_file(weights, folder / "model.safetensors")
        with pytest.raises(BiasflowError, match=why):
            load_encoder(folder, head="none")
    with pytest.raises(BiasflowError, match="no table of the vectors"):
        describe(folder)
    (folder / "tokenizer.json").write_text("{}")
    save_file({"embedding.weight": table}, folder / "model.safetensors")
    with pytest.raises(BiasflowError, match="the tokenizer cannot be read"):
        load_encoder(folder, head="none")
