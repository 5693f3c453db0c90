import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.papers.liang2020 import performance, rows, tables
from biasflow.papers.liang2020.targets import TABLES
from biasflow.papers.paper import load
from biasflow.papers.published import read_published
from biasflow.results.scores import concatenate
from tests.unit.papers.liang2020.made_up import EMBEDDED, PLACES, run, scores

PRINTED = read_published("liang2020", "values")
BASE, LARGE = "bert-base-uncased", "bert-large-uncased"
METHODS = list(PLACES)
BY_ENCODER = {name: function for name, function in TABLES.items() if name != "statements"}  # with a status


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


def test_the_published_file():
    keys = ["dataset", "encoder", *rows.PLACEMENT]
    d = PRINTED[PRINTED["metric"] == "weat_effect_size"].set_index(keys)["value"]
    assert d["C6", LARGE, "", ""] == 1.5705 and d["C8", BASE, "", ""] == 0.7762
    assert d["C6", LARGE, "conceptor", "layer[11]"] == 1.3261 and d["C6", BASE, "conceptor", "all"] == -0.3889
    assert len(d) == 18 and len(PRINTED) == 52 and not PRINTED["value"].isna().any()
    assert not PRINTED.duplicated([*keys, "metric"]).any()
    assert set(PRINTED["eraser"]) <= {"", *METHODS}
    assert set(load("liang2020").published) == {"values", "tables"}


def test_main_has_a_row_per_encoder_and_method_in_order(tiny):
    main = tables.main(run(concatenate([tiny, scores(encoder="a")])))
    assert main["encoder"].tolist() == ["a"] * 4 + ["tiny"] * 4
    assert main["method"].tolist() == METHODS * 2 and main["places"].tolist() == list(PLACES.values()) * 2
    assert set(main["status"]) == {"run"}


def test_main_puts_each_value_into_its_cell(tiny):
    marked = with_value(tiny, 0.77, dataset="professions", method="hard", metric="occtmp_signed_diff")
    marked = with_value(marked, -1.5, dataset="C7", method="conceptor", metric="weat_effect_size")
    marked = with_value(marked, 0.123, dataset="sent-weat6", method="none", metric="seat_p_value")
    main = tables.main(run(marked)).set_index("method")
    assert main.loc["hard", "occtmp_signed_diff"] == 0.77
    assert main.loc["conceptor", "c7_effect_size"] == -1.5
    assert main.loc["none", "sent-weat6_p_value"] == 0.123
    # Fine-tuned encoder, three mask seeds: 4.1, 4.2, 4.3.
    assert main.loc["none", "perplexity"] == pytest.approx(4.2)
    assert main.loc["none", "perplexity_sd"] == pytest.approx(0.1) and main.loc["none", "perplexity_seeds"] == 3
    # Two tasks (0.5 and 0.6), two seeds (+0.02 and +0.04); none lies 0.01 lower, each method 0.01 above the one before.
    assert main.loc["hard", "glue_average"] == pytest.approx(0.58) and main.loc["hard", "glue_tasks"] == 2
    assert main.loc["none", "glue_average"] == pytest.approx(0.57)


def test_main_has_published_values_and_differences():
    main = tables.main(run(scores(encoder=BASE))).set_index("method")
    assert main.loc["none", "c6_effect_size_published"] == 0.6581 and "occtmp_diff_published" not in main
    assert main.loc["none", "c6_effect_size_difference"] == pytest.approx(0.5 - 0.6581)
    assert main.loc["densray", "batch_perplexity_published"] == 3.8058
    assert np.isnan(main.loc["hard", "c6_effect_size_published"])
    assert "sent-weat6_effect_size_published" not in main and "perplexity_published" not in main


def test_published_perplexity_belongs_to_the_fine_tuned_encoder():
    pretrained = without(scores(encoder=BASE), encoder=f"{BASE}-mlm")
    main = tables.main(run(pretrained)).set_index("method")
    assert main.loc["none", "perplexity"] == pytest.approx(9.2)
    assert "batch_perplexity_published" not in main and set(main["perplexity_stage"]) == {"pretrained"}


