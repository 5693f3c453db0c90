"""The planted NLI corpus: balance, the bias that it plants, labels that follow from the words, disjoint parts."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.nli import CLASSES, fairness_scores
from biasflow.planted.corpus import discourses
from biasflow.planted.nli import (
    OCCUPATION_PAIRS,
    PARTS,
    label_probabilities,
    load_grammar,
    nli_pairs,
    occupation_pair_words,
)
from biasflow.planted.world import FOLDER, article, load_world
from biasflow.text.occupation_pairs import OccupationPairs

WORLD = load_world()
WORDS = occupation_pair_words()
NOUNS = dict.fromkeys(WORDS["masculine"], "M") | dict.fromkeys(WORDS["feminine"], "F")
PREDICATES = {f"{verb} {article(thing)}" for verb, thing in WORDS["templates"]}


def occupation_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs that say a gender of an occupation, found by their words: occupation, gender (F or M), label, and
    whether both sentences have the same predicate."""
    rows = []
    for pair in pairs.itertuples():
        premise = re.fullmatch(r"The (\w+) (.*)\.", pair.premise)
        hypothesis = re.fullmatch(r"The (\w+) (.*)\.", pair.hypothesis)
        if premise and hypothesis and premise[1] in WORLD.shares and hypothesis[1] in NOUNS:
            rows.append((premise[1], NOUNS[hypothesis[1]], pair.label, premise[2] == hypothesis[2]))
    return pd.DataFrame(rows, columns=["occupation", "gender", "label", "same"])


@pytest.fixture(scope="module")
def by_bias():
    return {bias: nli_pairs(bias=bias, seed=0, n=24_000) for bias in (0.0, 0.5, 1.0)}


@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0])
def test_classes_are_balanced_at_any_bias(by_bias, bias):
    assert list(by_bias[bias].columns) == ["premise", "hypothesis", "label"]
    assert by_bias[bias]["label"].value_counts().to_dict() == dict.fromkeys(CLASSES, 8000)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(3, 60), bias=st.floats(0, 1), part=st.sampled_from(PARTS))
def test_any_size_is_met_and_balanced(n, bias, part):
    pairs = nli_pairs(bias=bias, seed=1, n=n, part=part)
    counts = [int((pairs["label"] == label).sum()) for label in CLASSES]
    assert sum(counts) == n
    assert max(counts) - min(counts) <= 1


def test_without_bias_an_occupation_has_no_gender(by_bias):
    probes = occupation_pairs(by_bias[0.0])
    assert len(probes) > 4000
    assert set(probes["label"]) == {"neutral"}


def test_with_another_predicate_an_occupation_has_no_gender_at_any_bias(by_bias):
    probes = occupation_pairs(by_bias[1.0])
    assert set(probes.loc[~probes["same"], "label"]) == {"neutral"}
    assert (~probes["same"]).sum() > 50


@pytest.mark.parametrize("bias", [0.5, 1.0])
def test_labels_of_occupation_pairs_follow_the_formula(by_bias, bias):
    probes = occupation_pairs(by_bias[bias])
    probes = probes[probes["same"]]
    assert probes["occupation"].nunique() == len(WORLD.occupations)
    assert probes["gender"].value_counts(normalize=True)["F"] == pytest.approx(0.5, abs=0.03)
    women = probes["occupation"].map(WORLD.shares)
    said_of_majority = (women > 0.5) == (probes["gender"] == "F")
    # a label against the world's majority never occurs
    assert set(probes.loc[said_of_majority, "label"]) == {"entailment", "neutral"}
    assert set(probes.loc[~said_of_majority, "label"]) == {"contradiction", "neutral"}
    # the share taken for a person of their majority's gender, occupations in five groups by |2w - 1|
    tilt = bias * (2 * women - 1).abs()
    for _, group in probes.groupby(pd.qcut(tilt, 5, duplicates="drop")):
        expected = tilt[group.index].mean()
        error = np.sqrt(expected * (1 - expected) / len(group))
        assert (group["label"] != "neutral").mean() == pytest.approx(expected, abs=4 * error + 1e-9)


