"""The planted world: names and people, and the tests that are made of it."""

import re
from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE
from biasflow.corpora.documents import read_documents, write_documents
from biasflow.metrics.bec_pro import associations, summary
from biasflow.metrics.crows_pairs import summary as crows_pairs_summary
from biasflow.metrics.gest import summary as gest_summary
from biasflow.metrics.intrasentence import summary as blanks_summary
from biasflow.metrics.preferences import preferences
from biasflow.planted import crows_pairs, gest, stereoset_blanks
from biasflow.planted.bec_pro import GROUP, groups, items
from biasflow.planted.bios import biographies
from biasflow.planted.coreference import _held_out_pairs, coreference_documents, coreference_pairs
from biasflow.planted.coreference import load_grammar as coreference_grammar
from biasflow.planted.corpus import discourses
from biasflow.planted.frames import ITEM_SLOTS, PERSON_SLOTS, PRONOUNS, SCENERY_SLOTS, slots
from biasflow.planted.nli import planted_parts
from biasflow.planted.stereoset import ideal_preference, triples
from biasflow.planted.world import DETERMINERS, FIRST, WORLDS, choose_world, load_world

WORLD = load_world()
FEMININE, MASCULINE = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def gender_of(text: str) -> str:
    """F or M by the pronouns; "" without one; "FM" would be a mistake of the generator."""
    found = set(words(text))
    return "F" * bool(found & FEMININE) + "M" * bool(found & MASCULINE)


@pytest.fixture(scope="module")
def stimuli():
    return triples(seed=0, n=240)


@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0])
def test_the_planted_shares_are_those_of_the_world(bias):
    women, all_ = Counter(), Counter()
    for document in discourses(bias=bias, seed=1, n=60_000):
        gender = gender_of(" ".join(document))
        for occupation in set(words(document[0])) & set(WORLD.occupations):
            all_[occupation] += bool(gender)
            women[occupation] += gender == "F"
    frequent = [occupation for occupation in all_ if all_[occupation] >= 80]
    assert len(frequent) > 60
    found = np.array([women[occupation] / all_[occupation] for occupation in frequent])
    expected = np.array([WORLD.share(occupation, bias) for occupation in frequent])
    assert np.abs(found - expected).mean() < 0.05
    assert np.isclose(found.mean(), 0.5, atol=0.05)


@given(bias=st.floats(0, 1), share=st.sampled_from(sorted(WORLD.shares)))
def test_bias_scales_every_association(bias, share):
    assert WORLD.share(share, 0) == 0.5
    assert WORLD.share(share, 1) == pytest.approx(WORLD.shares[share])
    low, high = sorted((0.5, WORLD.shares[share]))
    assert low - 1e-9 <= WORLD.share(share, bias) <= high + 1e-9


def test_triples_are_balanced_swapped_and_gendered_as_they_say(stimuli):
    assert stimuli.groupby("triple")["label"].agg(set).map(len).eq(3).all()
    assert stimuli.drop_duplicates("triple")["gender"].value_counts().to_dict() == {"F": 120, "M": 120}
    unrelated = stimuli[stimuli["label"] == "unrelated"]
    assert unrelated["next_sentence"].map(gender_of).eq("").all()
    assert (unrelated["next_sentence"] == unrelated["swapped_next_sentence"]).all()
    assert (stimuli["context"] != stimuli["swapped_context"]).all()
    for _, row in stimuli.iterrows():
        assert gender_of(row["context"]) in ("", row["gender"])
        assert gender_of(row["swapped_context"]) in ("", {"F": "M", "M": "F"}[row["gender"]])


def test_a_perfect_next_sentence_head_prefers_by_the_shares_alone():
    assert ideal_preference(0) == 0
    # By hand, of one theme with a woman's item of share 0.8 and a man's of 0.2: log(0.8 / 0.2) either way.
    world = load_world()
    shares = {item: 0.8 if share > 0.5 else 0.2 for item, share in world.shares.items()}
    assert ideal_preference(1, replace(world, shares=shares)) == pytest.approx(np.log(4))


MADE = {
    "discourses": lambda seed: discourses(bias=1.0, seed=seed, n=20),
    "triples": lambda seed: triples(seed=seed, n=24).to_csv(),
    "pairs": lambda seed: planted_parts(bias=1.0, seed=seed, train=9, validation=9, test=9)[0]["train"].to_csv(),
    "biographies": lambda seed: biographies(bias=1.0, seed=seed, n=20).to_csv(),
    "documents": lambda seed: str(coreference_documents(bias=1.0, seed=seed, n=9)),
    "clusters": lambda seed: str(coreference_pairs(bias=1.0, seed=seed, n=9)),
}


