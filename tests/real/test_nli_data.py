"""The NLI readers and the gender-occupation pairs on the real files of the folder that BIASFLOW_DATA names."""

from pathlib import Path

import pytest
import yaml

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.nli import LABELS, check_classes, read_nli
from biasflow.text.occupation_pairs import LISTS, all_templates, read_word_lists, select
from tests.real.files import DATA, needs_data

pytestmark = needs_data


SCHEMA = Path(__file__).parents[2] / "scripts/biasflow/tasks/nli/schema.yaml"
FULL = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))["properties"]["selections"]["properties"]["full"]["default"]


@pytest.fixture(scope="module")
def place():
    """Name of a file of the catalogue -> its path in the folder."""
    return lambda name: DATA / read_catalogue().entry(name).mirror_path


@pytest.fixture(scope="module")
def lists(place):
    return read_word_lists({name: place(f"dev2020-{name}") for name in LISTS})


@pytest.mark.parametrize(
    ("name", "of_label"),
    [
        ("snli-validation", (3329, 3235, 3278)),
        ("snli-test", (3368, 3219, 3237)),
        ("multinli-matched", (3479, 3123, 3213)),
    ],
)
def test_pairs_of_each_label(place, name, of_label):
    data = read_nli(place(name))
    assert data.pairs["label"].value_counts().to_dict() == dict(zip(LABELS, of_label, strict=True))
    assert len(data.pairs) == sum(of_label) and data.dropped == 0
    check_classes(data, name)


def test_the_full_set_has_1936512_pairs(lists):
    pairs = select(lists.occupations, all_templates(lists), **FULL, form="a")
    assert pairs.shape == (164, 1968, 2, 3) and len(pairs) == 1_936_512
    premises, hypotheses = pairs.sentences(1_936_510, 1_936_512)
    assert premises == ["A zoologist prepared a soup ."] * 2
    assert hypotheses == ["A lady prepared a soup .", "A girl prepared a soup ."]


def test_the_papers_size_is_33_templates_for_man_and_woman(lists):
    pairs = select(
        lists.occupations, all_templates(lists), templates=33, masculine=["man"], feminine=["woman"], form="the"
    )
    assert pairs.shape == (164, 33, 2, 1) and len(pairs) == 10_824
    assert len(set(zip(*pairs.sentences(0, len(pairs)), strict=True))) == 10_824
    kinds = {kind for verb, _ in pairs.templates for kind, verbs in lists.verbs.items() if verb in verbs}
    assert {"commerce", "interaction", "eating"} <= kinds
