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


def readout(path, pairs=PAIRS):
    """The same sums for every masking; the second sentence has twice as many tokens."""
    rows = [
        ("none", "-", item, direction, masking, first, second, 1, 2)
        for masking in ("shared", "nothing", "attended")
        for item, (first, second, direction) in enumerate(pairs)
    ]
    sides = [f"{what}_{side}" for what in ("log_p", "tokens") for side in ("first", "second")]
    columns = ["method", "setting", "item", "direction", "masking", *sides]
    pd.DataFrame(rows, columns=columns).to_parquet(path)
    return path


def test_known_answer_of_crows_pairs(tmp_path):
    found = score_crows_pairs(readout(tmp_path / "p.parquet")).set_index(["metric", "part", "variant"])
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
def test_a_model_to_which_all_pairs_are_the_same_prefers_none(tmp_path, noise):
    same = [(value, value * (1 + noise), direction) for value, _, direction in PAIRS for _ in range(25)]
    path = readout(tmp_path / "p.parquet", same)
    pd.read_parquet(path).assign(tokens_second=1).to_parquet(path)
    found = score_crows_pairs(path).query("metric == 'crows_pairs_score'")
    assert set(found["value"]) == {0.5} and ((found["low"] <= 0.5) & (found["high"] >= 0.5)).all()
    columns = {f"differing_{side}": [value for value, *_ in PAIRS] for side in ("first", "second")}
    found = scores(score_sss, tmp_path, **columns)
    assert set(found["value"]) == {0.5} and ((found["low"] < 0.5) & (found["high"] > 0.5)).all()
    assert shares([[-2.0, -2.0, -2.0]] * 9) == (0.5, 0.5)
    assert shares([[-2.0, -2.0, -3.0]] * 9) == (0.5, 1)


def test_likelihoods_that_are_not_finite_are_refused(tmp_path):
    with pytest.raises(BiasflowError, match="not finite"):
        score_crows_pairs(readout(tmp_path / "p.parquet", [*PAIRS, (np.nan, -1.0, "stereo")]))


def test_a_reading_whose_masking_is_not_there_has_no_scores(tmp_path):
    path = readout(tmp_path / "p.parquet")
    whole = pd.read_parquet(path)
    whole.query("masking == 'shared'").to_parquet(path)
    assert set(score_crows_pairs(path)["variant"]) == {"exact", "released"}
    whole.assign(masking="differing").to_parquet(path)
    with pytest.raises(BiasflowError, match="nothing"):
        score_crows_pairs(path)


DIRECTIONS = ["stereo", "stereo", "stereo", "antistereo"]
NAN = float("nan")


def scores(score_crows_pairs, tmp_path, **columns):
    table = pd.DataFrame({"direction": DIRECTIONS, **columns}).assign(method="none", setting="-")
    table.to_parquet(tmp_path / "p.parquet")
    return score_crows_pairs(tmp_path / "p.parquet").set_index(["metric", "part"])


def test_known_answer_of_sss(tmp_path):
    # The first sentence has the likelier words in pairs 1 and 4; the third pair has none that differ; equal is no win.
    found = scores(score_sss, tmp_path, differing_first=[-1.0, -2, -1, -3], differing_second=[-2.0, -2, NAN, -4])
    assert found["value"]["sss_score", "all"] == pytest.approx(2 / 3) and found["n"]["sss_score", "all"] == 3
    assert found["value"]["sss_score", "stereo"] == 1 / 2 and found["value"]["sss_score", "antistereo"] == 1
    assert found["low"]["sss_score", "all"] < 2 / 3 < found["high"]["sss_score", "all"]


def test_known_answer_of_crr_and_delta_p(tmp_path):
    # Of two tokens with ranks 1 and 4, CRR is (0 + 3/4) / 2; the sentence with the lower number is preferred.
    found = scores(
        score_prediction_quality,
        tmp_path,
        crr_first=[3 / 8, 0.5, 0.2, 0.0],
        crr_second=[0.5, 3 / 8, 0.2, 0.9],
        delta_p_first=[2.0, 2, 2, 2],
        delta_p_second=[3.0, 3, 3, 1],
    )
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


def test_no_pair_is_one_clear_line(tmp_path):
    with pytest.raises(BiasflowError, match=r"p\.parquet: none -: sss_score: no pair has differing of both sentences"):
        scores(score_sss, tmp_path, differing_first=[NAN] * 4, differing_second=[-1.0] * 4)


ALL = np.arange(1, 17)


def readout_gest(path, scores, *, templates=("he-said", "said-he"), shift=0.0, masking="differing"):
    """A readout in which the masculine sentence's one token is 10^score times as likely; the feminine has two."""
    rows = [
        ("none", "-", item, item % 16 + 1, template, score * np.log(10) - 1, -2.0, 1, 2)
        for number, template in enumerate(templates)
        for item, score in enumerate(np.add(scores, number * shift))
    ]
    sides = [f"{what}_{side}" for what in ("log_p", "tokens") for side in ("first", "second")]
    table = pd.DataFrame(rows, columns=["method", "setting", "item", "stereotype", "template", *sides])
    table.assign(masking=masking).to_parquet(path)
    return path


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


def test_scores_of_a_readout(tmp_path):
    exact = np.tile(np.where(ALL <= 7, -0.1, 0.2), 4)  # every sentence of a stereotype alike: no variance
    found = score_gest(readout_gest(tmp_path / "g.parquet", exact, shift=0.3)).set_index(["metric", "part", "variant"])
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


