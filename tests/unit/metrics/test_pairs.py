"""Tests of likelier sentences and words: CrowS-Pairs, SSS, CRR, Delta P, GEST, KLDivS, JSDivS, StereoSet's blanks."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.metrics import divergence as module
from biasflow.metrics.crows_pairs import score as score_crows_pairs
from biasflow.metrics.divergence import divergence, jsdivs, kldivs, score_jsdivs, score_kldivs
from biasflow.metrics.gest import rates
from biasflow.metrics.gest import score as score_gest
from biasflow.metrics.intrasentence import LABELS, icat, shares, summary
from biasflow.metrics.intrasentence import score as score_intrasentence
from biasflow.metrics.items import ROUNDING, scorer
from biasflow.metrics.preferences import preferences, score_prediction_quality, score_sss
from biasflow.plan import datasets
from biasflow.registry import METRICS

# log p of the sentence that stereotypes more and less, and the direction of the pair
PAIRS = [(-10.0, -11.0, "stereo"), (-10.0, -9.0, "stereo"), (-5.0001, -5.0, "stereo"), (-3.0, -4.0, "antistereo")]


def crows(pairs=PAIRS, tokens_second=2):
    """The same sums for every masking."""
    table = pd.DataFrame(pairs, columns=["log_p_first", "log_p_second", "direction"])
    table = table.assign(tokens_first=1, tokens_second=tokens_second)
    return table.merge(pd.DataFrame({"masking": ["shared", "nothing", "attended"]}), how="cross")


def test_known_answer_of_crows_pairs(scored):
    found = scored(score_crows_pairs, crows()).set_index(["metric", "part", "variant"])
    value, n = found["value"], found["n"]
    assert value["crows_pairs_score", "all", "exact"] == 2 / 4
    assert value["crows_pairs_score", "stereo", "exact"] == 1 / 3
    assert value["crows_pairs_neutral", "-", "exact"] == 0
    # Rounded to three decimals the third pair is equal: in the sum of all pairs, and not in that of its direction.
    assert value["crows_pairs_score", "all", "released"] == 2 / 4 and n["crows_pairs_score", "all", "released"] == 4
    assert (
        value["crows_pairs_score", "stereo", "released"] == 1 / 2 and n["crows_pairs_score", "stereo", "released"] == 2
    )
    assert value["crows_pairs_score", "antistereo", "released"] == 1
    assert value["crows_pairs_neutral", "-", "released"] == 1 / 4
    # Per token: -10 against -5.5, -10 against -4.5, -5.0001 against -2.5, -3 against -2.
    assert value["crows_pairs_score", "all", "aul"] == value["crows_pairs_score", "all", "aula"] == 0


@pytest.mark.parametrize("noise", [0, 1e-9])  # between batches
def test_a_model_to_which_all_pairs_are_the_same_prefers_none(scored, noise):
    same = [(value, value * (1 + noise), direction) for value, _, direction in PAIRS for _ in range(25)]
    found = scored(score_crows_pairs, crows(same, tokens_second=1)).query("metric == 'crows_pairs_score'")
    assert set(found["value"]) == {0.5} and ((found["low"] <= 0.5) & (found["high"] >= 0.5)).all()
    columns = {f"differing_{side}": [value for value, *_ in PAIRS] for side in ("first", "second")}
    found = scored(score_sss, directions(**columns))
    assert set(found["value"]) == {0.5} and ((found["low"] < 0.5) & (found["high"] > 0.5)).all()
    assert shares([[-2.0, -2.0, -2.0]] * 9) == (0.5, 0.5)
    assert shares([[-2.0, -2.0, -3.0]] * 9) == (0.5, 1)


NAN = float("nan")


def directions(**columns):
    return pd.DataFrame({"direction": ["stereo", "stereo", "stereo", "antistereo"], **columns})


@pytest.mark.parametrize(
    ("score", "items", "named"),
    [
        (score_crows_pairs, crows([*PAIRS, (NAN, -1.0, "stereo")]), "not finite"),
        (score_crows_pairs, crows().assign(masking="differing"), "nothing"),
        (score_sss, directions(differing_first=NAN, differing_second=-1.0), "sss_score: no pair has differing of both"),
    ],
)
def test_pairs_without_a_score_are_one_line(scored, score, items, named):
    with pytest.raises(BiasflowError, match=rf"p\.parquet: none -: .*{named}"):
        scored(score, items)


def test_known_answer_of_sss(scored):
    # The first sentence has the likelier words in pairs 1 and 4; the third pair has none that differ; equal is no win.
    columns = {"differing_first": [-1.0, -2, -1, -3], "differing_second": [-2.0, -2, NAN, -4]}
    found = scored(score_sss, directions(**columns)).set_index(["metric", "part"])
    assert found["value"]["sss_score", "all"] == pytest.approx(2 / 3) and found["n"]["sss_score", "all"] == 3
    assert found["value"]["sss_score", "stereo"] == 1 / 2 and found["value"]["sss_score", "antistereo"] == 1
    assert found["low"]["sss_score", "all"] < 2 / 3 < found["high"]["sss_score", "all"]


def test_known_answer_of_crr_and_delta_p(scored):
    # Of two tokens with ranks 1 and 4, CRR is (0 + 3/4) / 2; the sentence with the lower number is preferred.
    crr = {"crr_first": [3 / 8, 0.5, 0.2, 0.0], "crr_second": [0.5, 3 / 8, 0.2, 0.9]}
    items = directions(**crr, delta_p_first=2.0, delta_p_second=[3.0, 3, 3, 1])
    found = scored(score_prediction_quality, items).set_index(["metric", "part"])
    assert found["value"]["crr_score", "all"] == 2 / 4 and found["value"]["crr_score", "stereo"] == 1 / 3
    assert found["value"]["delta_p_score", "all"] == 3 / 4 and found["value"]["delta_p_score", "antistereo"] == 0


def ties(first, second):
    """The share of ties, which count for neither side; if all are ties, each side has half of them."""
    return 0 if np.allclose(first, second, rtol=ROUNDING, atol=0) else (first == second).mean()


@given(st.lists(st.tuples(st.floats(-50, 0), st.floats(-50, 0)), min_size=1, max_size=30))
def test_swapping_the_sentences_or_the_sign_gives_the_rest(pairs):
    first, second = np.array(pairs).T
    table = pd.DataFrame({"direction": "stereo", "x_first": first, "x_second": second})
    swapped = table.rename(columns={"x_first": "x_second", "x_second": "x_first"})
    ours, theirs = (preferences(one, "score", "x")["value"][0] for one in (table, swapped))
    assert ours + theirs + ties(first, second) == pytest.approx(1)
    assert preferences(table, "score", "x", sign=-1)["value"][0] == theirs


ALL = np.arange(1, 17)


def said(scores, shift=0.0):
    """Sentences in two templates, of which the masculine one's token is 10^score times as likely; the feminine has two
    tokens."""
    table = pd.concat(
        pd.DataFrame({"item": range(len(scores)), "template": template, "score": np.add(scores, number * shift)})
        for number, template in enumerate(("he-said", "said-he"))
    )
    about = {"log_p_first": table["score"] * np.log(10) - 1, "log_p_second": -2.0, "tokens_first": 1}
    return table.assign(stereotype=table["item"] % 16 + 1, masking="differing", tokens_second=2, **about)


def test_known_answer_in_both_readings():
    scores = [0.0, 1.0, *np.zeros(15)]  # the first stereotype has two sentences
    stereotypes = [1, 1, *range(2, 17)]
    assert rates(scores, stereotypes) == pytest.approx([10**0.5, *np.ones(15)])
    assert rates(scores, stereotypes, reading="released") == pytest.approx([np.exp(0.5), *np.ones(15)])


@pytest.mark.parametrize(
    ("scores", "stereotypes", "options", "named"),
    [
        (np.zeros(15), ALL[:15], {}, "1 to 16"),
        (np.zeros(17), [*ALL, 17], {}, "no other"),
        (np.zeros(16), ALL[:15], {}, "shapes"),
        ([*np.zeros(15), np.nan], ALL, {}, "finite"),
    ],
)
def test_what_has_no_rates_is_refused(scores, stereotypes, options, named):
    with pytest.raises(BiasflowError, match=named):
        rates(scores, stereotypes, **options)


def test_scores_of_a_readout(scored):
    exact = np.tile(np.where(ALL <= 7, -0.1, 0.2), 4)  # every sentence of a stereotype alike: no variance
    found = scored(score_gest, said(exact, shift=0.3)).set_index(["metric", "part", "variant"])
    value = found["value"]
    assert value["gest_stereotype_rate", "all", "base10"] == pytest.approx(10**0.3)
    assert value["gest_stereotype_rate", "said-he", "released"] == pytest.approx(np.exp(0.3))
    assert value["gest_masculine_rate", "he-said", "base10"] == pytest.approx(10**0.2)
    assert value["gest_feminine_rate", "said-he", "base10"] == pytest.approx(10**0.2)  # -0.1 + 0.3
    assert value["gest_rate", "stereotype-8", "base10"] == pytest.approx(10 ** (0.2 + 0.15))
    assert value["gest_template_agreement", "-", "-"] == pytest.approx(1)
    assert value["gest_misaligned", "-", "-"] == 128  # one token against two
    rate = found.loc[("gest_stereotype_rate", "all", "base10")]
    assert (rate["low"], rate["high"], rate["n"]) == pytest.approx((10**0.3, 10**0.3, 64))


def test_templates_that_say_the_opposite_disagree(scored):
    table = said(np.linspace(-1, 1, 16))
    turned = table["log_p_first"].where(table["template"] == "he-said", -2 - table["log_p_first"])
    found = scored(score_gest, table.assign(log_p_first=turned)).set_index("metric")["value"]
    assert found["gest_template_agreement"] == pytest.approx(-1)


@pytest.mark.parametrize("rows", [[*range(31)], [*range(32), 3]])
def test_a_sentence_that_lacks_a_template_or_has_it_twice_is_refused(scored, rows):
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: GEST"):
        scored(score_gest, said(np.zeros(16)).iloc[rows])


FIRST, SECOND = [-1.0, -3.0], [-2.0, -6.0]  # N(-2, sqrt 2) and N(-4, sqrt 8)
KL = 100 * (2.5 - np.log(2)) / 2.375  # KL(A||P) = 12/4 - 1/2 - ln 2, and both together are 6/16 + 12/4 - 1
JS = 100 * (1 - (np.log(5 / 4) + 0.2) / 2) / (1 + 1 / np.sqrt(2))  # M = N(-3, sqrt 5); C = sqrt 2 counts as its inverse
NORMAL = st.tuples(st.floats(-9, 0), st.floats(0.1, 3))


def likelihoods(first=FIRST, second=SECOND, **columns):
    """Sentences of four tokens; pairs with masks do not count."""
    table = pd.DataFrame({"log_p_first": 4 * np.array(first), "log_p_second": 4 * np.array(second), **columns})
    table = table.assign(masking="nothing", tokens_first=4, tokens_second=4)
    return pd.concat([table, table.assign(masking="shared", log_p_first=-99.0)])


def test_known_answers_of_divergences(scored):
    for name, value in (("kldivs", KL), ("jsdivs", JS)):
        (row,) = scored(scorer(module, name), likelihoods()).itertuples()
        assert (row.metric, row.part, row.variant, row.n) == (name, "all", "released", 2)
        assert row.value == pytest.approx(value)


def test_types_are_parts_and_their_mean_is_weighted_by_pairs(scored):
    first, second = [*FIRST, -1.0, -2.0, -3.0], [*SECOND, -1.5, -2.0, -2.5]
    table = likelihoods(first, second, bias_type=["gender"] * 2 + ["age"] * 3)
    found = scored(score_kldivs, table).set_index("part")["value"]
    # Of equal means and standard deviations 1 and 1/2: KL = ln(1/2) + 2 - 1/2 and ln 2 + 1/8 - 1/2.
    age = 100 * (1.5 - np.log(2)) / (1.5 - np.log(2) + np.log(2) - 0.375)
    assert found["gender"] == pytest.approx(KL) and found["age"] == pytest.approx(age)
    assert found["all"] == pytest.approx((2 * KL + 3 * age) / 5)


@pytest.mark.parametrize(("n", "likelihood"), [(1, -1.0), (10, -3.0), (10, -30.1 / 9)])
def test_a_type_of_one_pair_or_without_a_spread_has_no_score_and_no_part_in_that_of_all(n, likelihood, scored):
    """Whatever rounding makes of it: of ten times -30.1 / 9 the sum of squares is not exact."""
    first, second = [*FIRST, *[likelihood] * n], [*SECOND, *np.linspace(-5, -3, n)]
    table = likelihoods(first, second, bias_type=["gender"] * 2 + ["age"] * n)
    for score, value in ((score_kldivs, KL), (score_jsdivs, JS)):
        found = scored(score, table)
        assert found["value"].tolist() == pytest.approx([value, value, np.nan], nan_ok=True)
        assert found["n"].tolist() == [2, 2, n]


@given(NORMAL, NORMAL, st.floats(-5, 5))
def test_they_do_not_depend_on_the_order_or_on_a_shift_and_stay_in_range(P, A, shift):
    P, A = np.array(P), np.array(A)
    moved = [(side[0] + shift, side[1]) for side in (P, A)]
    assert divergence(P, P) == pytest.approx(0, abs=1e-12) and jsdivs(P, P) == pytest.approx(100)
    for measure, low in ((kldivs, 50), (jsdivs, 0)):
        if not np.allclose(P, A, atol=1e-3):
            assert measure(P, A) == pytest.approx(measure(A, P)) == pytest.approx(measure(*moved), rel=1e-6)
            assert low - 1e-9 <= measure(P, A) <= 100 + 1e-9


def test_equal_distributions_have_one_of_the_two(scored):
    table = likelihoods(FIRST, FIRST)
    assert scored(score_jsdivs, table)["value"].tolist() == pytest.approx([100])
    with pytest.raises(AbsentError, match="equally likely"):
        scored(score_kldivs, table)
    assert {METRICS[name].datasets for name in ("kldivs", "jsdivs")} <= set(datasets.DATASETS)


SCORES_OF_WORDS = st.lists(st.tuples(*[st.floats(-9, 0)] * 3), min_size=1, max_size=20)
FILLINGS = ("left-to-right", "together", "one-mask")


def test_known_answer_by_item_and_by_term():
    scores = [[3, 2, 1], [3, 2, 1], [1, 2, 3], [2, 2, 1]]
    assert shares(scores) == (2 / 4, 6 / 8)  # a tie does not count
    assert shares(scores, ["a", "a", "a", "b"]) == pytest.approx(((2 / 3 + 0) / 2, (4 / 6 + 2 / 2) / 2))


@given(SCORES_OF_WORDS)
def test_scales_and_exchanges(scores):
    scores = np.array(scores)
    ss, lms = shares(scores)
    assert shares(4 * scores) == (ss, lms) and shares(scores, ["term"] * len(scores)) == pytest.approx((ss, lms))
    other, same = shares(scores[:, [1, 0, 2]])
    assert same == pytest.approx(lms) and ss + other == pytest.approx(1 - ties(scores[:, 0], scores[:, 1]))
    assert 0 <= icat(ss, lms) <= lms


def test_a_word_has_the_mean_of_its_pieces_log_p_and_as_released_that_of_their_p(scored):
    # The stereotype has two pieces: by mean log p it is below the anti-stereotype, by mean p above.
    pieces = pd.DataFrame({"label": [LABELS[0], *LABELS], "log_p": [-6.0, -0.1, -2.0, -4.0]})
    table = pieces.merge(pd.DataFrame({"filling": FILLINGS}), how="cross").assign(item="i", target="term")
    found = scored(score_intrasentence, table).set_index(["metric", "variant"])["value"]
    assert found["intrasentence_stereotype_score", "left-to-right-items"] == 0
    assert found["intrasentence_stereotype_score", "together-terms"] == 0
    assert found["intrasentence_stereotype_score", "released"] == 1
    assert found["intrasentence_language_model_score", "left-to-right-terms"] == 1
    assert found["intrasentence_icat", "released"] == 0
    own = scored(score_intrasentence, table, own=True).set_index("metric")
    assert own.loc["intrasentence_split_words", ["value", "n"]].tolist() == [1, 3]
    assert "intrasentence_split_words" not in found


@pytest.mark.parametrize("scores", [[], [[1, 2]], [[1, 2, np.nan]]])
def test_what_has_no_shares_is_refused(scores):
    with pytest.raises(BiasflowError):
        shares(scores)


def items(scores):
    """scores [items, 3] -> one piece for each word, in all fillings; the items come in another order than they went."""
    rows = [
        (f"i{k}", f"t{k % 3}", label, filling, value)
        for filling in FILLINGS
        for k, values in reversed(list(enumerate(scores)))
        for label, value in zip(LABELS, values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["item", "target", "label", "filling", "log_p"])


@pytest.mark.parametrize(("targets", "other"), [(20, "items"), (19, "targets"), (5, "")])
def test_targets_are_drawn_where_there_are_twenty(targets, other):
    """Half of the targets are always stereotyped: which targets there are matters more than which items."""
    table = items([[3, 2, 1] if k % targets < targets // 2 else [2, 3, 1] for k in range(10 * targets)])
    table["target"] = [f"t{int(name[1:]) % targets}" for name in table["item"]]
    found = summary(table)
    found = found[found["metric"] == "intrasentence_stereotype_score"].assign(width=found["high"] - found["low"])
    for _, rows in found.groupby("variant"):
        rows = rows.set_index("part")
        assert set(rows.index) == {"-", other} - {""} and rows["value"].nunique() == 1
        assert rows.loc["-", "n"] == 10 * targets
        if other:
            units = {other: rows.loc[other], ("targets" if other == "items" else "items"): rows.loc["-"]}
            assert units["targets"]["width"] > 2 * units["items"]["width"]
            assert other != "targets" or units["targets"]["n"] == targets
