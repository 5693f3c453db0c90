"""Hard debiasing and the conceptor: known answers, properties, errors; the registries of erasers; their files."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.erasers import conceptor, hard
from scripts.biasflow.erasers.eraser import load_erasers, save_erasers
from scripts.biasflow.erasers.registry import BY_GENDER, ERASERS


def test_hard_known_answer():
    # About the mean (1, 1) the vectors are (+-4, 0) and (0, +-1): the first component is the first axis.
    eraser = hard.fit(torch.tensor([[5.0, 1.0], [-3.0, 1.0]]), torch.tensor([[1.0, 2.0], [1.0, 0.0]]), components=2)
    assert torch.allclose(eraser.basis, torch.eye(2))
    assert eraser.weights.tolist() == [1, 1]
    assert eraser.with_setting(weighted=False, components=1).apply(torch.tensor([7.0, 3.0])).tolist() == [0, 3]


def test_hard_equals_scikit_learn():
    from sklearn.decomposition import PCA

    generator = torch.Generator().manual_seed(0)
    masculine, feminine = torch.randn(30, 8, generator=generator) + 3, torch.randn(20, 8, generator=generator)
    oracle = PCA(n_components=3).fit(torch.cat([masculine, feminine]).double().numpy())
    ours = hard.fit(masculine, feminine, components=3)
    cosines = ours.basis.double() @ torch.from_numpy(oracle.components_).T
    assert torch.allclose(cosines.abs(), torch.eye(3).double(), atol=1e-6)


def test_hard_takes_the_largest_variance_whatever_the_gender():
    X = torch.randn(200, 6, generator=torch.Generator().manual_seed(0))
    X[:, 3] *= 5
    X[100:, 0] += 2
    assert abs(float(hard.fit(X[:100], X[100:]).basis[0, 3])) > 0.95
    assert torch.allclose(hard.fit(X[:100], X[100:]).basis, hard.fit(X[::2], X[1::2]).basis, atol=1e-4)


@pytest.mark.parametrize(
    ("masculine", "feminine", "components"),
    [
        (torch.ones(3, 4), torch.ones(2, 4), 1),
        (torch.randn(1, 4), torch.randn(1, 4), 2),
        (torch.randn(9, 4), torch.randn(9, 4), 5),
        (torch.randn(9, 4), torch.randn(9, 4), 0),
        (torch.randn(9, 4), torch.randn(0, 4), 1),
        (torch.randn(9, 4), torch.full((9, 4), float("nan")), 1),
        (torch.randn(9, 4), torch.randn(9, 5), 1),
    ],
)
def test_hard_refuses(masculine, feminine, components):
    with pytest.raises(BiasflowError):
        hard.fit(masculine, feminine, components=components)


def test_conceptor_known_answer():
    # R = diag(4, 1, 0); with aperture 2 an eigenvalue s becomes s / (s + 1/4).
    X = torch.tensor([[2.0, 1.0, 0.0], [2.0, -1.0, 0.0], [-2.0, 1.0, 0.0], [-2.0, -1.0, 0.0]])
    eraser = conceptor.fit(X)
    assert torch.allclose(eraser.weights, torch.tensor([16 / 17, 4 / 5, 0.0]))
    assert torch.allclose(eraser.apply(torch.tensor([17.0, 5.0, 1.0])), torch.tensor([1.0, 1.0, 1.0]), atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 20), aperture=st.floats(0.1, 20))
def test_conceptor_equals_its_formula(seed, n, aperture):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 7, generator=generator) + 1  # not centred; with n < 7, R has no inverse
    h = torch.randn(4, 7, generator=generator)
    R = X.double().T @ X.double() / n
    C = R @ torch.linalg.inv(R + aperture**-2 * torch.eye(7).double())
    eraser = conceptor.fit(X, aperture=aperture)
    assert torch.allclose(eraser.apply(h).double(), h.double() @ (torch.eye(7).double() - C), atol=1e-4)
    assert bool(((eraser.weights >= 0) & (eraser.weights <= 1)).all())
    assert torch.equal(eraser.weights, eraser.weights.sort(descending=True).values)
    wider = conceptor.fit(X, aperture=2 * aperture)
    assert bool((wider.weights >= eraser.weights - 1e-6).all())  # a larger aperture removes more


@pytest.mark.parametrize(
    ("X", "aperture"),
    [
        (torch.randn(9, 4), 0.0),
        (torch.randn(9, 4), -1.0),
        (torch.randn(9, 4), float("nan")),
        (torch.randn(0, 4), 2.0),
        (torch.randn(4), 2.0),
        (torch.full((9, 4), float("inf")), 2.0),
    ],
)
def test_conceptor_refuses(X, aperture):
    with pytest.raises(BiasflowError):
        conceptor.fit(X, aperture=aperture)


@pytest.mark.parametrize("name", ERASERS)
@pytest.mark.parametrize("heads", [(), (3,)])
def test_every_eraser_fits_pairs_with_the_components_that_were_asked_for(name, heads):
    pairs = torch.randn(12, 2, *heads, 6)
    pairs[:, 1] += 1
    eraser = ERASERS[name](pairs, components=2)
    assert eraser.basis.shape == (*heads, 2, 6)
    h = torch.randn(5, *heads, 6)
    once = eraser.with_setting(weighted=False, components=2)
    assert once.coordinates(once.apply(h)).abs().max() < 1e-5
    assert not torch.allclose(eraser.apply(h), h)


@pytest.mark.parametrize("name", BY_GENDER)
def test_heads_are_fitted_one_by_one(name):
    masculine, feminine = torch.randn(9, 3, 6), torch.randn(7, 3, 6) + 1
    together = BY_GENDER[name](masculine, feminine)
    for head in range(3):
        alone = BY_GENDER[name](masculine[:, head], feminine[:, head])
        assert torch.equal(together.basis[head], alone.basis) and torch.equal(together.weights[head], alone.weights)


def test_the_order_of_the_genders_matters_to_none_but_densrays_sign():
    masculine, feminine = torch.randn(9, 6), torch.randn(7, 6) + 1
    h = torch.randn(5, 6)
    for fit in BY_GENDER.values():
        assert torch.allclose(fit(masculine, feminine).apply(h), fit(feminine, masculine).apply(h), atol=1e-4)


def test_erasers_come_back_from_their_file(tmp_path):
    masculine, feminine = torch.randn(9, 6), torch.randn(7, 6) + 1
    erasers = {f"layer[{i}]": fit(masculine, feminine) for i, fit in enumerate(BY_GENDER.values())}
    save_erasers(erasers, tmp_path / "erasers.safetensors")
    back = load_erasers(tmp_path / "erasers.safetensors")
    assert back.keys() == erasers.keys()
    for place, eraser in erasers.items():
        assert torch.equal(back[place].basis, eraser.basis) and torch.equal(back[place].weights, eraser.weights)


def test_a_cut_off_file_of_erasers_is_named(tmp_path):
    path = tmp_path / "erasers.safetensors"
    save_erasers({"layer[0]": BY_GENDER["hard"](torch.randn(9, 6), torch.randn(9, 6))}, path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(BiasflowError, match=r"erasers\.safetensors"):
        load_erasers(path)
