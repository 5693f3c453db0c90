"""Losses: the masks that every method shares, and what is scored."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from biasflow.base.errors import BiasflowError
from biasflow.encoders.examples import IGNORED, blocks_of
from biasflow.readouts.losses import draw_masks, losses_at, masked_losses
from tests.unit.conftest import HIDDEN, SIZES, random_eraser
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.readouts.conftest import reader

WORDS = [f"w{number}" for number in range(60)]
TEXT = " ".join(np.random.default_rng(0).choice(WORDS, size=203))


@pytest.fixture
def bert():
    torch.manual_seed(0)
    return BertForMaskedLM(BertConfig(**SIZES)).eval(), word_tokenizer(WORDS, max_length=22)


# The file, blocks and masks


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
    assert (alone[:10] != alone[10:]).any()  # another seed has other masks
    assert len(together) == 60 and {tuple(row) for row in together} == {tuple(row) for row in alone}
    by_method = {name: rows.reset_index(drop=True) for name, rows in tables[1].groupby("method")}
    for name, table in (("none", tables[0]), ("one", tables[2])):
        same = by_method[name].sort_values("readout_seed", kind="stable", ignore_index=True)
        assert (same == table).all().all()
    assert (by_method["two"]["block"] == by_method["none"]["block"]).all()
    assert (by_method["two"]["loss"] != by_method["none"]["loss"]).mean() > 0.99


def test_blocks_of_a_limited_text_have_the_masks_that_they_have_in_the_whole_one(bert):
    whole, some = (masked_losses(reader(*bert), TEXT, seeds=(0,), limit=limit)["loss"] for limit in (None, 3))
    assert 0 < len(some) < len(whole) and all(np.isclose(whole, loss, rtol=1e-5).any() for loss in some)


# What is scored


def test_the_losses_are_the_models_own_at_the_masked_positions(bert):
    model, tokenizer = bert
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


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_length": 23}, "max_length"),
        ({"max_length": 2}, "max_length"),
        ({"text": "w1 w2"}, "2 tokens"),
        ({"text": "w1", "max_length": 3}, "seed 0"),
    ],
)
def test_what_cannot_be_scored_is_named(bert, options, named):
    options = {"text": TEXT, "seeds": (0,)} | options
    with pytest.raises(BiasflowError, match=named):
        masked_losses(reader(*bert), options.pop("text"), **options)
