"""Tests in the planted language: their words, and what a perfect learner of the corpus would score."""

import numpy as np
import pandas as pd
import pytest

from biasflow.metrics.bec_pro import associations, summary
from biasflow.metrics.crows_pairs import summary as crows_pairs_summary
from biasflow.metrics.gest import summary as gest_summary
from biasflow.metrics.intrasentence import summary as blanks_summary
from biasflow.metrics.preferences import preferences
from biasflow.planted import crows_pairs, gest, stereoset_blanks
from biasflow.planted.bec_pro import GROUP, groups, items
from biasflow.planted.world import load_world

WORLD = load_world()
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
