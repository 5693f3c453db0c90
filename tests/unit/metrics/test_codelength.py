"""The online code: known answers, the batched training against the plain loop, and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.codelength import online_codelength_of
from biasflow.readouts.probe import Code, send
from tests.unit.reference_probe import codelength_one_by_one, codelengths


def synthetic(n, d, *, signal, seed=0, held_out=80):
    """Rows whose first coordinate leans towards their label: X, z, and the rows of the train, dev and test set."""
    rng = np.random.default_rng(seed)
    z = rng.permutation(np.arange(n + 2 * held_out) % 2)
    X = rng.normal(size=(len(z), d)).astype(np.float32)
    X[:, 0] += signal * (2 * z - 1)
    return X, z, *np.split(np.arange(len(z)), [n, n + held_out])


def compression(losses, units="bits"):
    """Of 10,000 labels, of which 200 are sent before any probe, and whose others cost `losses` nats together."""
    return 10_000 / online_codelength_of(200, losses, units=units)


@given(st.floats(0, 1e5))
def test_mixed_units_convert_to_bits(losses):
    mixed = compression(losses, "mixed")
    assert compression(losses) == pytest.approx(1 / (0.02 + (1 / mixed - 0.02) / math.log(2)))
    assert compression(losses) <= mixed


@pytest.mark.parametrize("hidden", [0, 7])
def test_equal_to_one_probe_after_the_other(hidden):
    X, z, train, dev, test = synthetic(330, 12, signal=0.7)
    training = {"epochs": 12, "patience": 1, "learning_rate": 0.01, "hidden": hidden}
    found = codelengths(X, z, train, dev, test, seeds=[3, 8], **training)
    assert (found["best"][0] != found["last"][0]).all()  # the best epoch is not the last one
    for number, seed in enumerate([3, 8]):
        sets = {"X_dev": X[dev], "z_dev": z[dev], "X_test": X[test], "z_test": z[test]}
        expected = codelength_one_by_one(X[train], z[train], seed=seed, **sets, **training)
        for keep, (compressions, accuracies) in found.items():
            bits, accuracy = expected[keep]
            assert 1 / compressions[number] == pytest.approx(bits / 330, abs=1e-5)
            assert accuracies[number] == pytest.approx(accuracy)


def test_mixed_rows_are_sent_in_their_order_and_learnt_from_in_another():
    """As if the rows sent first had been listed in the random order of that portion and seed."""
    X, z, rows, dev, _ = synthetic(200, 6, signal=1)
    seed, half = 3, 100
    other = np.concatenate([rows[np.random.default_rng([seed, 1]).permutation(half)], rows[half:]])
    none = np.empty(0, dtype=int)
    codes = [
        Code(z, train, dev, none, seed, shuffled=False, mixed=mixed)
        for train, mixed in ((rows, True), (other, False), (rows, False))
    ]
    nats = send(X, codes, fractions=(0.25, 0.5, 1.0), epochs=5).nats[:, 0, :, 2]
    assert nats[:, 0] == pytest.approx(nats[:, 1], abs=1e-5)
    assert (np.abs(nats[:, 0] - nats[:, 2]) > 1e-3).all()


def changed(row, number):
    """The vectors with another number in a row."""
    X = synthetic(200, 6, signal=1)[0]
    X[row, 2] = number
    return X


@pytest.mark.parametrize(
    ("wrong", "options", "named"),
    [
        ({"z": np.arange(360) % 3}, {}, "z: row 2"),
        ({"z": np.array(["F", "M"] * 180)}, {}, "z: row 0"),
        ({"z": np.ones(360, dtype=int)}, {}, "z: all 200 labels are 1"),
        ({"z": np.arange(359) % 2}, {}, "z of shape"),
        ({"X": changed(17, np.inf)}, {}, "X: row 17"),
        ({"train": np.arange(40)}, {}, "40 rows"),
        ({}, {"fractions": (0.5, 0.2, 1)}, "fractions"),
        ({}, {"learning_rate": 1e38}, "probe seed 7"),
    ],
)
def test_bad_input_is_named(wrong, options, named):
    data = dict(zip(("X", "z", "train", "dev", "test"), synthetic(200, 6, signal=1), strict=True))
    with pytest.raises(BiasflowError, match=named) as error:
        codelengths(**data | wrong, seeds=[7], **options)
    assert "\n" not in str(error.value)
