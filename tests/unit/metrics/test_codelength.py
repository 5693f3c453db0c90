"""The online code: known answers, the batched training against the plain loop, and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.codelength import CHECKPOINTS, online_codelength, online_codelength_of
from biasflow.readouts.probe import Code, send, stacked
from tests.unit.reference_probe import codelength_one_by_one


def synthetic(n, d, *, signal, seed=0, held_out=80):
    """Rows whose first coordinate leans towards their label, cut into train, dev and test set."""
    rng = np.random.default_rng(seed)
    z = rng.permutation(np.arange(n + 2 * held_out) % 2)
    X = rng.normal(size=(len(z), d)).astype(np.float32)
    X[:, 0] += signal * (2 * z - 1)
    data = {"X": X[:n], "z": z[:n], "X_dev": X[n:-held_out], "z_dev": z[n:-held_out]}
    return data | {"X_test": X[-held_out:], "z_test": z[-held_out:]}


def compression(losses, units="bits"):
    """Of 10,000 labels, of which 200 are sent before any probe, and whose others cost `losses` nats together."""
    return 10_000 / online_codelength_of(200, losses, units=units)


def test_known_answers_at_chance_and_for_a_perfect_probe():
    chance = 9800 * math.log(2)
    assert compression(chance) == pytest.approx(1)
    assert compression(chance, "mixed") == pytest.approx(1 / (0.02 + 0.98 * math.log(2)))
    assert compression(chance, "mixed") == pytest.approx(1.430, abs=5e-4)
    assert compression(0) == compression(0, "mixed") == 50


@given(st.floats(0, 1e5))
def test_mixed_units_convert_to_bits(losses):
    mixed = compression(losses, "mixed")
    assert compression(losses) == pytest.approx(1 / (0.02 + (1 / mixed - 0.02) / math.log(2)))
    assert compression(losses) <= mixed


@pytest.mark.parametrize("hidden", [0, 7])
def test_equal_to_one_probe_after_the_other(hidden):
    data = synthetic(330, 12, signal=0.7)
    training = {"epochs": 12, "patience": 1, "learning_rate": 0.01, "hidden": hidden}
    found = {keep: online_codelength(**data, seeds=[3, 8], keep=keep, **training) for keep in CHECKPOINTS}
    assert (found["best"].online != found["last"].online).all()  # the best epoch is not the last one
    for number, seed in enumerate([3, 8]):
        expected = codelength_one_by_one(**data, seed=seed, **training)
        for keep in CHECKPOINTS:
            bits, accuracy = expected[keep]
            assert found[keep].online[number] / 330 == pytest.approx(bits / 330, abs=1e-5)
            assert found[keep].accuracy[number] == pytest.approx(accuracy)


def test_mixed_rows_are_sent_in_their_order_and_learnt_from_in_another():
    """As if the rows sent first had been listed in the random order of that portion and seed."""
    data = synthetic(200, 6, signal=1)
    X, z, parts = stacked({"X": (data["X"], data["z"]), "X_dev": (data["X_dev"], data["z_dev"])})
    rows, seed, half = parts["X"], 3, 100
    other = np.concatenate([rows[np.random.default_rng([seed, 1]).permutation(half)], rows[half:]])
    none = np.empty(0, dtype=int)
    codes = [
        Code(z, train, parts["X_dev"], none, seed, shuffled=False, mixed=mixed)
        for train, mixed in ((rows, True), (other, False), (rows, False))
    ]
    nats = send(X, codes, fractions=(0.25, 0.5, 1.0), epochs=5).nats[:, 0, :, 2]
    assert nats[:, 0] == pytest.approx(nats[:, 1], abs=1e-5)
    assert (np.abs(nats[:, 0] - nats[:, 2]) > 1e-3).all()


def changed(**parts):
    return synthetic(200, 6, signal=1) | parts


def one_bad_number():
    X = synthetic(200, 6, signal=1)["X"]
    X[17, 2] = np.inf
    return X


@pytest.mark.parametrize(
    ("data", "options", "named"),
    [
        (changed(z=np.arange(200) % 3), {}, "z: row 2"),
        (changed(z=np.array(["F", "M"] * 100)), {}, "z: row 0"),
        (changed(z=np.ones(200, dtype=int)), {}, "z: all 200 labels are 1"),
        (changed(z=np.arange(199) % 2), {}, "z of shape"),
        (changed(z_test=np.arange(79) % 2), {}, "z_test of shape"),
        (changed(X=one_bad_number()), {}, "X: row 17"),
        (changed(X_dev=np.zeros((80, 5))), {}, "X_dev"),
        (changed(X_test=None), {}, "X_test and z_test"),
        (changed(X=np.zeros((40, 6)), z=np.arange(40) % 2), {}, "40 rows"),
        (changed(), {"fractions": (0.5, 0.2, 1)}, "fractions"),
        (changed(), {"seeds": []}, "0 probe seeds"),
        (changed(), {"epochs": 0}, "0 epochs"),
        (changed(), {"learning_rate": 1e38}, "probe seed 7"),
    ],
)
def test_bad_input_is_named(data, options, named):
    with pytest.raises(BiasflowError, match=named) as error:
        online_codelength(**data, **({"seeds": [7]} | options))
    assert "\n" not in str(error.value)
