"""The matrix, and its tables for readers: complete, in order, every hole with its reason."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.overview.measured import counted
from biasflow.registry import METRICS
from biasflow.results.first_table import SETTINGS, first_table
from biasflow.results.matrix import COLUMNS, ITEMS, ROW, SEEDS, UNDEFINED, by_rows, is_unsigned, matrix, measures
from biasflow.results.scores import NA, concatenate, tidy
from biasflow.results.statistics import t_interval

METHODS = ["none", "zeta", "alpha"]  # not in the order of the alphabet


def scored(rows, **keys):
    return tidy(pd.DataFrame(rows), **{"encoder": "bert", "dataset": "data"} | keys)


def planned(metric, *, method="none", reason="", task=NA, strategy=NA, seed=NA, dataset="data"):
    status = "not run" if reason else "run"
    keys = {"encoder": "bert", "task": task, "strategy": strategy, "seed": seed, "method": method}
    return keys | {"metric": metric, "dataset": dataset, "status": status, "reason": reason}


@pytest.fixture
def cells():
    """Strength of a pretrained encoder under three methods, perplexity of one; accuracy on a task with three seeds."""
    strength = [
        {"method": method, "metric": "strength", "part": f"top={top}%", "value": value + top, "n": 40}
        for value, method in enumerate(METHODS)
        for top in (10, 20)
    ]
    accuracy = [
        {"seed": str(seed), "head": head, "metric": "accuracy", "value": value}
        for head in ("own", "retrained")
        for seed, value in enumerate((0.5, 0.7, 0.6))
    ]
    scores = concatenate(
        [
            scored(strength),
            scored([{"metric": "tpr_gap_pearson", "variant": "train", "value": float("nan")}], task="bios", seed="0"),
            scored(accuracy, task="bios", strategy="plain", dataset="bios-raw"),
        ]
    )
    plan = [planned("strength", method=method) for method in METHODS]
    plan += [planned("perplexity", method="alpha", reason="encoders.bert has no masked-LM head")]
    plan += [
        planned("fairness", task="bios", strategy="plain", seed=str(seed), dataset="bios-raw") for seed in (0, 1, 2)
    ]
    return matrix(scores, pd.DataFrame(plan))


def test_one_row_a_cell_with_the_measures_own_part(cells):
    assert list(cells.columns) == COLUMNS
    assert not cells.duplicated(ROW).any()
    strength = cells[cells["measure"] == "strength"]
    assert list(strength["value"]) == [10, 11, 12] and set(strength["n"]) == {40} and set(strength["unit"]) == {ITEMS}


def test_the_order_is_that_of_the_plan(cells):
    assert list(cells[cells["measure"] == "strength"]["method"]) == METHODS
    assert list(dict.fromkeys(cells["task"])) == [NA, "bios"]


def test_several_seeds_have_an_interval(cells):
    own = cells[(cells["measure"] == "accuracy") & (cells["head"] == "own")].iloc[0]
    assert (own["value"], own["n"], own["unit"]) == (pytest.approx(0.6), 3, SEEDS)
    assert (own["low"], own["high"]) == pytest.approx(t_interval(np.array([0.5, 0.7, 0.6])))


def test_no_hole_without_a_reason(cells):
    holes = cells[cells["value"].isna()]
    assert set(zip(holes["measure"], holes["reason"], strict=True)) == {
        ("perplexity", "encoders.bert has no masked-LM head"),
        ("tpr_gap_pearson", UNDEFINED),
    }
    assert (cells[cells["value"].notna()]["reason"] == "").all()


def test_every_measure_of_the_registry_is_said_to_be_better_somewhere():
    known = [name for entry in METRICS.values() for name in entry.measures]
    assert [name for _, name in measures()] == known
    assert {measure.better for measure in measures().values()} <= {"low", "high", "neutral"}


@pytest.mark.parametrize(("name", "part", "variant"), by_rows())
def test_a_cell_is_of_the_measures_own_part_and_variant_alone(name, part, variant):
    """Other parts and variants, such as a majority vote beside the plain accuracy, are never averaged into it."""
    keys = [(part, variant, 0.25), (part, "other", 1.0), ("other", variant, 1.0)]
    rows = [{"metric": name, "part": part, "variant": variant, "value": value} for part, variant, value in keys]
    (cell,) = matrix(scored(rows), pd.DataFrame([planned("strength")])).itertuples()
    assert (cell.measure, cell.value) == (name, 0.25)


def test_two_metrics_may_share_a_measure_but_not_a_name(monkeypatch):
    assert {family for family, name in measures() if name == "accuracy"} == {"accuracy", "fairness"}
    assert {("tpr_gap_sum", "-", "-"), ("tpr_gap_sum", "-", "tokens")} <= set(by_rows())
    other = replace(METRICS["fairness"].measures["accuracy"], better="low")
    monkeypatch.setitem(METRICS, "fairness", replace(METRICS["fairness"], measures={"accuracy": other}))
    with pytest.raises(BiasflowError, match="'accuracy' of the metric 'fairness'"):
        by_rows()


def test_the_first_table_has_methods_in_rows_and_measures_in_columns(cells):
    table = first_table(cells, NA)
    assert list(table.frame.columns) == ["encoder", "method", "strength"]
    assert list(table.frame["method"]) == METHODS and list(table.frame["strength"]) == [10, 11, 12]
    assert table.headers == {"strength": "Strength"}
    assert "Lower is better: Strength." in table.caption
    assert "bert has no score of perplexity: encoders.bert has no masked-LM head." in table.caption


def test_what_is_known_against_a_measure_stands_in_the_caption():
    scores = scored(
        [{"metric": "gest_stereotype_rate", "part": "all", "variant": "base10", "value": 1.1}], method="none"
    )
    plan = pd.DataFrame([planned("gest")])
    assert METRICS["gest"].criticism in first_table(matrix(scores, plan), NA).caption
    assert METRICS["gest"].criticism not in first_table(matrix(concatenate([]), plan), NA).caption


def test_heads_are_named_where_there_are_several(cells):
    table = first_table(cells[cells["strategy"] == "plain"], "bios")
    assert list(table.frame.columns) == ["encoder", "strategy", "method", "accuracy_own", "accuracy_retrained"]
    assert list(table.headers.values()) == ["accuracy own", "accuracy retrained"]


def test_a_method_of_which_nothing_was_measured_has_a_blank_row(cells):
    plan = pd.DataFrame([planned("strength"), planned("strength", method="far", reason="no place layer[7]")])
    scores = scored([{"metric": "strength", "part": "top=10%", "value": 1.0}], method="none")
    table = first_table(matrix(scores, plan), NA).frame
    assert list(table["method"]) == ["none", "far"] and list(table["strength"].isna()) == [False, True]


def test_readers_see_an_untrained_encoder_not_a_random_one():
    """In the table: "random" is the control there, and stays the key of the training in matrix.csv."""
    rows = [{"metric": "weat_effect_size", "variant": "target", "value": 1.0, "method": "none"}]
    scores = concatenate([scored(rows), scored(rows, strategy="random", seed="0")])
    cells = matrix(scores, pd.DataFrame([planned("weat")]))
    assert list(first_table(cells, NA).frame["strategy"]) == ["-", "untrained"] and "random" in set(cells["strategy"])


def test_a_grid_is_left_to_the_matrix():
    rows = [{"metric": "strength", "part": "top=10%", "value": 1.0, "setting": str(i)} for i in range(SETTINGS + 1)]
    scores = concatenate([scored(rows, method="grid"), scored(rows[:1], method="none", setting=NA)])
    cells = matrix(scores, pd.DataFrame([planned("strength"), planned("strength", method="grid")]))
    table = first_table(cells, NA)
    assert len(cells) == SETTINGS + 2 and list(table.frame["method"]) == ["none"]
    assert "grid" in table.caption


def test_nothing_measured_at_all():
    plan = pd.DataFrame([planned("strength", reason="there is no encoder in nowhere")])
    table = first_table(matrix(concatenate([]), plan), NA)
    assert list(table.frame["method"]) == ["none"] and "no encoder in nowhere" in table.caption


def test_a_seed_without_a_value_is_missing_from_n():
    values = [
        {"seed": str(seed), "metric": "accuracy", "value": value, "n": 400} for seed, value in ((0, np.nan), (1, 0.5))
    ]
    scores = scored(values, task="bios", strategy="plain", head="own")
    plan = pd.DataFrame([planned("fairness", task="bios", strategy="plain", seed=str(seed)) for seed in (0, 1)])
    (cell,) = matrix(scores, plan).to_dict("records")
    assert (cell["value"], cell["n"], cell["unit"]) == (0.5, 1, SEEDS) and np.isnan(cell["low"])


def test_seeds_may_have_different_numbers_of_items():
    rows = [{"seed": str(seed), "metric": "accuracy", "value": 0.5, "n": n} for seed, n in enumerate((304, 296, 336))]
    plan = pd.DataFrame([planned("fairness", task="bios", strategy="plain", seed=str(seed)) for seed in range(3)])
    (row,) = matrix(scored(rows, task="bios", strategy="plain"), plan).dropna(subset=["value"]).itertuples()
    assert (row.n, row.items, row.items_least) == (3, 336, 296) and counted(row) == "3 seeds, 296 to 336 items each"


def accuracies(of_method, **keys):
    """Of a task: method -> seed -> accuracy."""
    rows = [
        {"method": method, "seed": str(seed), "metric": "accuracy", "value": value, "n": 400}
        for method, of_seed in of_method.items()
        for seed, value in of_seed.items()
    ]
    return scored(rows, **{"task": "bios", "strategy": "plain", "head": "own"} | keys)


def untouched_of(scores):
    cells = matrix(scores, pd.DataFrame([planned("fairness", task="bios", strategy="plain")]))
    return cells.set_index(["strategy", "method"])["untouched"].to_dict()


def test_a_method_is_compared_on_the_seeds_that_it_was_measured_on():
    found = untouched_of(
        accuracies({"none": {0: 0.9, 1: 0.5}, "zeta": {0: 0.9}, "alpha": {0: 0.8, 1: np.nan}, "beta": {1: 0.4, 2: 0.4}})
    )
    assert found["plain", "none"] == pytest.approx(0.7)
    assert found["plain", "zeta"] == found["plain", "alpha"] == 0.9
    assert np.isnan(found["plain", "beta"])  # nobody knows what the untouched model does with seed 2


def test_the_untouched_model_has_no_method_and_no_strategy_and_the_same_head():
    plain = accuracies({"none": {0: 0.9, 1: 0.5}, "zeta": {1: 0.1}})
    scrubbed = accuracies({"none": {0: 0.3}}, strategy="scrubbing")
    retrained = accuracies({"none": {1: 0.2}}, head="retrained", strategy="scrubbing")
    found = untouched_of(concatenate([plain, scrubbed]))
    assert found["scrubbing", "none"] == 0.9 and found["plain", "zeta"] == 0.5
    assert np.isnan(untouched_of(concatenate([plain, retrained]))["scrubbing", "none"])


def test_a_model_that_was_not_trained_stands_beside_every_seed():
    trained = accuracies({"none": {0: 0.3, 1: 0.4}}, task=NA, strategy="random")
    found = untouched_of(concatenate([accuracies({"none": {NA: 0.6}}, task=NA, strategy=NA), trained]))
    assert found == {(NA, "none"): 0.6, ("random", "none"): 0.6}


def test_a_limited_dataset_is_never_shown_as_a_whole_one():
    """Beside the full one and by itself: in the column, its header, and the caption."""
    rows = [{"metric": "gest_stereotype_rate", "part": "all", "variant": "base10", "value": 1.1}]
    for names in (["gest-limit500"], ["gest", "gest-limit500"]):
        scores = concatenate([scored(rows, dataset=name, method="none") for name in names])
        found = matrix(scores, pd.DataFrame([planned("gest", dataset=name) for name in names]))
        table = first_table(found, NA)
        assert list(found["dataset"]) == names
        assert table.headers["gest_stereotype_rate_gest-limit500"] == "GEST rate gest-limit500"
        assert "These datasets are samples" in table.caption and "gest-limit500" in table.caption
    assert (
        "Limited" not in first_table(matrix(scored(rows, method="none"), pd.DataFrame([planned("gest")])), NA).caption
    )


@pytest.mark.parametrize(
    ("so", "elsewhere"),
    [("fitted to words, measured on the first token", True), ("fitted to words of religion", False)],
)
def test_a_note_of_the_plan_stands_beside_the_value_and_in_the_caption(so, elsewhere):
    rows = [
        {"metric": "seat_effect_size", "variant": "cls", "method": name, "value": 1.0} for name in ("none", "leace")
    ]
    plan = pd.DataFrame([planned("seat", method=name) | {"note": note} for name, note in (("none", ""), ("leace", so))])
    found = matrix(scored(rows), plan)
    assert found.set_index("method")["note"].to_dict() == {"none": "", "leace": so}
    left = ", so much of the bias there may stay"
    assert f"leace in SEAT: {so}{left if elsewhere else '.'}" in first_table(found, NA).caption


def test_sums_claim_nothing_over_seeds_and_products_with_accuracy_never():
    assert is_unsigned("tpr_gap_sum", SEEDS) and not is_unsigned("tpr_gap_sum", ITEMS)
    assert is_unsigned("nli_fairness", ITEMS) and is_unsigned("occtmp_diff", SEEDS)
    assert not is_unsigned("tpr_gap_pearson", SEEDS)
