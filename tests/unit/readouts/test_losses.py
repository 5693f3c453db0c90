"""Losses and likelihoods: the masks that every method shares, and what is scored."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
)

from biasflow.base.errors import BiasflowError
from biasflow.corpora.documents import sample_sentences
from biasflow.encoders.examples import IGNORED, blocks_of
from biasflow.encoders.load import load_encoder
from biasflow.readouts import losses
from biasflow.readouts.likelihoods import pseudo_log_likelihoods, sentences_that_fit
from biasflow.readouts.losses import draw_masks, losses_at, masked_losses
from biasflow.readouts.reader import Reader
from tests.unit.conftest import DISTILBERT, HIDDEN, SIZES, random_eraser
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.readouts.conftest import reader

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


# The file, blocks and masks


def test_the_file_is_read_as_one_string_as_it_is(bert, source, folder, tmp_path):
    """Headings, blank lines and <unk> are text; pieces that the tokenizer lacks are [UNK], and none is left out."""
    raw = " \n = he = \n \n" + " the <unk> woman is a chef . \n" * 12
    (folder / "raw.txt").write_text(raw)
    losses.read(source("text", ["none"], text="raw.txt"), tmp_path / "read.parquet", mask_seeds=[0], max_length=20)
    own = Reader(*load_encoder(folder / "model", head="masked_lm"))
    expected = masked_losses(own, raw, seeds=[0], max_length=20)
    pieces = own.tokenizer(raw, add_special_tokens=False)["input_ids"]
    assert len(pieces) >= 3 + 12 * 7 and expected["block"].nunique() == len(pieces) // 18
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "read.parquet"), expected)


def test_the_text_is_one_stream_in_whole_blocks(bert, blocks):
    _, tokenizer = bert
    ids = tokenizer.convert_tokens_to_ids(TEXT.split())
    assert blocks.shape == (10, 22)
    assert blocks[:, 1:-1].ravel().tolist() == ids[:200]
    assert (blocks[:, 0] == tokenizer.cls_token_id).all() and (blocks[:, -1] == tokenizer.sep_token_id).all()


def test_masks_are_a_share_of_the_pieces_and_never_special(bert):
    _, tokenizer = bert
    blocks = blocks_of(tokenizer, TEXT * 40, max_length=22)
    input_ids, labels = draw_masks(tokenizer, blocks, seed=3)
    chosen = labels != IGNORED
    special = np.isin(blocks, tokenizer.all_special_ids)
    assert not (chosen & special).any()
    assert (labels[chosen] == blocks[chosen]).all() and (input_ids[~chosen] == blocks[~chosen]).all()
    assert chosen.sum() / (~special).sum() == pytest.approx(0.15, abs=0.02)
    assert (input_ids[chosen] == tokenizer.mask_token_id).mean() == pytest.approx(0.8, abs=0.05)


def test_masks_depend_on_the_seed_and_on_no_random_state(bert, blocks):
    first = draw_masks(bert[1], blocks, seed=1)
    np.random.seed(5)
    torch.manual_seed(5)
    again, other = draw_masks(bert[1], blocks, seed=1), draw_masks(bert[1], blocks, seed=2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first[1], other[1])


def test_two_methods_see_the_same_masks(bert):
    model, tokenizer = bert
    seen: list[list[np.ndarray]] = []
    handle = model.get_input_embeddings().register_forward_pre_hook(
        lambda module, args: seen[-1].append(args[0].numpy().copy())
    )
    one, two = [("layer[0]", random_eraser(1, HIDDEN))], [("layer[-1]", random_eraser(2, HIDDEN))]
    tables = []
    for number, methods in enumerate(({}, {"none": (), "one": one, "two": two}, {"one": one})):
        seen.append([])
        torch.rand(number + 1)  # every call finds another random state
        tables.append(masked_losses(reader(model, tokenizer, **methods), TEXT, seeds=(0, 1)))
    handle.remove()
    alone, together, edited = [np.concatenate(batches) for batches in seen]
    assert alone.shape == edited.shape == (20, 22) and (alone == edited).all()  # ten blocks, two seeds
    assert len(together) == 60 and {tuple(row) for row in together} == {tuple(row) for row in alone}
    by_method = {name: rows.reset_index(drop=True) for name, rows in tables[1].groupby("method")}
    for name, table in (("none", tables[0]), ("one", tables[2])):
        same = by_method[name].sort_values("readout_seed", kind="stable", ignore_index=True)
        assert (same == table).all().all()
    assert (by_method["two"]["block"] == by_method["none"]["block"]).all()
    assert (by_method["two"]["loss"] != by_method["none"]["loss"]).mean() > 0.99


# What is scored


def test_the_losses_are_the_models_own_at_the_masked_positions(encoder):
    model, tokenizer = encoder
    input_ids, labels = draw_masks(tokenizer, blocks_of(tokenizer, TEXT, max_length=22), seed=0)
    (losses,) = losses_at(reader(model, tokenizer, batch_size=3), input_ids, labels)
    with torch.inference_mode():
        ids = torch.from_numpy(input_ids)
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    expected = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), torch.from_numpy(labels).flatten(), ignore_index=IGNORED, reduction="none"
    )
    chosen = (labels != IGNORED).ravel()
    assert np.allclose(losses, expected.numpy()[chosen], atol=1e-4)


def test_one_row_per_seed_and_position_for_any_batch_size(encoder):
    table = masked_losses(reader(*encoder, batch_size=8), TEXT, seeds=(0, 7))
    alone = masked_losses(reader(*encoder, batch_size=1), TEXT, seeds=(7,))
    assert list(table.columns) == ["method", "setting", "readout_seed", "block", "loss"]
    assert list(table["readout_seed"].unique()) == [0, 7]
    again = table[table["readout_seed"] == 7].reset_index(drop=True)
    assert (again["block"] == alone["block"]).all() and np.allclose(again["loss"], alone["loss"], atol=1e-5)


def test_pseudo_log_likelihoods_mask_each_token_by_itself(encoder):
    model, tokenizer = encoder
    sentences = ["w1 w2 w3 w4", "w5", "w9 w9"]
    (found,), tokens = pseudo_log_likelihoods(reader(model, tokenizer, batch_size=2), sentences)
    assert tokens.tolist() == [4, 1, 2]
    for sentence, value in zip(sentences, found, strict=True):
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
    edits = {"none": (), "edit": [("layer[1]", random_eraser(1, HIDDEN))]}
    (plain, edited), _ = pseudo_log_likelihoods(reader(*bert, **edits), ["w1 w2"])
    assert not np.allclose(plain, edited)


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
        ({"text": "w1 w2"}, "2 tokens"),
        ({"text": ""}, "0 tokens"),
        ({"text": "w1", "max_length": 3}, "seed 0"),
    ],
)
def test_what_cannot_be_scored_is_named(bert, options, named):
    options = {"text": TEXT, "seeds": (0,)} | options
    with pytest.raises(BiasflowError, match=named):
        masked_losses(reader(*bert), options.pop("text"), **options)


@pytest.mark.parametrize("sentences", [[], ["w1", ""], ["w1", TEXT]])
def test_sentences_that_have_no_pseudo_log_likelihood(bert, sentences):
    with pytest.raises(BiasflowError, match="sentence 2" if sentences else "none"):
        pseudo_log_likelihoods(reader(*bert), sentences)


def test_a_model_without_a_head_is_named(bert):
    masks = draw_masks(bert[1], blocks_of(bert[1], TEXT, max_length=22), seed=0)
    with pytest.raises(BiasflowError, match="BertModel"):
        losses_at(reader(bert[0].bert, bert[1]), *masks)


def test_only_sentences_that_fit_are_scored(bert):
    short, long = " ".join(TEXT.split()[:5]), " ".join((TEXT.split() * 30)[:30])
    assert sentences_that_fit(reader(*bert), [short, long, short]) == [short, short]
    pseudo_log_likelihoods(reader(*bert), sentences_that_fit(reader(*bert), [long, short]))
