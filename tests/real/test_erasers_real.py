"""What erasers promise on the vectors that they were fitted to, on a small encoder that was trained on real text."""

import pytest
import torch
from torch.nn.functional import one_hot

from biasflow.encoders.load import load_encoder
from biasflow.erasers import inlp, leace, splince
from biasflow.tasks.classification.gendered_vectors import gendered_vectors
from tests.real.files import SPLADE, needs
from tests.unit.erasers.test_subspaces import covariance
from tests.unit.synthetic_bios import readable

pytestmark = needs(SPLADE)


@pytest.fixture(scope="module", params=[120, 1200], ids=["fewer vectors than dimensions", "more"])
def vectors(request, tmp_path_factory):
    """X, z and y of made-up biographies, read as a run reads them."""
    path = tmp_path_factory.mktemp("bios") / "texts.parquet"
    readable(request.param).to_parquet(path)
    model, tokenizer = load_encoder(SPLADE, head="none")
    X, z, y = gendered_vectors(model, tokenizer, {"texts": [path]}, seed=0, max_length=64)
    assert (len(X) < X.shape[1]) == (request.param == 120)
    return X, torch.from_numpy(z), torch.from_numpy(y)


def test_splince_takes_gender_out_and_keeps_the_professions(vectors):
    X, z, y = vectors
    before = covariance(X, one_hot(y))
    erased, of_leace = (eraser.apply(X.double()) for eraser in (splince.fit(X, z, y=y), leace.fit(X, z)))
    for h in (erased, of_leace):
        assert covariance(h, z).norm() < 1e-4 * covariance(X, z).norm()
    assert (covariance(erased, one_hot(y)) - before).norm() < 1e-4 * before.norm()
    assert (covariance(of_leace, one_hot(y)) - before).norm() > 1e-2 * before.norm()


def test_inlp_ends_at_chance_where_a_gender_is_rare_and_the_majority_rule_ends_before(vectors):
    X, z, _ = vectors
    rare = torch.cat([torch.where(z == 0)[0], torch.where(z == 1)[0][: len(z) // 12]])
    X, z = X[rare], z[rare]
    balanced, majority = (inlp.fit(X, z, stop_at=rule) for rule in ("balanced", "majority"))
    assert majority.components <= balanced.components
    assert balanced.accuracy[-1] <= 0.5 or balanced.components == X.shape[1]
