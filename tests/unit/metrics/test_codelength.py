"""The online code: known answers, the batched training against the plain loop, the control, and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.codelength import CHECKPOINTS, Codelengths, codelengths, online_codelength
from scripts.biasflow.readouts.probe import FRACTIONS, control_labels, probe_split
from tests.unit.reference_probe import codelength_one_by_one


def synthetic(n, d, *, signal, seed=0, held_out=80):
    """Rows whose first coordinate leans towards their label, cut into train, dev and test set."""
    rng = np.random.default_rng(seed)
    z = rng.permutation(np.arange(n + 2 * held_out) % 2)
    X = rng.normal(size=(len(z), d)).astype(np.float32)
    X[:, 0] += signal * (2 * z - 1)
    data = {"X": X[:n], "z": z[:n], "X_dev": X[n:-held_out], "z_dev": z[n:-held_out]}
    return data | {"X_test": X[-held_out:], "z_test": z[-held_out:]}


def sent(losses, n=10_000, first=200):
    """Codelengths of one seed whose ten portions cost `losses` nats together, for both checkpoints."""
    return Codelengths(
        n, first, np.full((2, 1, 10), losses / 10), np.full((2, 1), np.nan), np.ones((2, 1, 10), dtype=int)
    )


def test_known_answers_at_chance_and_for_a_perfect_probe():
    chance = sent(9800 * math.log(2))
    assert chance.compression() == pytest.approx([1])
    assert chance.compression(units="mixed") == pytest.approx([1 / (0.02 + 0.98 * math.log(2))])
    assert chance.compression(units="mixed") == pytest.approx([1.430], abs=5e-4)
    for units in ("bits", "mixed"):
        assert sent(0).compression(units=units) == pytest.approx([50])
        assert sent(0).online(units=units) == [200]


@given(st.floats(0, 1e5))
def test_mixed_units_convert_to_bits(losses):
    found = sent(losses)
    mixed = found.compression(units="mixed")
    assert found.compression() == pytest.approx(1 / (0.02 + (1 / mixed - 0.02) / math.log(2)))
    assert (found.compression() <= mixed).all()


def test_equal_to_one_probe_after_the_other():
    data = synthetic(330, 12, signal=0.7)
    training = {"epochs": 12, "patience": 1, "learning_rate": 0.01}
    found = codelengths(**data, seeds=[3, 8], **training)
    assert len(np.unique(found.epochs)) > 3  # the probes stop at different times
    assert (found.epochs[0] < found.epochs[1]).any()
    for number, seed in enumerate([3, 8]):
        expected = codelength_one_by_one(**data, seed=seed, **training)
        for keep in CHECKPOINTS:
            bits, accuracy = expected[keep]
            assert found.online(keep=keep)[number] / found.n == pytest.approx(bits / found.n, abs=1e-5)
            assert found.accuracy(keep=keep)[number] == pytest.approx(accuracy)


def test_a_seed_gives_the_same_alone_and_among_others():
    data = synthetic(200, 6, signal=1)
    together = codelengths(**data, seeds=[0, 1, 2], epochs=6)
    for number in range(3):
        alone = codelengths(**data, seeds=[number], epochs=6)
        assert together.losses[:, number] == pytest.approx(alone.losses[:, 0], abs=1e-4)
        assert (together.epochs[:, number] == alone.epochs[:, 0]).all()
    assert len(np.unique(together.compression())) == 3


def test_same_input_same_numbers():
    data = synthetic(200, 6, signal=1)
    first, second = (codelengths(**data, seeds=[5], epochs=5) for _ in range(2))
    assert first.losses.tobytes() == second.losses.tobytes()


def test_front_gives_one_reading():
    data = synthetic(200, 6, signal=1)
    every = codelengths(**data, seeds=[5], epochs=5)
    one = online_codelength(**data, seeds=[5], epochs=5, units="mixed", keep="last")
    assert one.compression == every.compression(units="mixed", keep="last")
    assert one.online == every.online(units="mixed", keep="last")
    assert one.accuracy == every.accuracy(keep="last")
    assert one.uniform == 200
    assert one.compression == one.uniform / one.online


def test_gender_that_shows_compresses_better():
    weak, strong = (
        online_codelength(**synthetic(600, 4, signal=signal), seeds=[0, 1], learning_rate=0.01) for signal in (0.3, 3)
    )
    assert (strong.compression > 2 * weak.compression).all()
    assert (strong.accuracy > 0.97).all()
    assert (strong.compression < 50).all()


def test_control_labels_do_not_compress():
    data = synthetic(2400, 8, signal=2, held_out=300)
    for part in ("z", "z_dev", "z_test"):
        data[part] = control_labels(data[part], 1)
    control = codelengths(**data, seeds=[0, 1])
    assert control.compression() == pytest.approx([1, 1], abs=0.05)
    assert control.compression(units="mixed") == pytest.approx([1.43, 1.43], abs=0.07)
    assert control.accuracy() == pytest.approx([0.5, 0.5], abs=0.1)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_representation_is_at_chance(value):
    data = synthetic(1000, 5, signal=0)
    for part in ("X", "X_dev", "X_test"):
        data[part] = np.full_like(data[part], value)
    found = codelengths(**data, seeds=[0])
    for keep in CHECKPOINTS:
        assert found.compression(keep=keep) == pytest.approx([1], abs=0.08)


def test_without_a_test_set_only_the_accuracy_is_missing():
    data = synthetic(200, 6, signal=1)
    whole = codelengths(**data, seeds=[5], epochs=5)
    del data["X_test"], data["z_test"]
    found = codelengths(**data, seeds=[5], epochs=5)
    assert found.losses == pytest.approx(whole.losses, abs=1e-4)
    assert np.isnan(found.accuracy()).all()
    assert found.epochs.shape == (2, 1, 10) and whole.epochs.shape == (2, 1, 11)


def test_half_precision_is_read_as_it_is():
    data = synthetic(200, 6, signal=1)
    half = {name: values.astype(np.float16) if name[0] == "X" else values for name, values in data.items()}
    single = {name: values.astype(np.float32) if name[0] == "X" else values for name, values in half.items()}
    found, expected = (codelengths(**given, seeds=[5], epochs=5) for given in (half, single))
    assert found.losses == pytest.approx(expected.losses, abs=1e-4)


def test_rows_in_their_order_without_shuffling():
    """Sorted by label, the first portions hold one class only, so the other one is expensive."""
    data = synthetic(400, 4, signal=1)
    order = np.argsort(data["z"], kind="stable")
    data["X"], data["z"] = data["X"][order], data["z"][order]
    options = {"seeds": [0], "epochs": 30, "learning_rate": 0.01}
    ordered, shuffled = (online_codelength(**data, shuffle=shuffle, **options) for shuffle in (False, True))
    assert ordered.compression[0] < 0.9 * shuffled.compression[0]


def test_own_fractions():
    found = codelengths(**synthetic(200, 6, signal=1), seeds=[0], fractions=(0.1, 0.5, 1), epochs=3)
    assert found.first == 20
    assert found.losses.shape == (2, 1, 2)
    assert FRACTIONS[0] == 0.02 and len(FRACTIONS) == 11


@given(st.integers(6, 3000), st.integers(0, 2**32 - 1))
def test_probe_split_is_a_partition(n, seed):
    parts = probe_split(n, seed)
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert len(parts[0]) == int(0.8 * n)
    assert 0 <= len(parts[2]) - len(parts[1]) <= 1


@given(st.lists(st.integers(0, 1), min_size=1, max_size=200), st.integers(0, 2**32 - 1))
def test_control_labels_keep_the_counts(z, seed):
    control = control_labels(z, seed)
    assert sorted(control) == sorted(z)
    assert (control == control_labels(z, seed)).all()


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
        (changed(z_dev=np.full(80, np.nan)), {}, "z_dev: row 0"),
        (changed(z=np.ones(200, dtype=int)), {}, "z: all 200 labels are 1"),
        (changed(z=np.arange(199) % 2), {}, "z of shape"),
        (changed(z_test=np.arange(79) % 2), {}, "z_test of shape"),
        (changed(X=one_bad_number()), {}, "X: row 17"),
        (changed(X_dev=np.zeros((80, 5))), {}, "X_dev"),
        (changed(X=np.zeros(200)), {}, "X of shape"),
        (changed(X_test=None), {}, "X_test and z_test"),
        (changed(X=np.zeros((40, 6)), z=np.arange(40) % 2), {}, "40 rows"),
        (changed(), {"fractions": (0.5, 0.2, 1)}, "fractions"),
        (changed(), {"fractions": (0.5, 0.9)}, "fractions"),
        (changed(), {"seeds": []}, "0 probe seeds"),
        (changed(), {"epochs": 0}, "0 epochs"),
        (changed(), {"learning_rate": 1e38}, "probe seed 7"),
    ],
)
def test_bad_input_is_named(data, options, named):
    with pytest.raises(BiasflowError, match=named) as error:
        codelengths(**data, **({"seeds": [7]} | options))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("reading", [{"units": "nats"}, {"keep": "first"}])
def test_unknown_readings(reading):
    with pytest.raises(BiasflowError, match=next(iter(reading.values()))):
        online_codelength(**synthetic(200, 6, signal=1), seeds=[0], **reading)


def test_too_few_rows_for_a_split():
    with pytest.raises(BiasflowError, match="5 rows"):
        probe_split(5, 0)
