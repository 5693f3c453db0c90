"""What the page says of encoders, trainings and permutation tests."""

import numpy as np
import pandas as pd
import pytest

from biasflow.encoders.described import COLUMNS
from biasflow.metrics.training import TRAININGS
from biasflow.overview.about import UNKNOWN, about, permutation_tests
from biasflow.results.scores import MODEL, concatenate, tidy

BERT = ["bert", "BertForMaskedLM", "2", "128", "4416698", "yes", "no", "", "", "abc"]
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


def described_as(scores, encoders=(BERT,)):
    return about(pd.DataFrame(encoders, columns=COLUMNS), pd.DataFrame(TRAINED, columns=[*MODEL, *TRAININGS]), scores)


def test_facts_of_an_encoder():
    seat = concatenate([scored("seat", "mean", s6=0.5), scored("seat", "cls", "other-pooling", s6=0.5)])
    facts = dict(described_as(seat)["bert"].facts)
    assert facts["Architecture"] == "BertForMaskedLM: 2 layers, width 128, 4,416,698 parameters"
    assert facts["Language-model heads"].startswith(
        "The weights contain a masked-LM head. They contain no next-sentence head,"
    )
    assert (
        facts["Vector of a sentence"] == "the mean of all tokens (used by SEAT)"
    )  # the encoder's own; the other one is beside it
    assert facts["Weights, sha256"] == "abc"


def test_a_head_of_ours_is_told_from_the_publishers():
    ours = [*BERT[:5], "ours", "no", "10.753", "3.5", "abc"]
    heads = dict(described_as(scored(C6=0.5), [ours])["bert"].facts)["Language-model heads"]
    assert "masked-LM head is ours" in heads and "from 10.75 to 3.50 nats" in heads and "no next-sentence head" in heads


def test_what_is_not_known_is_said():
    facts = dict(described_as(scored(C6=0.5), [["bert", "", "", "", "0", "no", "no", "", "", ""]])["bert"].facts)
    assert facts["Architecture"] == f"{UNKNOWN}: {UNKNOWN} layers, width {UNKNOWN}, 0 parameters"
    assert facts["Vector of a sentence"] == "not used" and facts["Weights, sha256"] == UNKNOWN
    (only,) = described_as(scored(C6=0.5), [])["bert"].facts
    assert only[1].startswith("this encoder has none")  # external: others' predictions


def test_trainings_by_task():
    row = {"method": "none", "metric": "accuracy", "head": "own", "value": 0.5, "n": 61}
    scores = tidy(pd.DataFrame([row]), encoder="bert", task="bios", strategy="plain", seed="0")
    bios, stsb, old = described_as(scores)["bert"].trainings
    assert (bios.task, bios.models, bios.trained, bios.cut, bios.tested) == ("bios", "2", "280 to 300", "1 to 4", "61")
    assert (bios.classes, bios.majority) == ("12", "0.250")
    assert (stsb.classes, stsb.majority, stsb.tested) == ("no classes", "no classes", UNKNOWN)
    assert (old.classes, old.majority) == (UNKNOWN, "0.500")


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
    said = "permutation test: one-sided p {}; after Holm correction for 4 tests p {}"
    texts = {test: one.text for (*_, test), one in found.items()}
    assert texts["C6"] == said.format("< 0.00008", "< 0.0003")
    assert texts["s6"] == said.format("= 0.010", "= 0.030")
    assert texts["C7"] == said.format("= 0.020", "= 0.040")
    assert texts["C8"] == said.format("= 0.500", "= 0.500")
    below = permutation_tests(scored(C6=1.0, C7=0.3, n=100))
    opposite = {test: one.opposite for (*_, test), one in below.items()}
    assert opposite == pytest.approx({"C6": 2 * 0.01, "C7": 0.71})  # 1 - p and the observed partition, after Holm


def test_of_several_seeds_the_range_is_said():
    scores = concatenate(scored(task="bios", seed=str(seed), C6=p) for seed, p in enumerate((0.2, 0.01)))
    found = permutation_tests(scores)["bert", "bios", "weat_effect_size", "C6"]
    assert found.text == "permutation test: one-sided p 0.010 to 0.200 over 2 seeds" and np.isnan(found.corrected)


def test_methods_have_no_test_on_the_page():
    assert permutation_tests(scored(C6=0.5).assign(method="leace")) == {}


def test_facts_stand_on_the_page(page):
    text = page.read_text("utf-8")
    assert "BertModel &lt;small&gt;" in text and 'data-label="Classes">12<' in text
