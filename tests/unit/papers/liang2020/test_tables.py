import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.papers.liang2020 import placed, tables
from biasflow.results.scores import concatenate
from tests.unit.papers.liang2020.made_up import PLACES, TABLES, run, scores

BASE, LARGE = "bert-base-uncased", "bert-large-uncased"


@pytest.fixture(scope="module")
def tiny():
    return scores()


def chosen_rows(frame, keys):
    return pd.concat([frame[key] == wanted for key, wanted in keys.items()], axis=1).all(axis=1)


def with_value(frame, value, **keys):
    """`frame` with the value of the one row that has these keys replaced."""
    chosen = chosen_rows(frame, keys)
    assert chosen.sum() == 1
    return frame.assign(value=frame["value"].where(~chosen, value))


def without(frame, **keys):
    chosen = chosen_rows(frame, keys)
    assert chosen.any()
    return frame[~chosen]


def absent(encoder, metric, reason, *, training="pretrained", method="none", dataset="-"):
    """A cell of the plan that was not run."""
    cell = {"encoder": encoder, "training": training, "method": method, "metric": metric, "dataset": dataset}
    return cell | {"reason": reason}


def test_holm_corrects_over_the_tests_of_one_encoder_and_method(tiny):
    # p of none: 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    table = tables.association(run(tiny)).set_index(["method", "test"])
    assert table.loc["none", "p_holm"].tolist() == pytest.approx([0.04, 0.06, 0.06, 0.06])
    # densray: 0.04, 0.05, 0.06, 0.07.
    assert table.loc["densray", "p_holm"].tolist() == pytest.approx([0.16, 0.16, 0.16, 0.16])
    assert set(table["tests"]) == {4} and (table["p_holm"] >= table["p_value"]).all()
    verdicts = table.loc["none", "verdict"]
    assert verdicts["C6"] == "significant" and verdicts["C7"] == "significant only before correction"
    assert table.loc[("densray", "C8"), "verdict"] == "not significant"


def test_an_exact_p_of_0_is_its_bound_before_and_after_correction():
    frame = with_value(scores(), 0, metric="weat_p_value", dataset="C6", method="none")
    row = tables.association(run(frame)).set_index(["method", "test"]).loc[("none", "C6")]
    assert (row["p_value"], row["p_value_bound"]) == (1 / 12870, "<")
    assert row["p_holm"] == pytest.approx(row["tests"] / 12870)
    shown = tables.main(run(frame)).set_index("method")
    assert (shown.loc["none", "c6_p_value"], shown.loc["none", "c6_p_value_bound"]) == (1 / 12870, "<")
    assert shown.loc["hard", "c6_p_value_bound"] == "" and "c6_partitions" not in shown


def test_glue_intervals_and_changes(tiny):
    table = tables.glue(run(tiny)).set_index(["task", "strategy", "metric", "method"])
    row = table.loc[("cola", "in_training", "accuracy", "none")]
    assert row["mean"] == pytest.approx(0.52) and row[["low", "high"]].isna().all()  # two seeds, 0.51 and 0.53
    assert table.loc[("cola", "in_training", "accuracy", "densray"), "mean_change"] == pytest.approx(0.03)
    # The untouched encoder serves for the other strategy too: methods are 0.2 higher there, and 0.01 from the maker.
    assert table.loc[("cola", "at_evaluation", "accuracy", "none"), "mean"] == pytest.approx(0.52)
    assert table.loc[("cola", "at_evaluation", "accuracy", "densray"), "mean_change"] == pytest.approx(0.23)
    assert len(table) == 2 * 2 * 4 and set(table["seeds"]) == {2}


@pytest.mark.parametrize("other", ["majority_p", "largest_label_share", "accuracy_change", "accuracy_distance_change"])
def test_glue_shows_official_metrics_alone(other, tiny):
    """What else is scored of the same predictions would have rows of its own, and one metric would count as several."""
    of_glue = tiny[tiny["task"].isin(["cola", "rte"]) & (tiny["metric"] == "accuracy")]
    table = tables.glue(run(concatenate([tiny, of_glue.assign(metric=other)])))
    pd.testing.assert_frame_equal(table, tables.glue(run(tiny)))


