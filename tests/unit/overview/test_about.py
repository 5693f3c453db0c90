"""What the page says of encoders, trainings and permutation tests, and the words that it explains."""

import re

import pandas as pd
import pytest

from biasflow.encoders.described import COLUMNS
from biasflow.metrics.training import TRAININGS
from biasflow.overview.about import about, permutation_tests
from biasflow.overview.notes import own_words
from biasflow.results.scores import MODEL, concatenate, tidy
from tests.unit.overview import made_up

BERT = ["bert", "BertForMaskedLM", "2", "128", "4416698", "yes", "no", "", "", "0.1", "", "abc"]
TRAINED = [
    ["bert", "bios", "plain", "0", "300", "60", "4", "12", "0.25", "accuracy", "0.5"],
    ["bert", "bios", "scrubbing", "0", "280", "60", "1", "12", "0.25", "accuracy", "0.6"],
    ["bert", "stsb", "plain", "0", "300", "60", "0", "", "", "pearson", "0.6"],
    ["bert", "old", "plain", "0", "300", "60", "0", "", "0.5", "accuracy", "0.6"],
]


def scored(kind="weat", variant="target", part="-", task="-", seed="-", n=12870, **p_values):
    rows = [
        {"dataset": test, "metric": f"{kind}_{name}", "value": value}
        for test, p in p_values.items()
        for name, value in (("effect_size", 1.0), ("p_value", p))
    ]
    frame = pd.DataFrame(rows).assign(variant=variant, part=part, method="none", n=n)
    strategy = "-" if task == "-" else "plain"
    return tidy(frame, encoder="bert", task=task, strategy=strategy, seed=seed)


NAMES = [("bert", "encoder", "source", "hub"), ("bert", "encoder", "id", "a/b"), ("bert", "encoder", "revision", "0f")]


def described_as(scores, encoders=(BERT,), names=NAMES):
    tables = [(encoders, COLUMNS), (TRAINED, [*MODEL, *TRAININGS]), (names, ["name", "kind", "attribute", "value"])]
    encoders, trainings, names = (pd.DataFrame(rows, columns=columns) for rows, columns in tables)
    return about(encoders, trainings, scores, names)


def test_the_page_says_which_model_it_is_and_what_was_not_applied():
    found = described_as(scored(C6=0.5))["bert"]
    assert found.model == "hub: id a/b, revision 0f, sha256 of the weights abc" and found.not_applied == ""
    beside = ("bert", "encoder", "not_applied", "the adapter of x")
    assert described_as(scored(C6=0.5), names=[*NAMES, beside])["bert"].not_applied == "the adapter of x"
    external = described_as(scored(C6=0.5), [], [("bert", "encoder", "source", "external")])["bert"]
    assert external.model == "external" and not external.row
    assert described_as(scored(C6=0.5))["bert"].foreign is None
    french = [*BERT[:-3], "0.734", "", "abc"]
    assert described_as(scored(C6=0.5), [french])["bert"].foreign == 0.734


def test_facts_of_an_encoder_and_of_its_fine_tunings():
    seat = concatenate([scored("seat", "mean", s6=0.5), scored("seat", "cls", "other-pooling", s6=0.5)])
    about = described_as(seat)["bert"]
    assert about.pooled == ["the mean of all tokens"]  # the encoder's own; the other one is beside it
    assert about.row["parameters"] == "4416698" and about.row["next_sentence_head"] == "no"
    trainings = {training.task: training for training in about.trainings}
    assert trainings["bios"].models == 2 and trainings["bios"].numbers["train"] == (280, 300)
    assert trainings["bios"].numbers["test"] is None and trainings["old"].numbers["classes"] is None
    assert "classes" not in trainings["stsb"].numbers


