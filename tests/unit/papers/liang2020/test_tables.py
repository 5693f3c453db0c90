import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers import published
from scripts.biasflow.papers.liang2020 import performance
from scripts.biasflow.papers.liang2020 import rows as densray_rows
from scripts.biasflow.papers.liang2020 import tables as densray
from scripts.biasflow.results import tables
from scripts.biasflow.results.scores import concatenate
from tests.unit.synthetic_densray import EMBEDDED, PLACES, scores

PRINTED = published.read_published("liang2020")
BASE, LARGE = "bert-base-uncased", "bert-large-uncased"
WITH_PUBLISHED = [densray.main_table, densray.occtmp_table, densray.association_table, performance.perplexity_table]
WITHOUT = [
    densray.chinese_table,
    performance.glue_table,
    performance.intrinsic_table,
    performance.gender_share_table,
]
METHODS = list(PLACES)


@pytest.fixture(scope="module")
def tiny():
    return scores()


def table_of(function, *arguments, **options):
    given = arguments + ((PRINTED,) if function in WITH_PUBLISHED else ())
    return function(*given, **options)


def with_value(frame, value, **keys):
    """`frame` with the value of the one row that has these keys replaced."""
    chosen = pd.concat([frame[key] == wanted for key, wanted in keys.items()], axis=1).all(axis=1)
    assert chosen.sum() == 1
    return frame.assign(value=frame["value"].where(~chosen, value))


def without(frame, **keys):
    chosen = pd.concat([frame[key] == wanted for key, wanted in keys.items()], axis=1).all(axis=1)
    assert chosen.any()
    return frame[~chosen]


def test_the_published_file():
    d = PRINTED[PRINTED["metric"] == "effect_size"].set_index(["task", "encoder", "method"])["value"]
    assert d["association:C6", LARGE, "none"] == 1.5705 and d["association:C8", BASE, "none"] == 0.7762
    assert len(d) == 12 and len(PRINTED) == 28 and not PRINTED["value"].isna().any()
    assert not PRINTED.duplicated(["task", "encoder", "method", "metric"]).any()
    assert (PRINTED["setting"] == PRINTED["method"].map(PLACES)).all()
    sources = pd.read_csv(published.PUBLISHED / "sources.csv").set_index("file")
    assert sources.loc["liang2020"].notna().all()


def test_main_has_a_row_per_encoder_and_method_in_order(tiny):
    main = densray.main_table(concatenate([tiny, scores(encoder="a")]), PRINTED)
    assert main["encoder"].tolist() == ["a"] * 4 + ["tiny"] * 4
    assert main["method"].tolist() == METHODS * 2 and main["setting"].tolist() == list(PLACES.values()) * 2
    assert set(main["status"]) == {"run"}


def test_main_puts_each_value_into_its_cell(tiny):
    marked = with_value(tiny, 0.77, task="occtmp:professions", method="hard", metric="signed_diff")
    marked = with_value(marked, -1.5, task="association:C7", method="conceptor", metric="effect_size")
    marked = with_value(marked, 0.123, task="association:sent-weat6", method="none", metric="p_value")
    main = densray.main_table(marked, PRINTED).set_index("method")
    assert main.loc["hard", "occtmp_signed_diff"] == 0.77
    assert main.loc["conceptor", "c7_effect_size"] == -1.5
    assert main.loc["none", "sent-weat6_p_value"] == 0.123
    # Fine-tuned encoder, three mask seeds: 4.1, 4.2, 4.3.
    assert main.loc["none", "perplexity"] == pytest.approx(4.2)
    assert main.loc["none", "perplexity_sd"] == pytest.approx(0.1) and main.loc["none", "perplexity_seeds"] == 3
    # Two tasks (0.5 and 0.6), two seeds (+0.02 and +0.04); none lies 0.01 lower, methods rise by 0.01.
    assert main.loc["hard", "glue_average"] == pytest.approx(0.58) and main.loc["hard", "glue_tasks"] == 2
    assert main.loc["none", "glue_average"] == pytest.approx(0.57)


def test_main_has_published_values_and_differences():
    main = densray.main_table(scores(encoder=BASE), PRINTED).set_index("method")
    assert main.loc["none", "c6_effect_size_published"] == 0.6581 and "occtmp_diff_published" not in main
    assert main.loc["none", "c6_effect_size_difference"] == pytest.approx(0.5 - 0.6581)
    assert main.loc["densray", "batch_perplexity_published"] == 3.8058
    assert np.isnan(main.loc["hard", "c6_effect_size_published"])
    assert "sent-weat6_effect_size_published" not in main and "perplexity_published" not in main