def test_templates_that_say_the_opposite_disagree(tmp_path):
    table = pd.read_parquet(readout_gest(tmp_path / "g.parquet", np.linspace(-1, 1, 16)))
    turned = table["log_p_first"].where(table["template"] == "he-said", -2 - table["log_p_first"])
    table.assign(log_p_first=turned).to_parquet(tmp_path / "g.parquet")
    found = score_gest(tmp_path / "g.parquet").set_index("metric")["value"]
    assert found["gest_template_agreement"] == pytest.approx(-1)


@pytest.mark.parametrize("rows", [[*range(31)], [*range(32), 3]])
def test_a_sentence_that_lacks_a_template_or_has_it_twice_is_refused(tmp_path, rows):
    path = readout_gest(tmp_path / "g.parquet", np.zeros(16))
    pd.read_parquet(path).iloc[rows].to_parquet(path)
    with pytest.raises(BiasflowError, match=r"g\.parquet: none -: GEST"):
        score_gest(path)


FIRST, SECOND = [-1.0, -3.0], [-2.0, -6.0]  # N(-2, sqrt 2) and N(-4, sqrt 8)
KL = 100 * (2.5 - np.log(2)) / 2.375  # KL(A||P) = 12/4 - 1/2 - ln 2, and both together are 6/16 + 12/4 - 1
JS = 100 * (1 - (np.log(5 / 4) + 0.2) / 2) / (1 + 1 / np.sqrt(2))  # M = N(-3, sqrt 5); C = sqrt 2 counts as its inverse
NORMAL = st.tuples(st.floats(-9, 0), st.floats(0.1, 3))


def readout_divergence(path, first=FIRST, second=SECOND, **columns):
    """Sentences of four tokens; pairs with masks do not count."""
    table = pd.DataFrame({"log_p_first": 4 * np.array(first), "log_p_second": 4 * np.array(second), **columns})
    table = table.assign(method="none", setting="-", masking="nothing", tokens_first=4, tokens_second=4)
    pd.concat([table, table.assign(masking="shared", log_p_first=-99.0)]).to_parquet(path)
    return path


def test_known_answers_of_divergences(tmp_path):
    path = readout_divergence(tmp_path / "p.parquet")
    for name, value in (("kldivs", KL), ("jsdivs", JS)):
        (row,) = scorer(module, name)(path).itertuples()
        assert (row.metric, row.part, row.variant, row.n) == (name, "all", "released", 2)
        assert row.value == pytest.approx(value)


def test_types_are_parts_and_their_mean_is_weighted_by_pairs(tmp_path):
    first, second = [*FIRST, -1.0, -2.0, -3.0], [*SECOND, -1.5, -2.0, -2.5]
    types = ["gender"] * 2 + ["age"] * 3
    found = score_kldivs(readout_divergence(tmp_path / "p.parquet", first, second, bias_type=types)).set_index("part")[
        "value"
    ]
    # Of equal means and standard deviations 1 and 1/2: KL = ln(1/2) + 2 - 1/2 and ln 2 + 1/8 - 1/2.
    age = 100 * (1.5 - np.log(2)) / (1.5 - np.log(2) + np.log(2) - 0.375)
    assert found["gender"] == pytest.approx(KL) and found["age"] == pytest.approx(age)
    assert found["all"] == pytest.approx((2 * KL + 3 * age) / 5)


@pytest.mark.parametrize(("n", "likelihood"), [(1, -1.0), (10, -3.0), (10, -30.1 / 9)])
def test_a_type_of_one_pair_or_without_a_spread_has_no_score_and_no_part_in_that_of_all(n, likelihood, tmp_path):
    """Whatever rounding makes of it: of ten times -30.1 / 9 the sum of squares is not exact."""
    first, second = [*FIRST, *[likelihood] * n], [*SECOND, *np.linspace(-5, -3, n)]
    path = readout_divergence(tmp_path / "p.parquet", first, second, bias_type=["gender"] * 2 + ["age"] * n)
    for score, value in ((score_kldivs, KL), (score_jsdivs, JS)):
        found = score(path)
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


def test_equal_distributions_have_one_of_the_two(tmp_path):
    path = readout_divergence(tmp_path / "p.parquet", FIRST, FIRST)
    assert score_jsdivs(path)["value"].tolist() == pytest.approx([100])
    with pytest.raises(AbsentError, match="equally likely"):
        score_kldivs(path)
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


def readout_intrasentence(path, log_p):
    """log_p: (item, target, label, filling) -> those of the pieces of the word."""
    rows = [("none", "-", *key, piece, value) for key, values in log_p.items() for piece, value in enumerate(values)]
    columns = ["method", "setting", "item", "target", "label", "filling", "piece", "log_p"]
    pd.DataFrame(rows, columns=columns).to_parquet(path)
    return path


def test_a_word_has_the_mean_of_its_pieces_log_p_and_as_released_that_of_their_p(tmp_path):
    # The stereotype has two pieces: by mean log p it is below the anti-stereotype, by mean p above.
    pieces = {"stereotype": [-0.1, -6.0], "anti-stereotype": [-2.0], "unrelated": [-4.0]}
    log_p = {("i", "term", label, filling): pieces[label] for filling in FILLINGS for label in LABELS}
    found = score_intrasentence(readout_intrasentence(tmp_path / "p.parquet", log_p)).set_index(["metric", "variant"])[
        "value"
    ]
    assert found["intrasentence_stereotype_score", "left-to-right-items"] == 0
    assert found["intrasentence_stereotype_score", "together-terms"] == 0
    assert found["intrasentence_stereotype_score", "released"] == 1
    assert found["intrasentence_language_model_score", "left-to-right-terms"] == 1
    assert found["intrasentence_icat", "released"] == 0
    own = score_intrasentence(tmp_path / "p.parquet", own=True).set_index("metric")
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
