"""Passes under several methods: equal to hooking each by hand, and no layer runs for nothing."""

import pytest
import torch

from biasflow.encoders import taps
from biasflow.encoders.edit import edited
from biasflow.methods.fitted import Active
from biasflow.methods.passes import passes
from tests.unit.conftest import HEADS, HIDDEN, logits_of, random_batch, random_eraser

HEAD = HIDDEN // HEADS
METHODS = {
    "none": (),
    "all": tuple((f"layer[{i}]", random_eraser(1, HIDDEN)) for i in range(3)),
    "last": (("layer[-1]", random_eraser(1, HIDDEN)),),
    "first-token": (("layer[1].cls", random_eraser(2, HIDDEN)),),
    "pooled": (("pooled", random_eraser(1, HIDDEN)),),
    "values": (("layer[-1].attention.value", random_eraser(1, HEAD, (HEADS,))), ("layer[2]", random_eraser(1, HIDDEN))),
}
ACTIVE = [Active(name, edits=edits) for name, edits in METHODS.items()]


def by_hand(model, batch, edits):
    with torch.inference_mode(), edited(model, edits):
        return logits_of(model(**batch))


def test_every_method_equals_the_hooked_model(model):
    batch, reports = random_batch(model), {}
    found = passes(model, ACTIVE, lambda: logits_of(model(**batch)), reports)
    for active, logits in zip(ACTIVE, found, strict=True):
        assert torch.equal(logits, by_hand(model, batch, active.edits)), active.method
    assert len({tuple(logits.flatten().tolist()) for logits in found}) == len(ACTIVE)
    assert set(reports) == {f"{name} at {place}" for name, edits in METHODS.items() for place, _ in edits}
    assert all(report.calls == 1 and report.change > 0 for report in reports.values())


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (["none"], [1, 1, 1]),
        (list(METHODS), [1, 2, 4]),  # "all" starts in the second layer, "first-token" and "values" in the third
        (["all"], [1, 1, 1]),  # the untouched model would spare one layer and cost three
        (["all", "values"], [2, 2, 2]),
        (["all", "last"], [1, 2, 2]),
    ],
)
def test_layers_below_the_first_edit_run_once_where_that_spares_some(bert, methods, expected):
    batch, calls = random_batch(bert), [0, 0, 0]
    attention = [layer.attention for layer in taps.layers(bert)]

    def counter(number):
        def count(module, args):
            calls[number] += 1

        return count

    handles = [module.register_forward_pre_hook(counter(number)) for number, module in enumerate(attention)]
    passes(bert, [each for each in ACTIVE if each.method in methods], lambda: logits_of(bert(**batch)), {})
    for handle in handles:
        handle.remove()
    assert calls == expected