def test_after_fine_tuning_methods_are_those_fitted_before_it(tiny):
    refitted = tiny[tiny["method"] == "hard-pretrained"].assign(method="hard", value=0.0)
    both = performance.perplexity(run(concatenate([tiny, refitted])))
    pd.testing.assert_frame_equal(both, performance.perplexity(run(tiny)))


def test_the_embedded_run_has_columns_of_its_own_sets():
    main = tables.main(run(scores(sets=EMBEDDED)))
    assert {"planted_effect_size", "occtmp_diff", "glue_average"} <= set(main)
    assert not [column for column in main if column.startswith(("c6", "sent-")) or column.endswith("_published")]
    assert main["measures_not_run"].tolist() == [""] * 4 and set(main["glue_tasks"]) == {1}
    assert set(main["occtmp_set"]) == set(main["perplexity_text"]) == {"planted"}
    reason = absent("tiny", "seat", "no sentences")
    assert set(tables.main(run(scores(sets=EMBEDDED), reasons=[reason]))["measures_not_run"]) == {"seat: no sentences"}


def test_planted_tasks_are_no_part_of_the_glue_average(tiny):
    planted = scores(sets=EMBEDDED, measures=["glue"])
    both = tables.main(run(concatenate([tiny, planted])))
    assert both["glue_average"].tolist() == tables.main(run(tiny))["glue_average"].tolist()


def test_a_missing_measure_gives_empty_cells_and_the_reason():
    reasons = [
        absent("tiny", "accuracy", "no files", training="cola/plain/seed1"),
        absent("tiny", "occtmp", "no words", dataset="chinese-professions"),
    ]
    main = tables.main(run(scores(measures=["occtmp", "perplexity"]), reasons=reasons))
    assert main[["c6_effect_size", "sent-weat8_p_value", "glue_average"]].isna().all(axis=None)
    assert main["occtmp_diff"].notna().all()
    (missing,) = set(main["measures_not_run"])
    assert "glue: no files" in missing and "weat: not asked for" in missing and "seat: not asked for" in missing
    assert "occtmp" not in missing and "chinese" not in missing


def test_an_encoder_that_was_not_run_says_so_beside_the_published_values(tiny):
    some = run(tiny, encoders=["tiny", LARGE], reasons=[absent(LARGE, "occtmp", "no weights")])
    for function in BY_ENCODER.values():
        table = function(some)
        own = table[table["encoder"] == LARGE]
        assert len(own) and own["status"].str.contains("no weights").all()
        assert own.filter(regex="^(?!.*_published)").select_dtypes("number").isna().all(axis=None)
    main = tables.main(some).set_index(["encoder", "method"])
    assert main.loc[(LARGE, "hard"), "occtmp_diff_published"] == 0.69 and main.loc[(LARGE, "hard"), "places"] == "all"
    tests = tables.association(some)
    assert tests.loc[tests["encoder"] == LARGE, "effect_size_published"].notna().sum() == 12


@pytest.mark.parametrize("function", BY_ENCODER.values())
def test_encoders_without_scores_have_their_row_but_there_must_be_one(function, tiny):
    with pytest.raises(BiasflowError, match="encoders"):
        function(run(tiny, encoders=[]))
    nothing = run(tiny.head(0), encoders=["tiny"], reasons=[absent("tiny", "occtmp", "too small")])
    assert function(nothing)["status"].str.contains("too small").all()


def test_what_the_plan_ran_without_a_score_says_so(tiny):
    lost = dataclasses.replace(run(tiny), scores=without(tiny, metric="gender_share"))
    assert performance.gender_share(lost)["status"].tolist() == ["not run: no scores came of it"]


def test_occtmp_has_all_sets_but_no_single_layers(tiny):
    table = tables.occtmp(run(concatenate([tiny, scores(encoder=LARGE)])))
    assert table["set"].unique().tolist() == ["professions", "professions-article"]
    assert not table["places"].str.startswith("layer").any() and len(table) == 16
    row = table.set_index(["encoder", "set", "method"]).loc[(LARGE, "professions", "none")]
    assert row["diff_published"] == 1.82 and row["diff_difference"] == pytest.approx(0.111 - 1.82)
    other = table.set_index(["encoder", "set", "method"]).loc[(LARGE, "professions-article", "none")]
    assert np.isnan(other["diff_published"])


