"""Linear heads trained together: equal to one after the other, own rows, both checkpoints, and bad input."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.readouts import linear_heads as module
from biasflow.readouts.linear_heads import save_linear_heads, train_heads
from biasflow.readouts.lockstep import PADDING, in_batches, start
from tests.unit.reference_probe import load_linear_heads, train_head

CLASSES = 4


def synthetic(n=210, d=10, seed=0):
    """Vectors around one centre per class: X, y, X_valid, y_valid."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(CLASSES, d, generator=generator)
    y = torch.randint(CLASSES, (n + 60,), generator=generator)
    X = torch.randn(n + 60, d, generator=generator) + 0.7 * centres[y]
    return X[:n], y[:n], X[n:], y[n:]


def heads_of(data=None, **options):
    """Trained on the rows of X, validated on those of X_valid; valid_rows are numbers of the latter."""
    X, y, X_valid, y_valid = data or synthetic()
    options = {"seeds": [1, 5], "epochs": 4} | options
    everyone = np.arange(len(X)), np.arange(len(X_valid))
    rows, valid_rows = (
        options.pop(name, [own] * len(options["seeds"]))
        for name, own in zip(("rows", "valid_rows"), everyone, strict=True)
    )
    valid_rows = [np.asarray(some) + len(X) for some in valid_rows]
    together = torch.cat([torch.as_tensor(X), torch.as_tensor(X_valid)]), torch.cat([y, y_valid])
    return train_heads(*together, n_classes=CLASSES, rows=rows, valid_rows=valid_rows, **options)


def test_heads_on_several_matrices_end_as_on_one_alone():
    X, y, X_valid, y_valid = synthetic()
    one, y = torch.cat([X, X_valid]), torch.cat([y, y_valid])
    two = torch.stack([one, -2 * one.flip(1)])
    shared = {"n_classes": CLASSES, "epochs": 3, "learning_rate": 0.02}
    rows, valid_rows = np.arange(210), np.arange(210, 270)

    def trained(X, seeds, **options):
        return train_heads(
            X, y, seeds=seeds, rows=[rows] * len(seeds), valid_rows=[valid_rows] * len(seeds), **shared, **options
        )

    together = trained(two, [4, 4, 9], matrices=[0, 1, 1])
    assert not together.weight[0].equal(together.weight[1])
    for number, (matrix, seed) in enumerate([(0, 4), (1, 4), (1, 9)]):
        alone = trained(two[matrix], [seed])
        torch.testing.assert_close(together.weight[number], alone.weight[0], rtol=0, atol=1e-6)
        assert together.validation_accuracy[number] == alone.validation_accuracy[0]


@pytest.mark.parametrize("keep", ["best", "last"])
def test_equal_to_one_head_after_the_other(keep):
    data, seeds = synthetic(), [0, 3, 11]
    found = heads_of(data, seeds=seeds, epochs=6, learning_rate=0.03, keep=keep)
    bests = []
    for number, seed in enumerate(seeds):
        last, best, accuracies = train_head(*data, n_classes=CLASSES, seed=seed, epochs=6, learning_rate=0.03)
        expected = best if keep == "best" else last
        torch.testing.assert_close(found.weight[number], expected.weight.detach(), rtol=0, atol=1e-5)
        torch.testing.assert_close(found.bias[number], expected.bias.detach(), rtol=0, atol=1e-5)
        epoch = accuracies.index(max(accuracies)) if keep == "best" else 5
        assert found.epoch[number] == epoch + 1
        assert found.validation_accuracy[number].item() == pytest.approx(accuracies[epoch])
        bests.append(best is not last and accuracies[-1] < max(accuracies))
    assert any(bests)  # the two readings differ for some head


