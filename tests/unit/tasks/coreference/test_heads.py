"""Scorers trained anew on stored vectors: each as if it were trained alone."""

import pytest
import torch

from biasflow.encoders.load import load_encoder
from biasflow.tasks.coreference.heads import StoredVectors, train_heads
from biasflow.tasks.coreference.model import Examples, Recipe, TokenVectors
from biasflow.tasks.coreference.segments import Segmenter, SpecialTokens, in_one_row
from tests.unit.tasks.coreference.made_up import RECIPE, TOKENIZER, documents, save_encoder
from tests.unit.training.test_finetune import KilledError, steps_taken, stopping_before


@pytest.fixture
def stored(tmp_path):
    """Vectors of nine documents of which three are to evaluate on, in several segments each."""
    encoder, _ = load_encoder(save_encoder(tmp_path / "source"), head="none")
    read = documents(tmp_path, range(9), sentences=6)
    pieces = Segmenter(TOKENIZER, 12)(read)
    with torch.inference_mode():
        encode = TokenVectors(encoder, SpecialTokens.of(TOKENIZER))
        states = torch.cat([encode(document) for document in pieces]).half()
    return StoredVectors(states, torch.device("cpu")), encode, pieces, Examples(read[6:], pieces[6:])


def heads(stored, work, seeds, **options):
    vectors, _, pieces, dev = stored
    recipe = Recipe.of(RECIPE | options)
    found = train_heads(vectors, pieces[:6], dev, recipe=recipe, seeds=seeds, work=work)
    return {seed: (scorer.state_dict(), facts) for seed, scorer, facts in found}


def equal(a, b):
    return a[1] == b[1] and all(torch.equal(a[0][name], b[0][name]) for name in a[0])


def test_documents_of_one_row_are_encoded_as_they_are_one_by_one(stored):
    _, encode, pieces, _ = stored
    row = in_one_row(pieces)
    windows = [row.window(first, 4) for first in range(0, row.n_segments, 4)]
    assert row.n_segments == sum(each.n_segments for each in pieces)
    together = torch.cat([encode(window) for window in windows])
    torch.testing.assert_close(together, torch.cat([encode(each) for each in pieces]))
    assert [window.start for window in windows[:2]] == [0, len(windows[0])]


def test_a_killed_job_goes_on_to_the_same_heads(stored, tmp_path, monkeypatch):
    whole = heads(stored, tmp_path / "whole", [0, 1])
    with stopping_before(16, monkeypatch), pytest.raises(KilledError):  # 12 steps a head
        heads(stored, tmp_path / "work", [0, 1])
    steps = steps_taken(monkeypatch)
    resumed = heads(stored, tmp_path / "work", [0, 1])
    assert len(steps) == 9
    assert all(equal(whole[seed], resumed[seed]) for seed in (0, 1))
