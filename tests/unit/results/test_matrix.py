"""The matrix of methods and measures, and what stands beside a measure."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from biasflow.registry import METRICS, Beside, Measure
from biasflow.results.first_table import first_table
from biasflow.results.matrix import (
    COLUMNS,
    ITEMS,
    ROW,
    SEEDS,
    UNDEFINED,
    beside,
    cautions,
    claimable,
    in_words,
    is_unsigned,
    limited,
    matrix,
    measures,
    why,
    with_reasons,
    without_samples,
)
from biasflow.results.scores import NA, concatenate, tidy

METHODS = ["none", "zeta", "alpha"]  # not in the order of the alphabet


def scored(rows, **keys):
    return tidy(pd.DataFrame(rows), **{"encoder": "bert", "dataset": "data"} | keys)


def planned(metric, *, method="none", reason="", task=NA, strategy=NA, seed=NA, dataset="data"):
    status = "not run" if reason else "run"
    keys = {"encoder": "bert", "task": task, "strategy": strategy, "seed": seed, "method": method}
    return keys | {"metric": metric, "dataset": dataset, "status": status, "reason": reason}


def test_measures_of_one_name_differ_only_in_where_they_are_read():
    """A column of the matrix is the name of a measure, whatever its metric."""
    known: dict[str, Measure] = {}
    for (metric, name), measure in measures().items():
        alike = replace(measure, part=NA, variant=NA, beside=())
        assert known.setdefault(name, alike) == alike, f"{name} of {metric} differs from another metric's; rename one"


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


def test_no_hole_without_a_reason(cells):
    holes = cells[cells["value"].isna()]
    assert set(zip(holes["measure"], holes["reason"], strict=True)) == {
        ("perplexity", "encoders.bert has no masked-LM head"),
        ("tpr_gap_pearson", UNDEFINED),
    }
    assert (cells[cells["value"].notna()]["reason"] == "").all()


def test_the_first_table_has_methods_in_rows_and_measures_in_columns(cells):
    table = first_table(cells, NA)
    assert list(table.frame.columns) == ["encoder", "method", "strength"]
    assert list(table.frame["method"]) == METHODS and list(table.frame["strength"]) == [10, 11, 12]
    assert table.headers == {"strength": "Strength"}
    assert "Lower is better: Strength." in table.caption
    assert "bert has no score of perplexity: encoders.bert has no masked-LM head." in table.caption


def test_a_column_says_that_sentence_transformers_made_the_vectors():
    rows, name = [{"metric": "accuracy", "value": 0.7, "n": 400, "head": "frozen-plain"}], "bios-raw-sentence"
    found = matrix(scored(rows, dataset=name, method="none"), pd.DataFrame([planned("fairness", dataset=name)]))
    assert f"accuracy_{name}" in first_table(found, NA).headers


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


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["gest-limit60", "crows-limit60"], "A name that ends in -limit60 has at most 60 items."),
        (["gest-limit60", "bios-limit400-60"], "-limit400-60 has at most 60 items of a model that was fine-tuned"),
    ],
)
def test_what_is_said_of_samples_names_their_own_limits(names, said):
    assert said in limited(names)[0]


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
        assert "ends in -limit500 has at most 500 items." in table.caption
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


def test_a_sample_is_not_shown_beside_all_items():
    keys = ["encoder", "task", "strategy", "method", "measure", "dataset"]
    gest, seat = ("mine", "-", "-", "none", "gest_rate"), ("mine", "-", "-", "none", "seat")
    other, sampled = ("theirs", "-", "-", "none", "gest_rate"), ("mine", "-", "-", "hard-last", "gest_rate")
    rows = [
        (*gest, "gest"),
        (*gest, "gest-limit100"),
        (*seat, "C6"),
        (*other, "gest-limit100"),
        (*sampled, "gest-limit100"),
    ]
    table = pd.DataFrame(rows, columns=keys)
    assert [*without_samples(table).index] == [0, 2, 3] and without_samples(table[:0]).empty


def drawn(name, value, spread=0.01, draws=9):
    """The scores of a control's draws around a value."""
    values = value + spread * np.linspace(-1, 1, draws)
    return [{"method": name, "setting": f"draw{seed}", "value": value} for seed, value in enumerate(values)]