def test_what_is_printed_of_occtmp_stands_beside_ours():
    table = tables.occtmp(run(scores(encoder=LARGE))).set_index(["set", "method"])
    columns = [f"{metric}_published" for metric in ("diff", "diff_variance", "p_he", "p_she", "p_sum")]
    assert table.loc[("professions", "none"), columns].tolist() == [1.82, 1.30, 0.63, 0.19, 0.82]
    assert table.loc[("professions", "hard"), columns].tolist() == [0.69, 0.30, 0.40, 0.23, 0.63]
    assert table.loc["professions-article", columns].isna().all(axis=None)
    assert not tables.occtmp(run(scores())).filter(like="_published").columns.any()


def test_chinese_is_not_run_or_shows_the_change(tiny):
    reason = absent("tiny", "occtmp", "an English encoder", dataset="chinese-professions")
    table = tables.chinese(run(tiny, reasons=[reason]))
    assert len(table) == 1 and "an English encoder" in table["status"].iloc[0] and table["diff"].isna().all()
    sets = EMBEDDED | {"occtmp": ["professions", "chinese-professions"]}
    both = tables.chinese(run(scores(sets=sets, measures=["occtmp"])))
    assert both["diff_change"].tolist() == pytest.approx([0, 0.01, 0.02, 0.03]) and "set" not in both


def test_an_encoder_that_is_there_for_its_chinese_alone_is_in_no_other_table(tiny):
    sets = EMBEDDED | {"occtmp": ["professions", "chinese-professions"]}
    both = concatenate([tiny, scores(encoder="bilingual", sets=sets, measures=["occtmp"])])
    reason = absent("tiny", "occtmp", "an English encoder", dataset="chinese-professions")
    made = run(both, encoders=["tiny"], reasons=[reason])
    made.options["chinese"] = ["bilingual"]
    table = tables.chinese(made)
    assert table["encoder"].tolist() == ["bilingual"] * 4 + ["tiny"]
    assert set(table["status"][:4]) == {"run"} and "an English encoder" in table["status"].iloc[4]
    for function in (tables.main, tables.occtmp):
        assert set(function(made)["encoder"]) == {"tiny"}


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


def test_a_family_does_not_depend_on_other_encoders(tiny):
    alone = tables.association(run(tiny))
    both = tables.association(run(concatenate([tiny, scores(encoder="a")])))
    own = both[both["encoder"] == "tiny"].reset_index(drop=True)
    pd.testing.assert_frame_equal(own[list(alone)], alone)


def test_a_test_without_a_p_value_does_not_count():
    frame = scores()
    for metric, value in (("p_value", np.nan), ("effect_size", np.nan), ("partitions", 0), ("exact", 0)):
        frame = with_value(frame, value, metric=f"weat_{metric}", dataset="C6", method="none")
    frame = with_value(frame, 0, dataset="C7", method="none", metric="weat_exact")
    table = tables.association(run(frame)).set_index(["method", "test"]).loc["none"]
    assert table.loc["C6", "verdict"] == "not testable" and table.loc["C6", "exact"] == ""
    assert table.loc["C7", "p_holm"] == pytest.approx(0.06) and table.loc["C7", "tests"] == 3
    assert table["exact"].tolist()[1:] == ["sampled", "exact", "exact"]
    assert tables.main(run(frame))["measures_not_run"].iloc[0] == ""


def test_an_exact_p_of_0_is_its_bound_before_and_after_correction():
    frame = with_value(scores(), 0, metric="weat_p_value", dataset="C6", method="none")
    row = tables.association(run(frame)).set_index(["method", "test"]).loc[("none", "C6")]
    assert (row["p_value"], row["p_value_bound"]) == (1 / 12870, "<")
    assert row["p_holm"] == pytest.approx(row["tests"] / 12870)
    shown = tables.main(run(frame)).set_index("method")
    assert (shown.loc["none", "c6_p_value"], shown.loc["none", "c6_p_value_bound"]) == (1 / 12870, "<")
    assert shown.loc["hard", "c6_p_value_bound"] == "" and "c6_partitions" not in shown


