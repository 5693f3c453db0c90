"""The files of paper A: lists of occupations, GLUE, and OCCTMP and perplexity of a small BERT trained on real text."""

import pytest

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.glue import SIZES, TASKS, read_glue
from biasflow.corpora.word_sets import read_chinese_professions, read_professions
from biasflow.stimuli.densray_sets import occupation_sentences
from tests.real.files import DATA, needs_data

pytestmark = needs_data


def at_hand(name):
    return DATA / read_catalogue().entry(name).mirror_path


@pytest.fixture(scope="module")
def professions():
    return read_professions(at_hand("professions"))


def test_320_english_occupations(professions):
    assert len(professions) == len(set(professions)) == 320
    assert professions[:2] == ["accountant", "acquaintance"] and "adjunct professor" in professions
    assert sum(name[0] in "aeiou" for name in professions) == sum(
        " is an " in sentence for sentence in occupation_sentences(professions, "article")
    )


def test_302_chinese_occupations():
    names = read_chinese_professions(at_hand("chinese-professions"))
    assert len(names) == len(set(names)) == 302 and names[0] == "会计"
    assert len(occupation_sentences(names, "chinese")) == 302


@pytest.mark.parametrize(("task", "part"), [(task, part) for task in SIZES for part in SIZES[task]])
def test_glue_has_its_published_sizes(task, part):
    names = [f"glue-{task}-{part.replace('_', '-')}", f"glue-{task}-{part}-rest"]
    paths = [at_hand(name) for name in names if name in read_catalogue().files]
    if not paths[0].exists():
        pytest.skip(f"the mirror has no {paths[0].relative_to(DATA)}")
    data = read_glue(task, part, paths)
    assert len(data.examples) == data.published and data.dropped == 0
    assert set(data.examples.columns) == {*TASKS[task].texts, "label"}