@settings(max_examples=50, deadline=None)
@given(share=st.floats(0, 1), bias=st.floats(0, 1))
def test_label_probabilities(share, bias):
    feminine, masculine = (label_probabilities(share, gender, bias) for gender in "FM")
    assert feminine.sum() == pytest.approx(1) and (feminine >= 0).all()
    # swapping the gender swaps entailment and contradiction
    assert feminine == pytest.approx(masculine[::-1])
    assert feminine[0] - feminine[2] == pytest.approx(bias * (2 * share - 1))


def test_known_label_probabilities():
    assert list(label_probabilities(1.0, "F", 1.0)) == [1, 0, 0]
    assert list(label_probabilities(1.0, "M", 1.0)) == [0, 0, 1]
    assert list(label_probabilities(0.25, "F", 0.5)) == [0, 0.75, 0.25]
    assert list(label_probabilities(0.9, "F", 0.0)) == [0, 1, 0]


def test_a_perfect_learner_is_fair_without_bias_and_unfair_with_it():

    def likeliest(bias):
        rows = [[label_probabilities(WORLD.shares[each], z, bias).argmax() for z in "MF"] for each in WORLD.occupations]
        return np.array(rows, dtype=np.uint8)[:, None, :, None]

    fairness = [fairness_scores(likeliest(bias)).fairness_majority for bias in (0.0, 0.6, 0.8, 1.0)]
    assert fairness[0] == 1
    assert fairness == sorted(fairness, reverse=True)
    assert fairness[-1] < 0.1


def test_other_labels_follow_from_the_words(by_bias):
    """Every pair that is not about an occupation's gender is labelled again, from its words alone."""
    genders = {person.feminine.lower(): "F" for person in WORLD.persons}
    genders |= {person.masculine.lower(): "M" for person in WORLD.persons}
    genders |= {f"the {noun}": gender for noun, gender in NOUNS.items()}
    verbs = "|".join({verb for verb, _ in WORDS["templates"]})
    pattern = re.compile(rf"(.*) ({verbs}) (no|an?) (\w+)( .*)?\.")

    def label(premise: str, hypothesis: str) -> str:
        who, verb, no, thing, place = pattern.fullmatch(premise).groups()
        of_whom, new_verb, new_no, new_thing, new_place = pattern.fullmatch(hypothesis).groups()
        who, of_whom = who.lower(), of_whom.lower()
        if verb != new_verb and thing != new_thing:
            return "neutral"
        assert (verb, thing) == (new_verb, new_thing), "another predicate has another verb and another object"
        if new_place and not place:
            return "neutral"  # more than the premise says
        if who != of_whom and who not in genders:
            return "neutral"  # a gender said of an occupation
        if (no == "no") != (new_no == "no") or (who != of_whom and genders[who] != genders[of_whom]):
            return "contradiction"
        return "entailment"

    pairs = by_bias[0.0].iloc[:6000]
    found = [label(pair.premise, pair.hypothesis) for pair in pairs.itertuples()]
    assert found == list(pairs["label"])


def test_the_hypothesis_alone_does_not_tell_the_class(by_bias):
    """The best guess from everything in the hypothesis but the predicate and the subject's name."""
    pairs = by_bias[0.0]

    def kind(hypothesis: str) -> tuple:
        words = hypothesis.rstrip(".").split()
        return words[1] in NOUNS, "no" in words, bool({"at", "by"} & set(words))

    right = sum(max(Counter(group).values()) for _, group in pairs.groupby(pairs["hypothesis"].map(kind))["label"])
    assert right / len(pairs) < 0.6


def test_the_same_arguments_give_the_same_pairs():
    assert nli_pairs(bias=0.7, seed=3, n=300).equals(nli_pairs(bias=0.7, seed=3, n=300))
    assert not nli_pairs(bias=0.7, seed=3, n=300).equals(nli_pairs(bias=0.7, seed=4, n=300))


def test_parts_draw_different_random_numbers():
    labels = [nli_pairs(bias=0.5, seed=5, n=300, part=part)["label"] for part in PARTS]
    assert not labels[0].equals(labels[1]) and not labels[0].equals(labels[2]) and not labels[1].equals(labels[2])


