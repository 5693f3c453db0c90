"""States of texts, professions, places and tokens."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.corpora import winobias
from biasflow.encoders.edit import edited
from biasflow.encoders.first_token import first_token_vectors
from biasflow.encoders.load import load_encoder
from biasflow.erasers import densray
from biasflow.methods.fitted import Active, Fitted, load, save
from biasflow.methods.states import word_states
from biasflow.metrics.families import score_word_families
from biasflow.readouts import first_token, professions, states
from biasflow.readouts.files import load_arrays
from biasflow.readouts.gender_shares import gender_places, gender_shares
from biasflow.readouts.gender_shares import read as read_gender_shares
from biasflow.readouts.source import Source
from biasflow.readouts.states import States
from biasflow.readouts.token_scores import read as read_token_scores
from biasflow.readouts.word_families import cut_by_words
from biasflow.readouts.word_families import read as read_word_families
from biasflow.stimuli.gendered_words import PLANTED, read_gendered_words
from biasflow.tasks.coreference.professions import read_rows
from tests.unit.conftest import HEADS, HIDDEN, MODELS, SIZES, random_eraser, save_random
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.readouts.conftest import sentences
from tests.unit.readouts.test_word_contexts import byte_pairs, word_pieces
from tests.unit.synthetic_bios import METHODS, fitted, readable, save_model, save_states, source
from tests.unit.synthetic_conll import conll_text

BIOS = readable(60)
PLAIN = ("none", "-")


@pytest.fixture
def texts_folder(tmp_path):
    BIOS.to_parquet(tmp_path / "texts.parquet")
    save_model(tmp_path / "model")
    return tmp_path


def read(texts_folder, methods, *, text="raw", **options):
    path = texts_folder / f"{text}.safetensors"
    facts = first_token.read(source(texts_folder, methods=methods), path, **{"text": text, "max_length": 32} | options)
    return path, facts


def by_hand(texts_folder, edits=(), text="text"):
    """The vectors by the hooked model."""
    model, tokenizer = load_encoder(texts_folder / "model", head="none")
    with edited(model, edits):
        return first_token_vectors(model, tokenizer, BIOS[text].tolist(), max_length=32)[0]


def test_vectors_under_every_method_are_those_of_the_edited_model(texts_folder):
    names = ("none", "last", "cls", "deep", "both")
    path, _ = read(texts_folder, names)
    stored = load_arrays(path)
    assert stored.axis == (PLAIN, ("deep", "layer[0]"), ("both", "-")) and stored.meta["layers"] == 3
    found = {(method, setting): X for method, setting, X in States(path, fitted(*names)).under_each()}
    assert list(found) == list(fitted(*names).axis)
    assert torch.equal(found[PLAIN], by_hand(texts_folder))
    for (method, setting), X in found.items():
        if method != "none":
            edits = [(place, eraser) for place, eraser in METHODS[method][setting] if place != "pooled"]
            torch.testing.assert_close(X, by_hand(texts_folder, edits), rtol=0, atol=2e-5)
            assert (X - found[PLAIN]).abs().max() > 1e-2


def test_texts_beyond_those_that_are_read_together_have_vectors_of_their_own(texts_folder, monkeypatch):
    together = by_hand(texts_folder)
    monkeypatch.setattr("biasflow.encoders.first_token.CHUNK", 7)
    assert torch.allclose(by_hand(texts_folder), together, atol=1e-5)


@pytest.mark.parametrize(
    ("names", "stored"),
    [
        (("deep",), [("deep", "layer[0]"), PLAIN]),
        (("both",), [("both", "-")]),
        (("last", "cls"), [PLAIN]),
        (("none",), [PLAIN]),
    ],
)
def test_the_untouched_model_is_stored_where_it_is_of_use(texts_folder, names, stored):
    path, _ = read(texts_folder, names)
    assert sorted(load_arrays(path).axis) == sorted(stored)
    assert [pair[:2] for pair in States(path, fitted(*names)).under_each()] == list(fitted(*names).axis)


def test_groups_hold_all_methods_in_their_order(tmp_path, monkeypatch):
    path, X = tmp_path / "v", torch.randn(50, 32)
    save_states(path, X)
    vectors = States(path, fitted("none", "last", "cls"))
    (whole,) = vectors.in_groups(np.arange(20))
    assert whole[0] == list(vectors.axis) and whole[1].shape == (3, 20, 32)
    monkeypatch.setattr(states, "BYTES_TOGETHER", 2 * 20 * 32 * 4)
    parts = list(vectors.in_groups(np.arange(20)))
    assert [len(axis) for axis, _ in parts] == [2, 1]
    assert torch.equal(torch.cat([X for _, X in parts]), whole[1])


SENTENCES = [  # words, gold cluster, and where its two professions stand: masculine, feminine
    ("The farmer saw the nurse before he left .", [(0, 1), (6, 6)], [(1, 1), (4, 4)]),
    ("The nurse told the sea farmer to meet her at her house .", [(0, 1), (8, 8)], [(4, 5), (1, 1)]),
    ("A nurse , a farmer and the nurse who hurt herself were here .", [(6, 7), (10, 10)], [(4, 4), (7, 7)]),
]
KNOWN = pd.DataFrame({"stereotype": ["F", "M", "M", "M"]}, ["nurse", "farmer", "sea farmer", "кок"])


def texts(sentences):
    return "".join(
        conll_text(f"nw/{number}", [text.split()], [gold]) for number, (text, gold, _) in enumerate(sentences)
    )


@pytest.fixture
def sentences_folder(tmp_path, monkeypatch):
    (tmp_path / "pro.conll").write_text(texts(SENTENCES), encoding="utf-8")
    monkeypatch.setattr(winobias, "professions", lambda: KNOWN)
    save_random(tmp_path / "model", lambda: BertModel(BertConfig(**SIZES)), word_pieces())
    return tmp_path


def read_professions(sentences_folder, methods=("none",), **options):
    path = sentences_folder / "coref-professions.safetensors"
    asked = source(sentences_folder, methods=methods, pro=sentences_folder / "pro.conll")
    return path, professions.read(asked, path, **{"word_prefix_space": True} | options)


def by_hand_professions(sentences_folder, edits=(), model=None):
    """The vectors by the hooked model, sentence by sentence, of words that the tokenizer splits by itself."""
    loaded, tokenizer = load_encoder(sentences_folder / "model", head="none")
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


def test_vectors_under_every_method_are_means_of_the_edited_models_pieces(sentences_folder):
    names = ("none", "last", "deep", "both")
    path, facts = read_professions(sentences_folder, names)
    stored = load_arrays(path)
    assert stored.axis == (("none", "-"), ("deep", "layer[0]"), ("both", "-")) and facts["rows"] == 6
    found = {(method, setting): X for method, setting, X in States(path, fitted(*names)).under_each()}
    assert list(found) == list(fitted(*names).axis)
    for (method, setting), X in found.items():
        edits = [] if method == "none" else METHODS[method][setting]
        edits = [(place, eraser) for place, eraser in edits if place != "pooled"]
        torch.testing.assert_close(X, by_hand_professions(sentences_folder, edits), rtol=0, atol=2e-5)


@pytest.mark.parametrize("space", [True, False])
def test_byte_level_vocabularies(sentences_folder, space):
    """Every word with or without the space before it, a mask without one in any case."""
    tokenizer = byte_pairs()
    sizes = SIZES | {"vocab_size": len(tokenizer), "max_position_embeddings": 80}
    save_random(sentences_folder / "model", lambda: RobertaModel(RobertaConfig(**sizes)), tokenizer)
    path, _ = read_professions(sentences_folder, word_prefix_space=space)
    found = load_arrays(path).arrays["vectors"][0]
    model, _ = load_encoder(sentences_folder / "model", head="none")
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


def test_sentences_that_the_encoder_cannot_take_are_left_out(sentences_folder):
    path, _ = read_professions(sentences_folder)
    expected, rows = load_arrays(path).arrays["vectors"], read_rows(path)
    long = ("The farmer saw the nurse before he left " + "and left " * 60 + ".", [(0, 1), (6, 6)], [])
    unknown = ("The кок saw the nurse before he left .", [(0, 1), (6, 6)], [])
    (sentences_folder / "pro.conll").write_text(texts([long, SENTENCES[0], unknown, *SENTENCES[1:]]), encoding="utf-8")
    path, facts = read_professions(sentences_folder)
    reasons = ["longer than the encoder takes", "a profession that the encoder's vocabulary lacks"]
    assert facts["left_out"]["of"] == 5 and list(facts["left_out"]["items"].values()) == reasons
    assert load_arrays(path).arrays["vectors"] == pytest.approx(expected, abs=2e-5) and read_rows(path).equals(rows)
    (sentences_folder / "pro.conll").write_text(texts([unknown]), encoding="utf-8")
    with pytest.raises(AbsentError, match="none of 1 sentences"):
        read_professions(sentences_folder)


WORDS = ("he", "man"), ("she", "woman")
GENDERED = ["he saw the man", "she saw the woman", "the woman saw rain", "he saw him"] * 2


@pytest.fixture
def tokenizer():
    return word_tokenizer("he she man woman saw the rain him".split())


@pytest.fixture
def states_of_words(bert, tokenizer):
    options = {"n": 8, "max_length": 32, "batch_size": 3}
    return word_states(bert, tokenizer, GENDERED, WORDS, **options)


def test_shares_of_layers_and_heads(bert, states_of_words):
    where = gender_places(bert)
    assert where == [*(f"layer[{i}]" for i in range(3)), *(f"layer[{i}].attention.value" for i in range(3))]
    shares = gender_shares(states_of_words, where)
    assert list(shares["place"]) == where[:3] + [place for place in where[3:] for _ in range(HEADS)]
    assert list(shares["head"]) == [""] * 3 + [str(head) for head in range(HEADS)] * 3
    assert shares["share"].between(0, 1).all()
    X = states_of_words.at(["layer[1]"])["layer[1]"]
    z = states_of_words.labels(X)["z"]
    assert shares["share"][1] == pytest.approx(densray.gender_share(X, z), abs=1e-4)


def test_the_file_has_a_row_for_every_method_place_and_head(tmp_path):
    masculine, feminine = read_gendered_words(PLANTED, ())
    text = [f"the {word} saw rain" for word in (*masculine, *feminine)]
    (tmp_path / "text.txt").write_text("\n".join(text), encoding="utf-8")
    tokenizer = word_tokenizer([*masculine, *feminine, "saw", "the", "rain"])
    save_random(tmp_path / "model", MODELS["bert-next-sentence"], tokenizer)
    edits = (("layer[1]", random_eraser(1, HIDDEN)),)
    save(Fitted({"some": (Active("some", "-", edits),)}, {"some": []}), tmp_path / "methods.safetensors")
    source = Source(
        tmp_path / "model",
        ("none", "some"),
        "words",
        {"text": (tmp_path / "text.txt",)},
        methods_file=tmp_path / "methods.safetensors",
    )
    facts = read_gender_shares(source, tmp_path / "shares.parquet", n=8, max_length=32)
    table = pd.read_parquet(tmp_path / "shares.parquet")
    assert list(table) == ["method", "setting", "place", "head", "share"]
    assert list(table["method"].unique()) == ["none", "some"] and set(table["setting"]) == {"-"}
    assert len(table) == 2 * 3 * (1 + HEADS)
    none, some = (table[table["method"] == name].set_index(["place", "head"])["share"] for name in ("none", "some"))
    assert none["layer[0]", ""] == some["layer[0]", ""] and none["layer[1]", ""] != some["layer[1]", ""]
    assert facts["words_left_out"] == [] and facts["sentences_read"] <= len(text)
    with pytest.raises(BiasflowError, match="1000"):
        read_gender_shares(source, tmp_path / "shares.parquet", n=2000, max_length=32)

    text = [f"the {word} saw rain" for word in (*masculine, *feminine)] * 10
    (tmp_path / "text.txt").write_text("\n".join(text), encoding="utf-8")
    read_word_families(source, tmp_path / "words.parquet", n=200, max_length=32, hidden=4, seeds=[0, 1])
    scores = score_word_families(tmp_path / "words.parquet")
    seen = scores[~scores["variant"].str.startswith("unseen")]
    assert set(seen["n"]) == {20} and set(scores["split_seed"]) == {"0", "1"}
    assert set(scores["variant"]) - set(seen["variant"]) == {
        "unseen" + name for name in ("", "-shuffled", "-after-leace", "-after-qleace")
    }
    of_family = dict(iter(seen[seen["variant"] == "-"].groupby("metric")))
    quadratic, kernel = of_family["quadratic_word_probe"], of_family["rbf_word_probe"]
    assert list(kernel["method"]) == ["none"] * 2 + ["some"] * 2
    assert (quadratic["value"] > 0.9).all()  # known words
    assert (kernel["value"] > 0.7).all()  # contexts that are the same leave it rounding, which differs by machine


def test_probes_are_tested_on_words_that_they_do_not_learn_from_of_both_genders():
    words = np.random.default_rng(0).permutation(np.repeat([f"{gender}{k}" for gender in "fm" for k in range(9)], 20))
    words[:400:2] = np.where(np.char.startswith(words[:400:2], "f"), "frequent", "most frequent")
    z = np.array([word[0] == "f" for word in words]).astype(int)
    for seed in range(5):
        cut = cut_by_words(z, words, seed)
        tested = set(words[cut.test])
        assert not tested & set(words[np.concatenate([cut.train, cut.dev])]) and not tested & {
            "frequent",
            "most frequent",
        }
        assert {word[0] for word in tested} == set("fm") and len(cut.train) > 8 * len(cut.dev) > 0
        assert sorted(cut.rows) == list(range(len(words)))
    assert tested != set(words[cut_by_words(z, words, 0).test])
    assert cut_by_words(z, np.where(z == 1, "f", words), 0) is None  # one word is all contexts of women


def test_they_are_coordinates_along_the_last_layers_direction(source, folder, tmp_path):
    one = source("mine", ["none", "densray"], text="text.txt")
    facts = read_token_scores(one, tmp_path / "t.parquet", sentences=50)
    table = pd.read_parquet(tmp_path / "t.parquet")
    assert list(table.columns) == ["method", "setting", "place", "sentence", "truncated", "piece", "score"]
    assert set(table["method"]) == {"densray"} and set(table["place"]) == {"layer[2]"} and facts["device"] == "cpu"
    assert [" ".join(rows["piece"]) for _, rows in table.groupby("sentence")] == sentences()
    model, tokenizer = load_encoder(folder / "model", head="none")
    (active,) = load(one.methods_file, ["densray"]).every_setting()
    with torch.inference_mode():
        states = model(**tokenizer(sentences()[4], return_tensors="pt")).last_hidden_state[0, 1:-1]
    expected = (states @ active.edits[-1][1].left[0]).tolist()
    assert table[table["sentence"] == 4]["score"].tolist() == pytest.approx(expected, abs=1e-5)
