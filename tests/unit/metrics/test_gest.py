"""GEST: rates of stereotypes, in both readings, and their summary."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.gest import rates, score

ALL = np.arange(1, 17)
SCORES = st.lists(st.floats(-3, 3), min_size=32, max_size=32)


def readout(path, scores, *, templates=("he-said", "said-he"), shift=0.0, masking="differing"):
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
        (np.zeros(16), ALL, {"reading": "base2"}, "base2"),
    ],
)
def test_what_has_no_rates_is_refused(scores, stereotypes, options, named):
    with pytest.raises(BiasflowError, match=named):
        rates(scores, stereotypes, **options)


def test_scores_of_a_readout(tmp_path):
    exact = np.tile(np.where(ALL <= 7, -0.1, 0.2), 4)  # every sentence of a stereotype alike: no variance
    found = score(readout(tmp_path / "g.parquet", exact, shift=0.3)).set_index(["metric", "part", "variant"])
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
    table = pd.read_parquet(readout(tmp_path / "g.parquet", np.linspace(-1, 1, 16)))
    turned = table["log_p_first"].where(table["template"] == "he-said", -2 - table["log_p_first"])
    table.assign(log_p_first=turned).to_parquet(tmp_path / "g.parquet")
    found = score(tmp_path / "g.parquet").set_index("metric")["value"]
    assert found["gest_template_agreement"] == pytest.approx(-1)


@pytest.mark.parametrize("rows", [[*range(31)], [*range(32), 3]])
def test_a_sentence_that_lacks_a_template_or_has_it_twice_is_refused(tmp_path, rows):
    path = readout(tmp_path / "g.parquet", np.zeros(16))
    pd.read_parquet(path).iloc[rows].to_parquet(path)
    with pytest.raises(BiasflowError, match=r"g\.parquet: none -: GEST"):
        score(path)