def test_published_perplexity_belongs_to_the_fine_tuned_encoder():
    pretrained = without(scores(encoder=BASE), stage="finetuned")
    main = densray.main_table(pretrained, PRINTED).set_index("method")
    assert main.loc["none", "perplexity"] == pytest.approx(9.2)
    assert "batch_perplexity_published" not in main and set(main["perplexity_stage"]) == {"pretrained"}


def test_the_embedded_run_has_columns_of_its_own_sets():
    main = densray.main_table(scores(sets=EMBEDDED), PRINTED)
    assert {"planted_effect_size", "occtmp_diff", "glue_average"} <= set(main)
    assert not [column for column in main if column.startswith(("c6", "sent-")) or column.endswith("_published")]
    assert main["measures_not_run"].tolist() == [""] * 4 and set(main["glue_tasks"]) == {1}
    assert set(main["occtmp_set"]) == set(main["perplexity_text"]) == {"planted"}


def test_planted_tasks_are_no_part_of_the_glue_average(tiny):
    planted = scores(sets=EMBEDDED, measures=["glue"])
    both = densray.main_table(concatenate([tiny, planted]), PRINTED)
    assert both["glue_average"].tolist() == densray.main_table(tiny, PRINTED)["glue_average"].tolist()


def test_a_missing_measure_gives_empty_cells_and_the_reason():
    main = densray.main_table(
        scores(measures=["occtmp", "perplexity"]), PRINTED, measures_not_run={"glue": "no files", "chinese": "no words"}
    )
    assert main[["c6_effect_size", "sent-weat8_p_value", "glue_average"]].isna().all(axis=None)
    assert main["occtmp_diff"].notna().all()
    (missing,) = set(main["measures_not_run"])
    assert "glue: no files" in missing and "weat: not asked for" in missing and "seat: not asked for" in missing
    assert "occtmp" not in missing and "chinese" not in missing


def test_an_encoder_that_was_not_run_says_so_beside_the_published_values(tiny):
    for function in WITH_PUBLISHED + WITHOUT:
        table = table_of(function, tiny, not_run={LARGE: "no weights"})
        own = table[table["encoder"] == LARGE]
        assert len(own) and own["status"].str.contains("no weights").all()
        assert own.filter(regex="^(?!.*_published)").select_dtypes("number").isna().all(axis=None)
    main = densray.main_table(tiny, PRINTED, not_run={LARGE: "no weights"}).set_index(["encoder", "method"])
    assert main.loc[(LARGE, "hard"), "occtmp_diff_published"] == 0.69 and main.loc[(LARGE, "hard"), "setting"] == "all"
    tests = densray.association_table(tiny, PRINTED, not_run={LARGE: "no weights"})
    assert tests.loc[tests["encoder"] == LARGE, "effect_size_published"].notna().sum() == 9


@pytest.mark.parametrize("function", WITH_PUBLISHED + WITHOUT)
def test_no_encoder_at_all_is_an_error(function, tiny):
    with pytest.raises(BiasflowError):
        table_of(function, tiny.head(0))
    assert len(table_of(function, tiny.head(0), not_run={"tiny": "too small"}))


@pytest.mark.parametrize("function", WITH_PUBLISHED + WITHOUT)
def test_every_table_can_be_written(function, tiny, tmp_path):
    table = table_of(function, tiny, not_run={LARGE: "no weights"})
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    name = function.__name__.removesuffix("_table")
    tables.write_table(table, *paths, caption=densray.CAPTIONS[name])
    assert len(pd.read_csv(paths[0])) == len(table)


def test_every_table_has_a_caption():
    assert set(densray.CAPTIONS) == {function.__name__.removesuffix("_table") for function in WITH_PUBLISHED + WITHOUT}


def test_occtmp_has_all_sets_but_no_single_layers(tiny):
    table = densray.occtmp_table(concatenate([tiny, scores(encoder=LARGE)]), PRINTED)
    assert table["set"].unique().tolist() == ["professions", "professions-article"]
    assert not table["setting"].str.startswith("layer").any() and len(table) == 16
    row = table.set_index(["encoder", "set", "method"]).loc[(LARGE, "professions", "none")]
    assert row["diff_published"] == 1.82 and row["diff_difference"] == pytest.approx(0.111 - 1.82)
    other = table.set_index(["encoder", "set", "method"]).loc[(LARGE, "professions-article", "none")]
    assert np.isnan(other["diff_published"])


