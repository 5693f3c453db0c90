"""Pre-training from scratch: examples, determinism, what is saved, and what is refused."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertTokenizer

from biasflow.base.errors import BiasflowError
from biasflow.encoders.examples import IGNORED, Sentences, by_length, draw_pairs, mask_tokens
from biasflow.encoders.load import load_encoder
from biasflow.planted.corpus import discourses
from biasflow.training import loop
from biasflow.training.pretrain import gradients, pretrain
from biasflow.training.vocabulary import SPECIAL_TOKENS
from tests.unit.training.test_finetune import KilledError, stopping_before

DOCUMENTS = discourses(bias=1.0, seed=0, n=400)
TINY = {
    "vocab_size": 1500,
    "layers": 2,
    "hidden": 32,
    "heads": 2,
    "intermediate": 64,
    "max_length": 48,
    "steps": 6,
    "batch_size": 8,
}


def tokenised(lengths: list[list[int]]) -> Sentences:
    """Documents of sentences of the given lengths; every token has its own id."""
    flat = [length for document in lengths for length in document]
    ids = iter(range(10, 10 + sum(flat)))
    return Sentences.from_ids([[next(ids) for _ in range(length)] for length in flat], [len(d) for d in lengths])


@given(
    lengths=st.lists(st.lists(st.integers(1, 12), min_size=2, max_size=5), min_size=2, max_size=6),
    seed=st.integers(0, 99),
    max_length=st.integers(16, 40),
)
def test_pairs_are_what_their_labels_say(lengths, seed, max_length):
    sentences = tokenised(lengths)
    pairs = draw_pairs(sentences, n=60, max_length=max_length, rng=np.random.default_rng(seed))
    assert len(pairs) == 60
    assert (pairs.lengths <= max_length).all()
    ends = sentences.starts[sentences.documents[1:]]
    document_a, document_b = (np.searchsorted(ends, span[:, 0], side="right") for span in (pairs.a, pairs.b))
    true = pairs.label == 0
    assert (document_a[true] == document_b[true]).all()
    assert (document_a[~true] != document_b[~true]).all()
    assert (pairs.b[true, 0] >= pairs.a[true, 1]).all()  # B follows A
    assert set(pairs.a[:, 0]) <= set(sentences.starts) and set(pairs.b[:, 0]) <= set(sentences.starts)


def test_batches_of_like_lengths_hold_the_same_pairs():
    pairs = draw_pairs(
        tokenised([[1, 9, 3], [4, 2, 8], [7, 7]] * 30), n=600, max_length=40, rng=np.random.default_rng(0)
    )
    ordered = by_length(pairs, batch_size=10, rng=np.random.default_rng(1))
    assert sorted(map(tuple, np.hstack([pairs.a, pairs.b]))) == sorted(map(tuple, np.hstack([ordered.a, ordered.b])))

    def padded(which) -> int:
        return sum(
            which.lengths[start : start + 10].max() * 10 - which.lengths[start : start + 10].sum()
            for start in range(0, 600, 10)
        )

    assert padded(ordered) < padded(pairs) / 3


def test_masking_80_10_10():
    ids = np.random.default_rng(0).integers(5, 100, (200, 60))
    ids[:, 0] = 2
    tokenizer = BertTokenizer(vocab={piece: i for i, piece in enumerate([*SPECIAL_TOKENS, *map(str, range(95))])})
    masked, labels = mask_tokens(ids, tokenizer, share=0.3, rng=np.random.default_rng(1))
    chosen = labels != IGNORED
    assert 0.28 < chosen[:, 1:].mean() < 0.32
    assert not chosen[:, 0].any()  # special tokens are never masked
    assert (labels[chosen] == ids[chosen]).all()
    assert (masked[~chosen] == ids[~chosen]).all()
    assert 0.77 < (masked[chosen] == 4).mean() < 0.83
    assert 0.08 < (masked[chosen] == ids[chosen]).mean() < 0.13
    assert not {0, 1, 2, 3} & set(masked[chosen])  # no other special token takes a place
    random = masked[chosen & (masked != 4) & (masked != ids)]
    assert random.min() == 5 and random.max() == 99


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained")
    pretrain(DOCUMENTS, folder, seed=0, **TINY)
    return load_encoder(folder, head="pretraining")


def test_gradients_in_parts_are_those_of_the_whole_batch(pretrained):
    model, tokenizer = pretrained
    ids = np.random.default_rng(0).integers(5, len(tokenizer), (7, 12))  # parts of four rows and of three
    masked, labels = mask_tokens(ids, tokenizer, share=0.3, rng=np.random.default_rng(0))
    batch = {
        "input_ids": masked,
        "token_type_ids": np.repeat([[0] * 5 + [1] * 7], 7, axis=0),
        "attention_mask": np.arange(12)[None] < np.arange(6, 13)[:, None],
        "labels": np.where(np.arange(7)[:, None] < 5, labels, IGNORED),  # not as many in each part
        "next_sentence_label": np.arange(7) % 2,
    }
    batch = {key: torch.from_numpy(np.asarray(value, dtype=np.int64)) for key, value in batch.items()}
    model.zero_grad()
    expected = model(**batch).loss
    expected.backward()
    with ThreadPoolExecutor(2) as pool:
        loss, found = gradients(model, batch, parts=2, pool=pool)
    assert torch.isclose(loss, expected, atol=1e-5)
    for (name, parameter), gradient in zip(model.named_parameters(), found, strict=True):
        assert torch.allclose(gradient, parameter.grad, atol=1e-5), name


def test_the_same_seed_gives_the_same_bytes_with_any_threads_and_another_seed_others(tmp_path):
    for name, seed, threads in (("a", 1, 1), ("b", 1, 2), ("c", 2, 1)):
        metrics = pretrain(DOCUMENTS, tmp_path / name, seed=seed, threads=threads, **TINY)
        assert json.loads((tmp_path / name / "training.json").read_text()) == metrics
        assert np.isfinite(metrics["masked_lm_loss"]) and 0 <= metrics["next_sentence_accuracy"] <= 1
    first, second, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert first == second
    assert first != other


@pytest.mark.parametrize(
    ("documents", "change"),
    [
        (DOCUMENTS[:3], {}),
        ([["One."], ["Two."]] * 9, {}),
        (DOCUMENTS, {"learning_rate": 1e9}),
    ],
)
def test_what_cannot_be_trained_is_an_error_and_nothing_is_saved(tmp_path, documents, change):
    with pytest.raises(BiasflowError):
        pretrain(documents, tmp_path / "x", seed=0, **{**TINY, "steps": 40, **change})
    assert not (tmp_path / "x" / "model.safetensors").exists()


def killed(monkeypatch, tmp_path, step: int, **change) -> None:
    """A pre-training that stops before a step, with a checkpoint after every two."""
    with stopping_before(step, monkeypatch) as patch, pytest.raises(KilledError):
        patch.setattr(loop.Watch, "on_step_end", every_second)
        pretrain(DOCUMENTS, tmp_path / "x", seed=1, work=tmp_path / "work", **TINY | change)


def every_second(self, args, state, control, **kwargs):
    control.should_save = state.global_step % 2 == 0


def test_checkpoints_of_another_pretraining_are_refused_and_kept(tmp_path, monkeypatch):
    killed(monkeypatch, tmp_path, 3)
    for change, named in (
        ({"seed": 2}, "seed"),
        ({"learning_rate": 2e-3}, "learning_rate"),
        ({"documents": DOCUMENTS[::-1]}, "documents"),
    ):
        asked = {"documents": DOCUMENTS, "seed": 1, **TINY, **change}
        with pytest.raises(BiasflowError, match=f"work: .* another {named} "):
            pretrain(asked.pop("documents"), tmp_path / "x", work=tmp_path / "work", **asked)
    assert list((tmp_path / "work").glob("checkpoint-2/complete"))
