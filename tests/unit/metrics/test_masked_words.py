"""Tests of words in the place of a mask: BEC-Pro and LPBS, Winogender, DisCo, OCCTMP, log-odds of planted shares."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import chi2_contingency

from biasflow.base.errors import BiasflowError
from biasflow.corpora import disco as sentences
from biasflow.corpora.word_sets import read_chinese_professions, read_professions
from biasflow.metrics.bec_pro import GROUPS, associations, score_lpbs
from biasflow.metrics.bec_pro import score as score_bec_pro
from biasflow.metrics.disco import chi_square_p, summary
from biasflow.metrics.disco import score as score_disco
from biasflow.metrics.log_odds import agreement
from biasflow.metrics.log_odds import score as score_log_odds
from biasflow.metrics.occtmp import occtmp
from biasflow.metrics.occtmp import score as score_occtmp
from biasflow.metrics.occtmp import summary as summary_of_occtmp
from biasflow.metrics.winogender import score as score_winogender
from biasflow.planted.world import load_world
from biasflow.stimuli.densray_sets import occupation_sentences

PROFESSIONS = {f"{group}{k}": group for group in GROUPS for k in range(4)}


def words(association, *, prior=-5.0, pieces=1):
    """association(gender, profession, pair) -> nats; every word has so many pieces, which share it."""
    rows = [
        (
            0,
            pair,
            name,
            group,
            gender,
            masked,
            piece,
            (prior + (masked == "person") * association(gender, name, pair)) / pieces,
        )
        for name, group in PROFESSIONS.items()
        for pair in range(3)
        for gender in ("male", "female")
        for masked in ("person", "both")
        for piece in range(pieces)
    ]
    columns = ["template", "pair", "profession", "profession_gender", "gender", "masked", "piece", "log_p"]
    return pd.DataFrame(rows, columns=columns)


def scored(score, tmp_path, table):
    table.assign(method="none", setting="-").to_parquet(tmp_path / "p.parquet")
    return score(tmp_path / "p.parquet")


def scores(tmp_path, table):
    return scored(score_bec_pro, tmp_path, table).set_index(["metric", "part"])


def fitting(gender, profession, pair):
    """1 nat where the genders of person and profession fit, 0.25 more for women everywhere."""
    return float(profession.startswith(gender)) + 0.25 * (gender == "female")


@pytest.mark.parametrize("pieces", [1, 2])
def test_known_answer_of_bec_pro(tmp_path, pieces):
    found = scores(tmp_path, words(fitting, pieces=pieces))
    value = found["value"]
    assert value["bec_pro_association", "female-female"] == pytest.approx(1.25)
    assert value["bec_pro_association", "male-female"] == pytest.approx(0)
    assert value["bec_pro_association", "female-balanced"] == pytest.approx(0.25)
    assert value["bec_pro_difference", "female"] == pytest.approx(1.25)
    assert value["bec_pro_difference", "male"] == pytest.approx(-0.75)
    assert value["bec_pro_interaction", "-"] == pytest.approx(2)
    assert found["n"]["bec_pro_interaction", "-"] == 8 and found["n"]["bec_pro_difference", "male"] == 12
    assert found.loc[("bec_pro_interaction", "-"), ["low", "high"]].to_list() == pytest.approx([2, 2])


def test_the_interval_draws_professions_and_the_test_is_wilcoxons(tmp_path):
    own = dict(zip(PROFESSIONS, np.random.default_rng(0).normal(size=12), strict=True))
    found = scores(tmp_path, words(lambda gender, name, pair: (own[name] + 0.01 * pair) * (gender == "female")))
    balanced = np.array([value for name, value in own.items() if name.startswith("balanced")])
    row = found.loc[("bec_pro_difference", "balanced")]
    assert row["value"] == pytest.approx(balanced.mean() + 0.01)
    assert balanced.min() < row["low"] < row["value"] < row["high"] < balanced.max() + 0.02
    differences = np.add.outer(balanced, [0, 0.01, 0.02]).ravel()
    expected, value = stats.wilcoxon(differences), found["value"]
    assert value["bec_pro_wilcoxon_p", "balanced"] == pytest.approx(expected.pvalue, rel=1e-6)
    ranks = stats.rankdata(np.abs(differences))
    below, above = (ranks[side].sum() for side in (differences < 0, differences > 0))
    assert value["bec_pro_wilcoxon", "balanced"] == min(below, above)
    assert value["bec_pro_wilcoxon_r", "balanced"] == pytest.approx(abs(above - below) / ranks.sum())
    assert value["bec_pro_association_sd", "female-balanced"] == pytest.approx(np.std(differences))
    assert value["bec_pro_association_sd", "male-balanced"] == 0


def test_pairs_without_a_difference_are_left_out_of_the_test(tmp_path):
    own = dict(zip(PROFESSIONS, np.random.default_rng(0).normal(size=12), strict=True))
    found = scores(tmp_path, words(lambda gender, name, pair: own[name] * pair * (gender == "female")))
    differences = np.outer([value for name, value in own.items() if name.startswith("balanced")], [1, 2]).ravel()
    ranks = stats.rankdata(np.abs(differences))
    effect = abs(ranks @ np.sign(differences)) / ranks.sum()
    assert found["value"]["bec_pro_wilcoxon_r", "balanced"] == pytest.approx(effect)


@given(st.floats(-20, -1), st.integers(0, 100))
def test_the_prior_of_a_word_does_not_count(prior, seed):
    noise = np.random.default_rng(seed).normal(size=(12, 3, 2))
    places = {name: k for k, name in enumerate(PROFESSIONS)}

    def drawn(gender, name, pair):
        return noise[places[name], pair, int(gender == "female")]

    one, other = (associations(words(drawn, prior=each)) for each in (-5.0, prior))
    pd.testing.assert_frame_equal(one, other)
    assert len(one) == 36 and one["female"].mean() == pytest.approx(noise[..., 1].mean())


@pytest.mark.parametrize("lacking", ["masked == 'both'", "gender == 'male' and pair == 1"])
def test_a_sentence_without_its_counterpart_is_refused(tmp_path, lacking):
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: BEC-Pro"):
        scores(tmp_path, words(fitting).query(f"not ({lacking})"))


def test_known_answer_of_lpbs(tmp_path):
    # 1 nat where the genders of person and profession fit, 0.25 more for women: 1.25 in typically female professions,
    # -0.75 in typically male ones, 0.25 in balanced ones, four of each.
    found = scored(score_lpbs, tmp_path, words(fitting)).set_index("metric")
    assert found["value"]["lpbs"] == pytest.approx(0.25) and found["n"]["lpbs"] == 12
    assert found["value"]["lpbs_absolute"] == pytest.approx(0.75)
    assert found["low"]["lpbs"] < 0.25 < found["high"]["lpbs"]


SHARES = {"nurse": 0.9, "clerk": 0.7, "baker": 0.6, "judge": 0.4, "guard": 0.3, "pilot": 0.1}


def words_winogender(odds, *, pieces=1):
    """odds(occupation, whom the pronoun stands for, sentence) -> nats; two sentences each."""
    rows = [
        (f"{name}.{refers}.{k}", name, refers, gender, share, 1 - share, piece, value / pieces)
        for name, share in SHARES.items()
        for refers in ("occupation", "participant")
        for k in range(2)
        for gender, value in (("male", -4.0), ("female", -4.0 + odds(name, refers, k)))
        for piece in range(pieces)
    ]
    return pd.DataFrame(rows, columns=["item", "occupation", "refers_to", "gender", "bls", "bergsma", "piece", "log_p"])


def test_known_answer_of_winogender(tmp_path):
    table = words_winogender(lambda name, refers, k: 2 * SHARES[name] * (refers == "occupation") + k - 0.5, pieces=2)
    found = scored(score_winogender, tmp_path, table).set_index(["metric", "part", "variant"])
    assert found["value"]["winogender_r", "occupation", "bls"] == pytest.approx(1)
    assert found["value"]["winogender_r", "occupation", "bergsma"] == pytest.approx(-1)
    assert np.isnan(found["value"]["winogender_r", "participant", "bls"])  # the same for all occupations
    expected = np.mean([2 * share for share in SHARES.values()])
    assert found["value"]["winogender_log_odds", "occupation", "-"] == pytest.approx(expected)
    row = found.loc[("winogender_log_odds", "participant", "-")]
    assert (row["value"], row["low"], row["high"], row["n"]) == pytest.approx((0, 0, 0, 6), abs=1e-12)


def test_a_sentence_without_a_pronoun_is_refused(tmp_path):
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: Winogender"):
        scored(score_winogender, tmp_path, words_winogender(lambda name, refers, k: 1.0).iloc[1:])


def items(*templates):
    """A row for each (gender, three words) of each template."""
    rows = [(number, gender, *words) for number, template in enumerate(templates) for gender, words in template]
    return pd.DataFrame(rows, columns=["template", "gender", "filling_1", "filling_2", "filling_3"])


def test_known_answer_of_disco(tmp_path):
    # Template 0: 20 women "a b c", 20 men "a d e": b, c, d, e have chi-square 40, p = 2.5e-10; a has p = 1.
    # Template 1: all have the same words. 8 tests; (4 + 0) / 2 = 2.
    first = [("female", "abc")] * 20 + [("male", "ade")] * 20
    table = items(first, [(gender, "abc") for gender, _ in first])
    (row,) = scored(score_disco, tmp_path, table).to_dict("records")
    assert (row["metric"], row["value"], row["n"]) == ("disco", 2.0, 2)
    # Five men of 20 differ in one word: c and d have p = 0.017 each, which is not enough among 4 tests.
    assert summary(items([("female", "abc")] * 20 + [("male", "abc")] * 15 + [("male", "abd")] * 5))["value"][0] == 0
    # One woman of 3 differs: chi-square 6 / 5, p = 0.27: no word differs for sure.
    assert summary(items([("female", "abc")] * 2 + [("female", "abd")] + [("male", "abc")] * 3))["value"][0] == 0


@given(st.integers(0, 40), st.integers(0, 40), st.integers(41, 60), st.integers(41, 60))
def test_the_test_is_that_of_scipy(a, b, n_a, n_b):
    (found,) = chi_square_p(*(np.array([float(number)]) for number in (a, b, n_a, n_b)))
    if a + b == 0:
        assert found == 1
    else:
        assert found == pytest.approx(chi2_contingency([[a, n_a - a], [b, n_b - b]], correction=False).pvalue, abs=1e-9)


def test_a_gender_without_sentences_is_one_clear_line():
    with pytest.raises(BiasflowError, match=r"^DisCo: a template lacks the sentences of one gender[^\n]*$"):
        summary(items([("female", "abc")]))


@pytest.mark.parametrize(("persons", "pairs"), [("names", sentences.MANY), ("nouns", len(sentences.NOUNS))])
def test_every_person_is_in_every_template_with_one_blank(persons, pairs):
    table = sentences.items(persons)
    assert len(table) == len(sentences.TEMPLATES) * pairs * 2 and not table["text"].duplicated().any()
    assert (table["text"].str.count(sentences.BLANK) == 1).all() and table["text"].str[0].str.isupper().all()
    assert (table.groupby("template")["gender"].value_counts() == pairs).all()


PAIRS = st.lists(st.tuples(st.floats(-20, 0), st.floats(-20, 0)), min_size=2, max_size=20)


def test_known_answer_of_occtmp():
    he, she = np.log([0.6, 0.1, 0.3]), np.log([0.3, 0.4, 0.3])
    score = occtmp(he, she)
    assert score.diff == pytest.approx(math.log(2))  # of ln 2, ln 4 and 0
    assert score.diff_variance == pytest.approx(math.log(2) ** 2)
    assert score.signed_diff == pytest.approx(-math.log(2) / 3)
    assert (score.p_he, score.p_she, score.p_sum) == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    assert score.share_he == pytest.approx(1 / 3)  # a tie does not count
    assert score.share_pronoun == pytest.approx(1 / 3)  # sums of 0.9, 0.5 and 0.6
    assert score.n == 3


def test_of_several_sentences_with_an_occupation_the_mean_counts():
    """ln p(he) - ln p(she) of the nurse: -1 and -3, of the baker: 4 and 0; by hand |-2| and |2|."""
    log_p = {"masculine": [-3, -1, -5, -4], "feminine": [-2, -5, -2, -4]}
    items = pd.concat(
        pd.DataFrame({"item": ["nurse", "baker"] * 2, "gender": gender, "log_p": of_gender, "pieces": 1})
        for gender, of_gender in log_p.items()
    )
    found = summary_of_occtmp(items).set_index("metric")
    assert found.loc["occtmp_diff", ["value", "n"]].tolist() == [2, 2]
    assert found.loc["occtmp_signed_diff", "value"] == 0
    assert found.loc["occtmp_p_he", "value"] == pytest.approx((math.exp(-4) + math.exp(-2.5)) / 2)


@given(PAIRS)
def test_swapping_the_pronouns_leaves_diff_and_flips_the_sign(pairs):
    he, she = np.array(pairs).T
    score, swapped = occtmp(he, she), occtmp(she, he)
    assert (score.diff, score.diff_variance, score.p_sum) == (swapped.diff, swapped.diff_variance, swapped.p_sum)
    assert score.signed_diff == -swapped.signed_diff
    assert (score.p_he, score.p_she) == (swapped.p_she, swapped.p_he)
    assert score.share_he + swapped.share_he == pytest.approx(np.mean(he != she))
    assert score.share_pronoun == swapped.share_pronoun


def readout(path, **log_p):
    """log p of he and she, as readouts/masked_words.py writes them; log_p: method -> {occupation: pair}."""
    rows = [
        (method, "-", occupation, word, gender, pair[column])
        for method, pairs in log_p.items()
        for column, (word, gender) in enumerate((("he", "masculine"), ("she", "feminine")))
        for occupation, pair in pairs.items()
    ]
    table = pd.DataFrame(rows, columns=["method", "setting", "item", "word", "gender", "log_p"])
    table.assign(pieces=1).to_parquet(path)
    return path


def test_an_occupation_without_both_pronouns_is_refused(tmp_path):
    path = readout(tmp_path / "p.parquet", hard={"nurse": (-4.0, -1.0), "judge": (-2.0, -3.0)})
    pd.read_parquet(path).drop(index=3).to_parquet(path)
    with pytest.raises(BiasflowError, match=r"p\.parquet: hard -.*both"):
        score_occtmp(path)


def test_sentences():
    assert occupation_sentences(["accountant", "nurse"]) == ["[MASK] is a accountant .", "[MASK] is a nurse ."]
    assert occupation_sentences(["accountant", "nurse"], "article") == [
        "[MASK] is an accountant .",
        "[MASK] is a nurse .",
    ]
    assert occupation_sentences(["会计"], "chinese") == ["[MASK]是一个会计。"]
    assert occupation_sentences(["nurse"], "said") == ["The nurse said that [MASK] was late."]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[["nurse", 0, 0], ["Baker!", 0, 0]]', "entry 2"),
        ('[["nurse", 0, 0], ["nurse", 0, 0]]', "entry 2"),
        ('[["nurse", 0, 0], "baker"]', "entry 2"),
        ('[["nurse", 0, 0], [3, 0, 0]]', "entry 2"),
        ('[["nurse", 0, 0],\n', "line 2"),
        ("{}", "list"),
        ("[]", "no occupation"),
    ],
)
def test_a_wrong_profession_is_named_with_file_and_entry(tmp_path, text, place):
    (tmp_path / "professions.json").write_text(text)
    with pytest.raises(BiasflowError, match=rf"professions\.json.*{place}"):
        read_professions(tmp_path / "professions.json")


@pytest.mark.parametrize(
    ("text", "place"), [("会计\nnurse\n", "line 2"), ("会计\n工人\n会计", "line 3"), ("\n", "no occupation")]
)
def test_a_wrong_chinese_profession_is_named_with_file_and_line(tmp_path, text, place):
    (tmp_path / "c.txt").write_text(text, encoding="utf-8")
    with pytest.raises(BiasflowError, match=rf"c\.txt.*{place}"):
        read_chinese_professions(tmp_path / "c.txt")


def test_pronouns_of_several_tokens_are_told(tmp_path):
    path = readout(tmp_path / "p.parquet", none={"nurse": (-4.0, -1.0), "judge": (-2.0, -3.0)})
    assert "occtmp_pieces" not in set(score_occtmp(path)["metric"])
    pd.read_parquet(path).assign(pieces=[1, 1, 2, 1]).to_parquet(path)
    found = score_occtmp(path).query("metric == 'occtmp_pieces'").set_index("part")
    assert found["value"].to_dict() == {"masculine": 1.0, "feminine": 1.5} and set(found["n"]) == {2}


PLANTED_SHARES = np.array([0.9, 0.7, 0.1])


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.floats(-5, 5), st.floats(0.1, 5))
def test_a_shift_changes_nothing_and_a_factor_the_slope_alone(log_odds, shift, factor):
    found, changed = (
        agreement(log_odds, PLANTED_SHARES),
        agreement(shift + factor * np.array(log_odds), PLANTED_SHARES),
    )
    assert changed.slope == pytest.approx(factor * found.slope, abs=1e-9)
    if np.ptp(log_odds) > 1e-3:
        assert changed.r == pytest.approx(found.r, abs=1e-6) and -1 - 1e-9 <= found.r <= 1 + 1e-9


def test_scores_by_method_with_the_shares_of_the_planted_world(tmp_path):
    shares = {name: load_world().shares[name] for name in load_world().occupations}
    own = {name: (-2.0, -2.0 + math.log(share / (1 - share))) for name, share in shares.items()}
    weaker = {name: (-2.0, -2.0 + (she - he) / 4) for name, (he, she) in own.items()}
    found = score_log_odds(readout(tmp_path / "p.parquet", none=own, hard=weaker)).set_index(["method", "metric"])
    assert found["value"].to_dict() == pytest.approx(
        {
            ("none", "log_odds_r"): 1,
            ("none", "log_odds_slope"): 1,
            ("hard", "log_odds_r"): 1,
            ("hard", "log_odds_slope"): 0.25,
        }
    )
    assert (found["n"] == len(shares)).all()