def test_published_effect_sizes_belong_to_one_pooling():
    frame = scores(encoder=BASE, measures=["association"])
    other = frame[frame["dataset"] == "C6"].assign(variant="cls")
    table = tables.association(run(concatenate([frame, other]))).set_index(["test", "pooling", "method"])
    assert table.loc[("C6", "target", "none"), "effect_size_published"] == 0.6581
    assert np.isnan(table.loc[("C6", "cls", "none"), "effect_size_published"])
    assert set(table["tests"]) == {5}


def test_perplexity_per_stage(tiny):
    table = performance.perplexity(run(tiny)).set_index(["stage", "method"])
    row = table.loc[("pretrained", "hard")]
    assert row[["perplexity", "perplexity_low", "perplexity_high"]].tolist() == pytest.approx([9.21, 9.11, 9.31])
    assert row["perplexity_change"] == pytest.approx(0.01) and row["tokens"] == 1000
    assert row["pseudo_perplexity"] == pytest.approx(8.01) and row["batch_perplexity"] == pytest.approx(10.21)
    assert table.loc[("finetuned", "none"), "pseudo_perplexity_change"] == 0


def test_pseudo_perplexity_may_be_left_out():
    reason = absent("tiny", "pseudo_perplexity", "too slow")
    table = performance.perplexity(run(scores(measures=["perplexity"]), reasons=[reason]))
    assert table["perplexity"].notna().all() and table["pseudo_perplexity"].isna().all()
    assert set(table["status"]) == {"run"} and table["pseudo_status"].str.contains("too slow").all()


def test_one_mask_seed_has_no_deviation(tiny):
    table = performance.perplexity(run(tiny[~tiny["readout_seed"].isin(["2", "3"])]))
    assert table["perplexity_sd"].isna().all() and set(table["perplexity_seeds"]) == {1}


def test_glue_intervals_and_changes(tiny):
    table = performance.glue(run(tiny)).set_index(["task", "strategy", "metric", "method"])
    row = table.loc[("cola", "in_training", "accuracy", "none")]
    assert row["mean"] == pytest.approx(0.52) and row[["low", "high"]].isna().all()  # two seeds, 0.51 and 0.53
    assert table.loc[("cola", "in_training", "accuracy", "densray"), "mean_change"] == pytest.approx(0.03)
    # The untouched encoder serves for the other strategy too: methods are 0.2 higher there, and 0.01 from the maker.
    assert table.loc[("cola", "at_evaluation", "accuracy", "none"), "mean"] == pytest.approx(0.52)
    assert table.loc[("cola", "at_evaluation", "accuracy", "densray"), "mean_change"] == pytest.approx(0.23)
    assert len(table) == 2 * 2 * 4 and set(table["seeds"]) == {2}


def test_a_task_of_one_metric_is_printed_once_and_one_of_several_with_their_mean(tiny):
    accuracy = tiny[(tiny["task"] == "rte") & (tiny["metric"] == "accuracy")]
    table = performance.glue(run(concatenate([tiny, accuracy.assign(metric="f1")])))
    assert table.groupby("task")["metric"].unique().map(set).to_dict() == {
        "cola": {"accuracy"},
        "rte": {"accuracy", "f1", "score"},
    }


def test_glue_of_the_untouched_encoder_alone(tiny):
    glue = scores(measures=["glue"], methods=["none"])
    table = performance.glue(run(glue))
    assert set(table["method"]) == {"none"} and set(table["strategy"]) == {""}
    assert tables.main(run(glue))["glue_average"].dropna().tolist() == pytest.approx([0.57])


def test_other_scores_of_fine_tuned_models_do_not_matter(tiny):
    inside = tiny[tiny["metric"].str.startswith("weat") & (tiny["method"] == "none")]
    other = inside.assign(task="cola", strategy="plain", seed="1", value=9.0)
    for function in (tables.association, performance.glue, tables.main):
        pd.testing.assert_frame_equal(function(run(concatenate([tiny, other]))), function(run(tiny)))