def test_methods_are_compared_over_the_seeds_that_they_share(tiny):
    """Another paper may have asked for more seeds of the untouched encoder."""
    more = tiny["task"].isin(["nli", "rte"]) & (tiny["seed"] == "2") & (tiny["method"] != "none")
    table = tables.intrinsic(run(tiny[~more])).set_index("method")
    assert set(table["nli_seeds"]) == {1} and set(table["nli_status"]) == {"run"}
    assert table.loc["none", "snli_accuracy"] == pytest.approx(0.52)
    assert table.loc["hard", "snli_accuracy_change"] == pytest.approx(0.01)
    glue = tables.glue(run(tiny[~more])).set_index(["task", "method"])
    assert set(glue.loc["rte", "seeds"]) == {1} and set(glue.loc["cola", "seeds"]) == {2}


def test_a_gap_that_the_plan_explains_is_a_row_with_the_reason(tiny):
    fewer = without(tiny, method="hard", dataset="C6")
    fewer = fewer[~((fewer["method"] == "hard") & fewer["metric"].str.match("weat|seat"))]
    reasons = [absent("tiny", metric, "no such place", method="hard") for metric in ("weat", "seat")]
    table = tables.association(run(fewer, reasons=reasons)).set_index("method")
    assert table.loc["hard", "status"] == "not run: no such place" and table.loc["hard", "places"] == "all"
    assert set(table.drop(index="hard")["status"]) == {"run"}
    main = tables.main(run(fewer, reasons=reasons)).set_index("method")
    assert np.isnan(main.loc["hard", "c6_effect_size"]) and main.loc["hard", "occtmp_diff"] > 0


def test_two_values_for_a_cell_are_an_error(tiny):
    twice = concatenate([tiny, tiny[tiny["dataset"] == "professions"].assign(variant="later")])
    with pytest.raises(BiasflowError, match=r"encoder tiny.*method"):
        tables.occtmp(run(twice))


def test_methods_and_encoders_that_are_not_of_this_paper_do_not_matter(tiny):
    grid = tiny[tiny["method"] == "hard"].assign(method="dawkins2024", setting="sent 0")
    other = tiny[(tiny["method"] == "none") & (tiny["encoder"] == "tiny")].assign(encoder="other")
    random = tiny[(tiny["metric"] == "occtmp_diff") & (tiny["method"] == "none")].assign(strategy="random", seed="0")
    more = run(concatenate([tiny, grid, other, random]), encoders=["tiny"])
    for function in TABLES.values():
        pd.testing.assert_frame_equal(function(more), function(run(tiny)))


def test_placements_and_options_of_one_eraser_stand_side_by_side():
    places = PLACES | {"mine": "all", "densray-last": "last", "densray-plain": "all"}
    densray = {"eraser": "densray"}
    about = {"mine": densray, "densray-last": densray, "densray-plain": densray | {"options": "normalize=false"}}
    made = run(scores(encoder=BASE, methods=tuple(places)), places=places, about=about)
    main = tables.main(made).set_index("method")
    assert main.index.tolist()[:7] == [*places]
    assert main.loc["densray-plain", placed.PLACEMENT].tolist() == ["densray (normalize=false)", "all"]
    # What is printed belongs to eraser and places, whatever the method is called.
    assert main.loc[["densray", "mine"], "batch_perplexity_published"].tolist() == [3.8058] * 2
    assert main.loc[["densray-last", "densray-plain"], "batch_perplexity_published"].isna().all()
    assert tables.occtmp(made).groupby("set")["method"].apply(list).tolist() == [[*places]] * 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4))
def test_the_change_is_from_the_untouched_encoder_of_the_same_unit(values):
    frame = pd.DataFrame(
        [
            {"encoder": "a", "set": str(number), "method": method, "x": value}
            for number, value in enumerate(values)
            for method in ("hard", "none")
        ]
    )
    frame.loc[frame["method"] == "hard", "x"] += 1
    changed = placed.change_from_none(frame, ["set"], ["x"])
    assert list(changed) == ["encoder", "set", "method", "x", "x_change"]
    assert changed["x_change"].tolist() == pytest.approx([1, 0] * len(values))
    pd.testing.assert_frame_equal(changed.drop(columns="x_change"), frame)
