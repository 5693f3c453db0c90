"""Does a measure see the bias that was planted?"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.frames import Run
from scripts.biasflow.papers.make import make_paper
from scripts.biasflow.papers.planted import judge as module
from scripts.biasflow.papers.planted.blocks import blocks
from scripts.biasflow.papers.planted.calibration import MEASURES, calibration, draw_calibration, measured
from scripts.biasflow.papers.planted.judge import judge, permutation_p
from scripts.biasflow.results.scores import tidy

OPTIONS = {"encoder": {}, "bias": [0.0, 0.5, 1.0], "seeds": [1, 2], "coreference": None}
TRAINED = OPTIONS | {"coreference": {"heads": {"seeds": []}}}


def values(by_bias: dict, measure="m") -> pd.DataFrame:
    rows = [(measure, bias, seed, value) for bias, row in by_bias.items() for seed, value in enumerate(row)]
    return pd.DataFrame(rows, columns=["measure", "bias", "seed", "value"])


def test_three_against_three_that_do_not_overlap_is_one_in_twenty():
    assert permutation_p(np.array([1, 2, 3]), np.array([4, 5, 6])) == 1 / 20
    assert permutation_p(np.array([4, 5, 6]), np.array([1, 2, 3])) == 1


def test_it_equals_scipy():
    from scipy.stats import permutation_test

    rng = np.random.default_rng(0)
    for _ in range(5):
        low, high = rng.normal(size=4), rng.normal(0.5, size=3)
        oracle = permutation_test(
            (high, low), lambda a, b: a.mean() - b.mean(), alternative="greater", n_resamples=np.inf
        )
        assert permutation_p(low, high) == pytest.approx(oracle.pvalue)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_p_is_a_share_that_a_shift_of_the_high_group_does_not_raise(low, high):
    low, high = np.array(low, float), np.array(high, float)
    p = permutation_p(low, high)
    assert 0 < p <= 1
    assert permutation_p(low, high + 1) <= p


def test_verdicts():
    seen = judge(values({0: [1, 2, 3], 0.5: [2, 5, 4], 1: [7, 8, 9]})).iloc[0]
    assert (seen["verdict"], seen["p"], seen["mean_bias_1"], seen["sd_bias_0"]) == (module.SEES, 0.05, 8, 1)
    assert judge(values({0: [1, 2, 9], 1: [7, 8, 3]})).iloc[0]["verdict"] == module.DOES_NOT
    assert judge(values({0: [1, 2], 1: [7, 8]})).iloc[0]["verdict"] == module.TOO_FEW
    assert judge(values({0: [9, 8, 7], 1: [1, 2, 3]})).iloc[0]["verdict"] == module.DOES_NOT


def test_bad_values_are_named():
    with pytest.raises(BiasflowError, match=r"m.*bias 0"):
        judge(values({0: [np.nan, 1, 2], 1: [1, 2, 3]}))
    with pytest.raises(BiasflowError, match="m"):
        judge(values({1: [1, 2, 3]}))


def test_one_block_of_untouched_encoders():
    (block,) = blocks(OPTIONS, {}).values()
    assert len(block["encoders"]) == len(set(block["encoders"])) == 6
    assert block["methods"] == ["none"] and set(block["metrics"]) == {"strength", "log_odds"}


def test_a_block_for_each_bias_where_the_encoders_are_trained():
    first, *others = blocks(TRAINED, {}).values()
    assert [block["task"] for block in others] == [f"planted-coref-bias{bias}" for bias in ("0", "0.5", "1")]
    assert [name for block in others for name in block["encoders"]] == first["encoders"]


@pytest.fixture
def run():
    """A value of each measure: bias + seed / 10 for the untouched encoders, another one under a method."""
    (block,) = blocks(OPTIONS, {}).values()
    doses = [(bias, seed) for bias in OPTIONS["bias"] for seed in OPTIONS["seeds"]]
    rows, names = [], []
    for name, (bias, seed) in zip(block["encoders"], doses, strict=True):
        names += [(name, "encoder", "bias", str(bias)), (name, "encoder", "seed", str(seed))]
        for metric, part, variant in MEASURES.values():
            keys = {"encoder": name, "dataset": "planted", "metric": metric, "part": part, "variant": variant}
            rows.append(keys | {"method": "none", "value": bias + seed / 10})
            rows.append(keys | {"method": "dawkins2024", "setting": "sent 0", "value": 100.0})
    names = pd.DataFrame(names, columns=["name", "kind", "attribute", "value"])
    scores = tidy(pd.DataFrame(rows).fillna({"setting": "-"}))
    return Run(scores, pd.DataFrame(), names, lambda name: pd.DataFrame(), options=OPTIONS)


def test_the_measures_come_from_the_untouched_encoders_and_the_doses_from_their_names(run):
    found = measured(run)
    assert list(found["measure"].unique()) == list(MEASURES)
    assert found["value"].tolist() == pytest.approx((found["bias"] + found["seed"] / 10).tolist())
    table = calibration(run)
    assert table["mean_bias_0.5"].tolist() == pytest.approx([0.65] * len(MEASURES))
    with pytest.raises(BiasflowError, match=r"seed2.*distance"):
        own = run.scores["encoder"].str.endswith("seed2") & (run.scores["metric"] == "distance")
        measured(Run(run.scores[~own], run.plan, run.names, run.published, options=OPTIONS))
    with pytest.raises(BiasflowError, match="names"):
        measured(Run(run.scores, run.plan, run.names.head(1), run.published, options=OPTIONS))


def test_the_models_for_coreference_are_those_of_the_same_bias(run):
    trained = [f"planted-coref-bias{bias:g}" for bias in OPTIONS["bias"]]
    own = run.scores[(run.scores["metric"] == "strength") & (run.scores["method"] == "none")]
    own = own[own["part"] == "top=10%"].drop(columns=["part"])
    about = {"metric": "f1_difference", "part": "all", "strategy": "plain"}
    rows = [
        own.assign(task=task, head=head, seed="0", **about, value=own["value"] * 10 + wrong)
        for task in trained
        for head, wrong in (
            ("own", 100 * ~own["encoder"].str.startswith(task.replace("coref-", "") + "-")),
            ("retrained", 50),
        )
    ]
    scores = tidy(pd.concat([run.scores, *rows], ignore_index=True).fillna({"part": "all"}))
    found = measured(Run(scores, run.plan, run.names, run.published, options=TRAINED))
    found = found[found["measure"] == "F1 difference in coreference"]
    assert found["value"].tolist() == pytest.approx((10 * found["bias"] + found["seed"]).tolist())
    with pytest.raises(BiasflowError, match=r"bias0-seed1.*f1_difference"):
        measured(Run(run.scores, run.plan, run.names, run.published, options=TRAINED))


def test_the_figure_has_a_panel_per_measure(run):
    figure = draw_calibration(run)
    assert len(figure.axes) == len(MEASURES) and figure.axes[0].get_title(loc="left") == "Strength"
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([0.15, 0.65, 1.15])


def test_table_and_figure_are_written(run, tmp_path):
    names = {path.name for path in make_paper("planted", run, tmp_path)}
    assert names == {f"planted_calibration.{kind}" for kind in ("csv", "tex", "html", "svg", "pdf")}
