"""The catalogue of external files: the one that comes with the project, and what is refused."""

import copy

import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import CATALOGUE, read_catalogue


@pytest.fixture
def data():
    return yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))


@pytest.fixture
def read(tmp_path):
    def read(data):
        (tmp_path / "corpora.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
        return read_catalogue(tmp_path / "corpora.yaml")

    return read


def test_a_sha256_may_not_be_left_out_without_a_form(data, read):
    data["files"]["stereoset-dev"]["sha256"] = None
    with pytest.raises(BiasflowError, match=r"stereoset-dev.*form"):
        read(data)


def test_known_files_of_an_encoder_count_at_their_revision_only():
    catalogue = read_catalogue()
    for id, encoder in catalogue.encoders.items():
        assert set(catalogue.known_files(id, encoder.revision)) == {"model.safetensors"}
        assert catalogue.known_files(id, "0" * 40) == {}
    assert catalogue.known_files("nobody/nothing", "0" * 40) == {}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda file: file.update(colour="red"), "colour"),
        (lambda file: file.update(sha256="12"), "sha256"),
        (lambda file: file.update(bytes=0), "bytes"),
        (lambda file: file.update(url="http://example.org/f"), "url"),
        (lambda file: file.pop("licence"), "licence"),
        (lambda file: file.pop("url"), "stereoset-dev"),
        (lambda file: file["mirror"].update(path="../secret"), "mirror/path"),
        (lambda file: file["mirror"].update(path="/secret"), "mirror/path"),
        (lambda file: file["mirror"].update(exact="yes"), "mirror/exact"),
    ],
)
def test_a_wrong_key_is_named(data, read, change, key):
    data = copy.deepcopy(data)
    change(data["files"]["stereoset-dev"])
    with pytest.raises(BiasflowError, match=f"stereoset-dev.*{key}|{key}"):
        read(data)