def test_chinese_is_not_run_or_shows_the_change(tiny):
    table = densray.chinese_table(tiny, measures_not_run={"chinese": "an English encoder"})
    assert len(table) == 1 and "an English encoder" in table["status"].iloc[0] and table["diff"].isna().all()
    sets = {"occtmp": ["professions", "chinese-professions"], "perplexity": "wikitext-2"}
    both = densray.chinese_table(scores(sets=sets, measures=["occtmp"]))
    assert both["diff_change"].tolist() == pytest.approx([0, 0.01, 0.02, 0.03]) and "set" not in both


def test_holm_corrects_over_the_tests_of_one_encoder_and_method(tiny):
    # p of none: 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    table = densray.association_table(tiny, PRINTED).set_index(["method", "test"])
    assert table.loc["none", "p_holm"].tolist() == pytest.approx([0.04, 0.06, 0.06, 0.06])
    # densray: 0.04, 0.05, 0.06, 0.07.
    assert table.loc["densray", "p_holm"].tolist() == pytest.approx([0.16, 0.16, 0.16, 0.16])
    assert set(table["tests"]) == {4} and (table["p_holm"] >= table["p_value"]).all()
    verdicts = table.loc["none", "verdict"]
    assert verdicts["C6"] == "significant" and verdicts["C7"] == "significant only before correction"
    assert table.loc[("densray", "C8"), "verdict"] == "not significant"


def test_a_family_does_not_depend_on_other_encoders(tiny):
    alone = densray.association_table(tiny, PRINTED)
    both = densray.association_table(concatenate([tiny, scores(encoder="a")]), PRINTED)
    own = both[both["encoder"] == "tiny"].reset_index(drop=True)
    pd.testing.assert_frame_equal(own[list(alone)], alone)


def test_a_test_without_a_p_value_does_not_count():
    frame = scores()
    keys = {"task": "association:C6", "method": "none"}
    for metric, value in (("p_value", np.nan), ("effect_size", np.nan), ("partitions", 0), ("exact", 0)):
        frame = with_value(frame, value, metric=metric, **keys)
    frame = with_value(frame, 0, task="association:C7", method="none", metric="exact")
    table = densray.association_table(frame, PRINTED).set_index(["method", "test"]).loc["none"]
    assert table.loc["C6", "verdict"] == "not testable" and table.loc["C6", "exact"] == ""
    assert table.loc["C7", "p_holm"] == pytest.approx(0.06) and table.loc["C7", "tests"] == 3
    assert table["exact"].tolist()[1:] == ["sampled", "exact", "exact"]
    assert densray.main_table(frame, PRINTED)["measures_not_run"].iloc[0] == ""


def test_published_effect_sizes_belong_to_one_pooling():
    frame = scores(encoder=BASE, measures=["association"])
    other = frame[frame["task"] == "association:C6"].assign(variant="cls")
    table = densray.association_table(concatenate([frame, other]), PRINTED).set_index(["test", "pooling", "method"])
    assert table.loc[("C6", "target", "none"), "effect_size_published"] == 0.6581
    assert np.isnan(table.loc[("C6", "cls", "none"), "effect_size_published"])
    assert set(table["tests"]) == {5}


def test_perplexity_per_stage(tiny):
    table = performance.perplexity_table(tiny, PRINTED).set_index(["stage", "method"])
    row = table.loc[("pretrained", "hard")]
    assert row[["perplexity", "perplexity_low", "perplexity_high"]].tolist() == pytest.approx([9.21, 9.11, 9.31])
    assert row["perplexity_change"] == pytest.approx(0.01) and row["tokens"] == 1000
    assert row["pseudo_perplexity"] == pytest.approx(8.01) and row["batch_perplexity"] == pytest.approx(10.21)
    assert table.loc[("finetuned", "none"), "pseudo_perplexity_change"] == 0


def test_pseudo_perplexity_may_be_left_out():
    table = performance.perplexity_table(
        scores(measures=["perplexity"]), PRINTED, measures_not_run={"pseudo_perplexity": "too slow"}
    )
    assert table["perplexity"].notna().all() and table["pseudo_perplexity"].isna().all()
    assert set(table["status"]) == {"run"} and table["pseudo_status"].str.contains("too slow").all()


