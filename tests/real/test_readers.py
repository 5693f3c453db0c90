"""The readers and the mirror on the real files of the folder that BIASFLOW_DATA names."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.documents import read_texts
from biasflow.corpora.download import fetch
from biasflow.corpora.glue import SIZES, TASKS, read_glue
from biasflow.corpora.nli import LABELS as NLI_LABELS
from biasflow.corpora.nli import check_classes, read_nli
from biasflow.corpora.seat import SENTENCE_TESTS, WORD_TESTS, read_association_test
from biasflow.corpora.stereoset import LABELS, align, changes, read_gender_swapped, read_stereoset
from biasflow.corpora.word_sets import read_chinese_professions, read_family_pairs, read_professions
from biasflow.stimuli.densray_sets import occupation_sentences
from biasflow.text.occupation_pairs import LISTS, all_templates, read_word_lists, select
from tests.real.files import DATA, needs_data, read_wikitext

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


SCHEMA = Path(__file__).parents[2] / "scripts/biasflow/tasks/classification/nli.yaml"
FULL = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))["properties"]["selections"]["properties"]["full"]["default"]


def place_of(name: str) -> Path:
    """The path in the folder of a file of the catalogue."""
    return DATA / read_catalogue().entry(name).mirror_path


@pytest.fixture(scope="module")
def lists():
    return read_word_lists({name: place_of(f"dev2020-{name}") for name in LISTS})


@pytest.mark.parametrize(
    ("name", "of_label"),
    [
        ("snli-validation", (3329, 3235, 3278)),
        ("snli-test", (3368, 3219, 3237)),
        ("multinli-matched", (3479, 3123, 3213)),
    ],
)
def test_pairs_of_each_label(name, of_label):
    data = read_nli(place_of(name))
    assert data.pairs["label"].value_counts().to_dict() == dict(zip(NLI_LABELS, of_label, strict=True))
    assert len(data.pairs) == sum(of_label) and data.dropped == 0
    check_classes(data, name)


def test_the_full_set_has_1936512_pairs(lists):
    pairs = select(lists.occupations, all_templates(lists), **FULL, form="a")
    assert pairs.shape == (164, 1968, 2, 3) and len(pairs) == 1_936_512
    premises, hypotheses = pairs.sentences(1_936_510, 1_936_512)
    assert premises == ["A zoologist prepared a soup ."] * 2
    assert hypotheses == ["A lady prepared a soup .", "A girl prepared a soup ."]


def test_the_family_pairs_of_the_analogies():
    pairs = read_family_pairs(DATA / "analogies/questions-words.txt")
    assert len(pairs) == 23 and pairs[0] == ("boy", "girl") and pairs[-1] == ("uncle", "aunt")


REDDIT = "reddit_comments_gender_female_processed"


@pytest.mark.parametrize(
    ("name", "column", "rows"), [(REDDIT, "comments_processed", 3658), (f"{REDDIT}_phrase", "comment", 13161)]
)
def test_reddit_comments(name, column, rows):
    path = DATA / "reddit" / f"{name}.csv"
    texts = list(read_texts(path))
    assert len(texts) == rows
    assert texts == pd.read_csv(path, dtype=str, keep_default_na=False)[column].tolist()


def test_sentences_of_wikipedia_lose_their_numbers():
    path = DATA / "wikipedia/eng_wikipedia_2016_10K-sentences.txt"
    texts = list(read_texts(path))
    assert len(texts) == 10_000 and texts[1].startswith("13 October 1962 marked")
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert [f"{number}\t{text}" for number, text in enumerate(texts, start=1)] == lines


SENTENCES_OF = {"MaleNames": 64, "FemaleNames": 64, "MaleTerms": 80, "FemaleTerms": 80, "Career": 101, "Family": 112}
TARGET_SENTENCES = {"weat7": 72, "weat7b": 72, "weat8": 56, "weat8b": 56}  # for both targets


@pytest.fixture(scope="module")
def read_tests():
    return {name: read_association_test(place_of(name)) for name in (*WORD_TESTS, *SENTENCE_TESTS)}


@pytest.mark.parametrize("name", WORD_TESTS)
def test_sentences_are_about_the_eight_words(read_tests, name):
    for role in "XY":
        words, sentences = getattr(read_tests[name], role), getattr(read_tests[f"sent-{name}"], role)
        assert sorted(set(sentences.about)) == list(range(8)) and words.about == tuple(range(8))
        for text, number in zip(sentences.examples, sentences.about, strict=True):
            stem = words.examples[number].lower()[:2]  # the words are in one order in both files
            parts = text.lower().replace("men", "man").split()
            assert any(part.startswith(stem) for part in parts), (text, stem)


@pytest.mark.parametrize("name", WORD_TESTS)
def test_sentences_are_as_many_as_specified_and_have_the_roles_of_the_words(read_tests, name):
    sets = {role: getattr(read_tests[f"sent-{name}"], role) for role in "XYAB"}
    assert [sets[role].category for role in "XYAB"] == [getattr(read_tests[name], role).category for role in "XYAB"]
    expected = [SENTENCES_OF.get(sets[role].category, TARGET_SENTENCES.get(name)) for role in "XYAB"]
    assert [len(set(sets[role].examples)) for role in "XYAB"] == expected


@pytest.fixture(scope="module")
def professions():
    return read_professions(place_of("professions"))


def test_320_english_occupations(professions):
    assert len(professions) == len(set(professions)) == 320
    assert professions[:2] == ["accountant", "acquaintance"] and "adjunct professor" in professions
    assert sum(name[0] in "aeiou" for name in professions) == sum(
        " is an " in sentence for sentence in occupation_sentences(professions, "article")
    )


def test_302_chinese_occupations():
    names = read_chinese_professions(place_of("chinese-professions"))
    assert len(names) == len(set(names)) == 302 and names[0] == "会计"
    assert len(occupation_sentences(names, "chinese")) == 302


@pytest.mark.parametrize(("task", "part"), [(task, part) for task in SIZES for part in SIZES[task]])
def test_glue_has_its_published_sizes(task, part):
    names = [f"glue-{task}-{part.replace('_', '-')}", f"glue-{task}-{part}-rest"]
    paths = [place_of(name) for name in names if name in read_catalogue().files]
    if not paths[0].exists():
        pytest.skip(f"the mirror has no {paths[0].relative_to(DATA)}")
    data = read_glue(task, part, paths)
    assert len(data.examples) == data.published and data.dropped == 0
    assert set(data.examples.columns) == {*TASKS[task].texts, "label"}
