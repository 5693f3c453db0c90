"""Texts in batches, and their tokens."""

import logging
import re

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bert.modeling_bert import BertLayer

from biasflow.base.errors import BiasflowError
from biasflow.encoders import batches
from biasflow.encoders import tokens as module
from biasflow.encoders.batches import SHORTEST, batchwise, longest_input, over_batches, shortened
from biasflow.encoders.taps import name_of
from biasflow.encoders.tokens import tokenise
from biasflow.methods.fitted import NONE, Active, Fitted, Grid
from biasflow.methods.grid import chosen_settings
from biasflow.readouts.likelihoods import pseudo_log_likelihoods
from biasflow.readouts.losses import losses_at
from biasflow.readouts.next_sentence import next_sentence_probabilities, pair_tokens
from biasflow.readouts.predictions import predict
from biasflow.readouts.reader import Reader
from biasflow.readouts.sweep_heads import retrain_heads
from biasflow.readouts.vectors import embed
from biasflow.readouts.word_contexts import word_batches
from biasflow.training.examples import Examples
from tests.unit.conftest import HIDDEN, MODELS, random_eraser, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = ["he", "she", "sang", "well", "and", "then", "left"]
TOKENIZER = word_tokenizer(WORDS)
SENTENCES = [" ".join([WORDS[n % 2], *(WORDS[(n * k) % 7] for k in range(2, 3 + n % 5))]) for n in range(12)]
TOLERANCE = 1e-5
TEXT_OF = st.integers(1, 40)


@pytest.mark.parametrize("family", MODELS)
def test_the_longest_input_is_what_the_model_has_positions_for(family):
    """RoBERTa counts positions from behind its padding token on: two are lost, which its tokenizer need not say."""
    model, tokenizer = MODELS[family]().eval(), word_tokenizer(WORDS, max_length=10**30)
    longest = longest_input(model, tokenizer)
    assert [shortened(most, model, tokenizer) for most in (None, longest + 1, 5)] == [longest, longest, 5]
    assert longest == (510 if family == "roberta" else 512)
    with torch.inference_mode():
        model.base_model(input_ids=torch.full((1, longest), 5))
        with pytest.raises((RuntimeError, IndexError)):
            model.base_model(input_ids=torch.full((1, longest + 1), 5))


@given(n=st.integers(0, 50), batch_size=TEXT_OF, most=TEXT_OF)
def test_all_rows_in_their_order_and_none_in_a_batch_that_was_too_large(n, batch_size, most):
    tried = []

    def compute(rows):
        tried.append(len(rows))
        if len(rows) > most:
            raise torch.OutOfMemoryError("stand-in")
        return [row * row for row in rows]

    found = list(batchwise(compute, range(n), batch_size=batch_size, name=str))
    assert [row for rows, _ in found for row in rows] == list(range(n))
    assert [square for _, squares in found for square in squares] == [row * row for row in range(n)]
    assert tried == sorted(tried, reverse=True)  # what failed once is not tried again
    if batch_size <= most:
        assert tried == [min(batch_size, n - start) for start in range(0, n, batch_size)]


@given(lengths=st.lists(st.integers(1, 30), max_size=40), batch_size=TEXT_OF)
def test_a_batch_has_texts_of_similar_length_and_no_text_is_read_twice(lengths, batch_size):
    encoded, model = {"input_ids": [[5] * length for length in lengths]}, torch.nn.Linear(1, 1)
    model.device = "cpu"
    found = list(
        over_batches(lambda rows, batch: batch, encoded, model, TOKENIZER, batch_size=batch_size, description=None)
    )
    assert sorted(row for rows, _ in found for row in rows) == list(range(len(lengths)))
    for rows, batch in found:
        assert len(rows) <= batch_size and min(lengths[row] for row in rows) >= SHORTEST * batch["input_ids"].shape[1]


@pytest.mark.parametrize("most", [64, 3])
def test_progress_counts_to_the_whole_however_batches_are_split(caplog, most):
    caplog.set_level(logging.INFO, "biasflow")

    def forward(rows, batch):
        if len(rows) > most:
            raise torch.OutOfMemoryError("stand-in")

    encoded, model = {"input_ids": [[5] * length for length in range(1, 60)]}, model_of("bert-pretraining")
    list(over_batches(forward, encoded, model, TOKENIZER, batch_size=32, description="words"))
    shares = [int(share) for line in caplog.messages for share in re.findall(r"words: (\d+) %", line)]
    assert shares == sorted(set(shares)) and shares[-1] == 100


@pytest.fixture
def memory(monkeypatch):
    """Let layers take `most` texts at once in evaluation; the first calls with more, as many as `late`, still work."""

    def of(most, late=0):
        original, large = BertLayer.forward, []

        def forward(self, hidden, *args, **kwargs):
            if len(hidden) > most and not self.training:
                large.append(len(hidden))
                if len(large) > late:
                    large.clear()
                    refused.append(len(hidden))
                    raise torch.OutOfMemoryError("CUDA out of memory. Stand-in.")
            return original(self, hidden, *args, **kwargs)

        monkeypatch.setattr(BertLayer, "forward", forward)
        return refused

    refused = []
    monkeypatch.setattr(batches, "SHORTEST", 0)  # the few texts here, of any length, fill a batch
    return of


def model_of(name):
    torch.manual_seed(0)
    return MODELS[name]().eval()


