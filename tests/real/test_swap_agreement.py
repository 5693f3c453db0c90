"""Our gender swapper against the authors' file and against hand-tagged text, in the folder that BIASFLOW_DATA names."""

import os
from pathlib import Path

import pandas as pd
import pytest

from scripts.biasflow.corpora.stereoset import read_gender_swapped, read_stereoset
from scripts.biasflow.text.gender_lexicon import DEFAULT_FOLDER, WORD, default_lexicon
from scripts.biasflow.text.gender_pronouns import swap_her
from scripts.biasflow.text.gender_swap import swap_gender, swap_stimuli
from scripts.biasflow.text.swap_agreement import compare

pytestmark = pytest.mark.skipif("BIASFLOW_DATA" not in os.environ, reason="BIASFLOW_DATA names no folder of real files")


@pytest.fixture(scope="module")
def data():
    return Path(os.environ["BIASFLOW_DATA"])


@pytest.fixture(scope="module")
def authors(data):
    return read_gender_swapped(data / "stereoset/gender_swapped_dev.csv")


@pytest.fixture(scope="module")
def agreement(authors):
    disagreements, summary = compare(authors, pd.read_csv(DEFAULT_FOLDER / "set_aside.csv", dtype=str))
    return disagreements, summary.set_index("unit")


def test_at_least_97_percent_agree_once_the_authors_slips_are_set_aside(agreement):
    _, summary = agreement
    assert (summary["share_equal_after"] >= 0.97).all()


def test_more_agree_with_nothing_set_aside_than_by_a_plain_word_list(agreement):
    _, summary = agreement
    assert summary.loc["distinct sentences", "share_equal"] > 0.96
    assert summary.loc["sentences", "share_equal"] > 0.96


def test_little_is_set_aside_and_nothing_is_stale(agreement):
    disagreements, summary = agreement
    assert summary.loc["distinct sentences", "n_set_aside"] <= 32
    assert (summary["n_stale"] == 0).all()
    assert not disagreements["status"].str.startswith("stale").any()


def test_every_stereoset_triple_of_bias_type_gender_has_a_gender(data):
    stimuli = swap_stimuli(read_stereoset(data / "stereoset/dev.json"))
    assert stimuli["triple"].nunique() == 242 and stimuli["gender"].notna().all()


def test_most_genders_are_those_of_the_authors(authors):
    # theirs is the gender of the word that the crowd was asked about, which no sentence shows
    assert (swap_stimuli(authors)["gender"] == authors["gender"]).mean() > 0.95


def tagged_sentences(folder):
    """Lists of (word, part of speech) from the CoNLL files of a folder."""
    for path in sorted(folder.glob("*conll")):
        sentence = []
        for line in path.read_text(encoding="utf-8").splitlines():
            fields = line.split()
            if line.startswith("#") or not fields:
                yield sentence
                sentence = []
            else:
                sentence.append((fields[3], fields[4]))


def test_her_is_told_apart_in_hand_tagged_text(data):
    right = total = 0
    for sentence in tagged_sentences(data / "ontogum"):
        parts = WORD.split(" ".join(word for word, _ in sentence))
        tags = [tag for word, tag in sentence for _ in WORD.findall(word)]
        for number, tag in enumerate(tags):
            at = 2 * number + 1
            if parts[at].lower() == "her" and tag in ("PRP", "PRP$"):
                total += 1
                right += swap_her(parts, at, default_lexicon().cues) == ("him" if tag == "PRP" else "his")
    assert total > 350
    assert right / total > 0.95


def test_swapping_him_and_his_twice_gives_real_sentences_back(data):
    lines = (data / "wikipedia/eng_wikipedia_2016_10K-sentences.txt").read_text(encoding="utf-8").splitlines()
    sentences = [line.split("\t")[1] for line in lines]
    held = back = 0
    for sentence in sentences:
        words = WORD.findall(sentence.lower())
        if {"him", "his"} & {*words} and not {"her", "hers", "she"} & {*words}:
            twice = [word.lower() for word in WORD.findall(swap_gender(swap_gender(sentence)))]
            held += 1
            back += [w for w in twice if w in ("him", "his")] == [w for w in words if w in ("him", "his")]
    assert held > 500
    assert back / held > 0.95
