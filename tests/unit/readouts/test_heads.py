"""Linear heads trained together: equal to one after the other, own rows, and both checkpoints."""

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.linear_head import save_head
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.metrics import fairness
from biasflow.metrics.occupation import Tables, occupation_rows, score
from biasflow.readouts import heads
from biasflow.readouts.linear_heads import epoch_order, save_linear_heads, train_heads
from biasflow.tasks.classification.splits import classes_of, rows_of, split, women
from tests.unit.reference_probe import load_linear_heads, train_head
from tests.unit.synthetic_bios import STRATEGIES, biographies, save_states, source, vectors_of

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


def test_a_learning_rate_at_which_a_head_is_lost_is_named():
    with pytest.raises(BiasflowError, match="head seed 1"):
        heads_of(learning_rate=1e38)


BIOS = biographies(900)
TRAINING = {"epochs": 12, "batch_size": 32, "learning_rate": 0.03, "keep": "best"}
GENDER = Eraser.projection(torch.eye(6)[4:5])
NAMES = ("none", "erased")
OWN = (torch.eye(3, 6), torch.zeros(3))
BIASED = (torch.eye(3, 6) + torch.tensor([[0, 0, 0, 0, w, 0] for w in (0.6, -0.6, 0.0)]), torch.zeros(3))


@pytest.fixture
def folder(tmp_path):
    BIOS.to_parquet(tmp_path / "texts.parquet")
    table = pd.DataFrame({"profession": ["nurse", "surgeon"], "labour_share": [0.9, 0.25]})
    table.to_csv(tmp_path / "professions.csv", index=False)
    (tmp_path / "model").mkdir()
    save_head(*OWN, tmp_path / "model")
    erased = {"erased": (Active("erased", "-", (("layer[-1]", GENDER),)),)}
    save(Fitted(erased, {"erased": []}), tmp_path / "methods.safetensors")
    return tmp_path


def read(folder, vectors, *, text="raw", methods=("none",), **options):
    """The scores of the readout of one text, given the vectors of all texts that it needs."""
    files = {name: save_states(folder / name, X) for name, X in vectors.items()}
    files["vectors"] = files.pop(text)
    options = (
        {"split_seeds": [0]} if "strategies" in options else {"split_seeds": [0], "head_seeds": [0, 1]}
    ) | options
    heads.read(
        source(folder, f"bios-{text}", methods=methods, **files),
        folder / "heads.parquet",
        text=text,
        **TRAINING | options,
    )
    return score(folder / "heads.parquet", professions=folder / "professions.csv")


def values(scores, **keys):
    for key, wanted in keys.items():
        scores = scores[scores[key] == str(wanted)]
    return scores.set_index(["metric", "part", "variant"])["value"].sort_index()


def by_hand(predicted, rows, split_seed):
    """The scores of predicted classes [n] of these rows."""
    counts = fairness.counts(classes_of(BIOS)[rows], predicted, women(BIOS)[rows], n_classes=3)
    parts = split(BIOS, split_seed)
    is_woman = pd.Series(women(BIOS), index=BIOS["label"])
    shares = {part: is_woman.iloc[getattr(parts, part)].groupby(level=0).mean() for part in ("train", "test")}
    rows = occupation_rows(Tables(counts), shares=shares | {"labour": [0.9, 0.25, np.nan]})
    return rows.set_index(["metric", "part", "variant"])["value"].sort_index()


def test_a_head_that_reads_the_gender_has_gaps_as_the_shares_of_women_until_it_is_erased(folder):
    save_head(*BIASED, folder / "model")
    scores = read(folder, {"raw": vectors_of(BIOS, gender=1, noise=0.5)}, methods=NAMES)
    before, erased = (values(scores, head="own", method=method) for method in NAMES)
    assert before["tpr_gap_pearson", "-", "train"] > 0.9 and before["tpr_gap_sum", "-", "-"] > 0.3
    assert erased["tpr_gap_sum", "-", "-"] < 0.5 * before["tpr_gap_sum", "-", "-"]
    assert erased["independence", "-", "-"] < 0.2 * before["independence", "-", "-"]


def test_frozen_heads_are_those_of_their_own_strategy_and_seed(folder):
    both = {"raw": vectors_of(BIOS, gender=1), "scrubbed": vectors_of(BIOS, gender=0, seed=1)}
    strategies = [vars(STRATEGIES[name]) for name in STRATEGIES]
    raw = read(folder, both, split_seeds=[0, 5], strategies=strategies)
    assert set(map(tuple, raw[["head", "head_seed", "split_seed"]].to_numpy())) == {
        (f"frozen-{name}", seed, seed) for name in STRATEGIES for seed in ("0", "5")
    }
    y = torch.tensor(classes_of(BIOS))
    for name in ("oversampling", "scrubbing"):
        X, rows = both[STRATEGIES[name].text], rows_of(BIOS, STRATEGIES[name], 5)
        data = (X[rows.train], y[rows.train], X[rows.validation], y[rows.validation])
        training = {key: TRAINING[key] for key in ("epochs", "batch_size", "learning_rate")}
        _, best, _ = train_head(*data, n_classes=3, seed=5, **training)
        predicted = best(both["raw"][rows.test]).argmax(1).numpy()
        pd.testing.assert_series_equal(
            values(raw, head=f"frozen-{name}", head_seed=5), by_hand(predicted, rows.test, 5)
        )
    scrubbed = read(folder, both, text="scrubbed", split_seeds=[0], strategies=strategies)
    assert set(scrubbed["head"]) == {"frozen-scrubbing"}