def test_intrinsic_measures_beside_none(tiny):
    table = performance.intrinsic(run(tiny)).set_index("method")
    assert table.loc["none", ["strength", "stereotype_score", "language_model_score"]].tolist() == [0.4, 0.6, 0.7]
    assert table.loc["densray", "strength_change"] == pytest.approx(0.03)
    # Parity is the first of the NLI scores: seeds 0.02 and 0.04.
    assert table.loc["none", "parity"] == pytest.approx(0.03) and set(table["nli_seeds"]) == {2}
    assert table.index.tolist() == METHODS and set(table["nli_status"]) == {"run"}


def test_intrinsic_or_nli_alone():
    reasons = [
        absent("tiny", metric, reason, training=training, method=method)
        for metric, reason, training in (
            ("nli_fairness", "no files", "nli/plain/seed1"),
            ("strength", "no NSP head", "pretrained"),
        )
        for method in METHODS
    ]
    first = performance.intrinsic(run(scores(measures=["intrinsic"]), reasons=reasons))
    assert first["parity"].isna().all() and first["nli_status"].str.contains("no files").all()
    assert set(first["status"]) == {"run"}
    second = performance.intrinsic(run(scores(measures=["nli"]), reasons=reasons))
    assert second["strength"].isna().all() and second["status"].str.contains("no NSP head").all()
    assert set(second["nli_status"]) == {"run"} and second["fairness_change"].notna().all()
    neither = performance.intrinsic(run(scores(measures=["occtmp"]), reasons=reasons))
    assert len(neither) == 1 and "no NSP head" in neither["status"].iloc[0]
    assert "no files" in neither["nli_status"].iloc[0]


def test_nli_scores_of_some_methods_only(tiny):
    """Another block of the matrix may ask for NLI under fewer methods."""
    fewer = tiny[~((tiny["task"] == "nli") & (tiny["method"] == "hard"))]
    table = performance.intrinsic(run(fewer)).set_index("method")
    assert np.isnan(table.loc["hard", "parity"]) and table.loc["hard", "nli_status"] == "not run: not asked for"
    assert table.loc["hard", "strength"] == pytest.approx(0.41) and table.loc["densray", "nli_status"] == "run"


def test_methods_are_compared_over_the_seeds_that_they_share(tiny):
    """Another paper may have asked for more seeds of the untouched encoder."""
    more = tiny["task"].isin(["nli", "rte"]) & (tiny["seed"] == "2") & (tiny["method"] != "none")
    table = performance.intrinsic(run(tiny[~more])).set_index("method")
    assert set(table["nli_seeds"]) == {1} and set(table["nli_status"]) == {"run"}
    assert table.loc["none", "snli_accuracy"] == pytest.approx(0.52)
    assert table.loc["hard", "snli_accuracy_change"] == pytest.approx(0.01)
    glue = performance.glue(run(tiny[~more])).set_index(["task", "method"])
    assert set(glue.loc["rte", "seeds"]) == {1} and set(glue.loc["cola", "seeds"]) == {2}


def test_a_method_that_was_run_in_tasks_at_evaluation_only(tiny):
    """Another block of the matrix asked for it; the tables show it there, and not where it would have been trained."""
    fewer = tiny[tiny["strategy"] != "with-hard"]
    main = tables.main(run(fewer)).set_index("method")
    assert set(main["glue_strategy"]) == {"in_training"}
    assert np.isnan(main.loc["hard", "glue_average"]) and main.loc["densray", "glue_average"] > 0
    glue = performance.glue(run(fewer)).set_index(["strategy", "method"]).index
    assert ("at_evaluation", "hard") in glue and ("in_training", "hard") not in glue


def test_methods_without_a_common_seed_are_not_compared(tiny):
    own = tiny["seed"].where(tiny["method"] == "none", "9")
    rows = tiny.assign(seed=tiny["seed"].mask(tiny["task"] == "nli", own)).drop_duplicates(tiny.columns[:-4])
    with pytest.raises(BiasflowError, match=r"encoder tiny.*no seed in common"):
        performance.intrinsic(run(rows))