def test_each_head_on_its_own_rows():
    X, y, X_valid, y_valid = synthetic()
    rng = np.random.default_rng(0)
    rows = [rng.permutation(210)[:64], rng.integers(0, 210, 333), np.arange(5), np.arange(210)]
    valid_rows = [np.arange(30), rng.integers(0, 60, 100), np.array([7]), np.arange(60)]
    seeds = [2, 2, 9, 4]
    found = heads_of((X, y, X_valid, y_valid), seeds=seeds, rows=rows, valid_rows=valid_rows, keep="last")
    for number, (seed, own, valid) in enumerate(zip(seeds, rows, valid_rows, strict=True)):
        head, _, accuracies = train_head(
            X[own], y[own], X_valid[valid], y_valid[valid], n_classes=CLASSES, seed=seed, epochs=4
        )
        torch.testing.assert_close(found.weight[number], head.weight.detach(), rtol=0, atol=1e-5)
        torch.testing.assert_close(found.bias[number], head.bias.detach(), rtol=0, atol=1e-5)
        assert found.validation_accuracy[number].item() == pytest.approx(accuracies[-1])


@pytest.mark.parametrize(("keep", "times"), [("best", 4), ("last", 1)])
def test_only_validation_rows_are_looked_at_and_only_when_they_decide(monkeypatch, keep, times):
    looked_at, classes = [], module._classes
    monkeypatch.setattr(module, "_classes", lambda X, *head: (looked_at.append(len(X)), classes(X, *head))[1])
    heads_of(keep=keep, valid_rows=[np.arange(7)] * 2)
    assert looked_at == [7] * (2 * times)  # of each of two heads


def test_first_of_equal_epochs_is_kept():
    """Validated on one row, accuracy is 0 or 1, and the first epoch that gets it right is kept."""
    data = synthetic()
    _, _, X_valid, y_valid = data
    options = {"learning_rate": 0.05, "keep": "last"}
    right = np.array(
        [heads_of(data, epochs=n, **options).predict(X_valid) == y_valid.numpy() for n in range(1, 7)]
    )  # [epochs, heads, rows]
    late = np.flatnonzero(~right[0, 0] & right[3:, 0].all(axis=0))[:1]
    assert late.size
    found = heads_of(data, epochs=6, learning_rate=0.05, valid_rows=[late, late])
    expected = right[:, :, late[0]].argmax(axis=0) + 1
    assert 1 < expected[0] < 6
    assert found.epoch.tolist() == expected.tolist()
    alone = heads_of(data, epochs=int(expected[0]), **options)
    torch.testing.assert_close(found.weight[0], alone.weight[0], rtol=0, atol=1e-6)


def test_predictions_give_the_validation_accuracy():
    X, y, X_valid, y_valid = synthetic()
    found = heads_of((X, y, X_valid, y_valid), learning_rate=0.03)
    predicted = found.predict(X_valid)
    assert predicted.shape == (2, 60) and predicted.dtype == np.int64
    assert (predicted == y_valid.numpy()).mean(axis=1) == pytest.approx(found.validation_accuracy.numpy())
    logits = torch.einsum("nd,hkd->hnk", X_valid, found.weight) + found.bias[:, None]
    assert (predicted == logits.argmax(2).numpy()).all()


def test_predictions_do_not_depend_on_the_chunks(monkeypatch):
    data = synthetic()
    found = heads_of(data)
    whole = found.predict(data[0])
    monkeypatch.setattr("biasflow.readouts.linear_heads.ROWS_TOGETHER", 17)
    assert (found.predict(data[0]) == whole).all()


def test_cache_and_preparation_do_not_change_the_heads(monkeypatch):
    whole = heads_of(seeds=range(5))
    monkeypatch.setattr("biasflow.readouts.lockstep.CACHE_BYTES", 2 * 4 * 64 * 10)
    monkeypatch.setattr("biasflow.readouts.lockstep.STEPS_PREPARED", 1)
    torch.testing.assert_close(heads_of(seeds=range(5)).weight, whole.weight, rtol=0, atol=1e-6)


def test_half_precision_is_read_as_it_is():
    X, y, X_valid, y_valid = synthetic()
    half, half_valid = X.half(), X_valid.half()
    found = heads_of((half, y, half_valid, y_valid))
    expected = heads_of((half.float(), y, half_valid.float(), y_valid))
    torch.testing.assert_close(found.weight, expected.weight, rtol=0, atol=1e-6)
    assert (found.predict(half) == expected.predict(half.float())).all()


