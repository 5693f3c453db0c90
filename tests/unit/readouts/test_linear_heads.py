"""Linear heads trained together: equal to one after the other, own rows, both checkpoints, and bad input."""

import numpy as np
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.readouts.linear_heads import epoch_order, save_linear_heads, train_heads
from tests.unit.reference_probe import load_linear_heads

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


def test_every_seed_and_epoch_has_an_order_of_its_own():
    orders = [epoch_order(seed, epoch, 50).tolist() for seed in (0, 1) for epoch in (0, 1)]
    assert all(sorted(order) == [*range(50)] for order in orders) and len({*map(tuple, orders)}) == 4


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
        (None, {"seeds": []}, "0 seeds"),
        (None, {"epochs": 0}, "0 epochs"),
        (None, {"keep": "first"}, "first"),
        (None, {"learning_rate": 1e38}, "head seed 1"),
    ],
)
def test_bad_input_is_named(data, options, named):
    with pytest.raises(BiasflowError, match=named) as error:
        heads_of(data, **options)
    assert "\n" not in str(error.value)
