"""Tests of bias on the real files of the folder that BIASFLOW_DATA names: counts, and what tokenizers make of them."""

import json
import string
from itertools import chain, product

import pandas as pd
import pytest
from transformers import BertConfig, BertForMaskedLM, BertTokenizer, RobertaConfig, RobertaForMaskedLM, RobertaTokenizer

from biasflow.base.left_out import LeftOut
from biasflow.corpora import bec_pro, retrieval, stereoset, winogender
from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.crows_pairs import DIRECTIONS, items
from biasflow.corpora.gest import read_gest
from biasflow.corpora.word_sets import read_professions
from biasflow.readouts.likelihoods import shared_places
from biasflow.readouts.masked_words import in_sentence, tokens_of_words
from biasflow.readouts.reader import Reader
from biasflow.stimuli.densray_sets import MASK, PRONOUNS, occupation_sentences
from tests.real.files import DATA, needs_data

pytestmark = needs_data
BIAS_TESTS = DATA / "bias_tests"
TOKENIZERS = {"bert-base-uncased": BertTokenizer, "roberta-base": RobertaTokenizer}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    return TOKENIZERS[request.param].from_pretrained(DATA / "tokenizers" / request.param, local_files_only=True)


def test_gest_has_3565_sentences_of_which_244_were_corrected():
    table, paper = (read_gest(BIAS_TESTS / f"gest/{name}.csv") for name in ("gest_1.1", "gest"))
    assert len(table) == len(paper) == 3565 and set(table["stereotype"]) == set(range(1, 17))
    assert (table["stereotype"] == paper["stereotype"]).all()
    assert (table["sentence"] != paper["sentence"]).sum() == 244


def test_crows_pairs_has_1508_pairs_and_262_on_gender(tokenizer):
    path = BIAS_TESTS / "crows_pairs/crows_pairs_anonymized.csv"
    table, gender = (items(path, bias_type=name) for name in ("all", "gender"))
    assert len(table) == 1508 and table["bias_type"].nunique() == 9
    assert [int((gender["direction"] == direction).sum()) for direction in DIRECTIONS] == [159, 103]
    encoded = [tokenizer(list(gender[side]))["input_ids"] for side in ("first", "second")]
    assert min(len(shared_places(*pair)[0]) for pair in zip(*encoded, strict=True)) > 2  # not the special tokens alone
    other = [shared_places(*pair) != shared_places(*pair[::-1])[::-1] for pair in zip(*encoded, strict=True)]
    assert gender["direction"][other].tolist() == [
        "stereo"
    ]  # difflib's order matters once, and there it is as released


@pytest.mark.parametrize("language", ["EN", "DE"])
def test_bec_pro_has_5400_sentences_and_every_one_its_counterpart(language):
    table = bec_pro.read_bec_pro(BIAS_TESTS / f"bec_pro/BEC-Pro_{language}.tsv")
    assert len(table) == 5400 and (table["template"].nunique(), table["pair"].nunique()) == (5, 9)
    groups = table.drop_duplicates("profession")["profession_gender"].value_counts().to_dict()
    assert groups == {"male": 20, "female": 20, "balanced": 20}
    sizes = table.groupby(["template", "pair", "profession"])["gender"].agg(["size", "nunique"])
    assert len(sizes) == 2700 and (sizes == 2).all(axis=None)


def test_winogender_has_60_occupations_and_a_pronoun_a_sentence():
    files = [BIAS_TESTS / f"winogender/{name}.tsv" for name in ("all_sentences", "occupations-stats")]
    table = winogender.items(*files)
    assert len(table) == 480 and table["occupation"].nunique() == 60
    assert table["refers_to"].value_counts().to_dict() == {"occupation": 240, "participant": 240}
    assert {text[start:end] for text, start, end in _spans(table)} == {"he", "she", "him", "her", "his"}
    assert table[["bls", "bergsma"]].to_numpy().min() > 0 and table[["bls", "bergsma"]].to_numpy().max() < 1


TOKENS = {"bert-base-uncased": {2002, 2016}, "roberta-base": {894, 2515}}  # he and she; He and She
INSIDE = {"bert-base-uncased": {2002, 2016}, "roberta-base": {37, 79}}  # the same after a space