def test_a_method_helps_if_it_is_nearer_than_the_untouched_model_by_a_tenth_and_than_all_draws():
    """hard is both; pca takes less than a tenth, leace is a draw like others, sal and qleace have no control of five
    draws, and OCCTMP is off neutral everywhere."""
    methods = {"none": 0.8, "hard": 0.55, "pca": 0.775, "leace": 0.7, "sal": 0.6, "qleace": 0.6}
    changes = {"hard": -0.25, "pca": -0.025, "leace": -0.1, "sal": -0.2, "qleace": -0.2}
    about = {"metric": "crows_pairs_score", "part": "all", "variant": "exact", "n": 200}
    rows = [
        {"method": method, "value": value, "low": value - 0.07, "high": value + 0.07}
        for method, value in methods.items()
    ]
    rows += drawn("hard-random-matched", 0.75) + drawn("pca-random-matched", 0.8) + drawn("leace-random", 0.69, 0.05)
    rows += drawn("qleace-random", 0.8, draws=4)
    rows += [
        {"method": method, "metric": "crows_pairs_score_distance_change", "value": value, "low": value - 0.02}
        | {"high": value + 0.02}
        for method, value in changes.items()
    ]
    occtmp = [{"method": m, "metric": "occtmp_diff", "value": v, "low": 0.1, "high": 0.9} for m, v in methods.items()]
    table = pd.concat([pd.DataFrame([about | row for row in rows]), pd.DataFrame(occtmp)])
    names = [*methods, "hard-random-matched", "pca-random-matched", "leace-random", "qleace-random"]
    plan = pd.DataFrame([planned("crows_pairs", method=method) for method in names])
    found = matrix(scored(table.fillna({"part": NA, "variant": NA, "setting": NA})), plan)
    of_pairs = found[found["measure"] == "crows_pairs_score"].set_index("method")
    assert of_pairs.index.is_unique  # the draws of a control are one row, with their mean
    assert of_pairs.loc["leace-random", "value"] == pytest.approx(0.69)
    wanted = dict.fromkeys(names, "") | {"hard": "yes", "pca": "no", "leace": "no"}
    assert of_pairs["helps"].to_dict() == wanted
    assert of_pairs.loc["hard", ["control", "draws", "beats"]].tolist() == ["hard-random-matched", 9, 9]
    assert of_pairs.loc["hard", "control_low"] < 0.25 < of_pairs.loc["hard", "control_high"]  # distances
    assert of_pairs.loc["leace", "beats"] == 4 and of_pairs.loc["qleace", ["draws", "beats"]].tolist() == [4, 4]
    assert of_pairs.loc["hard", "helps_p"] < 0.01 and of_pairs.loc["pca", "helps_p"] == 1
    assert of_pairs.loc["sal", "control"] == NA and np.isnan(of_pairs.loc["qleace", "control_p"])
    assert (found.loc[found["measure"] == "occtmp_diff", "helps"] == "").all()
    assert np.isnan(of_pairs.loc["none", "smallest_seen"])  # it was seen
    assert (
        of_pairs.loc["qleace", "smallest_seen"] == pytest.approx(0.1, abs=0.001) or of_pairs.loc["qleace", "low"] > 0.5
    )


def test_no_method_helps_a_score_that_shows_no_bias():
    about = {"metric": "crows_pairs_score", "part": "all", "variant": "exact", "n": 200}
    rows = [
        {"method": method, "value": value, "low": 0.45, "high": 0.75}
        for method, value in (("none", 0.6), ("hard", 0.5))
    ]
    rows += drawn("hard-random-matched", 0.6)
    plan = pd.DataFrame([planned("crows_pairs", method=row["method"]) for row in rows[:3]])
    found = matrix(scored(pd.DataFrame([about | row for row in rows]).fillna({"setting": NA})), plan).set_index(
        "method"
    )
    assert found.loc["hard", "beats"] == 9 and found.loc["hard", "helps"] == ""
    assert found.loc["none", "smallest_seen"] == pytest.approx(0.15 * 1.43, abs=0.001)


