"""Perplexity: the formulas, the masks that every method shares, and what is scored."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
)

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.examples import IGNORED
from scripts.biasflow.metrics.perplexity import perplexity, perplexity_of_batches, pseudo_perplexity, spread
from scripts.biasflow.readouts.losses import (
    blocks_of,
    draw_masks,
    losses_at,
    masked_lm_perplexity,
    pseudo_log_likelihoods,
    sample_sentences,
    sentences_that_fit,
)
from tests.unit.conftest import DISTILBERT, HIDDEN, SIZES, random_eraser
from tests.unit.fake_tokenizer import word_tokenizer

LOSSES = st.lists(st.floats(0, 30), min_size=1, max_size=30)
WORDS = [f"w{number}" for number in range(60)]
TEXT = " ".join(np.random.default_rng(0).choice(WORDS, size=203))
MASKED_LM = {
    "bert": lambda: BertForMaskedLM(BertConfig(**SIZES)),
    "roberta": lambda: RobertaForMaskedLM(RobertaConfig(**SIZES, pad_token_id=0)),
    "distilbert": lambda: DistilBertForMaskedLM(DistilBertConfig(**DISTILBERT, initializer_range=0.3)),
}


@pytest.fixture(params=MASKED_LM)
def encoder(request):
    torch.manual_seed(0)
    return MASKED_LM[request.param]().eval(), word_tokenizer(WORDS, max_length=22)


@pytest.fixture
def bert():
    torch.manual_seed(0)
    return MASKED_LM["bert"]().eval(), word_tokenizer(WORDS, max_length=22)


@pytest.fixture
def blocks(bert):
    return blocks_of(bert[1], TEXT, max_length=22)


# The formulas


def test_known_answers():
    losses = np.log([2.0, 2.0, 8.0])
    assert perplexity(losses) == pytest.approx(2 ** (5 / 3))
    assert perplexity_of_batches(losses, [0, 0, 1]) == pytest.approx(4)  # the mean of ln 2 and ln 8 is ln 4
    assert pseudo_perplexity([-math.log(4), -math.log(2)], [2, 1]) == pytest.approx(2)


@given(st.integers(1, 100_000), st.integers(1, 20))
def test_a_uniform_guess_has_the_perplexity_of_the_vocabulary(vocabulary, tokens):
    assert perplexity([math.log(vocabulary)] * tokens) == pytest.approx(vocabulary)


@given(LOSSES)
def test_it_lies_between_the_extremes_and_equal_batches_change_nothing(losses):
    value = perplexity(losses)
    assert math.exp(min(losses)) <= value * (1 + 1e-9) and value <= math.exp(max(losses)) * (1 + 1e-9)
    assert perplexity_of_batches(losses, np.arange(len(losses))) == pytest.approx(value)
    assert perplexity_of_batches(losses, np.zeros(len(losses), int)) == pytest.approx(value)
    assert perplexity(losses[::-1]) == pytest.approx(value)


@given(LOSSES)
def test_pseudo_perplexity_is_the_perplexity_of_all_tokens(losses):
    half = len(losses) // 2
    parts = [part for part in (losses[:half], losses[half:]) if part]
    found = pseudo_perplexity([-sum(part) for part in parts], [len(part) for part in parts])
    assert found == pytest.approx(perplexity(losses))


def test_the_spread_of_seeds():
    found = spread([3.0, 5.0])
    assert (found.mean, found.deviation, found.n) == (4.0, pytest.approx(math.sqrt(2)), 2)
    assert math.isnan(spread([3.0]).deviation)


@pytest.mark.parametrize(
    "call",
    [
        lambda: perplexity([]),
        lambda: perplexity([[1.0]]),
        lambda: perplexity([1.0, -0.5]),
        lambda: perplexity([math.inf]),
        lambda: perplexity_of_batches([1.0, 2.0], [0]),
        lambda: perplexity_of_batches([1.0], [0.5]),
        lambda: pseudo_perplexity([1.0], [1]),
        lambda: pseudo_perplexity([-1.0], [0]),
        lambda: pseudo_perplexity([-1.0], [1, 1]),
        lambda: spread([]),
        lambda: spread([math.nan]),
    ],
)
def test_what_is_no_loss_is_refused(call):
    with pytest.raises(BiasflowError):
        call()


# Blocks and masks


def test_the_text_is_one_stream_in_whole_blocks(bert):
    _, tokenizer = bert
    dropped, kept = (blocks_of(tokenizer, TEXT, max_length=22, rest=rest) for rest in ("drop", "keep"))
    ids = tokenizer.convert_tokens_to_ids(TEXT.split())
    assert dropped.shape == (10, 22) and kept.shape == (11, 22)
    assert dropped[:, 1:-1].ravel().tolist() == ids[:200]
    assert (dropped[:, 0] == tokenizer.cls_token_id).all() and (dropped[:, -1] == tokenizer.sep_token_id).all()
    assert (kept[:10] == dropped).all()
    assert kept[10].tolist() == [
        tokenizer.cls_token_id,
        *ids[200:],
        tokenizer.sep_token_id,
        *[tokenizer.pad_token_id] * 17,
    ]


def test_a_text_that_fills_its_blocks_has_no_rest(bert):
    text = " ".join(WORDS[:40])
    assert (blocks_of(bert[1], text, max_length=22, rest="keep") == blocks_of(bert[1], text, max_length=22)).all()


def test_masks_are_a_share_of_the_pieces_and_never_special(bert):
    _, tokenizer = bert
    blocks = blocks_of(tokenizer, TEXT * 40, max_length=22, rest="keep")
    masks = draw_masks(tokenizer, blocks, seed=3)
    chosen = masks.labels != IGNORED
    special = np.isin(blocks, tokenizer.all_special_ids)
    assert not (chosen & special).any()
    assert (masks.labels[chosen] == blocks[chosen]).all() and (masks.input_ids[~chosen] == blocks[~chosen]).all()
    assert chosen.sum() / (~special).sum() == pytest.approx(0.15, abs=0.02)
    assert (masks.input_ids[chosen] == tokenizer.mask_token_id).mean() == pytest.approx(0.8, abs=0.05)
    assert (masks.attention_mask == (blocks != tokenizer.pad_token_id)).all()


def test_masks_depend_on_the_seed_and_on_no_random_state(bert, blocks):
    first = draw_masks(bert[1], blocks, seed=1)
    np.random.seed(5)
    torch.manual_seed(5)
    again, other = draw_masks(bert[1], blocks, seed=1), draw_masks(bert[1], blocks, seed=2)
    assert (first.input_ids == again.input_ids).all() and (first.labels == again.labels).all()
    assert (first.labels != other.labels).any()


def test_two_methods_see_the_same_masks(bert):
    model, tokenizer = bert
    seen: list[list[np.ndarray]] = []
    handle = model.get_input_embeddings().register_forward_pre_hook(
        lambda module, args: seen[-1].append(args[0].numpy().copy())
    )
    methods = [(), [("layer[0]", random_eraser(1, HIDDEN))], [("layer[-1]", random_eraser(2, HIDDEN))]]
    tables = []
    for edits in methods:
        seen.append([])
        torch.rand(len(tables) + 1)  # the methods find different random states
        tables.append(masked_lm_perplexity(model, tokenizer, TEXT, seeds=(0, 1), edits=edits))
    handle.remove()
    vanilla, *debiased = [np.concatenate(batches) for batches in seen]
    assert vanilla.shape == (20, 22)  # ten blocks, two seeds
    for inputs, table in zip(debiased, tables[1:], strict=True):
        assert (inputs == vanilla).all()
        assert (table["tokens"] == tables[0]["tokens"]).all()
        assert (table["perplexity"] != tables[0]["perplexity"]).all()


# What is scored


def test_the_losses_are_the_models_own_at_the_masked_positions(encoder):
    model, tokenizer = encoder
    masks = draw_masks(tokenizer, blocks_of(tokenizer, TEXT, max_length=22, rest="keep"), seed=0)
    losses, block = losses_at(model, masks, batch_size=3)
    with torch.inference_mode():
        logits = model(
            input_ids=torch.from_numpy(masks.input_ids), attention_mask=torch.from_numpy(masks.attention_mask)
        ).logits
    expected = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), torch.from_numpy(masks.labels).flatten(), ignore_index=IGNORED, reduction="none"
    )
    chosen = (masks.labels != IGNORED).ravel()
    assert np.allclose(losses, expected.numpy()[chosen], atol=1e-4)
    assert block.tolist() == np.repeat(np.arange(len(masks.labels)), (masks.labels != IGNORED).sum(1)).tolist()


def test_one_row_per_seed_in_both_forms_for_any_batch_size(encoder):
    model, tokenizer = encoder
    table = masked_lm_perplexity(model, tokenizer, TEXT, seeds=(0, 7), batch_size=8)
    alone = masked_lm_perplexity(model, tokenizer, TEXT, seeds=(7,), batch_size=1)
    assert table["mask_seed"].tolist() == [0, 7]
    assert np.allclose(table.iloc[1], alone.iloc[0], rtol=1e-5)
    masks = draw_masks(tokenizer, blocks_of(tokenizer, TEXT, max_length=22), seed=7)
    losses, block = losses_at(model, masks, 4)
    assert table["perplexity"][1] == pytest.approx(math.exp(losses.mean()), rel=1e-5)
    by_four = [losses[(block >= start) & (block < start + 4)].mean() for start in (0, 4, 8)]
    assert table["batch_perplexity"][1] == pytest.approx(math.exp(np.mean(by_four)), rel=1e-5)


def test_pseudo_log_likelihoods_mask_each_token_by_itself(encoder):
    model, tokenizer = encoder
    sentences = ["w1 w2 w3 w4", "w5", "w9 w9"]
    found = pseudo_log_likelihoods(model, tokenizer, sentences, batch_size=2)
    assert found["tokens"].tolist() == [4, 1, 2]
    for sentence, value in zip(sentences, found["pseudo_log_likelihood"], strict=True):
        ids = tokenizer(sentence, return_tensors="pt")["input_ids"][0]
        expected = 0.0
        for place in range(1, len(ids) - 1):
            masked = ids.clone()
            masked[place] = tokenizer.mask_token_id
            with torch.inference_mode():
                log_p = model(input_ids=masked[None], attention_mask=torch.ones_like(ids)[None]).logits[0, place]
            expected += float(log_p.log_softmax(-1)[ids[place]])
        assert value == pytest.approx(expected, abs=1e-3)


def test_an_edit_changes_pseudo_log_likelihoods(bert):
    edit = [("layer[1]", random_eraser(1, HIDDEN))]
    plain, edited = (pseudo_log_likelihoods(*bert, ["w1 w2"], edits=edits) for edits in ((), edit))
    assert not np.allclose(plain["pseudo_log_likelihood"], edited["pseudo_log_likelihood"])


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order():
    sample = sample_sentences(WORDS, 10, seed=0)
    assert len(set(sample)) == 10 and sample == sorted(sample, key=WORDS.index)
    assert sample == sample_sentences(WORDS, 10, seed=0) != sample_sentences(WORDS, 10, seed=1)
    assert sample_sentences(WORDS, 100, seed=0) == WORDS
    with pytest.raises(BiasflowError):
        sample_sentences(WORDS, 0, seed=0)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"seeds": ()}, "seed"),
        ({"max_length": 23}, "max_length"),
        ({"max_length": 2}, "max_length"),
        ({"max_length": 0}, "max_length"),
        ({"share": 0.0}, "share"),
        ({"share": 1e-9}, "seed 0"),
        ({"rest": "pad"}, "rest"),
        ({"text": "w1 w2"}, "2 pieces"),
        ({"text": "", "rest": "keep"}, "0 pieces"),
    ],
)
def test_what_cannot_be_scored_is_named(bert, options, named):
    options = {"text": TEXT, "seeds": (0,)} | options
    with pytest.raises(BiasflowError, match=named):
        masked_lm_perplexity(*bert, options.pop("text"), **options)


@pytest.mark.parametrize("sentences", [[], ["w1", ""], ["w1", TEXT]])
def test_sentences_that_have_no_pseudo_log_likelihood(bert, sentences):
    with pytest.raises(BiasflowError, match="sentence 2" if sentences else "none"):
        pseudo_log_likelihoods(*bert, sentences)


def test_a_model_without_a_head_is_named(bert):
    masks = draw_masks(bert[1], blocks_of(bert[1], TEXT, max_length=22), seed=0)
    with pytest.raises(BiasflowError, match="BertModel"):
        losses_at(bert[0].bert, masks, 2)


def test_only_sentences_that_fit_are_scored(bert):
    model, tokenizer = bert
    short, long = " ".join(TEXT.split()[:5]), " ".join((TEXT.split() * 30)[:30])
    assert sentences_that_fit(model, tokenizer, [short, long, short]) == [short, short]
    pseudo_log_likelihoods(model, tokenizer, sentences_that_fit(model, tokenizer, [long, short]))