def test_gender_shares_in_the_order_of_the_layers():
    table = performance.gender_share(run(scores(layers=11)))
    assert table["place"].tolist()[::2] == [f"layer[{layer}]" for layer in range(11)]
    value = table.set_index("place").loc["layer[10].attention.value"]
    assert value[["gender_share", "lowest", "highest"]].tolist() == pytest.approx([1.025, 1.0, 1.05])
    assert value["highest_head"] == "1" and value["heads"] == 2
    output = table.set_index("place").loc["layer[10]"]
    assert output["gender_share"] == pytest.approx(1.2) and output["heads"] == 0 and output["highest_head"] == ""


def test_a_place_outside_the_layers_is_refused(tiny):
    first = (tiny["metric"] == "gender_share") & (tiny["part"] == "layer[0]")
    with pytest.raises(BiasflowError, match=r"tiny.*pooled"):
        performance.gender_share(run(tiny.assign(part=tiny["part"].mask(first, "pooled"))))


@pytest.mark.parametrize(
    ("function", "keys"),
    [
        (tables.main, {"dataset": "professions"}),
        (tables.main, {"dataset": "sent-weat6"}),
        (tables.main, {"task": "rte"}),
        (tables.main, {"encoder": "tiny", "dataset": "wikitext-2", "readout_seed": "2"}),
        (tables.occtmp, {"dataset": "professions-article", "metric": "occtmp_p_he"}),
        (tables.association, {"dataset": "C7"}),
        (performance.perplexity, {"encoder": "tiny", "variant": "released", "readout_seed": "3"}),
        (performance.perplexity, {"encoder": "tiny", "metric": "pseudo_perplexity"}),
        (performance.glue, {"task": "rte", "seed": "2"}),
        (performance.intrinsic, {"dataset": "planted"}),
        (performance.intrinsic, {"task": "nli", "metric": "nli_accuracy", "seed": "1"}),
    ],
)
@pytest.mark.parametrize("method", ["none", "conceptor"])
def test_a_gap_is_an_error_that_names_encoder_and_method(function, keys, method, tiny):
    whole = run(tiny)
    with pytest.raises(BiasflowError, match=rf"(?s)encoder tiny.*method {method}"):
        function(dataclasses.replace(whole, scores=without(tiny, method=method, **keys)))


def test_a_gap_that_the_plan_explains_is_a_row_with_the_reason(tiny):
    fewer = without(tiny, method="hard", dataset="C6")
    fewer = fewer[~((fewer["method"] == "hard") & fewer["metric"].str.match("weat|seat"))]
    reasons = [absent("tiny", metric, "no such place", method="hard") for metric in ("weat", "seat")]
    table = tables.association(run(fewer, reasons=reasons)).set_index("method")
    assert table.loc["hard", "status"] == "not run: no such place" and table.loc["hard", "places"] == "all"
    assert set(table.drop(index="hard")["status"]) == {"run"}
    main = tables.main(run(fewer, reasons=reasons)).set_index("method")
    assert np.isnan(main.loc["hard", "c6_effect_size"]) and main.loc["hard", "occtmp_diff"] > 0


def test_a_method_that_cannot_be_active_in_training_is_left_out_there(tiny):
    fewer = without(tiny, strategy="with-hard")
    table = performance.glue(run(fewer)).set_index(["strategy", "method"])
    assert ("in_training", "hard") not in table.index and ("at_evaluation", "hard") in table.index


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


def test_any_other_method_of_the_run_gets_a_row_without_published_values():
    places = PLACES | {"leace": "last"}
    frame = scores(encoder=BASE, methods=tuple(places))
    main = tables.main(run(frame, places=places)).set_index("method")
    assert main.index.tolist() == [*METHODS, "leace", ""] and main.loc["leace", "places"] == "last"
    assert main.loc["leace", "occtmp_diff"] == pytest.approx(0.151)
    assert np.isnan(main.loc["leace", "c6_effect_size_published"])
    assert set(performance.glue(run(frame, places=places))["method"]) == {*METHODS, "leace"}


