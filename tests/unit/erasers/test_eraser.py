"""What all erasers have in common: the map, its precision, heads, options, files, and errors."""

import importlib
import inspect

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.erasers.eraser import load_erasers, load_metadata, save_erasers
from biasflow.registry import ERASERS, module_of
from tests.unit.erasers.vectors import of_pairs, two_genders

FITS = {name: importlib.import_module(module_of(entry)).fit for name, entry in ERASERS.items()}
GENDERED = [name for name in ERASERS if name not in ("hard", "conceptor", "random")]  # these look at no gender
HARD = [name for name in ERASERS if name != "conceptor"]  # a conceptor damps, the others take all of it out


def fitted(name, X, z, **options):
    """Any eraser: neighbours of different gender serve as pairs, for the one that needs them, and so do classes."""
    pairs = torch.stack([torch.nonzero(z == gender)[:, 0][: int(min(z.sum(), (1 - z).sum()))] for gender in (0, 1)], 1)
    return FITS[name](X, z, pairs=pairs, **classes(name, len(X)), **options)


def classes(name, n):
    """The argument y of a fit that needs a task's classes: three of them in turns."""
    return {"y": torch.arange(n) % 3} if ERASERS[name].needs_labels else {}


@pytest.mark.parametrize("name", ERASERS)
def test_the_registry_knows_every_option_of_a_fit_and_its_default(name):
    parameters = inspect.signature(FITS[name]).parameters
    assert list(parameters)[:3] == ["X", "z", "pairs"] and parameters["pairs"].default is None
    options = {key: each.default for key, each in parameters.items() if key not in ("X", "z", "pairs", "y")}
    assert all(parameters[key].kind is inspect.Parameter.KEYWORD_ONLY for key in ("pairs", *options))
    assert ("y" in parameters) == (ERASERS[name].needs_labels or ERASERS[name].class_centred)
    registered = {key: schema["default"] for key, schema in ERASERS[name].options.items()}
    assert {key: list(v) if isinstance(v, tuple) else v for key, v in options.items()} == registered


@given(
    name=st.sampled_from(HARD), heads=st.sampled_from([(), (3,)]), seed=st.integers(0, 999), share=st.floats(0.2, 0.8)
)
def test_nothing_is_left_to_take_out_and_erasing_twice_is_erasing_once(name, heads, seed, share):
    X, z = two_genders(heads=heads, seed=seed, share=share)
    eraser = fitted(name, X, z)
    h = torch.randn(4, 5, *X.shape[1:], generator=torch.Generator().manual_seed(seed))
    once = eraser.apply(h)
    assert once.shape == h.shape and not torch.allclose(once, h, atol=1e-3)
    assert eraser.coordinates(once).abs().max() < 1e-4
    assert torch.allclose(eraser.apply(once), once, atol=1e-4)
    # What is taken out is what was measured; a head with fewer directions than another has some of weight 0.
    assert torch.allclose(eraser.left @ eraser.right, torch.diag_embed(eraser.weights), atol=1e-5)


@pytest.mark.parametrize("name", ERASERS)
@pytest.mark.parametrize("heads", [(), (3,)])
def test_numpy_and_torch_and_any_order_of_rows_give_the_same(name, heads):
    X, z = two_genders(heads=heads)
    ours, h = fitted(name, X, z), torch.randn(5, *X.shape[1:])
    n = int(min(z.sum(), (1 - z).sum()))
    pairs = np.stack([np.flatnonzero(z.numpy() == gender)[:n] for gender in (0, 1)], 1)
    labels = classes(name, len(X))
    in_numpy = {key: y.numpy() for key, y in labels.items()}
    theirs = FITS[name](X.numpy(), z.numpy().astype(bool), pairs=pairs, **in_numpy)
    assert torch.equal(ours.apply(h), theirs.apply(h))
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(0))
    place = torch.argsort(order)
    labels = {key: y[order] for key, y in labels.items()}
    shuffled = FITS[name](X[order], z[order], pairs=place[torch.from_numpy(pairs)], **labels)
    assert torch.allclose(ours.apply(h), shuffled.apply(h), atol=1e-4)


