"""Attention weights of every architecture: each token of a text receives its part of a whole."""

import pytest
import torch
import transformers

from biasflow.encoders.attention import attention_received, by_hand, returns_attention
from tests.unit.encoders.families import HIDDEN, KINDS, batch_of, model_of


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_and_a_text_receives_one(kind):
    model, batch = model_of(kind, "MaskedLM"), batch_of()
    assert returns_attention(model)
    with by_hand(model), torch.inference_mode():
        together = attention_received(model(**batch, output_attentions=True).attentions, batch["attention_mask"])
        for row, mask in enumerate(batch["attention_mask"]):
            alone = {key: value[row : row + 1, : mask.sum()] for key, value in batch.items()}
            own = attention_received(model(**alone, output_attentions=True).attentions, alone["attention_mask"])
            assert torch.allclose(together[row, : mask.sum()], own[0], atol=1e-5)
    sums = (together * batch["attention_mask"]).sum(-1)
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def test_a_known_answer():
    """Of two tokens both look at the first in one head, and at themselves in the other; a third one is padding."""
    head = torch.tensor([[1.0, 0, 0], [1, 0, 0], [0, 0, 1]]), torch.eye(3)
    found = attention_received([torch.stack(head)[None]], torch.tensor([[1, 1, 0]]))
    assert found.tolist() == [[0.75, 0.25, 0]]


OTHERS = {  # no attention; of windows; not normalised; of layers that are pooled
    "FNet": {},
    "Longformer": {"attention_window": 4, "max_position_embeddings": 64},
    "SqueezeBert": {"embedding_size": HIDDEN, "q_groups": 1, "k_groups": 1, "v_groups": 1},
    "Funnel": {"block_sizes": [1, 1], "d_model": HIDDEN, "n_head": 2, "d_head": 8, "d_inner": 32},
}
SMALL = {"hidden_size": HIDDEN, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 2}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_model_whose_attention_is_of_another_kind_says_so(kind):
    sizes = {} if kind == "Funnel" else SMALL
    config = getattr(transformers, f"{kind}Config")(vocab_size=97, **sizes, **OTHERS[kind])
    torch.manual_seed(0)
    assert not returns_attention(getattr(transformers, f"{kind}Model")(config).eval())
