"""Values of a real pretrained encoder, splade-tiny in models/ beside the folder that BIASFLOW_DATA names: scored once
more from the files in plain transformers and NumPy."""

import csv
import json
from difflib import SequenceMatcher
from itertools import islice

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM, BertTokenizerFast

from biasflow.corpora import crows_pairs
from biasflow.corpora.seat import densray_test, read_association_test
from biasflow.encoders.load import load_encoder
from biasflow.metrics.association import READINGS, weat
from biasflow.metrics.crows_pairs import summary
from biasflow.metrics.occtmp import occtmp
from biasflow.readouts.likelihoods import pair_likelihoods
from biasflow.readouts.reader import Reader
from biasflow.readouts.vectors import embed_test
from biasflow.stimuli.densray_sets import read_occupation_set
from tests.real.files import DATA, SPLADE, needs
from tests.unit.readouts.conftest import log_probabilities

pytestmark = needs(SPLADE)
PAIRS = 40  # of CrowS-Pairs on gender: each token costs a pass


@pytest.fixture(scope="module")
def plain():
    return BertForMaskedLM.from_pretrained(SPLADE).eval(), BertTokenizerFast.from_pretrained(SPLADE)


@pytest.fixture(scope="module")
def ours():
    return Reader(*load_encoder(SPLADE, head="masked_lm"))


@torch.inference_mode()
def last_layer(plain, sentence):
    """The states of a sentence's tokens, [tokens, dimensions], and the tokens."""
    model, tokenizer = plain
    encoded = tokenizer(sentence, return_tensors="pt")
    states = model.bert(**encoded).last_hidden_state[0].numpy()
    return states, tokenizer.convert_ids_to_tokens(encoded["input_ids"][0])


def effect_size(sets, ddof):
    """d of Caliskan et al. (2017), from the vectors of X, Y, A and B."""
    X, Y, A, B = (array / np.linalg.norm(array, axis=1, keepdims=True) for array in sets)
    differences = [words @ A.T.mean(axis=1) - words @ B.T.mean(axis=1) for words in (X, Y)]
    return (differences[0].mean() - differences[1].mean()) / np.concatenate(differences).std(ddof=ddof)


@pytest.mark.parametrize("name", ["C6", "C7", "C8"])
def test_weat(plain, ours, name):
    path = DATA / f"seat/weat{name[1]}.jsonl"
    file = json.loads(path.read_text())

    def vector(word, template):
        states, tokens = last_layer(plain, template.format(word.lower()))
        pieces = plain[1].tokenize(word.lower())
        start = next(k for k in range(len(tokens)) if tokens[k : k + len(pieces)] == pieces)
        return states[start : start + len(pieces)].mean(axis=0)

    roles = ("attr1", "attr2", "targ1", "targ2")  # the paper's code exchanges targets and attributes
    sets = [
        [vector(word, "{} is [MASK]." if role[:4] == "attr" else "[MASK] is {}.") for word in file[role]["examples"]]
        for role in roles
    ]
    test = densray_test(read_association_test(path))
    found = weat(*(array[0] for array in embed_test(ours, test, pooling="target").values()), **READINGS["weat"])
    assert found.effect_size == pytest.approx(effect_size(map(np.array, sets), ddof=0), abs=1e-4)


@pytest.mark.parametrize("name", ["sent-weat6", "sent-weat6b", "sent-weat8"])
def test_seat(plain, ours, name):
    path = DATA / f"seat/{name}.jsonl"
    file = json.loads(path.read_text())
    roles = ("targ1", "targ2", "attr1", "attr2")
    sets = [np.array([last_layer(plain, text)[0][0] for text in file[role]["examples"]]) for role in roles]
    found = embed_test(ours, read_association_test(path), pooling="cls")
    score = weat(*(array[0] for array in found.values()), **READINGS["seat"])
    assert score.effect_size == pytest.approx(effect_size(sets, ddof=1), abs=1e-4)


@torch.inference_mode()
def test_occtmp(plain, ours):
    model, tokenizer = plain
    path = DATA / "lexicons/professions.json"
    he_she = tokenizer.convert_tokens_to_ids(["he", "she"])
    expected = []
    for occupation, *_ in json.loads(path.read_text()):
        encoded = tokenizer(f"[MASK] is a {occupation.replace('_', ' ')} .", return_tensors="pt")
        (place,) = torch.where(encoded["input_ids"][0] == tokenizer.mask_token_id)
        expected.append(model(**encoded).logits[0, place[0]].double().log_softmax(-1)[he_she].tolist())
    he, she = np.array(expected).T
    occupations = read_occupation_set("professions", path)
    score = occtmp(*log_probabilities(ours, occupations.sentences, occupations.pronouns)[0].T)
    assert score.n == len(expected) == 320
    assert score.diff == pytest.approx(np.abs(he - she).mean(), abs=1e-4)
    assert score.signed_diff == pytest.approx((he - she).mean(), abs=1e-4)


@torch.inference_mode()
def test_crows_pairs(plain, ours):
    model, tokenizer = plain
    path = DATA / "bias_tests/crows_pairs/crows_pairs_anonymized.csv"
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(islice((row for row in csv.DictReader(stream) if row["bias_type"] == "gender"), PAIRS))

    def likelihood(ids, places):
        batch = torch.tensor([ids] * len(places))
        batch[range(len(places)), places] = tokenizer.mask_token_id
        logits = model(input_ids=batch).logits[range(len(places)), places].double()
        return logits.log_softmax(-1)[range(len(places)), [ids[place] for place in places]].sum().item()

    expected = []
    for row in rows:
        more, less = tokenizer(row["sent_more"])["input_ids"], tokenizer(row["sent_less"])["input_ids"]
        same = [
            block for block in SequenceMatcher(None, more, less, autojunk=False).get_matching_blocks() if block.size
        ]
        in_more = [place for start, _, size in same for place in range(start, start + size)][1:-1]  # not [CLS], [SEP]
        in_less = [place for _, start, size in same for place in range(start, start + size)][1:-1]
        expected.append([likelihood(more, in_more), likelihood(less, in_less)])
    items = crows_pairs.items(path, bias_type="gender").iloc[:PAIRS]
    found = pair_likelihoods(ours, items, ["shared"])
    assert np.allclose(found[["log_p_first", "log_p_second"]], expected, atol=1e-3)
    shares = summary(found).set_index(["metric", "part", "variant"])["value"]
    assert shares["crows_pairs_score", "all", "exact"] == np.mean([more > less for more, less in expected])