def test_p_values_are_corrected_over_the_tests_that_are_shown():
    scores = concatenate(
        [
            scored(C6=0.0, C7=0.02, C8=0.5),
            scored("seat_word", "cls", s6=0.01),
            scored("seat", "mean", "other-pooling", s6=0.9),  # not shown, and no part of the family
        ]
    )
    found = permutation_tests(scores)
    assert set(found) == {("bert", "-", "weat_effect_size", test) for test in ("C6", "C7", "C8")} | {
        ("bert", "-", "seat_effect_size", "s6")
    }
    # none of 12,870 partitions counted: below 1 / 12870; by Holm 4, 3, 2, 1 times the rising p
    told = {test: re.findall(r"p ([<=] [\d.]+)", one.text) for (*_, test), one in found.items()}
    assert told["C6"] == ["< 0.00008", "< 0.0003"] and told["s6"] == ["= 0.010", "= 0.030"]
    assert told["C7"] == ["= 0.020", "= 0.040"] and told["C8"] == ["= 0.500", "= 0.500"]
    below = permutation_tests(scored(C6=1.0, C7=0.3, n=100))
    opposite = {test: one.opposite for (*_, test), one in below.items()}
    assert opposite == pytest.approx({"C6": 2 * 0.01, "C7": 0.71})  # 1 - p and the observed partition, after Holm


@pytest.fixture(scope="module")
def words():
    return made_up.words(made_up.run()[0])


def test_words_have_one_definition_each(words):
    entries = [entry for group in words.groups.values() for entry in group]
    names = [name for entry in entries for name in entry.names]
    assert len(set(names)) == len(names) and len({entry.id for entry in entries}) == len(entries)
    wanted = "score measure method setting seed encoder model cost control item head".split()
    wanted += [
        "neutral value",
        "confidence interval",
        "Holm",
        "evidence",
        "disputed",
        "weak head",
        "weak control",
        "TPR gap",
        "no claim",
        "keeps quality",
        "Strength",
        "alpha",
    ]
    assert set(wanted) <= set(names)
    assert not [entry for entry in entries if re.search(r"[*`]|\]\(", entry.text)]


def test_the_first_use_of_a_word_is_linked_and_nothing_else(words):
    assert words.pieces("Scores and a score.", "one") == [("", ""), ("Scores", "word-score"), (" and a score.", "")]
    assert words.pieces("A score.", "one") == [("A score.", "")] != words.pieces("A score.", "other")
    assert "word-score" in {entry.id for entry in words.used()["Words"]}
    assert words.pieces("scoreboard under-score", "one") == [("scoreboard under-score", "")]
    assert ("TPR gap (P)", "word-tpr-gap-p") in words.pieces("the TPR gap (P) of it", "one")
    assert ("95 % intervals", "word-confidence-interval") in words.pieces("The 95 % intervals", "one")
    assert words.pieces("", "one") == [("", "")]


def test_the_page_says_in_which_sentences_words_of_the_user_stand_and_how_many_are_split():
    names = [
        ("race", "dataset", "weat.templates", '"Das ist {word}."'),
        ("jobs", "dataset", "occtmp.templates", '"[MASK]"'),
    ]
    names = pd.DataFrame([*names, ("none", "method", "places", "all")], columns=["name", "kind", "attribute", "value"])
    rows = [("weat_split_words", "race", "-", 11, 48), ("ceat_split_words", "faith", "-", 0, 32)]
    rows += [("occtmp_pieces", "jobs", gender, value, 9) for gender, value in (("masculine", 1), ("feminine", 1.25))]
    scores = pd.DataFrame(rows, columns=["metric", "dataset", "part", "value", "n"]).assign(method="none")
    alone = own_words(names, tidy(scores, encoder="bert"))
    split = "words have several pieces, or are not in the vocabulary"
    assert alone == [
        f'WEAT (race): words stand in "Das ist {{word}}."; 11 of 48 {split}.',
        'OCCTMP (jobs): words stand in "[MASK]"; pieces of the feminine pronoun: 1.25 on average; pieces of the '
        "masculine pronoun: 1 on average.",
        f"CEAT (faith): 0 of 32 {split}.",
    ]
    both = concatenate([tidy(scores, encoder=name) for name in ("bert", "more")])
    assert f"11 of 48 {split} on bert; 11 of 48 {split} on more." in own_words(names, both)[0]
