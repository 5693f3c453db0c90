"""Vectors of professions beside masked pronouns: against the edited model by hand, with every kind of tokenizer."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.corpora.conll import read_conll, write_conll
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder, random_encoder
from biasflow.readouts import professions, states
from biasflow.readouts.files import load_arrays
from biasflow.readouts.states import States
from biasflow.tasks.coreference.professions import read_rows
from tests.unit.conftest import SIZES
from tests.unit.readouts.test_word_contexts import byte_pairs, word_pieces
from tests.unit.synthetic_bios import METHODS, fitted, source
from tests.unit.synthetic_conll import conll_text

SENTENCES = [  # words, gold cluster, and where its two professions stand: masculine, feminine
    ("The farmer saw the nurse before he left .", [(0, 1), (6, 6)], [(1, 1), (4, 4)]),
    ("The nurse told the sea farmer to meet her at her house .", [(0, 1), (8, 8)], [(4, 5), (1, 1)]),
    ("A nurse , a farmer and the nurse who hurt herself were here .", [(6, 7), (10, 10)], [(4, 4), (7, 7)]),
]
KNOWN = "profession,share_of_women,stereotype\nnurse,0.9,F\nfarmer,0.2,M\nsea farmer,0.1,M\n"
WITHOUT_PIECES = "\u200b"


def texts(sentences):
    return "".join(
        conll_text(f"nw/{number}", [text.split()], [gold]) for number, (text, gold, _) in enumerate(sentences)
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pro.conll").write_text(texts(SENTENCES), encoding="utf-8")
    (tmp_path / "professions.csv").write_text(KNOWN)
    torch.manual_seed(0)
    BertModel(BertConfig(**SIZES)).save_pretrained(tmp_path / "model")
    word_pieces().save_pretrained(tmp_path / "model")
    return tmp_path


def read(folder, methods=("none",), **options):
    path = folder / "coref-professions.safetensors"
    files = {"pro": folder / "pro.conll", "professions": folder / "professions.csv"}
    facts = professions.read(source(folder, methods=methods, **files), path, **{"word_prefix_space": True} | options)
    return path, facts


def by_hand(folder, edits=(), model=None):
    """The vectors by the hooked model, sentence by sentence, of words that the tokenizer splits by itself."""
    loaded, tokenizer = load_encoder(folder / "model", head="none")
    model, found = model or loaded, []
    hidden = {"he", "her", "herself"}
    with edited(model, edits), torch.inference_mode():
        for text, _, places in SENTENCES:
            words = [tokenizer.mask_token if word in hidden else word for word in text.split()]
            encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
            states = model(**encoded).last_hidden_state[0]
            for first, last in places:
                pieces = [
                    at for at, word in enumerate(encoded.word_ids()) if word is not None and first <= word <= last
                ]
                found.append(states[pieces].mean(dim=0))
    return torch.stack(found)


def test_vectors_under_every_method_are_means_of_the_edited_models_pieces(folder):
    names = ("none", "last", "deep", "both")
    path, facts = read(folder, names)
    stored = load_arrays(path)
    assert stored.axis == (("none", "-"), ("deep", "layer[0]"), ("both", "-")) and facts["rows"] == 6
    found = {(method, setting): X for method, setting, X in States(path, fitted(*names)).under_each()}
    assert list(found) == list(fitted(*names).axis)
    for (method, setting), X in found.items():
        edits = [] if method == "none" else METHODS[method][setting]
        edits = [(place, eraser) for place, eraser in edits if place != "pooled"]
        torch.testing.assert_close(X, by_hand(folder, edits), rtol=0, atol=2e-5)


def test_rows_are_the_two_professions_of_every_sentence(folder):
    path, _ = read(folder)
    rows = read_rows(path)
    assert rows["document"].tolist() == [0, 0, 1, 1, 2, 2] and rows["feminine"].tolist() == [0, 1] * 3
    assert rows["profession"].tolist() == ["farmer", "nurse", "sea farmer", "nurse", "farmer", "nurse"]
    places = [place for *_, both in SENTENCES for place in both]
    assert list(zip(rows["first"], rows["last"], strict=True)) == places


def test_a_method_at_the_first_token_alone_does_not_reach_words(folder):
    with pytest.raises(BiasflowError, match=r"cls: acts at layer\[2\]\.cls"):
        read(folder, ("none", "cls"))
    path, _ = read(folder)
    with pytest.raises(BiasflowError, match=r"last layer's states of words"):
        list(States(path, fitted("cls")).under_each())
    both = states.Active("x", "-", (*METHODS["last"]["-"], *METHODS["cls"]["-"]))
    ((_, _, X),) = States(path, states.Fitted({"x": (both,)}, {})).under_each()
    torch.testing.assert_close(X, by_hand(folder, METHODS["last"]["-"]), rtol=0, atol=2e-5)


def test_a_random_encoder_is_drawn_anew(folder):
    files = {"pro": folder / "pro.conll", "professions": folder / "professions.csv"}
    drawn = source(folder, **files)
    drawn = type(drawn)(**vars(drawn) | {"training": "random/seed4"})
    professions.read(drawn, folder / "drawn.safetensors", word_prefix_space=True)
    model, _ = random_encoder(folder / "model", seed=4)
    found = load_arrays(folder / "drawn.safetensors").arrays["vectors"][0]
    torch.testing.assert_close(torch.from_numpy(found), by_hand(folder, model=model), rtol=0, atol=2e-5)


@pytest.mark.parametrize("space", [True, False])
def test_byte_level_vocabularies(folder, space):
    """Every word with or without the space before it, a mask without one in any case."""
    tokenizer = byte_pairs()
    torch.manual_seed(0)
    sizes = SIZES | {"vocab_size": len(tokenizer), "max_position_embeddings": 80}
    RobertaModel(RobertaConfig(**sizes)).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    path, _ = read(folder, word_prefix_space=space)
    found = load_arrays(path).arrays["vectors"][0]
    model, _ = load_encoder(folder / "model", head="none")
    ids, places = [tokenizer.cls_token_id], []
    for word in "The farmer saw the nurse before he left .".split():
        start = len(ids)
        masked = [tokenizer.mask_token_id]
        ids += masked if word == "he" else tokenizer(f"{' ' * space}{word}", add_special_tokens=False)["input_ids"]
        if word in ("farmer", "nurse"):
            places.append(range(start, len(ids)))
    ids.append(tokenizer.sep_token_id)
    with torch.inference_mode():
        vectors = model(torch.tensor([ids])).last_hidden_state[0]
    expected = torch.stack([vectors[list(place)].mean(dim=0) for place in places])
    torch.testing.assert_close(torch.from_numpy(found[:2]), expected, rtol=0, atol=2e-5)


def test_a_word_without_pieces_and_a_profession_without_any(folder):
    odd = [(f"{text} {WITHOUT_PIECES}", *rest) for text, *rest in SENTENCES]
    (folder / "pro.conll").write_text(texts(odd), encoding="utf-8")
    assert read(folder)[1]["rows"] == 6
    (folder / "professions.csv").write_text(KNOWN.replace("farmer", "fármer字"))
    lacking = [(text.replace("farmer", "fármer字"), *rest) for text, *rest in SENTENCES]
    (folder / "pro.conll").write_text(texts(lacking), encoding="utf-8")
    with pytest.raises(AbsentError, match=r"document \(nw/0\); part 000: .* lacks the word 'fármer字'"):
        read(folder)


def test_a_sentence_longer_than_the_encoder_takes_is_named(folder):
    text, *rest = SENTENCES[0]
    long = [SENTENCES[1], (f"{text} {'and ' * 30}", *rest)]
    (folder / "pro.conll").write_text(texts(long), encoding="utf-8")
    with pytest.raises(BiasflowError, match=r"document \(nw/1\); part 000: \d+ tokens; the encoder takes 64"):
        read(folder)


def test_pronouns_tell_nothing(folder):
    """What a sentence says of its pronoun's gender is hidden, so its vectors are those of the other gender."""
    path, _ = read(folder)
    before = load_arrays(path).arrays["vectors"]
    swaps = {"he": "him", "her": "she", "herself": "her"}
    documents = read_conll(folder / "pro.conll").documents
    swapped = [each.with_words([swaps.get(word, word) for word in each.words]) for each in documents]
    write_conll(swapped, folder / "pro.conll")
    path, _ = read(folder)
    assert np.array_equal(load_arrays(path).arrays["vectors"], before)
