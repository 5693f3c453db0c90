"""The names of places: what a method's words mean in an encoder of some depth, and in which order it reaches them."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.encoders.places import order_of_flow, resolve


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
