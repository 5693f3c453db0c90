"""Embeddings of sentences and of words in them, against plain forward passes of one sentence at a time."""

import json
from itertools import chain
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.seat import ROLES, AssociationTest, ExampleSet
from biasflow.encoders.edit import edited
from biasflow.encoders.taps import last_state
from biasflow.erasers.eraser import Eraser
from biasflow.metrics.association import score, weat
from biasflow.readouts.external_vectors import read
from biasflow.readouts.vectors import TokenPooling, embed, embed_test
from tests.unit.conftest import HIDDEN, MODELS
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.readouts.conftest import reader

WORDS = "the nurse ##s ##ry baker said that was late is mask he she . john".split()
SENTENCES = ["the nurse was late .", "The bakers said that he was late.", "She is [MASK].", "nursery."]
TARGETS = ["nurse", "bakers", "she", "nursery"]
PLACES = [[2], [2, 3], [1], [1, 2]]  # of the targets, counting the first special token


@pytest.fixture(params=["bert-next-sentence", "bert-pretraining", "roberta", "distilbert"])
def encoder(request):
    torch.manual_seed(0)
    tokenizer = word_tokenizer(WORDS)
    if request.param == "distilbert":
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    return MODELS[request.param]().eval(), tokenizer


@pytest.fixture
def bert_encoder(bert):
    return bert, word_tokenizer(WORDS)


@torch.inference_mode()
def last_layer(model, tokenizer, sentence, **options):
    batch = tokenizer(sentence, return_tensors="pt", **options)
    return model(**batch, output_hidden_states=True).hidden_states[-1][0].numpy()


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_each_pooling_takes_its_tokens(encoder, batch_size):
    model, tokenizer = encoder
    whole = [last_layer(model, tokenizer, sentence) for sentence in SENTENCES]
    bare = [last_layer(model, tokenizer, sentence, add_special_tokens=False) for sentence in SENTENCES]
    expected = {
        "cls": [states[0] for states in whole],
        "mean": [states.mean(axis=0) for states in whole],
        "first-piece": [states[0] for states in bare],
        "target": [states[places].mean(axis=0) for states, places in zip(whole, PLACES, strict=True)],
    }
    assert set(expected) == set(get_args(TokenPooling))
    found = embed(reader(model, tokenizer, batch_size=batch_size), SENTENCES, list(expected), TARGETS)
    for pooling, vectors in expected.items():
        assert found[pooling].shape == (1, len(SENTENCES), HIDDEN) and found[pooling].dtype == np.float32
        assert np.allclose(found[pooling][0], vectors, atol=1e-5), pooling


def test_a_words_vector_is_the_mean_over_the_templates_of_the_user(bert_encoder):
    model, tokenizer = bert_encoder
    words = {"X": ("nurse", "bakers"), "Y": ("he", "she"), "A": ("john", "nursery"), "B": ("mask", "baker")}
    test = AssociationTest("own", **{role: ExampleSet(role, listed) for role, listed in words.items()})
    templates = ["the {word} was late .", "{word} is [MASK] ."]
    found = embed_test(reader(model, tokenizer), test, pooling="target", templates=templates)
    for role, listed in words.items():
        for word, vector in zip(listed, found[role][0], strict=True):
            pieces = len(tokenizer.tokenize(word))
            states = [
                last_layer(model, tokenizer, template.replace("{word}", word))[first : first + pieces].mean(axis=0)
                for template, first in zip(templates, (2, 1), strict=True)
            ]
            assert np.allclose(vector, np.mean(states, axis=0), atol=1e-5), word


def eraser_of(seed: int, components: int) -> Eraser:
    """An oblique one about a centre, which takes out a part."""
    draw = torch.Generator().manual_seed(seed)
    parts = [torch.randn(*shape, generator=draw) for shape in ((HIDDEN, components), (components, HIDDEN), (HIDDEN,))]
    return Eraser(0.3 * parts[0], 0.3 * parts[1], torch.rand(components, generator=draw), parts[2])


