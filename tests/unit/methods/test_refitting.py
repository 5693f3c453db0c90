"""Why a method is fitted on the model that it edits: fine-tuning turns the direction that gender lies along."""

import copy

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from transformers import BertConfig, BertModel

from biasflow.methods.fitting import fit_block
from biasflow.methods.states import word_states
from biasflow.registry import ERASERS, module_of
from tests.unit.fake_tokenizer import word_tokenizer

OTHERS = [f"word{i}" for i in range(30)]
WORDS = ["he"], ["she"]


def _sentences(n=700):
    rng = np.random.default_rng(0)
    texts = rng.choice(OTHERS, size=(n, 7)).astype(object)
    texts[np.arange(n), rng.integers(7, size=n)] = np.resize(["he", "she"], n)
    return [" ".join(words) for words in texts]


SENTENCES = _sentences()


@pytest.fixture(scope="module")
def models():
    """A tokenizer, a model, and a copy that was fine-tuned for a few steps to tell which sentences have a certain word
    in them: that has nothing to do with gender."""
    torch.manual_seed(0)
    tokenizer = word_tokenizer(["he", "she", *OTHERS])
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    model = BertModel(BertConfig(**sizes, vocab_size=len(tokenizer), initializer_range=0.15)).eval()
    changed, head = copy.deepcopy(model).train(), torch.nn.Linear(32, 2)
    optimizer = torch.optim.Adam([*changed.parameters(), *head.parameters()], lr=1e-3)
    labels = torch.tensor([int("word3" in text) for text in SENTENCES])
    for step in range(60):
        rows = torch.arange(step * 32, step * 32 + 32) % len(SENTENCES)
        batch = tokenizer([SENTENCES[row] for row in rows], padding=True, return_tensors="pt")
        loss = torch.nn.functional.cross_entropy(head(changed(**batch).last_hidden_state.mean(1)), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tokenizer, model, changed.eval()


def readable(model, tokenizer, edits=()):
    """Accuracy of a fresh linear probe of gender on the words' states in the edited model; chance is 0.5."""
    reading = {"n": 600, "cap_per_word": None, "max_length": 32, "batch_size": 64}
    states = word_states(model, tokenizer, SENTENCES, WORDS, **reading)
    (X,) = states.at(["layer[1]"], edits).values()
    z = states.labels(X)["z"].numpy()
    return LogisticRegression(C=100, max_iter=2000).fit(X.numpy(), z).score(X.numpy(), z)


def test_erasers_of_the_model_before_fine_tuning_leave_gender_readable_and_refitted_ones_do_not(models):
    tokenizer, model, changed = models
    assert readable(model, tokenizer) > 0.99 and readable(changed, tokenizer) > 0.99
    options = {"sentences": SENTENCES, "words": WORDS, "n": 600, "max_length": 32}
    methods = {
        f"{name}-{fitted_on}": [
            {"eraser": name, "module": module_of(ERASERS[name]), "places": "last", "fitted_on": fitted_on}
        ]
        for name in ("leace", "densray")
        for fitted_on in ("model", "pretrained")
    }
    fitted = fit_block(changed, tokenizer, methods, origin=model, **options)
    left = {each.method: readable(changed, tokenizer, each.edits) for each in fitted.every_setting()}
    assert left["leace-pretrained"] > 0.99 and left["densray-pretrained"] > 0.99
    assert left["leace-model"] == pytest.approx(0.5) and left["densray-model"] < 0.65
    # It is not that they are worse: in the model that they were fitted to they leave as little.
    edits = {each.method: each.edits for each in fitted.every_setting()}
    assert readable(model, tokenizer, edits["leace-pretrained"]) == pytest.approx(0.5)
    assert readable(model, tokenizer, edits["densray-pretrained"]) < 0.65