@pytest.fixture
def reader(tokenizer):
    """Of an encoder without meaning: which tokens are asked for depends on the tokenizer alone."""
    family, model = (
        (RobertaConfig, RobertaForMaskedLM) if "<mask>" in tokenizer.get_vocab() else (BertConfig, BertForMaskedLM)
    )
    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    return Reader(model(family(**sizes, vocab_size=len(tokenizer))).eval(), tokenizer)


@pytest.mark.parametrize("template", ["released", "said"])
def test_pronouns_are_the_tokens_that_stand_in_the_sentences_of_occupations(reader, request, template):
    occupations = read_professions(DATA / read_catalogue().entry("professions").mirror_path)
    sentences = occupation_sentences(occupations, template)
    name = request.node.callspec.params["tokenizer"]
    _, tokens = tokens_of_words(reader, pd.DataFrame({"sentence": sentences}), PRONOUNS[template])
    found = list(chain.from_iterable(tokens))
    assert len(found) == 2 * 320
    for (ids, at), (text, word) in zip(found, product(sentences, PRONOUNS[template]), strict=True):
        whole = text.replace(MASK, word.capitalize() if template == "released" else word)
        assert list(ids) == reader.tokenizer(whole)["input_ids"] and len(at) == 1
    assert {ids[at[0]] for ids, at in found} == (TOKENS if template == "released" else INSIDE)[name]


def test_stereoset_has_255_blanks_on_gender():
    table = stereoset.read_blanks(DATA / "stereoset/dev.json")
    assert len(table) == 3 * 255 and table["item"].nunique() == 255 and table["target"].nunique() == 10
    assert all(text[start:end].strip() and " " not in text[start:end] for text, start, end in _spans(table))


def test_one_context_on_gender_ends_the_word_and_every_word_is_the_authors(reader):
    """The authors' word is the one that the sentence has between the spaces, without its punctuation marks."""
    path = DATA / "stereoset/dev.json"
    sentences = {
        (item["id"], each["gold_label"]): (item["context"].split(" "), each["sentence"].split(" "))
        for item in json.loads(path.read_text(encoding="utf-8"))["data"]["intrasentence"]
        for each in item["sentences"]
    }
    table = stereoset.items(path)
    for key, (text, start, end) in zip(zip(table["item"], table["label"], strict=True), _spans(table), strict=True):
        context, sentence = sentences[key]
        (theirs,) = {word for place, word in zip(context, sentence, strict=False) if "BLANK" in place}
        assert text[start:end] == theirs.translate(str.maketrans("", "", string.punctuation))
    apart = table[(table["filling"] == "one-mask") & table["text"].str.contains(" ed ")]
    assert [text[start:end] for text, start, end in _spans(apart)] == ["protected", "attacked", "bearded"]
    for text, whole in table.groupby("text", sort=False):  # no token holds more than its word
        encoding = reader.tokenizer(text, return_offsets_mapping=True)
        assert [in_sentence(reader.tokenizer, word, encoding) for word in whole.itertuples()]


def _spans(table):
    return zip(table["text"], table["start"], table["end"], strict=True)


def test_grep_biasir_has_117_queries_and_five_documents_of_no_known_wording():
    files, left_out = sorted((DATA / "retrieval/grep_biasir").glob("queries-documents_*.csv")), LeftOut()
    with left_out.told():
        table = retrieval.items(**{path.stem: path for path in files})
    assert len(left_out.reasons) == 5 and all("Sex & Relationship line" in name for name in left_out.reasons)
    assert len(table) == 2 * (702 - 5) and table["item"].nunique() == 117
    assert table.drop_duplicates("item")["expected"].value_counts().to_dict() == {"": 88, "F": 20, "M": 9}
    texts = table[table["relevant"]].pivot(index=["item", "reading"], columns="wording", values="text")
    assert not texts.isna().any(axis=None)
    assert (texts["M"] == texts["F"]).groupby("reading").sum().to_dict() == {"document": 32, "title": 0}


def test_genderbias_qa_has_317_questions_with_two_answers_on_either_gender():
    files = {"answers": "train", "more": "test"}
    table = retrieval.items(
        **{role: DATA / f"retrieval/genderbias_qa/GenderBias-QA_{part}.csv" for role, part in files.items()}
    )
    assert table["item"].nunique() == 172 + 145
    counts = table.groupby(["item", "relevant", "wording"]).size()
    assert (counts == 2).all() and len(counts) == 4 * table["item"].nunique()
