"""OCCTMP: the score, the lists of occupations and the sentences."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.word_sets import read_chinese_professions, read_professions
from biasflow.metrics.occtmp import occtmp, score
from biasflow.stimuli.densray_sets import MASK, PRONOUNS, TEMPLATES, occupation_sentences

PAIRS = st.lists(st.tuples(st.floats(-20, 0), st.floats(-20, 0)), min_size=2, max_size=20)


def test_known_answer():
    he, she = np.log([0.6, 0.1, 0.3]), np.log([0.3, 0.4, 0.3])
    score = occtmp(he, she)
    assert score.diff == pytest.approx(math.log(2))  # of ln 2, ln 4 and 0
    assert score.diff_variance == pytest.approx(math.log(2) ** 2)
    assert score.signed_diff == pytest.approx(-math.log(2) / 3)
    assert (score.p_he, score.p_she, score.p_sum) == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    assert score.share_he == pytest.approx(1 / 3)  # a tie does not count
    assert score.share_pronoun == pytest.approx(1 / 3)  # sums of 0.9, 0.5 and 0.6
    assert score.n == 3


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


def test_scores_by_method(tmp_path):
    pairs = {"nurse": (-4.0, -1.0), "judge": (-2.0, -3.0)}
    path = readout(tmp_path / "p.parquet", none=pairs, hard=dict.fromkeys(pairs, (-2.0, -2.0)))
    found = score(path).set_index(["method", "metric"])
    assert (found["n"] == 2).all() and len(found) == 2 * 8
    assert found.loc[("none", "occtmp_diff"), "value"] == 2 and found.loc[("none", "occtmp_signed_diff"), "value"] == -1
    assert found.loc[("none", "occtmp_share_he"), "value"] == 0.5 and found.loc[("hard", "occtmp_diff"), "value"] == 0
    assert (found.xs("occtmp_share_pronoun", level="metric")["value"] == 0).all()
    assert found.loc[("none", "occtmp_p_she"), "value"] == pytest.approx((math.exp(-1) + math.exp(-3)) / 2)


def test_an_occupation_without_both_pronouns_is_refused(tmp_path):
    path = readout(tmp_path / "p.parquet", hard={"nurse": (-4.0, -1.0), "judge": (-2.0, -3.0)})
    pd.read_parquet(path).drop(index=3).to_parquet(path)
    with pytest.raises(BiasflowError, match=r"p\.parquet: hard -.*both"):
        score(path)


def test_sentences():
    assert occupation_sentences(["accountant", "nurse"]) == ["[MASK] is a accountant .", "[MASK] is a nurse ."]
    assert occupation_sentences(["accountant", "nurse"], "article") == [
        "[MASK] is an accountant .",
        "[MASK] is a nurse .",
    ]
    assert occupation_sentences(["会计"], "chinese") == ["[MASK]是一个会计。"]
    assert occupation_sentences(["nurse"], "said") == ["The nurse said that [MASK] was late."]


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_has_one_mask_the_occupation_and_two_pronouns(template):
    (sentence,) = occupation_sentences(["adjunct professor"], template)
    assert sentence.count(MASK) == 1 and "adjunct professor" in sentence
    assert len(set(PRONOUNS[template])) == 2


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
    assert "occtmp_pieces" not in set(score(path)["metric"])
    pd.read_parquet(path).assign(pieces=[1, 1, 2, 1]).to_parquet(path)
    found = score(path).query("metric == 'occtmp_pieces'").set_index("part")
    assert found["value"].to_dict() == {"masculine": 1.0, "feminine": 1.5} and set(found["n"]) == {2}