PLACES_OF_METHODS = {
    "none": (),
    "last": ("layer[-1]",),
    "first token": ("layer[-1].cls",),
    "both": ("layer[0]", "layer[-1]"),
    "twice": ("layer[-1]", "layer[-1].cls"),
}


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 99), components=st.integers(1, 3), size=st.sampled_from([1, 64]))
def test_an_eraser_of_the_last_layer_acts_on_a_mean_as_on_each_token(bert_encoder, seed, components, size):
    model, tokenizer = bert_encoder
    eraser = eraser_of(seed, components)
    methods = {name: [(place, eraser) for place in places] for name, places in PLACES_OF_METHODS.items()}
    methods |= {f"draw{draw}": [("layer[-1]", eraser_of(draw, 1))] for draw in range(100, 110)}
    read, runs = reader(model, tokenizer, batch_size=size, **methods), []
    with model.bert.embeddings.register_forward_hook(lambda *_: runs.append(1)):
        found = embed(read, SENTENCES, ["cls", "mean"])
    assert len(runs) <= 4 * len(SENTENCES)  # none, and those whose edits do not act on a mean; the draws cost no pass
    for number, edits in enumerate(methods.values()):
        with edited(model, edits), torch.inference_mode():
            states = [last_state(model, **tokenizer(one, return_tensors="pt"))[0] for one in SENTENCES]
        torch.testing.assert_close(torch.tensor(found["mean"][number]), torch.stack([h.mean(0) for h in states]))
        torch.testing.assert_close(torch.tensor(found["cls"][number]), torch.stack([h[0] for h in states]))
    assert all(report.change > 0 for report in read.reports.values())
    assert len(read.reports) == sum(map(len, methods.values()))


@pytest.mark.parametrize(
    ("sentence", "target"),
    [
        ("the nurses was late .", "nurse"),  # a part of another word
        ("the nurse was late .", "baker"),
        ("[MASK] is late .", "mask"),
        ("the plumber was late .", "plumber"),  # not in the vocabulary
        ("the nurse was late .", ""),
    ],
)
def test_a_target_that_cannot_be_found_is_named_with_its_sentence(bert_encoder, sentence, target):
    with pytest.raises(BiasflowError, match=f"(?s){sentence[-9:]}.*{target}"):
        embed(reader(*bert_encoder), ["nurse .", sentence], ["target"], ["nurse", target])


SETS = {
    "X": ["Career", "salary", "office", "business"],
    "Y": ["home", "family", "children", "wedding"],
    "A": ["John", "Paul", "Mike"],
    "B": ["Amy", "Lisa", "Sarah"],
}


@pytest.fixture
def vectors():
    rng = np.random.default_rng(0)
    return {text: rng.normal(size=5) for text in chain(*SETS.values())}


@pytest.fixture
def rows(tmp_path, vectors):
    """A function of the texts that have a vector -> metric and part -> value, of a test of words or sentences."""

    def rows(name="sent-weat6", without=()):
        test = {key: {"category": role, "examples": SETS[role]} for role, key in ROLES.items()}
        (tmp_path / "test.jsonl").write_text(json.dumps(test))
        np.savez(tmp_path / "theirs.npz", **{text: one for text, one in vectors.items() if text not in without})
        facts = read([tmp_path / "theirs.npz"], {"test": (tmp_path / "test.jsonl",)}, tmp_path / "out", dataset=name)
        left_out = {"of": 14, "items": dict.fromkeys(without, "no vector in the files")}
        assert facts == {"words": 14, **({"left_out": left_out} if without else {})}
        found = score(tmp_path / "out")
        assert set(found["variant"]) == {"given"} and set(found["method"]) == {"none"}
        return found.set_index(["metric", "part"])["value"]

    return rows


def expected(vectors, sets=SETS, ddof=0):
    return weat(*(np.stack([vectors[text] for text in sets[role]]) for role in "XYAB"), ddof=ddof)


def test_seat_has_the_sample_deviation_and_the_other_one_beside_it(rows, vectors):
    found = rows()
    assert found["seat_effect_size", "-"] == pytest.approx(expected(vectors, ddof=1).effect_size, rel=1e-12)
    assert found["seat_effect_size", "population"] == pytest.approx(expected(vectors, ddof=0).effect_size, rel=1e-12)
    assert found["seat_effect_size", "population"] / found["seat_effect_size", "-"] == pytest.approx(np.sqrt(8 / 7))
    assert found["seat_missing_words", "-"] == 0


def test_the_words_of_paper_a_are_looked_for_in_any_case_with_its_roles(rows, vectors):
    found = rows("C6")  # lower-cased; targets and attributes are exchanged
    exchanged = {"X": SETS["A"], "Y": SETS["B"], "A": SETS["X"], "B": SETS["Y"]}
    assert found["weat_effect_size", "-"] == pytest.approx(expected(vectors, exchanged).effect_size, rel=1e-12)
    assert found["weat_effect_size", "sample"] / found["weat_effect_size", "-"] == pytest.approx(np.sqrt(5 / 6))


def test_missing_words_are_left_out_named_and_counted(rows, vectors):
    found = rows(without=("Career", "Amy"))
    kept = {role: [text for text in texts if text not in ("Career", "Amy")] for role, texts in SETS.items()}
    assert found["seat_missing_words", "-"] == 2
    assert found["seat_effect_size", "-"] == pytest.approx(expected(vectors, kept, 1).effect_size, rel=1e-12)