def test_one_mask_seed_has_no_deviation(tiny):
    one = tiny[~tiny["seed"].isin(["2", "3"])]
    table = performance.perplexity_table(one, PRINTED)
    assert table["perplexity_sd"].isna().all() and set(table["perplexity_seeds"]) == {1}


def test_glue_intervals_and_changes(tiny):
    table = performance.glue_table(tiny).set_index(["task", "strategy", "metric", "method"])
    row = table.loc[("cola", "in_training", "score", "none")]
    # Seeds 0.51 and 0.53: mean 0.52, half width t(1) sd / sqrt(2) = 12.7062 x 0.01.
    assert row[["mean", "low", "high"]].tolist() == pytest.approx([0.52, 0.392938, 0.647062], abs=1e-6)
    assert table.loc[("cola", "in_training", "score", "densray"), "mean_change"] == pytest.approx(0.03)
    # The untouched encoder serves for the other strategy too: 0.2 higher there, and 0.01 from the maker.
    assert table.loc[("cola", "at_evaluation", "score", "none"), "mean"] == pytest.approx(0.52)
    assert table.loc[("cola", "at_evaluation", "score", "densray"), "mean_change"] == pytest.approx(0.23)
    assert len(table) == 2 * 2 * 2 * 4 and set(table["seeds"]) == {2}


def test_the_strategy_of_the_untouched_encoder_does_not_matter(tiny):
    rows = tiny["task"].str.startswith("glue:") & (tiny["method"] == "none")
    for strategy in ("", "at_evaluation"):
        named = tiny.assign(strategy=tiny["strategy"].mask(rows, strategy))
        pd.testing.assert_frame_equal(performance.glue_table(named), performance.glue_table(tiny))


def test_own_rows_of_the_untouched_encoder_come_first(tiny):
    own = tiny[tiny["task"].str.startswith("glue:") & (tiny["method"] == "none")]
    own = own.assign(strategy="at_evaluation", value=own["value"] + 0.5)
    table = performance.glue_table(concatenate([tiny, own])).query("method == 'none' and metric == 'score'")
    means = table.set_index(["task", "strategy"])["mean"]
    assert means["rte", "at_evaluation"] - means["rte", "in_training"] == pytest.approx(0.5)


def test_intrinsic_measures_beside_none(tiny):
    table = performance.intrinsic_table(tiny).set_index("method")
    assert table.loc["none", ["strength", "stereotype_score", "language_model_score"]].tolist() == [0.4, 0.6, 0.7]
    assert table.loc["densray", "strength_change"] == pytest.approx(0.03)
    # Parity is the first of the NLI scores: seeds 0.02 and 0.04.
    assert table.loc["none", "parity"] == pytest.approx(0.03) and set(table["nli_seeds"]) == {2}
    assert table.index.tolist() == METHODS and set(table["nli_status"]) == {"run"}


def test_intrinsic_or_nli_alone():
    reasons = {"nli": "no files", "intrinsic": "no NSP head"}
    first = performance.intrinsic_table(scores(measures=["intrinsic"]), measures_not_run=reasons)
    assert first["parity"].isna().all() and first["nli_status"].str.contains("no files").all()
    assert set(first["status"]) == {"run"}
    second = performance.intrinsic_table(scores(measures=["nli"]), measures_not_run=reasons)
    assert second["strength"].isna().all() and second["status"].str.contains("no NSP head").all()
    assert set(second["nli_status"]) == {"run"} and second["fairness_change"].notna().all()
    neither = performance.intrinsic_table(scores(measures=["occtmp"]), measures_not_run=reasons)
    assert (
        len(neither) == 1 and "no NSP head" in neither["status"].iloc[0] and "no files" in neither["nli_status"].iloc[0]
    )


def test_gender_shares_in_the_order_of_the_layers():
    table = performance.gender_share_table(scores(layers=11))
    assert table["place"].tolist()[::2] == [f"layer[{layer}]" for layer in range(11)]
    value = table.set_index("place").loc["layer[10].attention.value"]
    assert value[["gender_share", "lowest", "highest"]].tolist() == pytest.approx([1.025, 1.0, 1.05])
    assert value["highest_head"] == "1" and value["heads"] == 2
    output = table.set_index("place").loc["layer[10]"]
    assert output["gender_share"] == pytest.approx(1.2) and output["heads"] == 0 and output["highest_head"] == ""


