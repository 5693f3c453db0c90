"""Tokens wanted in texts with masks: words of tests in their sentences, and pairs of sentences."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

from biasflow.base.errors import AbsentError
from biasflow.encoders.attention import by_hand
from biasflow.encoders.load import load_encoder
from biasflow.metrics.preferences import score_prediction_quality, score_sss
from biasflow.readouts import fillings, pair_tokens
from biasflow.readouts.cloze import Cloze, masked, read_at
from biasflow.readouts.likelihoods import pair_likelihoods, pseudo_log_likelihoods, sentences_that_fit
from biasflow.readouts.masked_words import piece_log_probabilities
from biasflow.readouts.reader import Reader
from biasflow.readouts.source import Source
from tests.unit.conftest import HIDDEN, SIZES, random_eraser, save_random
from tests.unit.fake_tokenizer import byte_tokenizer, word_tokenizer
from tests.unit.readouts.conftest import ORDINARY, log_probabilities, own_log_p, reader

WORDS = "the nurse wo ##man said that he she was late kind .".split()


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(0)
    return BertForMaskedLM(BertConfig(**SIZES)).eval(), word_tokenizer(WORDS, max_length=16)


@pytest.fixture
def log_p(encoder):
    return own_log_p(*encoder)


def words(text: str, word: str, also: str = "", filling: str = "together") -> pd.DataFrame:
    start, other = text.index(word), text.index(also) if also else -1
    return pd.DataFrame(
        [(text, start, start + len(word), other, other + len(also) if also else -1, filling)],
        columns=["text", "start", "end", "also_start", "also_end", "filling"],
    )


# Clozes


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_every_wanted_token_has_the_models_own_log_probability(encoder, log_p, batch_size):
    ids = encoder[1]("the nurse said he was late .")["input_ids"]
    he, she = encoder[1].convert_tokens_to_ids(["he", "she"])
    one, two = masked(ids, [4], encoder[1].mask_token_id), masked(ids, [2, 4], encoder[1].mask_token_id)
    clozes = [two, Cloze(one.ids, (4, 4), (he, she)), Cloze(tuple(ids), (2,), (ids[2],))]
    (found,) = read_at(reader(*encoder, batch_size=batch_size), clozes, "x")
    expected = [
        log_p("the [MASK] said [MASK] was late .", "nurse"),
        log_p("the [MASK] said [MASK] was late .", "he", 4),
        *(log_p("the nurse said [MASK] was late .", word) for word in ("he", "she")),
        log_p("the nurse said he was late .", "nurse", 2),  # asked for as it stands there
    ]
    assert found == pytest.approx(expected, abs=1e-5)


# Words in sentences


def test_pieces_of_a_word_are_masked_together_or_filled_from_the_left(encoder, log_p):
    text = "the woman was late ."
    together, left, alone = (
        piece_log_probabilities(reader(*encoder), words(text, "woman", filling=filling))[1][0]
        for filling in ("together", "left-to-right", "one-mask")
    )
    first = log_p("the [MASK] [MASK] was late .", "wo")
    second = log_p("the wo [MASK] was late .", "##man")
    assert together == pytest.approx([first, log_p("the [MASK] [MASK] was late .", "##man", 3)], abs=1e-5)
    assert left == pytest.approx([first, second], abs=1e-5)
    assert alone == pytest.approx([log_p("the [MASK] was late .", "wo"), second], abs=1e-5)


def test_pieces_are_asked_for_in_every_place_or_one_by_one_and_further_words_are_masked(encoder, log_p):
    text = "the woman said he was kind ."
    wanted = words(text, "woman", "kind", filling="crossed").assign(further_start=15, further_end=17)
    rows, (found,) = piece_log_probabilities(reader(*encoder), wanted)
    hidden = "the [MASK] [MASK] said [MASK] was [MASK] ."
    crossed = [log_p(hidden, piece, place) for place in (2, 3) for piece in ("wo", "##man")]
    assert found == pytest.approx(crossed, abs=1e-5) and rows["piece"].tolist() == [0, 1, 2, 3]
    (found,) = piece_log_probabilities(reader(*encoder), words("he was late .", "he was late .", filling="one-by-one"))[
        1
    ]
    masked_texts = ["[MASK] was late .", "he [MASK] late .", "he was [MASK] .", "he was late [MASK]"]
    assert found == pytest.approx(list(map(log_p, masked_texts, ["he", "was", "late", "."])), abs=1e-5)


@pytest.mark.parametrize("batch_size", [1, 64])
def test_a_phrase_of_two_pieces_gets_two_masks(encoder, log_p, batch_size):
    texts, phrases = ["[MASK] was late .", "the nurse said that [MASK] was late ."], ["the nurse", "he", "that she"]
    (found,) = log_probabilities(reader(*encoder, batch_size=batch_size), texts, phrases, pieces=True)
    for text, row in zip(texts, found, strict=True):
        for phrase, value in zip(phrases[::2], row[::2], strict=True):
            first, second = phrase.split()
            of_both = log_p(text.replace("[MASK]", "[MASK] [MASK]"), first)
            assert value == pytest.approx(of_both + log_p(text.replace("[MASK]", f"{first} [MASK]"), second), abs=1e-4)
        assert row[1] == pytest.approx(log_p(text, "he"), abs=1e-5)


# Vocabularies in which a word is another token at the beginning of a sentence

OF_NURSES = [
    "He is a nurse .",
    "She is a nurse .",
    "the nurse said that he was late .",
    "the nurse said that she was late .",
]
ASKED = ["[MASK] is a nurse .", "the nurse said that [MASK] was late ."]
PIECES = "is a nurse . the said that was late he she He She".split()


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (word_tokenizer(PIECES, cased=True), [["He", "She"], ["he", "she"]]),
        (word_tokenizer(PIECES), [["he", "she"], ["he", "she"]]),
        (byte_tokenizer(OF_NURSES), [["He", "She"], ["Ġhe", "Ġshe"]]),
    ],
    ids=["cased", "lower-cased", "spaces marked"],
)
def test_the_token_is_the_one_that_stands_in_the_sentence(tokenizer, expected):
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(**{**SIZES, "vocab_size": len(tokenizer)})).eval()
    (found,) = log_probabilities(reader(model, tokenizer), ASKED, ["he", "she"])
    for row, (text, tokens) in enumerate(zip(OF_NURSES[::2], expected, strict=True)):
        ids = tokenizer(text)["input_ids"]
        at = ids.index(tokenizer.convert_tokens_to_ids(tokens[0]))
        ids[at] = tokenizer.mask_token_id
        with torch.inference_mode():
            own = model(input_ids=torch.tensor([ids])).logits[0, at].log_softmax(-1)
        assert found[row] == pytest.approx(own[tokenizer.convert_tokens_to_ids(tokens)].numpy(), abs=1e-5)


def test_a_sentence_in_which_a_word_is_several_tokens_is_left_out_and_named():
    tokenizer = word_tokenizer([*PIECES[:-2], "H", "##e", "She"], cased=True)
    model = BertForMaskedLM(BertConfig(**SIZES)).eval()
    one, both = reader(model, tokenizer), log_probabilities(reader(model, tokenizer), ASKED, ["he", "she"], pieces=True)
    assert log_probabilities(one, ASKED, ["he", "she"])[0] == pytest.approx(both[0, 1:], abs=1e-5)
    assert one.left_out.reasons == {"0": "a word that is no single token"}
    with pytest.raises(AbsentError, match=r"no single token: 'he' in '\[MASK\] is a"):
        log_probabilities(reader(model, tokenizer), ASKED[:1], ["he", "she"])


# Pairs of sentences


def likelihoods_of(reader: Reader, first: list[str], second: list[str], masking: str) -> tuple[np.ndarray, np.ndarray]:
    """The likelihoods of both sentences of pairs, [methods, pairs, 2], and their tokens, [pairs, 2]."""
    table = pair_likelihoods(reader, pd.DataFrame({"first": first, "second": second}), [masking])
    log_p, tokens = (table[[f"{name}_first", f"{name}_second"]].to_numpy() for name in ("log_p", "tokens"))
    return log_p.reshape(len(reader.axis), -1, 2), tokens[: len(first)]


def test_sentences_fit_up_to_the_length_that_the_encoder_takes(encoder):
    sentences = [" ".join(["he"] * n) for n in range(20)]
    assert sentences_that_fit(reader(*encoder), sentences) == sentences[1:15]


def test_pairs_by_each_masking(encoder, log_p):
    first, second = ["he said that ."], ["the woman said that ."]
    found = {name: likelihoods_of(reader(*encoder), first, second, name) for name in ("shared", "differing", "nothing")}
    shared = [
        sum(log_p(text.replace(f" {word}", " [MASK]"), word) for word in ("said", "that", "."))
        for text in ("he said that .", "the wo ##man said that .")
    ]
    assert found["shared"][0] == pytest.approx(np.array([[shared]]), abs=1e-5)
    assert found["shared"][1].tolist() == [[3, 3]]
    she = [log_p("[MASK] [MASK] [MASK] said that .", word, at) for at, word in enumerate(("the", "wo", "##man"), 1)]
    differing = [log_p("[MASK] said that .", "he"), sum(she)]
    assert found["differing"][0] == pytest.approx(np.array([[differing]]), abs=1e-5)
    assert found["differing"][1].tolist() == [[1, 3]]
    plain = sum(log_p("he said that .", word, at) for at, word in enumerate(("he", "said", "that", "."), 1))
    assert found["nothing"][0][0, 0, 0] == pytest.approx(plain, abs=1e-5)
    assert found["nothing"][1].tolist() == [[4, 6]]


def test_a_word_hides_its_later_pieces_and_shows_its_earlier_ones(encoder, log_p):
    """l2r: "woman" is two pieces, all other words are one."""
    pairs = ["the woman said that ."], ["the woman said he ."]
    shared, differing = (likelihoods_of(reader(*encoder), *pairs, f"{name}-l2r") for name in ("shared", "differing"))
    expected = []
    for last in ("that", "he"):
        text = f"the wo ##man said {last} ."
        masked_texts = {"the": f"[MASK] wo ##man said {last} .", "wo": f"the [MASK] [MASK] said {last} ."}
        masked_texts |= {"##man": f"the wo [MASK] said {last} .", "said": f"the wo ##man [MASK] {last} ."}
        masked_texts |= {".": text[:-1] + "[MASK]"}
        expected.append(sum(log_p(masked_text, piece) for piece, masked_text in masked_texts.items()))
    assert shared[0] == pytest.approx(np.array([[expected]]), abs=1e-5) and shared[1].tolist() == [[5, 5]]
    one_piece = likelihoods_of(reader(*encoder), *pairs, "differing")
    assert differing[0] == pytest.approx(one_piece[0], abs=1e-5)
    two = ["he said that ."], ["she said kind ."]  # both words that differ are hidden, as in the usual masking
    both = [likelihoods_of(reader(*encoder), *two, name)[0] for name in ("differing", "differing-l2r")]
    assert both[0] == pytest.approx(both[1], abs=1e-5)
    first, second = ["the woman said ."], ["the nurse said ."]
    (((found, _),),), _ = likelihoods_of(reader(*encoder), first, second, "differing-l2r")
    expected = log_p("the [MASK] [MASK] said .", "wo") + log_p("the wo [MASK] said .", "##man")
    assert found == pytest.approx(expected, abs=1e-5)
    for sentence, l2r in (("the nurse said that", False), ("the woman said", True)):
        both = [pseudo_log_likelihoods(reader(*encoder), [sentence], l2r=value)[0].item() for value in (False, True)]
        assert (abs(both[0] - both[1]) > 1e-4) == l2r


@pytest.mark.parametrize("batch_size", [1, 64])
def test_attended_pairs_weigh_every_token_by_the_attention_that_it_receives(encoder, log_p, batch_size):
    model, tokenizer = encoder
    pairs = (["he said that ."], ["the woman said that he was late ."])
    pieces = [["he", "said", "that", "."], "the wo ##man said that he was late .".split()]
    methods = {"none": (), "edit": [(f"layer[{SIZES['num_hidden_layers'] - 1}]", random_eraser(1, HIDDEN))]}
    found, tokens = likelihoods_of(reader(*encoder, batch_size=batch_size, **methods), *pairs, "attended")
    assert tokens.tolist() == [[4, 9]] and not np.allclose(*found)
    for text, value in zip(pieces, found[0, 0], strict=True):
        ids = torch.tensor([tokenizer.convert_tokens_to_ids(["[CLS]", *text, "[SEP]"])])
        with by_hand(model), torch.inference_mode():
            layers = model(input_ids=ids, output_attentions=True).attentions
        received = np.mean([head.mean(axis=0) for layer in layers for head in layer[0].numpy()], axis=0)
        assert received.sum() == pytest.approx(1)
        log_ps = [log_p(" ".join(text), piece, at) for at, piece in enumerate(text, 1)]
        assert value == pytest.approx(np.dot(received[1:-1], log_ps), abs=1e-5)
    assert model.config._attn_implementation != "eager"


UNIT = ("pair",)  # of this module as a list of items
SPECIAL = {f"{kind}_token": token for kind, token in (("bos", "<s>"), ("cls", "<s>"), ("eos", "</s>"), ("sep", "</s>"))}
SPECIAL |= {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>", "model_max_length": 32}


def items():
    return pd.DataFrame({"pair": [0, 1], "text": ["he is BLANK", "the woman is BLANK and late"]})


def test_they_are_the_likeliest_tokens_of_the_model(source, folder, tmp_path):
    fillings.read(source("x"), tmp_path / "f.parquet", items=__name__, blank="BLANK")
    table = pd.read_parquet(tmp_path / "f.parquet")
    assert list(dict.fromkeys(table["method"])) == ORDINARY
    model, tokenizer = load_encoder(folder / "model", head="masked_lm")
    for row in table[table["method"] == "none"].itertuples():
        ids = tokenizer(row.text.replace("BLANK", tokenizer.mask_token), return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = model(ids).prediction_logits[0] if "prediction_logits" in model(ids) else model(ids).logits[0]
        best = logits[ids[0] == tokenizer.mask_token_id][0].topk(3).indices.tolist()
        assert [row.filling_1, row.filling_2, row.filling_3] == tokenizer.convert_ids_to_tokens(best)


def save_roberta(folder: Path, *, lstrip: bool) -> Path:
    """One whose mask token takes the space before it, or, by what its folder says, does not."""
    tokenizer = byte_tokenizer(["he is late", "the woman is late and here"])
    config = RobertaConfig(**SIZES | {"vocab_size": len(tokenizer)})
    save_random(folder, lambda: RobertaForMaskedLM(config), tokenizer)
    about = json.loads((folder / "tokenizer.json").read_text())
    (mask,) = (token for token in about["added_tokens"] if token["content"] == "<mask>")
    mask["lstrip"] = lstrip
    (folder / "tokenizer.json").write_text(json.dumps(about))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **SPECIAL}))
    return folder


def test_a_mask_token_without_the_space_before_it_has_the_same_clozes(tmp_path):
    models = {lstrip: save_roberta(tmp_path / f"{lstrip}", lstrip=lstrip) for lstrip in (True, False)}
    stored = AutoTokenizer.from_pretrained(models[False], local_files_only=True)
    text = f"he is {stored.mask_token} and"
    assert "Ġ" in stored.tokenize(text)  # as the folder has it
    for lstrip, model in models.items():
        _, tokenizer = load_encoder(model, head="masked_lm")
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.convert_ids_to_tokens(ids) == ["he", "Ġis", "<mask>", "Ġand"]
        fillings.read(Source(model, ("none",), "x"), tmp_path / f"{lstrip}.parquet", items=__name__, blank="BLANK")
    assert pd.read_parquet(tmp_path / "True.parquet").equals(pd.read_parquet(tmp_path / "False.parquet"))


PAIRS = [
    ("he is late", "she is late", "stereo"),
    ("the woman is here", "the man is here", "antistereo"),
    ("the king is late", "the king is here and late", "stereo"),  # the first sentence lacks nothing of its own
]


@pytest.fixture
def table(source, folder, tmp_path):
    lines = [f"{number},{more},{less},{direction},gender" for number, (more, less, direction) in enumerate(PAIRS)]
    (folder / "crows.csv").write_text("\n".join([",sent_more,sent_less,stereo_antistereo,bias_type", *lines]) + "\n")
    about = {"items": "biasflow.corpora.crows_pairs", "of": {"bias_type": "gender"}}
    pair_tokens.read(source("crows-pairs-gender", pairs="crows.csv"), tmp_path / "p.parquet", **about)
    return pd.read_parquet(tmp_path / "p.parquet")


@pytest.fixture
def loaded(folder):
    return load_encoder(folder / "model", head="masked_lm")


def test_they_are_those_of_the_model_with_masks(table, loaded, tmp_path):
    model, tokenizer = loaded
    plain = table[table["method"] == "none"].reset_index(drop=True)

    def distribution(ids, at):
        ids = torch.tensor([[tokenizer.mask_token_id if i in at else token for i, token in enumerate(ids)]])
        with torch.inference_mode():
            return model(ids).logits[0].double().log_softmax(-1)

    for row, (*texts, _) in zip(plain.itertuples(), PAIRS, strict=True):
        for side, text in zip(("first", "second"), texts, strict=True):
            ids = tokenizer(text)["input_ids"]
            crr, delta_p = [], []
            for at in range(1, len(ids) - 1):
                log_p = distribution(ids, [at])[at]
                crr.append(1 - 1 / (1 + int((log_p > log_p[ids[at]]).sum())))
                delta_p.append(float(log_p.max() - log_p[ids[at]]))
            assert getattr(row, f"crr_{side}") == pytest.approx(np.mean(crr), abs=1e-6)
            assert getattr(row, f"delta_p_{side}") == pytest.approx(np.mean(delta_p), abs=1e-4)
    for number, word, at in ((0, "he", 1), (1, "woman", 2)):
        ids = tokenizer(PAIRS[number][0])["input_ids"]
        expected = distribution(ids, [at])[at][tokenizer.convert_tokens_to_ids(word)]
        assert plain["differing_first"][number] == pytest.approx(float(expected), abs=1e-4)
    ids = tokenizer(PAIRS[2][1])["input_ids"]
    at = [i for i, token in enumerate(ids) if token in tokenizer.convert_tokens_to_ids(["here", "and"])]
    expected = [float(distribution(ids, at)[i][ids[i]]) for i in at]  # each at its own place
    assert plain["differing_second"][2] == pytest.approx(np.mean(expected), abs=1e-4)
    assert np.isnan(plain["differing_first"][2])
    for score, n in ((score_sss, 2), (score_prediction_quality, 3)):
        found = score(tmp_path / "p.parquet")
        assert set(found["method"]) == set(ORDINARY) and (found.loc[found["part"] == "all", "n"] == n).all()