def test_same_input_same_heads():
    first, second = heads_of(), heads_of()
    assert first.weight.equal(second.weight) and first.bias.equal(second.bias)


def test_weights_start_as_those_of_a_linear_layer():
    state = torch.get_rng_state()
    weight, bias = start([4, 2**31], [7, 3], "cpu")
    assert torch.get_rng_state().equal(state)
    for number, seed in enumerate([4, 2**31]):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            layer = torch.nn.Linear(7, 3)
        assert weight[number].equal(layer.weight)
        assert bias[number].equal(layer.bias)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=60), st.integers(1, 20))
def test_batches_hold_every_row_in_order(order, batch_size):
    batches = in_batches(np.array(order), batch_size)
    assert batches.shape[1] == batch_size
    flat = batches.ravel()
    assert flat[: len(order)].tolist() == order
    assert (flat[len(order) :] == PADDING).all() and batches.size - len(order) < batch_size


def test_saved_and_read(tmp_path):
    heads = heads_of()
    path = tmp_path / "heads.safetensors"
    names = [{"head": "one"}, {"head": "another"}]
    save_linear_heads(heads, path, names)
    read, its_names = load_linear_heads(path)
    assert its_names == names
    for name, tensor in vars(heads).items():
        assert getattr(read, name).equal(tensor)
    again = tmp_path / "again.safetensors"
    save_linear_heads(read, again, names)
    assert again.read_bytes() == path.read_bytes()


def bad_vectors():
    X, y, X_valid, y_valid = synthetic()
    X[13, 0] = float("nan")
    return X, y, X_valid, y_valid


X, Y, X_VALID, Y_VALID = synthetic()


@pytest.mark.parametrize(
    ("data", "options", "named"),
    [
        (bad_vectors(), {}, "X: row 13"),
        ((X, Y[:-1], X_VALID, Y_VALID), {}, "y of shape"),
        ((X, Y + 0.5, X_VALID, Y_VALID), {}, "y: row 0"),
        ((X, Y, X_VALID, Y_VALID + 2), {}, "y: row"),
        ((X, Y, X_VALID[:0], Y_VALID[:0]), {}, r"valid_rows\[0\]"),
        (None, {"seeds": []}, "0 seeds"),
        (None, {"epochs": 0}, "0 epochs"),
        (None, {"keep": "first"}, "first"),
        (None, {"rows": [[0, 1]]}, "rows"),
        (None, {"rows": [[0, 1], [270]]}, r"rows\[1\]"),
        (None, {"rows": [[], [3]]}, r"rows\[0\]"),
        (None, {"valid_rows": [[3], [-211]]}, r"valid_rows\[1\]"),
        (None, {"learning_rate": 1e38}, "head seed 1"),
    ],
)
def test_bad_input_is_named(data, options, named):
    with pytest.raises(BiasflowError, match=named) as error:
        heads_of(data, **options)
    assert "\n" not in str(error.value)


def test_a_diverging_head_is_named_among_others():
    """At this rate a row of zeros moves the bias to a large number, and other rows overflow."""
    X, y, X_valid, y_valid = synthetic()
    data = (100 * X, y, X_valid, y_valid)
    data[0][0] = 0
    with pytest.raises(BiasflowError, match="head seed 5"):
        heads_of(data, rows=[[0], np.arange(200)], epochs=1, learning_rate=1e37)


def test_vectors_that_cannot_be_written_to():
    X, y, *_ = synthetic()
    locked = X.numpy().copy()
    locked.flags.writeable = False
    rows = {"rows": [np.arange(150)], "valid_rows": [np.arange(150, 210)], "seeds": [1], "epochs": 2}
    found, expected = (train_heads(some, y, n_classes=CLASSES, **rows) for some in (locked, X))
    assert found.weight.equal(expected.weight)


def test_predicting_vectors_that_do_not_fit():
    with pytest.raises(BiasflowError, match="11 dimensions"):
        heads_of().predict(np.zeros((3, 11)))