def methods():
    torch.manual_seed(1)
    edits = {name: ((place, random_eraser(1, HIDDEN)),) for name, place in (("a", "layer[0]"), ("b", "layer[1]"))}
    return Fitted({NONE: (Active(NONE),)} | {name: (Active(name, "-", each),) for name, each in edits.items()}, {})


def reader(name, fitted=None):
    return Reader(model_of(name), TOKENIZER, fitted or methods(), batch_size=8)


def grid():
    torch.manual_seed(1)
    return Fitted({NONE: (Active(NONE),), "grid": Grid("grid", chosen_settings()[3::15], random_subspaces())}, {})


def next_sentences(one):
    pairs = pair_tokens(one, pd.DataFrame({"first": SENTENCES, "second": SENTENCES[::-1]}))
    return next_sentence_probabilities(one, pairs)


def classes(one):
    examples = Examples(lambda start, stop: (SENTENCES[start:stop],), (len(SENTENCES),), None)
    return predict(one, examples)["own"]


def likelihoods(one):
    return pseudo_log_likelihoods(one, SENTENCES)[0]


def losses(one):
    ids = np.random.default_rng(0).integers(5, 12, (20, 9))
    return losses_at(one, ids, np.where(ids == 7, ids, -100))


def vectors(one):
    return embed(one, SENTENCES, ["mean"])["mean"]


def words(one):
    contexts = pd.DataFrame({"text": SENTENCES, "word": [text.split()[0] for text in SENTENCES], "start": 0})
    contexts = contexts.assign(end=contexts["word"].str.len())
    found = np.empty((len(one.axis), len(contexts), HIDDEN))
    for rows, states in word_batches(one.under_each, one.model, one.tokenizer, contexts):
        found[:, rows] = states
    return found


def heads(one):
    examples = Examples(lambda start, stop: (SENTENCES[start:stop],), (12,), ("a", "b", "c"), [0, 1, 2] * 4)
    return retrain_heads(one, examples, epochs=1, batch_size=8, learning_rate=0.01, seed=0).weight.cpu().numpy()


READINGS = [
    (next_sentences, "bert-next-sentence", methods),
    (next_sentences, "bert-next-sentence", grid),
    (classes, "bert-regression", methods),
    (heads, "bert-classification", grid),
    (likelihoods, "bert-pretraining", methods),
    (losses, "bert-pretraining", methods),
    (vectors, "bert-classification", methods),
    (words, "bert-classification", methods),
]


@pytest.fixture
def regression(monkeypatch):
    """A model that predicts numbers, which show more than classes."""

    def model():
        found = MODELS["bert-classification"]()
        found.classifier = torch.nn.Linear(HIDDEN, 1)
        found.config.num_labels = 1
        return found

    monkeypatch.setitem(MODELS, "bert-regression", model)


@pytest.mark.parametrize(("read", "name", "fitted"), READINGS)
@pytest.mark.parametrize("late", [0, 5])  # at once, and when other methods have been read
def test_a_reading_that_halves_its_batches_finds_the_same(regression, memory, caplog, read, name, fitted, late):
    whole, halved = reader(name, fitted()), reader(name, fitted())
    expected = read(whole)
    refused = memory(3, late)
    with caplog.at_level(logging.WARNING, "biasflow"):
        found = read(halved)
    assert np.abs(found - expected).max() < TOLERANCE and found.std() > 100 * TOLERANCE
    assert refused and caplog.text.count("out of memory") == len(refused) and name_of(halved.model) in caplog.text
    edits = [pd.DataFrame(one.facts()["edits"]).set_index("edit") for one in (whole, halved)]
    assert (edits[1]["vectors"] <= edits[0]["vectors"]).all()  # nothing counts twice; there is less padding


def test_one_text_that_is_too_large_is_an_error_that_says_what_to_do(memory):
    memory(0)
    one = reader("bert-next-sentence")
    with pytest.raises(BiasflowError) as caught:
        next_sentences(one)
    message = str(caught.value)
    longest = max(len(ids) for ids in TOKENIZER(SENTENCES, SENTENCES[::-1])["input_ids"])
    for named in ("next sentences", name_of(one.model), f"{longest} tokens", "device: cpu"):
        assert named in message
    assert "\n" not in message


COLOURS = ["red", "blue", "green", "one", "two"]
TEXTS = [" ".join(COLOURS[:n]) for n in (1, 5, 0, 3, 4, 2)]
TEXT = st.lists(st.sampled_from([*COLOURS, "pink"]), max_size=12).map(" ".join)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=9), st.booleans(), st.integers(5, 20), st.integers(1, 10))
def test_tokens_are_those_of_the_tokenizer_one_text_at_a_time(pairs, both, max_length, together):
    texts = list(zip(*pairs, strict=True))[: 1 + both]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TOGETHER", together)
        tokens = tokenise(TOKENIZER, *texts, max_length=max_length)
    alone = [[[text] for text in row] for row in zip(*texts, strict=True)]
    found = [TOKENIZER(*row, truncation=True, max_length=max_length) for row in alone]
    expected = [{name: column[0] for name, column in encoded.items()} for encoded in found]
    assert [tokens.of(row) for row in range(len(tokens))] == expected
    assert tokens.of_all(range(len(tokens))) == {name: [each[name] for each in expected] for name in expected[0]}
    whole = [len(TOKENIZER(*row)["input_ids"][0]) for row in alone]
    assert tokens.cut.tolist() == [length > max_length for length in whole]
    assert tokens.lengths.tolist() == [min(length, max_length) for length in whole]