def test_a_sample_of_items_that_are_there_whole_is_no_further_score_to_correct_for():
    about = {"metric": "crows_pairs_score", "part": "all", "variant": "exact", "n": 200, "setting": NA}
    values = {"none": 0.7, "hard": 0.55}
    rows = [
        about | {"method": method, "value": value, "low": value - 0.1, "high": value + 0.1}
        for method, value in values.items()
    ]
    ends = {"value": -0.15, "low": -0.2, "high": -0.1}
    rows += [about | {"method": "hard", "metric": "crows_pairs_score_distance_change"} | ends]
    rows += [about | row for row in drawn("hard-random-matched", 0.65, spread=0.05)]
    found = {}
    for names in (["data"], ["data", "data-limit50"]):
        plan = pd.DataFrame(
            [planned("crows_pairs", method=m, dataset=name) for name in names for m in ("none", "hard")]
        )
        table = pd.concat([scored(rows, dataset=name) for name in names])
        found[len(names)] = matrix(table, plan).set_index(["dataset", "method"])[["control_p", "helps_p", "helps"]]
    assert found[2].loc[("data", "hard")].equals(found[1].loc[("data", "hard")])
    assert found[2].loc[("data", "hard"), "helps_p"] == found[2].loc[("data", "hard"), "control_p"]  # one comparison
    assert found[2].loc[("data-limit50", "hard"), "helps"] == ""


def test_methods_that_do_the_same_count_once():
    """Hard debiasing and LEACE change three scores alike, SAL does not: there are two methods to correct for. Of two
    that do the same the larger p counts."""
    changed = {"hard": (-0.2, -0.1, 0.1), "leace": (-0.2, -0.105, 0.1), "sal": (-0.2, 0.1, -0.1)}
    values = {"none": (0, 0, 0), **changed}
    rows = []
    for number, metric in enumerate(("crows_pairs_score", "sss_score", "crr_score")):
        about = {"metric": metric, "part": "all", "variant": "exact" if number == 0 else NA, "n": 200, "setting": NA}
        for method, of in values.items():
            rows.append(about | {"method": method, "value": 0.8 + of[number], "low": 0.55, "high": 1})
        for method, of in changed.items():
            half = 0.17 if method == "leace" else 0.15
            ends = {"value": of[number], "low": of[number] - half, "high": of[number] + half}
            rows.append(about | ends | {"method": method, "metric": f"{metric}_distance_change"})
            rows += [about | draw for draw in drawn(f"{method}-random-matched", 0.8)]
    plan = pd.DataFrame([planned("crows_pairs", method=method) for method in values])
    found = matrix(scored(rows), plan).set_index(["measure", "method"])
    assert found.loc["sss_score", "same_as"][[*values]].to_dict() == dict.fromkeys(values, "") | {"leace": "hard"}
    p, helps_p = (found.loc["crows_pairs_score", name] for name in ("change_p", "helps_p"))
    assert p["leace"] > 2 * p["sal"] == pytest.approx(2 * p["hard"])
    assert helps_p[["hard", "leace", "sal"]].tolist() == pytest.approx([p["leace"], p["leace"], 2 * p["sal"]])


SHARE = Beside("largest share", "share", most=0.95, why="one label has nearly all")
SPREAD = Beside("spread", "spread", variant=None)
MEASURE = Measure("gap", "a gap", 0, "low", "outside", beside=(SHARE, SPREAD))


def scored_beside(*rows):
    columns = ["seed", "metric", "variant", "value"]
    return tidy(pd.DataFrame(rows, columns=columns), encoder="bert", task="bios", strategy="plain", method="none")


