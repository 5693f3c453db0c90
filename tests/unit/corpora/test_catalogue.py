"""The catalogue of external files: the one that comes with the project, and what is refused."""

import copy
import re

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import CATALOGUE, SCHEMA, read_catalogue, scattered


@pytest.fixture
def data():
    return yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))


@pytest.fixture
def read(tmp_path):
    def read(data):
        (tmp_path / "corpora.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
        return read_catalogue(tmp_path / "corpora.yaml")

    return read


def test_every_file_has_a_pinned_https_address_and_a_licence():
    for entry in read_catalogue().files.values():
        assert entry.url.startswith("https://") and entry.licence
        to_a_commit = any(re.fullmatch("[0-9a-f]{40}", part) for part in entry.url.split("/"))
        assert to_a_commit or entry.sha256, f"{entry.name}: pinned neither to a commit nor by sha256"


def test_a_set_of_small_files_has_a_name_and_an_address_for_each():
    catalogue = read_catalogue()
    assert {name: len(files) for name, files in catalogue.sets.items()} == {
        "gest-scores": 36, "crows-pairs-scores": 2, "bec-pro-scores": 2, "stereoset-scores": 9, "winobias-clusters": 4
    }  # fmt: skip
    entry = catalogue.entry("bec-pro-scores-replicated-randomized1")
    assert entry.url.endswith("/results/random_seeds/replicated_randomized1.csv")
    assert entry.mirror_path == "published_items/bec_pro/replicated_randomized1.csv" and entry.mirror_exact


def test_a_file_without_a_sha256_has_a_form():
    unverified = [entry for entry in read_catalogue().files.values() if entry.sha256 is None]
    assert unverified and all(entry.columns for entry in unverified)
    assert all(
        entry.rows for entry in unverified if entry.name.startswith(("glue", "snli", "multinli", "bias-in-bios"))
    )


def test_a_sha256_may_not_be_left_out_without_a_form(data, read):
    data["files"]["stereoset-dev"]["sha256"] = None
    with pytest.raises(BiasflowError, match=r"stereoset-dev.*form"):
        read(data)


def test_the_files_of_the_hub_have_their_addresses(monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    url = read_catalogue().entry("wikitext-2-valid").url
    assert url.startswith("https://huggingface.co/datasets/Salesforce/wikitext/resolve/") and url.endswith(".parquet")
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example.org/")
    assert read_catalogue().entry("wikitext-2-valid").url.startswith("https://hub.example.org/datasets/Salesforce/")


def test_known_files_of_an_encoder_count_at_their_revision_only():
    catalogue = read_catalogue()
    for id, encoder in catalogue.encoders.items():
        assert set(catalogue.known_files(id, encoder.revision)) == {"model.safetensors"}
        assert catalogue.known_files(id, "0" * 40) == {}
    assert catalogue.known_files("nobody/nothing", "0" * 40) == {}


def test_an_unknown_name_is_named():
    with pytest.raises(BiasflowError, match="nothing-such"):
        read_catalogue().entry("nothing-such")


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


def test_a_branch_is_no_revision(data, read):
    data["encoders"]["google-bert/bert-base-uncased"]["revision"] = "main"
    with pytest.raises(BiasflowError, match="google-bert/bert-base-uncased/revision"):
        read(data)


def test_broken_yaml_is_one_line(tmp_path):
    (tmp_path / "corpora.yaml").write_text("files: {")
    with pytest.raises(BiasflowError, match=r"corpora\.yaml") as caught:
        read_catalogue(tmp_path / "corpora.yaml")
    assert "\n" not in str(caught.value)


def test_every_key_of_the_schema_is_described_and_no_other_is_allowed():
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    parts = [schema, *definitions.values()]
    while parts:
        part = parts.pop()
        assert part.get("description"), part
        if part.get("type") == "object":
            assert "additionalProperties" in part
        for child in part.get("properties", {}).values():
            parts.append(definitions[child["$ref"].split("/")[-1]] if "$ref" in child else child)


def test_a_sharded_data_set_has_an_entry_per_file():
    catalogue = read_catalogue()
    names = catalogue.shards["english-wikipedia"]
    assert sorted(names) == [f"english-wikipedia-{number:02d}" for number in range(41)]
    assert len({catalogue.entry(name).url for name in names}) == 41
    third = catalogue.entry("english-wikipedia-03")
    assert third.url.endswith("/20231101.en/train-00003-of-00041.parquet") and third.sha256 is None
    assert third.mirror_path == "wikipedia/20231101.en/train-00003-of-00041.parquet"
    assert catalogue.entry("english-wikipedia-00").bytes == 420296449


@pytest.mark.parametrize("place", ["hub", "mirror"])
def test_files_of_a_data_set_that_have_one_path_are_refused(data, read, place):
    data["sharded"]["english-wikipedia"][place]["path"] = "one.parquet"
    with pytest.raises(BiasflowError, match=f"english-wikipedia/{place}/path"):
        read(data)


@given(st.integers(1, 200), st.data())
def test_the_first_shards_are_spread_over_all(count, data):
    order = scattered(count)
    assert sorted(order) == list(range(count))
    first = sorted(order[: data.draw(st.integers(1, count))])
    gaps = np.diff([*first, count + first[0]])
    assert gaps.max() <= 4 * count / len(first) + 1
