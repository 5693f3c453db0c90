"""Vectors of professions beside masked pronouns: against the edited model by hand, with every kind of tokenizer."""

import pytest
import torch
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from biasflow.base.errors import AbsentError
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.readouts import professions
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


def test_sentences_that_the_encoder_cannot_take_are_left_out(folder):
    path, _ = read(folder)
    expected, rows = load_arrays(path).arrays["vectors"], read_rows(path)
    long = ("The farmer saw the nurse before he left " + "and left " * 60 + ".", [(0, 1), (6, 6)], [])
    unknown = ("The кок saw the nurse before he left .", [(0, 1), (6, 6)], [])
    (folder / "pro.conll").write_text(texts([long, SENTENCES[0], unknown, *SENTENCES[1:]]), encoding="utf-8")
    (folder / "professions.csv").write_text(f"{KNOWN}кок,0.1,M\n", encoding="utf-8")
    path, facts = read(folder)
    reasons = ["longer than the encoder takes", "a profession that the encoder's vocabulary lacks"]
    assert facts["left_out"]["of"] == 5 and list(facts["left_out"]["items"].values()) == reasons
    assert load_arrays(path).arrays["vectors"] == pytest.approx(expected, abs=2e-5) and read_rows(path).equals(rows)
    (folder / "pro.conll").write_text(texts([unknown]), encoding="utf-8")
    with pytest.raises(AbsentError, match="none of 1 sentences"):
        read(folder)