def test_scores_are_matched_by_their_keys_and_their_own_variant():
    scores = scored_beside(
        *(("0", "gap", "x", 1.0), ("1", "gap", "x", 2.0)),
        *(("0", "share", "-", 0.5), ("1", "share", "-", 0.99), ("0", "spread", "x", 7.0), ("0", "spread", "y", 8.0)),
    )
    rows = scores[scores["metric"] == "gap"]
    found = beside(rows, scores, MEASURE)
    assert list(found["largest share"]) == [0.5, 0.99]
    assert found["spread"].iloc[0] == 7 and np.isnan(found["spread"].iloc[1])
    doubts = cautions(found, MEASURE)
    assert list(doubts["largest share"]) == [False, True] and not doubts["spread"].any()
    assert why(doubts, MEASURE, rows["seed"]) == "one label has nearly all (1 of 2 seeds)"
    assert why(doubts.iloc[:1], MEASURE, rows["seed"].iloc[:1]) == ""
    assert in_words(found) == "largest share 0.745, spread 7.000"


def test_a_score_of_another_dataset_of_the_same_model_may_stand_beside_and_the_largest_counts():
    rows = [
        {"method": method, "dataset": dataset, "metric": metric, "value": value}
        for method, dataset, metric, value in (
            *((method, "pairs", "gap", 0.1) for method in ("none", "leace")),
            *(("none", "test", "p", 0.01), ("none", "test-mismatched", "p", 0.2), ("leace", "test", "p", 0.02)),
        )
    ]
    scores = tidy(pd.DataFrame(rows), encoder="bert", task="nli", strategy="plain")
    guesses = Beside("", "p", most=0.05, why="guesses", any_dataset=True)
    measure = Measure("gap", "a gap", 0, "low", "outside", beside=(guesses,))
    gaps = scores[scores["metric"] == "gap"].set_index("method", drop=False)
    found = beside(gaps, scores, measure)
    assert found[""].to_dict() == {"none": 0.2, "leace": 0.02} and in_words(found) == ""
    assert cautions(found, measure)[""].to_dict() == {"none": True, "leace": False}


def test_a_gap_of_a_model_that_always_says_the_same_is_not_compared_with_others():
    rows = [
        {"seed": seed, "metric": metric, "value": value}
        for seed, share in (("0", 0.4), ("1", 1.0))
        for metric, value in (("independence", 0.0), ("largest_label_share", share), ("accuracy", 0.3))
    ]
    scores = tidy(pd.DataFrame(rows), encoder="bert", task="bios", strategy="plain", method="none")
    left = claimable(scores)
    assert list(left.loc[left["metric"] == "independence", "seed"]) == ["0"]
    assert list(left.loc[left["metric"] == "accuracy", "seed"]) == ["0", "1"]  # a cost is what it is


def test_what_stands_beside_a_measure_is_scored_by_the_same_metric():
    """A misspelt name would stand beside nothing, and never forbid a claim."""
    known = {"largest_label_share", "occtmp_p_sum", "control_compression", "nli_parity", "nli_accuracy"}
    known |= {"weat_spread", "seat_spread", "conll_f1", "pronoun_accuracy", "mlp_control_compression"}
    known |= {"majority_share", "majority_p", "smallest_gap_seen", "trait_ratings_r2", "flips_p"}
    besides = [(entry, other) for entry in METRICS.values() for one in entry.measures.values() for other in one.beside]
    assert {other.metric for entry, other in besides if other.metric not in entry.measures} == known


def test_a_measure_without_a_value_has_the_reason_that_its_job_found():
    names = ["encoder", "task", "strategy", "method", "setting", "measure", "dataset", "head"]
    one = dict.fromkeys(names, "-") | {"measure": "tpr_gap_pearson", "reason": UNDEFINED}
    cells = pd.DataFrame([one, one | {"method": "hard"}, one | {"reason": ""}])
    told = {"encoder": "-", "task": "-", "strategy": "-", "seed": "0", "method": "-", "dataset": "-"}
    reasons = pd.DataFrame([told | {"metric": "tpr_gap_pearson", "reason": "two classes"}])
    assert with_reasons(cells, reasons)["reason"].tolist() == ["two classes", UNDEFINED, ""]
