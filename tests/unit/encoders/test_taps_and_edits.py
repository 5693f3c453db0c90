"""Places of an encoder: their names, what an edit leaves there, and the attention that tokens receive."""

import pytest
import torch
import transformers

from biasflow.base.errors import BiasflowError
from biasflow.encoders.attention import attention_received, by_hand, returns_attention
from biasflow.encoders.edit import edited
from biasflow.encoders.places import ATTENTION, order_of_flow, resolve
from biasflow.encoders.taps import tap
from biasflow.erasers.eraser import Eraser
from tests.unit.conftest import HIDDEN, random_batch, random_eraser
from tests.unit.encoders.families import HIDDEN as WIDTH
from tests.unit.encoders.families import KINDS, batch_of, model_of


@pytest.mark.parametrize("number", range(3))
def test_of_queries_keys_and_values_that_one_matrix_makes_one_is_replaced_in_its_place(number):
    place = tap(model_of("modernbert", "MaskedLM"), f"layer[0].attention.{ATTENTION[number]}")
    made = torch.arange(1.0, 3 * WIDTH + 1)[None, None]
    expected = made.clone()
    expected[..., number * WIDTH : (number + 1) * WIDTH] *= -1
    assert torch.equal(place.merge(made, -place.view(made)), expected)


def test_an_edit_that_changed_nothing_is_an_error(bert):
    nothing = Eraser.projection(torch.zeros(1, HIDDEN))
    with pytest.raises(BiasflowError, match="pooled"), edited(bert, [("pooled", nothing)]), torch.inference_mode():
        bert(**random_batch(bert))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_edit_in_half_precision_leaves_nothing_but_rounding(bert, dtype):
    def residual():
        with edited(bert, [("layer[0]", eraser)]) as reports, torch.inference_mode():
            bert(**batch)
        return reports[0].residual

    batch, eraser = random_batch(bert), random_eraser(1, HIDDEN).with_setting(weighted=False, components=1)
    assert residual() < 1e-5
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert residual() < 1e-5  # a layer's output is float32 there, and the old edit left 4e-3 of it
    bert.to(dtype)
    assert residual() < torch.finfo(dtype).eps


@pytest.mark.parametrize(
    ("place", "means"),
    [
        ("all", ("layer[0]", "layer[1]", "layer[2]")),
        ("each", ("layer[0]", "layer[1]", "layer[2]")),
        ("last", ("layer[2]",)),
        ("last.cls", ("layer[2].cls",)),
        ("pooled", ("pooled",)),
        ("layer[1]", ("layer[1]",)),
        ("layer[-3].cls", ("layer[0].cls",)),
        ("layer[-1].attention.query", ("layer[2].attention.query",)),
    ],
)
def test_what_a_place_means_in_an_encoder_of_three_layers(place, means):
    assert resolve(place, 3) == means


@pytest.mark.parametrize("place", ["layer[3]", "layer[-4]", "layer[x]", "layer[1].attention.output", "first", ""])
def test_a_place_that_there_is_not_is_named(place):
    with pytest.raises(BiasflowError, match=r"layer|first|''"):
        resolve(place, 3)


def test_the_order_in_which_an_encoder_reaches_places():
    order = ["layer[0]", "layer[2].attention.key", "layer[2].attention.value", "layer[2]", "layer[2].cls", "layer[10]"]
    order.append("pooled")
    assert sorted(order[4:] + order[:4], key=order_of_flow) == order


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
    "SqueezeBert": {"embedding_size": WIDTH, "q_groups": 1, "k_groups": 1, "v_groups": 1},
    "Funnel": {"block_sizes": [1, 1], "d_model": WIDTH, "n_head": 2, "d_head": 8, "d_inner": 32},
}
SMALL = {"hidden_size": WIDTH, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 2}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_model_whose_attention_is_of_another_kind_says_so(kind):
    sizes = {} if kind == "Funnel" else SMALL
    config = getattr(transformers, f"{kind}Config")(vocab_size=97, **sizes, **OTHERS[kind])
    torch.manual_seed(0)
    assert not returns_attention(getattr(transformers, f"{kind}Model")(config).eval())