def test_a_method_at_another_place_keeps_its_row_and_has_no_published_value():
    main = tables.main(run(scores(encoder=BASE), places=PLACES | {"densray": "last"})).set_index("method")
    assert main.loc["densray", "places"] == "last" and main.loc["densray", "perplexity"] == pytest.approx(4.23)
    assert np.isnan(main.loc["densray", "batch_perplexity_published"])
    (printed,) = main[(main["eraser"] == "densray") & (main["places"] == "all")].to_dict("records")
    assert printed["batch_perplexity_published"] == 3.8058 and printed["status"] == "not run: not asked for"


def test_placements_and_options_of_one_eraser_stand_side_by_side():
    places = PLACES | {"mine": "all", "densray-last": "last", "densray-plain": "all"}
    densray = {"eraser": "densray"}
    about = {"mine": densray, "densray-last": densray, "densray-plain": densray | {"options": "normalize=false"}}
    made = run(scores(encoder=BASE, methods=tuple(places)), places=places, about=about)
    main = tables.main(made).set_index("method")
    assert main.index.tolist()[:7] == [*places]
    assert main.loc["densray-plain", rows.PLACEMENT].tolist() == ["densray (normalize=false)", "all"]
    # What is printed belongs to eraser and places, whatever the method is called.
    assert main.loc[["densray", "mine"], "batch_perplexity_published"].tolist() == [3.8058] * 2
    assert main.loc[["densray-last", "densray-plain"], "batch_perplexity_published"].isna().all()
    assert tables.occtmp(made).groupby("set")["method"].apply(list).tolist() == [[*places]] * 2


def test_what_is_printed_of_a_placement_that_the_run_lacks_has_a_row_of_its_own():
    main = tables.main(run(scores(encoder=LARGE)))
    (middle,) = main[main["places"] == "layer[11]"].to_dict("records")
    assert middle["method"] == "" and middle["eraser"] == "conceptor" and middle["status"] == "not run: not asked for"
    assert middle["c6_effect_size_published"] == 1.3261 and np.isnan(middle["c6_effect_size"])
    assert main["status"].tolist()[:4] == ["run"] * 4 and len(main) == 5


def test_the_paper_measures_further_placements_inside_only(tiny):
    further = scores(methods=("none", "hard-last"), measures=["occtmp", "association", "perplexity"])
    more = concatenate([tiny, further[further["method"].str.startswith("hard-last")]])
    made = run(more, places=PLACES | {"hard-last": "last"}, about={"hard-last": {"eraser": "hard"}})
    made.options.update(methods=METHODS, inside_only=["hard-last", "hard"])
    main = tables.main(made).set_index("method")
    assert main.index.tolist() == [*METHODS, "hard-last"] and main.loc["hard-last", "occtmp_diff"] > 0
    assert np.isnan(main.loc["hard-last", "glue_average"])
    assert set(performance.glue(made)["method"]) == set(METHODS)


def test_a_method_that_was_not_run_is_not_expected():
    frame = scores(methods=("none", "densray"))
    main = tables.main(run(frame)).set_index("method")
    assert main.index.tolist() == METHODS
    assert main.loc["hard", "status"].startswith("not run") and main.loc["densray", "status"] == "run"
    assert set(tables.occtmp(run(frame))["method"]) == {"none", "densray"}


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
    changed = rows.change_from_none(frame, ["set"], ["x"])
    assert list(changed) == ["encoder", "set", "method", "x", "x_change"]
    assert changed["x_change"].tolist() == pytest.approx([1, 0] * len(values))
    pd.testing.assert_frame_equal(changed.drop(columns="x_change"), frame)


def test_rows_are_ordered_by_method_and_what_is_only_printed_comes_last():
    frame = pd.DataFrame({"method": ["", "densray", "none"], "eraser": ["pca", "densray", ""], "places": "all"})
    assert rows.ordered(frame, [], SimpleNamespace(methods=PLACES))["method"].tolist() == ["none", "densray", ""]