@pytest.mark.parametrize("name", ERASERS)
def test_heads_are_fitted_one_by_one(name):
    X, z = two_genders(heads=(3,))
    together, h = fitted(name, X, z), torch.randn(2, 7, 3, 8)
    for head in range(3):
        alone = fitted(name, X[:, head], z)
        k = alone.components
        assert torch.equal(together.right[head, :, :k], alone.right) and torch.equal(
            together.left[head, :k], alone.left
        )
        assert not together.weights[head, k:].any()
        assert torch.allclose(together.apply(h)[:, :, head], alone.apply(h[:, :, head]), atol=1e-5)


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_edited_in_full_also_under_autocast(name, dtype):
    X, z = two_genders(n=400, d=64)
    eraser, h = fitted(name, X, z), X.to(dtype)
    expected = eraser.apply(h.float()).to(dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        autocast, single, left = eraser.apply(h), eraser.apply(X), eraser.coordinates(eraser.apply(X))
    assert autocast.dtype is dtype and torch.equal(autocast, expected) and torch.equal(eraser.apply(h), expected)
    # The old erasers followed the autocast and left 0.4 % of the direction.
    assert single.dtype is torch.float32
    assert left.norm() < 1e-5 * eraser.coordinates(X).norm()
    assert eraser.apply(X.double()).dtype is torch.float64


def test_a_setting_takes_directions_in_order_and_weights_by_variance():
    eraser = FITS["pca"](**of_pairs(torch.randn(12, 2, 6)), components=3)
    for weighted in (False, True):
        setting = eraser.with_setting(weighted=weighted, components=2)
        assert torch.equal(setting.left, eraser.left[:2]) and setting.components == 2
        shares = eraser.explained_variance[:2]
        assert torch.equal(setting.weights, shares if weighted else torch.ones(2))
        h = torch.randn(5, 6)
        assert torch.allclose(
            setting.coordinates(setting.apply(h)), (1 - setting.weights) * setting.coordinates(h), atol=1e-5
        )
    with pytest.raises(BiasflowError):
        eraser.with_setting(weighted=False, components=4)


@pytest.mark.parametrize("name", [name for name, entry in ERASERS.items() if entry.ordered])
@pytest.mark.parametrize("heads", [(), (2,)])
def test_ordered_directions_are_orthonormal_and_explain_less_and_less(name, heads):
    eraser = fitted(name, *two_genders(heads=heads), components=3)
    gram = eraser.left @ eraser.left.mT
    assert torch.allclose(gram, torch.eye(3).expand_as(gram), atol=1e-5)
    shares = eraser.explained_variance
    assert shares.shape == (*heads, 3) and bool((shares >= 0).all()) and bool((shares.sum(-1) <= 1 + 1e-6).all())
    assert torch.equal(shares, shares.sort(-1, descending=True).values)


BAD = [
    (torch.randn(0, 5), torch.zeros(0)),
    (torch.randn(6, 5), torch.zeros(6)),
    (torch.randn(6, 5), torch.ones(6)),
    (torch.randn(6, 5), torch.arange(6)),
    (torch.randn(6, 5), torch.arange(5) % 2),
    (torch.randn(6), torch.arange(6) % 2),
    (torch.full((6, 5), float("nan")), torch.arange(6) % 2),
    (torch.full((6, 5), float("inf")), torch.arange(6) % 2),
]


@pytest.mark.parametrize("name", ERASERS)
@pytest.mark.parametrize(("X", "z"), BAD)
def test_bad_vectors_and_genders_are_a_clear_error_that_names_the_eraser(name, X, z):
    with pytest.raises(BiasflowError, match=name):
        FITS[name](X, z)


@pytest.mark.parametrize("heads", [(), (3,)])
def test_erasers_come_back_from_their_file(tmp_path, heads):
    X, z = two_genders(heads=heads)
    erasers = {f"layer[{i}]": fitted(name, X, z) for i, name in enumerate(ERASERS)}
    path = tmp_path / "erasers.safetensors"
    save_erasers(erasers, path, {"of": "a test"})
    back = load_erasers(path, erasers)
    assert back.keys() == erasers.keys() and load_metadata(path) == {"of": "a test"}
    for name, eraser in erasers.items():
        ours, theirs = eraser.state(name), back[name].state(name)
        assert ours.keys() == theirs.keys() and all(
            torch.allclose(ours[key], theirs[key], rtol=0, atol=0, equal_nan=True) for key in ours
        )
    assert list(load_erasers(path, ["layer[1]"])) == ["layer[1]"]
    with pytest.raises(BiasflowError, match=r"erasers\.safetensors.*layer\[99\]"):
        load_erasers(path, ["layer[99]"])


@pytest.mark.parametrize("name", GENDERED)
def test_a_small_difference_between_the_genders_is_not_rounding(name):
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(40, 8, generator=generator) + 100
    X = torch.cat([X, X + 0.5])
    z, pairs = torch.arange(80) >= 40, torch.stack([torch.arange(40), torch.arange(40, 80)], 1)
    erased = FITS[name](X, z, pairs=pairs, **classes(name, 80)).apply(X.double())
    assert (erased[z].mean(0) - erased[~z].mean(0)).norm() < 0.5 * (X[z].mean(0) - X[~z].mean(0)).norm()
