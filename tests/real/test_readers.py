"""The readers and the mirror on the real files of the folder that BIASFLOW_DATA names."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.download import fetch
from biasflow.corpora.stereoset import LABELS, align, changes, read_gender_swapped, read_stereoset
from biasflow.corpora.wikitext import running_text
from tests.real.files import DATA, needs_data
from tests.real.wikitext import read_wikitext

pytestmark = needs_data


@pytest.fixture(scope="module")
def original():
    return read_stereoset(DATA / "stereoset/dev.json")


@pytest.fixture(scope="module")
def authors():
    return read_gender_swapped(DATA / "stereoset/gender_swapped_dev.csv")


@pytest.fixture(scope="module")
def valid():
    return read_wikitext(DATA / "wikitext-2/wiki.valid.tokens")


def test_stereoset_has_242_gender_triples(original):
    assert original["triple"].nunique() == 242 and len(original) == 3 * 242
    assert list(original["label"]) == [*LABELS] * 242


def test_the_authors_have_234_triples(authors):
    assert authors["triple"].nunique() == 234
    assert authors["gender"].value_counts().to_dict() == {"M": 363, "F": 339}


def test_the_authors_context_id_is_the_position_among_stereosets_gender_triples(original, authors):
    position = {triple: place for place, triple in enumerate(original["triple"].unique())}
    links = align(original, authors)
    assert len(links) == 234
    assert [position[triple] for triple in links["triple"]] == [int(id) for id in links["authors_triple"]]


def test_the_authors_dropped_8_triples_and_edited_22_rows(original, authors):
    found = changes(original, authors)
    assert found["change"].value_counts().to_dict() == {"dropped": 24, "mended": 22}
    assert found.loc[found["change"] == "dropped", "triple"].nunique() == 8
    assert found.loc[found["change"] == "mended", "triple"].nunique() == 17
    links = align(original, authors)[["triple", "authors_triple"]]
    theirs = authors.rename(columns={"triple": "authors_triple"}).merge(links, on="authors_triple")
    same = theirs.merge(original, on=["triple", "label", "context", "next_sentence"])
    assert (len(theirs), len(same)) == (702, 680)


def test_wikitext_2_has_60_articles_of_natural_text(valid):
    sentences = [sentence for document in valid for sentence in document]
    assert len(valid) == 60 and len(sentences) > 7000
    assert not any(mark in sentence for sentence in sentences for mark in (" @-@ ", " @.@ ", " , "))
    whole = read_wikitext(DATA / "wikitext-2/wiki.valid.tokens", whole=True)
    assert len(whole) == 60 and all("<unk>" not in sentence for document in whole for sentence in document)


def test_wikitext_2_as_the_hub_has_it_gives_the_same(valid, tmp_path):
    lines = (DATA / "wikitext-2/wiki.valid.tokens").read_text(encoding="utf-8").split("\n")
    rows = [f"{line}\n" if line.strip() else "" for line in lines[:-1]]  # every line has its end
    pa.parquet.write_table(pa.table({"text": rows}), tmp_path / "valid.parquet")
    assert len(rows) == 3760  # as the hub states
    assert read_wikitext(tmp_path / "valid.parquet") == valid
    assert running_text(tmp_path / "valid.parquet") == running_text(DATA / "wikitext-2/wiki.valid.tokens")


@pytest.mark.parametrize("name", list(read_catalogue().files))
def test_the_mirror_agrees_with_its_manifest_and_the_catalogue(tmp_path, name):
    entry = read_catalogue().entry(name)
    if not (DATA / entry.mirror_path).exists():
        pytest.skip(f"the mirror has no {entry.mirror_path}")
    origin = fetch(entry, tmp_path / name, lock_file=tmp_path / "lock.json", mirror=DATA)
    upstream_known = entry.sha256 is not None or entry.bytes is not None
    assert origin.source == "mirror"
    assert origin.byte_equal_to_upstream is (entry.mirror_exact if upstream_known else None)
    assert origin.bytes == (tmp_path / name).stat().st_size
