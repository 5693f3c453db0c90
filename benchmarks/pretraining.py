"""Pre-training from scratch."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from transformers import BertConfig, BertForPreTraining

from benchmarks.timing import in_turn, one_thread, row
from biasflow.encoders.examples import IGNORED
from biasflow.training.pretrain import PARTS, gradients

VOCABULARY, TOKENS, MASKED = 1600, 18, 0.15  # those of the planted corpus and its default encoder


def bench_pretraining(*, pairs: int = 64, layers: int = 4) -> Iterator[dict]:
    """Loss and gradients of a batch, in parts side by side and one after the other, against the model's own loss."""
    torch.manual_seed(0)
    sizes = {"num_hidden_layers": layers, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256}
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = BertForPreTraining(BertConfig(vocab_size=VOCABULARY, **sizes, **without_dropout)).train()
    ids = torch.randint(5, VOCABULARY, (pairs, TOKENS))
    batch = {
        "input_ids": ids,
        "token_type_ids": (torch.arange(TOKENS) >= TOKENS // 2).long().expand(pairs, -1),
        "attention_mask": torch.ones_like(ids),
        "labels": torch.where(torch.rand(pairs, TOKENS) < MASKED, ids, IGNORED),
        "next_sentence_label": torch.arange(pairs) % 2,
    }

    def whole() -> None:
        torch.autograd.grad(model(**batch).loss, list(model.parameters()))

    def in_parts(threads: int) -> Callable[[], object]:
        pool = ThreadPoolExecutor(threads)
        return lambda: gradients(model, batch, parts=PARTS, pool=pool)

    with one_thread():
        *ours, other = in_turn(in_parts(1), in_parts(2), whole)
    note = f"{pairs} pairs of {TOKENS} tokens, random BERT of {layers} layers x 128, vocabulary of {VOCABULARY}"
    for how, seconds in zip(("one after the other", "side by side"), ours, strict=True):
        yield row(
            f"pre-training: gradients of a batch in {PARTS} parts, {how}, against the model's own", seconds, other, note
        )