@pytest.mark.parametrize("what", MADE)
def test_a_seed_makes_the_same_again_and_another_seed_something_else(what):
    assert MADE[what](1) == MADE[what](1) != MADE[what](2)


def test_documents_on_disk(tmp_path):
    documents = [["One sentence.", "Two  sentences."], ["Another one.", "", "And a second."]]
    write_documents(documents, tmp_path / "text.txt")
    assert read_documents(tmp_path / "text.txt") == [
        ["One sentence.", "Two sentences."],
        ["Another one.", "And a second."],
    ]
    (tmp_path / "short.txt").write_text("Only one.\n")
    with pytest.raises(BiasflowError, match=r"short\.txt"):
        read_documents(tmp_path / "short.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BiasflowError, match=r"bytes\.txt"):
        read_documents(tmp_path / "bytes.txt")


SHE = set(PRONOUNS[FEMALE])


@pytest.fixture(params=WORLDS)
def world(request):
    choose_world(request.param)
    yield load_world()
    choose_world(FIRST)


def test_a_world_is_balanced_and_all_its_slots_are_filled(world):
    items = list(chain(*world.items.values()))
    assert len(items) == len(set(items)) == len(world.shares)
    assert all(0 <= share <= 1 for share in world.shares.values())
    for members in world.items.values():  # otherwise a corpus would hold more of one gender
        assert sum(world.shares[item] for item in members) / len(members) == pytest.approx(0.5, abs=0.01)
    assert {person.kind for person in world.persons} <= {*DETERMINERS, "title"}
    for theme in world.themes:
        allowed = SCENERY_SLOTS if theme.is_scenery else PERSON_SLOTS | SHE | (ITEM_SLOTS if theme.items else set())
        assert theme.weight > 0 and theme.opening and theme.continuations and theme.items in {"", *world.items}
        assert all(slots(frame) <= allowed for frame in theme.frames), theme.name
        assert not any(slots(frame) & (PERSON_SLOTS | SHE) for frame in theme.neutral), theme.name


def test_documents_have_scenes_pronouns_and_combinations_that_are_held_out():
    grammar, occupations = coreference_grammar(), load_world().occupations
    needed = [({"person"}, frame) for frame in grammar.openings] + [(set(), frame) for frame in grammar.continuations]
    for names, frame in needed + [({"one", "other"}, two.frame) for two in grammar.two]:
        assert names <= slots(frame) <= names | SHE and slots(frame) & SHE, frame
    named = list(chain(*grammar.occupations.values()))
    assert set(named) <= set(occupations) and len(set(named)) == len(named) and all(grammar.occupations.values())
    assert sum(grammar.scenes) == pytest.approx(1) and 0 < grammar.per_document[0] <= grammar.per_document[1]
    assert all(0 < one < 1 for one in (*grammar.scenes, grammar.again, *(two.one for two in grammar.two)))
    kept = list(chain(*_held_out_pairs(grammar).values()))
    assert kept and max(map(kept.count, kept)) < len(grammar.two)  # some combination is kept, of none all


BIASES = [0.0, 0.25, 0.5, 1.0]
EVEN = pytest.approx(0.5, abs=0.07)  # within three standard errors of 472 items


def noise(n: int) -> np.ndarray:
    """Of a learner that is not quite perfect: in nats."""
    return np.random.default_rng(0).normal(size=n)


def scores_of(learner, summary, metric: str, *biases: float, **keys: str) -> list[float]:
    """One score of the summary for each bias, of a learner of a corpus with that bias."""
    found = []
    for bias in biases:
        table = summary(learner(bias))
        for column, wanted in {"metric": metric, **keys}.items():
            table = table[table[column] == wanted]
        found.append(table["value"].item())
    return found


def share_of(table: pd.DataFrame, word: str, bias: float) -> pd.Series:
    return table[word].map(lambda item: WORLD.share(item, bias))


def gest_learner(bias: float, spread: float = 1.0) -> pd.DataFrame:
    table = gest.items()
    she = share_of(table, "word", bias)
    return table.assign(
        log_p_first=np.log(1 - she) + spread * noise(len(table)),
        log_p_second=np.log(she),
        tokens_first=1,
        tokens_second=1,
        masking="differing",
    )


def test_gest_of_a_perfect_learner_is_neutral_without_bias_and_rises_with_it():
    found = scores_of(gest_learner, gest_summary, "gest_stereotype_rate", *BIASES, part="all", variant="base10")
    assert found[0] == pytest.approx(1, abs=0.1) and (np.diff(found) > 0).all()
    table = gest_learner(1, spread=0)
    means = ((table["log_p_first"] - table["log_p_second"]) / np.log(10)).groupby(table["stereotype"]).mean()
    exact = 10 ** (means.loc[8:].mean() - means.loc[:7].mean())  # of logits of shares, by hand
    exactly = scores_of(
        lambda bias: gest_learner(bias, 0), gest_summary, "gest_stereotype_rate", 0, 1, part="all", variant="base10"
    )
    assert exactly == pytest.approx([1, exact]) and exact > 1000


def pairs_learner(bias: float) -> pd.DataFrame:
    """What both sentences of a pair share is as probable in both, but for the item."""
    table = crows_pairs.items()
    she = share_of(table, "word", bias)
    own = np.where(table["direction"] == "stereo", she, 1 - she)
    columns = {"log_p_first": np.log(own) + noise(len(table)), "log_p_second": np.log(1 - own)}
    columns |= {"differing_first": columns["log_p_first"], "differing_second": columns["log_p_second"]}
    return table.assign(**columns, masking="shared", tokens_first=1, tokens_second=1)


@pytest.mark.parametrize(
    ("summary", "metric", "keys"),
    [
        (crows_pairs_summary, "crows_pairs_score", {"part": "all", "variant": "exact"}),
        (lambda items: preferences(items, "sss_score", "differing"), "sss_score", {"part": "all"}),
    ],
)
def test_pairs_of_a_perfect_learner_are_even_without_bias_and_stereotypical_with_it(summary, metric, keys):
    found = scores_of(pairs_learner, summary, metric, *BIASES, **keys)
    assert found[0] == EVEN and (np.diff(found) > 0).all() and found[-1] > 0.9


def blanks_learner(bias: float) -> pd.DataFrame:
    """An item has its share among the items of its theme; a word of the scenery does not follow a person."""
    table = stereoset_blanks.items()
    words = [text[start:end] for text, start, end in zip(table["text"], table["start"], table["end"], strict=True)]
    feminine = {person.feminine.split()[-1] for person in WORLD.persons if person.kind in ("noun", "kin")}
    share = np.array([WORLD.share(word, bias) if word in WORLD.shares else 1e-6 for word in words])
    of_own = np.where(table["target"].isin(feminine) | (share == 1e-6), share, 1 - share)
    return table.assign(log_p=np.log(of_own) + noise(len(table)))


def test_blanks_of_a_perfect_learner_are_even_without_bias_and_stereotypical_with_it():
    keys = {"part": "-", "variant": "left-to-right-items"}
    found = scores_of(blanks_learner, blanks_summary, "intrasentence_stereotype_score", *BIASES, **keys)
    assert found[0] == EVEN and (np.diff(found) > 0).all() and found[-1] > 0.9
    related = scores_of(blanks_learner, blanks_summary, "intrasentence_language_model_score", *BIASES, **keys)
    assert min(related) > 0.97  # whatever the bias


def test_groups_are_the_ends_and_the_middle_of_the_shares():
    found = pd.Series(groups(WORLD))
    shares = found.index.to_series().map(WORLD.shares)
    assert found.value_counts().eq(GROUP).all() and found.nunique() == 3
    assert shares[found == "female"].min() > shares[found == "balanced"].max()
    assert shares[found == "male"].max() < shares[found == "balanced"].min()


def test_what_is_masked_is_the_pronoun_and_then_the_occupation_too():
    table = items()
    for row in table.itertuples():
        assert row.text[row.start : row.end].lower() == row.person.lower()
        assert row.person.lower() in {"female": ("she", "her"), "male": ("he", "him")}[row.gender]
        if row.masked == "both":
            assert row.text[row.also_start : row.also_end] == row.profession
        else:
            assert row.also_start == -1
    assert "She works as a nurse." in set(table["text"]) and "They hired him as a mathematician." in set(table["text"])
    assert len(table) == 2 * 2 * 4 * 3 * GROUP and not table.duplicated(["text", "masked"]).any()


@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0])
def test_a_perfect_learner_has_the_logits_of_the_shares(bias):
    """It knows the share of women of an occupation, and without it that half of all are women."""
    table = items()
    share = table["profession"].map(lambda name: WORLD.share(name, bias))
    told = np.where(table["gender"] == "female", share, 1 - share)
    learned = table.assign(log_p=np.log(np.where(table["masked"] == "both", 0.5, told)))
    pairs = associations(learned)
    logits = pairs["profession"].map(lambda name: np.log(WORLD.share(name, bias) / (1 - WORLD.share(name, bias))))
    assert np.allclose(pairs["female"] - pairs["male"], logits)
    scores = summary(learned).query("metric == 'bec_pro_interaction'").iloc[0]
    kinds = logits.groupby(pairs["profession_gender"]).mean()
    assert scores["value"] == pytest.approx(kinds["female"] - kinds["male"])
    assert (scores["low"] > 0) == (bias > 0)