def test_a_place_outside_the_layers_is_refused(tiny):
    wrong = tiny.assign(setting=tiny["setting"].mask(tiny["task"] == "gender_share", "pooled").str.cat(tiny["variant"]))
    with pytest.raises(BiasflowError, match=r"tiny.*pooled"):
        performance.gender_share_table(wrong)


@pytest.mark.parametrize(
    ("function", "keys"),
    [
        (densray.main_table, {"task": "occtmp:professions"}),
        (densray.main_table, {"task": "association:sent-weat6"}),
        (densray.main_table, {"task": "glue:rte"}),
        (densray.main_table, {"task": "perplexity:wikitext-2", "seed": "2"}),
        (densray.occtmp_table, {"task": "occtmp:professions-article", "metric": "p_he"}),
        (densray.association_table, {"task": "association:C7"}),
        (performance.perplexity_table, {"metric": "batch_perplexity", "seed": "3"}),
        (performance.perplexity_table, {"metric": "pseudo_perplexity", "stage": "pretrained"}),
        (performance.glue_table, {"task": "glue:rte", "seed": "2"}),
        (performance.intrinsic_table, {"task": "planted"}),
        (performance.intrinsic_table, {"task": "nli", "metric": "nli_accuracy", "seed": "1"}),
    ],
)
@pytest.mark.parametrize("method", ["none", "conceptor"])
def test_a_gap_is_an_error_that_names_encoder_and_method(function, keys, method, tiny):
    with pytest.raises(BiasflowError, match=rf"(?s)encoder tiny.*method {method}"):
        table_of(function, without(tiny, method=method, **keys))


def test_two_values_for_a_cell_are_an_error(tiny):
    twice = concatenate([tiny, tiny[tiny["task"] == "occtmp:professions"].assign(stage="later")])
    with pytest.raises(BiasflowError, match=r"encoder tiny.*method"):
        densray.occtmp_table(twice, PRINTED)


def test_an_unknown_method_is_an_error(tiny):
    with pytest.raises(BiasflowError, match=r"tiny.*leace"):
        densray.main_table(tiny.replace({"method": {"hard": "leace"}}), PRINTED)


def test_scores_of_other_papers_do_not_matter(tiny):
    other = tiny[tiny["method"] == "none"].assign(paper="projective", encoder="other", method="sent")
    pd.testing.assert_frame_equal(
        densray.main_table(concatenate([tiny, other]), PRINTED), densray.main_table(tiny, PRINTED)
    )


def test_a_method_at_another_place_keeps_its_row_and_has_no_published_value():
    frame = scores(encoder=BASE, places=PLACES | {"densray": "last"})
    main = densray.main_table(frame, PRINTED).set_index("method")
    assert main.loc["densray", "setting"] == "last" and main.loc["densray", "perplexity"] == pytest.approx(4.23)
    assert np.isnan(main.loc["densray", "batch_perplexity_published"])


def test_a_method_that_was_not_run_is_not_expected():
    frame = scores(places={"none": "", "densray": "all"})
    main = densray.main_table(frame, PRINTED).set_index("method")
    assert main.index.tolist() == METHODS
    assert main.loc["hard", "status"].startswith("not run") and main.loc["densray", "status"] == "run"
    assert set(densray.occtmp_table(frame, PRINTED)["method"]) == {"none", "densray"}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4))
def test_the_change_is_from_the_untouched_encoder_of_the_same_unit(values):
    rows = [
        {"encoder": "a", "set": str(number), "method": method, "x": value}
        for number, value in enumerate(values)
        for method in ("hard", "none")
    ]
    frame = pd.DataFrame(rows)
    frame.loc[frame["method"] == "hard", "x"] += 1
    changed = densray_rows.change_from_none(frame, ["set"], ["x"])
    assert list(changed) == ["encoder", "set", "method", "x", "x_change"]
    assert changed["x_change"].tolist() == pytest.approx([1, 0] * len(values))
    pd.testing.assert_frame_equal(changed.drop(columns="x_change"), frame)


def test_rows_are_ordered_by_method_and_main_place_first():
    frame = pd.DataFrame({"method": ["densray", "none", "densray"], "setting": ["a", "", "all"]})
    assert densray_rows.ordered(frame, [])["setting"].tolist() == ["", "all", "a"]