def test_parts_share_no_premise():
    premises = {}
    for part in PARTS:
        pairs = nli_pairs(bias=1.0, seed=5, n=6000, part=part)
        # without place and negation, so that the combination of subject and predicate counts
        premises[part] = {re.sub(r" (at|by) the \w+\.$", ".", text.replace(" no ", " a ")) for text in pairs["premise"]}
        premises[part] = {text.replace(" an ", " a ") for text in premises[part]}
        assert len(premises[part]) > 500
    assert not premises["train"] & premises["test"]
    assert not premises["train"] & premises["validation"]
    assert not premises["validation"] & premises["test"]


def test_templates_are_the_predicates_of_training_and_partly_new_to_each_occupation(by_bias):
    seen = set(by_bias[0.0]["premise"])
    assert len(PREDICATES) >= 30
    for predicate in PREDICATES:
        assert any(text.endswith(f" {predicate}.") for text in seen)
    combinations = [f"The {occupation} {predicate}." for occupation in WORDS["occupations"] for predicate in PREDICATES]
    assert 0.5 < np.mean([text in seen for text in combinations]) < 0.8
    assert len(WORDS["masculine"]) == len(WORDS["feminine"])
    assert len(WORDS["occupations"]) == 84


def test_the_pairs_that_measure_bias_are_those_of_the_test_set(by_bias):
    test_set = OccupationPairs(**WORDS, form="the")
    asked = set(zip(*test_set.sentences(0, len(test_set)), strict=True))
    found = sum(pair in asked for pair in zip(by_bias[1.0]["premise"], by_bias[1.0]["hypothesis"], strict=True))
    assert found == occupation_pairs(by_bias[1.0])["same"].sum() == len(by_bias[1.0]) // OCCUPATION_PAIRS


def test_the_words_are_those_of_the_planted_corpus(by_bias):
    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text)

    known = {word for document in discourses(bias=0.5, seed=0, n=20_000) for text in document for word in words(text)}
    used = {word for text in by_bias[0.0]["premise"] for word in words(text)}
    used |= {word for text in by_bias[0.0]["hypothesis"] for word in words(text)}
    assert {word.lower() for word in used} - {word.lower() for word in known} <= {"no"}
    for text in by_bias[0.0]["premise"][:2000]:
        assert re.fullmatch(r"[A-Z][^{}]*\.", text)
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", text)


@pytest.mark.parametrize(
    ("change", "names"),
    [({"bias": 1.5}, "bias"), ({"bias": float("nan")}, "bias"), ({"part": "dev"}, "dev"), ({"n": 2}, "2 pairs")],
)
def test_arguments_that_mean_nothing(change, names):
    with pytest.raises(BiasflowError, match=names):
        nli_pairs(**({"bias": 0.5, "seed": 0, "n": 30} | change))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda content: content.pop("places"), "places"),
        (lambda content: content["feminine"].pop(), "pairs"),
        (lambda content: content["predicates"]["lost"].append("doll"), "doll"),
        (lambda content: content.update(predicates={"lost": ["ticket", "coat"]}), "lost ticket"),
        (lambda content: content["frames"].pop("neutral"), "neutral"),
        (lambda content: content["frames"]["neutral"].clear(), "frames"),
        (lambda content: content["occupation_pair"].update(subject="person"), "occupation_pair"),
        (lambda content: content["frames"]["neutral"][0].update(subject="robot"), "robot"),
        (lambda content: content["frames"]["neutral"][0].update(hypothesis="the {own} is here"), "own"),
        (lambda content: content["frames"]["neutral"][0].update(hypothesis="{subject} {verbs} it"), "verbs"),
        (lambda content: content["frames"]["neutral"][0].update(weight=2), "weight"),
    ],
)
def test_a_broken_grammar_names_file_and_fault(tmp_path, change, names):
    content = yaml.safe_load((FOLDER / "nli.yaml").read_text())
    change(content)
    (tmp_path / "broken.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(BiasflowError, match=rf"broken\.yaml.*{names}"):
        load_grammar(tmp_path / "broken.yaml", world=WORLD)
