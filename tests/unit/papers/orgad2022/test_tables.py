import numpy as np
import pandas as pd
import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers import published
from scripts.biasflow.papers.orgad2022 import tables as internal
from scripts.biasflow.results import tables
from scripts.biasflow.results.scores import concatenate
from tests.unit.synthetic_internal import EXTRINSIC, SIX, STRATEGIES, scores, with_diverged, with_value, without

PRINTED = published.read_published("orgad2022")
WORDS = pd.read_csv(published.PUBLISHED / "orgad2022_words.csv")
ROBERTA = "roberta-base"
STAGES = {"before": internal.table3, "after": internal.table4, "frozen": internal.table5}
TABLES = [internal.table1, *STAGES.values()]
pytestmark = pytest.mark.usefixtures("frozen_heap")


@pytest.fixture(scope="module")
def tiny():
    return scores()


@pytest.fixture(scope="module")
def roberta():
    return scores(encoder=ROBERTA)


def row_of(table, measure, strategy, *, variant=None, **keys):
    """The one row with these keys; the printed test input and reading unless said otherwise."""
    keys = {"setting": "scrubbed" if strategy == "scrubbing" else "raw", "encoder": "tiny"} | keys
    rows = table[(table["measure"] == measure) & (table["strategy"] == strategy)]
    for key, value in keys.items():
        rows = rows[rows[key] == value]
    rows = rows.head(1) if variant is None else rows[rows["variant"] == variant]
    assert len(rows) == 1
    return rows.iloc[0]


def expected(metric, variant=""):
    """What the maker gives this measure without debiasing before retraining, first seed."""
    return (EXTRINSIC.index((metric, variant)) + 1) / 10


def test_the_published_file():
    mean = PRINTED[PRINTED["intrinsic"].isna()].set_index(["table", "stage", "strategy", "metric", "variant"])["value"]
    assert mean["3", "before", "subsampling", "tpr_gap_pearson", "train"] == 0.319
    assert mean["4", "after", "subsampling", "sufficiency", "absdiff"] == 8.370
    assert mean["1", "finetuned", "oversampling", "compression", "mixed-last"] == 8.52
    fits = PRINTED[PRINTED["intrinsic"].notna()]
    fits = fits.set_index(["table", "encoder", "stage", "intrinsic", "metric"])["value"]
    assert fits["6", "deberta-base", "after", "compression", "precision_gap_sum"] == 0.362
    assert fits["2", ROBERTA, "before", "compression", "fpr_gap_sum"] == 0.353
    assert PRINTED["table"].value_counts().to_dict() == {"1": 12, "2": 36, "3": 44, "4": 44, "5": 40, "6": 36}
    assert PRINTED["value"].notna().all() and set(PRINTED["star"].dropna()) == {"yes", "no"}
    sources = pd.read_csv(published.PUBLISHED / "sources.csv").set_index("file")
    assert sources.loc[["orgad2022", "orgad2022_words"]].notna().all(axis=None)


@pytest.mark.parametrize(("stage", "base"), [("before", 0), ("frozen", 2)])
def test_means_sds_and_changes_over_seeds(stage, base, tiny):
    table = STAGES[stage](tiny, PRINTED)
    # Seeds add 0, 0.01, 0.02 to every strategy s, which itself adds s.
    for s, strategy in enumerate(STRATEGIES):
        row = row_of(table, "TPR gap (S)", strategy)
        assert row["mean"] == pytest.approx(expected("tpr_gap_sum") + s + 0.01 + base)
        assert row["sd"] == pytest.approx(0.01) and row["n"] == 3
        if strategy != "none":
            assert row["change"] == pytest.approx(s) and row["pairs"] == 3
            assert row["p"] == 0.25 and row["star"] == "no" and row["p_holm"] == 1  # 2 / 2^3
    none = row_of(table, "Accuracy", "none")
    assert np.isnan(none["p"]) and np.isnan(none["change"]) and none["star"] == ""


def test_p_is_exact_and_corrected_within_a_measure():
    table = internal.table3(scores(seeds=SIX, parts=["before"]), PRINTED)
    row = row_of(table, "FPR gap (P)", "oversampling")
    assert row["p"] == 2 / 2**6 and row["star"] == "yes"
    assert table["p"].count() == 4 * len(EXTRINSIC)
    # Oversampling, subsampling, and scrubbing on both texts.
    assert row["p_holm"] == 4 * 2 / 2**6
    both = internal.table3(
        concatenate([scores(seeds=SIX, parts=["before"]), scores(encoder="a", parts=["before"])]), PRINTED
    )
    own = both[both["encoder"] == "tiny"].reset_index(drop=True)
    pd.testing.assert_series_equal(own["p_holm"], table["p_holm"])


@pytest.mark.parametrize(("count", "p"), [(1, 1.0), (2, 0.5), (4, 0.125)])
def test_few_seeds(count, p):
    table = internal.table3(scores(seeds=SIX[:count], parts=["before"]), PRINTED)
    row = row_of(table, "Accuracy", "subsampling")
    assert row["p"] == p and np.isnan(row["sd"]) == (count == 1)


def test_scrubbing_has_a_row_for_each_test_input_and_the_printed_one_beside_scrubbed(roberta):
    table = internal.table3(roberta, PRINTED)
    main = row_of(table, "TPR gap (P)", "scrubbing", encoder=ROBERTA)
    other = row_of(table, "TPR gap (P)", "scrubbing", encoder=ROBERTA, setting="raw")
    assert main["mean_published"] == 0.704 and np.isnan(other["mean_published"]) and other["star_published"] == ""
    assert other["mean"] - main["mean"] == pytest.approx(0.5)
    assert other["change"] == pytest.approx(3.5) and main["change"] == pytest.approx(3)


def test_printed_values_differences_in_printed_sds_and_stars():
    table = internal.table3(scores(encoder=ROBERTA, seeds=SIX), PRINTED)
    row = row_of(table, "TPR gap (P)", "subsampling", encoder=ROBERTA)
    ours = expected("tpr_gap_pearson", "train") + 2 + 0.025
    assert row["mean_difference"] == pytest.approx(ours - 0.319) and row["sd_published"] == 0.114
    assert row["difference_in_printed_sd"] == pytest.approx((ours - 0.319) / 0.114)
    assert row["star"] == row["star_published"] == "yes" and row["stars_agree"] == "yes"
    assert row_of(table, "FPR gap (P)", "scrubbing", encoder=ROBERTA)["stars_agree"] == "no"
    # An sd that is printed as 0.000 is no unit.
    zero = row_of(table, "Independence gap (S)", "subsampling", encoder=ROBERTA)
    assert zero["sd_published"] == 0 and np.isnan(zero["difference_in_printed_sd"])
    # Other readings stand further down, without printed values.
    variant = row_of(table, "Separation gap (S)", "none", variant="sum", encoder=ROBERTA)
    assert variant["mean"] == pytest.approx(expected("separation", "sum") + 0.025)
    assert np.isnan(variant["mean_published"])


def test_compression_is_a_mean_over_probe_seeds(tiny):
    table = internal.table3(tiny, PRINTED)
    # None: 3, 3.1, 3.2 with the first probe seed, 0.01 more with the second.
    row = row_of(table, "Compression", "none", variant="mixed-last")
    assert row["mean"] == pytest.approx(3.105) and row["sd"] == pytest.approx(0.1)
    assert row_of(table, "Compression", "none", variant="bits-best")["mean"] == pytest.approx(2.105)
    assert not (internal.table5(tiny, PRINTED)["measure"] == "Compression").any()


def test_undefined_cells_stand_beside_their_measure(tiny):
    table = internal.table3(tiny, PRINTED)
    found = table[table["strategy"] == "none"].groupby("measure")["undefined_cells"].first()
    assert found["TPR gap (P)"] == 0 and found["FPR gap (S)"] == 1 and found["Precision gap (S)"] == 2
    assert found["Separation gap (S)"] == 3 and found["Sufficiency gap (S)"] == 4
    assert np.isnan(found.get("Accuracy", np.nan))


def test_after_retraining_pairs_are_heads_and_a_second_test_is_by_encoder(tiny):
    row = row_of(internal.table4(tiny, PRINTED), "TPR gap (S)", "oversampling")
    # Three encoders with two heads each; the second head adds 0.001.
    values = [expected("tpr_gap_sum") + 2 + j / 100 + k / 1000 for j in range(3) for k in range(2)]
    assert row["mean"] == pytest.approx(np.mean(values)) and row["sd"] == pytest.approx(np.std(values, ddof=1))
    assert (row["n"], row["n_heads"], row["pairs"]) == (3, 6, 6)
    assert row["p"] == 2 / 2**6 and row["p_by_encoder"] == 2 / 2**3
    assert row["star"] == "yes" and row["p_by_encoder_holm"] == 1


def test_more_than_twenty_pairs_are_sampled_alike_every_time():
    runs = scores(seeds=range(3), heads=range(8), parts=["after"])
    first, second = (internal.table4(runs, PRINTED) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    row = row_of(first, "Accuracy", "scrubbing")
    assert row["pairs"] == 24 and row["p"] == pytest.approx(1 / 10_001) and row["p_by_encoder"] == 0.25


def test_diverged_seeds_are_left_out_in_pairs_and_named(tiny):
    lost = with_value(
        with_diverged(tiny, "oversampling", 11, 5), 99.0, task="occupation", strategy="oversampling", seed="5"
    )
    table = internal.table3(lost, PRINTED)
    row = row_of(table, "TPR gap (S)", "oversampling")
    assert row["mean"] == pytest.approx(expected("tpr_gap_sum") + 1) and row["n"] == row["pairs"] == 1
    assert row["diverged"] == "seeds 5, 11" and row["p"] == 1
    assert row_of(table, "TPR gap (S)", "subsampling")["pairs"] == 3
    assert row_of(table, "TPR gap (S)", "none")["diverged"] == ""
    assert row_of(table, "Compression", "oversampling")["n"] == 1
    # A diverged seed of none is missing in the pairs of every strategy, not in their means.
    table = internal.table3(with_diverged(tiny, "none", 0), PRINTED)
    row = row_of(table, "TPR gap (S)", "subsampling")
    assert row["n"] == 3 and row["pairs"] == 2 and row["change"] == pytest.approx(2)
    assert row_of(table, "TPR gap (S)", "none")["diverged"] == "seed 0"
    # The frozen encoder was never fine-tuned.
    assert row_of(internal.table5(lost, PRINTED), "Accuracy", "oversampling")["n"] == 3


def test_a_diverged_seed_needs_no_scores_and_a_strategy_may_lose_all(tiny):
    absent = without(
        with_diverged(tiny, "scrubbing", 0, 5, 11), strategy="scrubbing", seed="5", task="occupation", stage="before"
    )
    row = row_of(internal.table3(absent, PRINTED), "Accuracy", "scrubbing")
    assert row["n"] == 0 and np.isnan(row["mean"]) and row["diverged"] == "seeds 0, 5, 11" and np.isnan(row["p"])
    one = internal.table1(absent, PRINTED).set_index(["model", "setting"])
    assert np.isnan(one.loc[("scrubbing", "scrubbed"), "compression"])
    assert one.loc[("scrubbing", "scrubbed"), "diverged"] == "seeds 0, 5, 11"


def test_an_undefined_value_is_left_out_and_the_others_kept(tiny):
    gap = with_value(tiny, np.nan, metric="tpr_gap_pearson", variant="train", strategy="none", stage="before", seed="0")
    table = internal.table3(gap, PRINTED)
    assert row_of(table, "TPR gap (P)", "none")["n"] == 2
    assert row_of(table, "TPR gap (P)", "subsampling")["pairs"] == 2


@pytest.mark.parametrize(
    ("function", "strategy", "keys"),
    [
        (internal.table3, "subsampling", {"stage": "before", "metric": "independence"}),
        (internal.table3, "none", {"stage": "before", "metric": "tpr_gap_pearson", "variant": "labour", "seed": "5"}),
        (internal.table4, "subsampling", {"stage": "after", "seed": "5", "head_seed": "1"}),
        (internal.table4, "none", {"stage": "after", "task": "occupation"}),
        (internal.table5, "none", {"stage": "frozen", "seed": "11", "metric": "accuracy"}),
        (internal.table3, "subsampling", {"task": "probe", "seed": "5"}),
        (internal.table3, "none", {"task": "probe", "seed": "5", "head_seed": "1", "variant": "bits-best"}),
        (internal.table1, "oversampling", {"task": "ceat:C6", "metric": "p_two_sided", "seed": "0"}),
        (internal.table1, "none", {"task": "ceat:C6"}),
    ],
)
def test_a_gap_is_an_error_that_names_encoder_and_strategy(function, strategy, keys, tiny):
    with pytest.raises(BiasflowError, match=rf"encoder tiny, strategy {strategy}"):
        function(without(tiny, strategy=strategy, **keys), PRINTED)


def test_a_strategy_may_not_have_been_run_at_all(tiny):
    table = internal.table4(without(tiny, strategy="subsampling"), PRINTED)
    assert table["strategy"].unique().tolist() == ["none", "oversampling", "scrubbing"]


def test_an_unknown_strategy_and_a_missing_test_input_are_refused(tiny):
    with pytest.raises(BiasflowError, match=r"tiny.*rewriting"):
        internal.table3(tiny.assign(strategy=tiny["strategy"].replace("scrubbing", "rewriting")), PRINTED)
    with pytest.raises(BiasflowError, match=r"tiny, strategy scrubbing.*scrubbed"):
        internal.table3(without(tiny, strategy="scrubbing", setting="scrubbed", stage="before"), PRINTED)


def test_optional_readings_may_be_left_out_by_a_run(tiny):
    table = internal.table3(without(tiny, variant="labour"), PRINTED)
    assert "labour" not in set(table["variant"]) and "test" in set(table["variant"])


@pytest.mark.parametrize("function", TABLES)
def test_an_encoder_that_was_not_run_says_so_beside_the_published_values(function, tiny):
    table = function(tiny, PRINTED, not_run={ROBERTA: "no weights", "other": "too large"})
    assert table["encoder"].unique().tolist() == ["tiny", ROBERTA, "other"]
    own = table[table["encoder"] == ROBERTA]
    assert set(own["status"]) == {"not run: no weights"} and len(own) > 5
    assert own.filter(regex="_published$").select_dtypes("number").notna().any(axis=None)
    ours = own.select_dtypes("number")
    assert ours[[name for name in ours if not name.endswith("_published")]].isna().all(axis=None)
    assert table.loc[table["encoder"] == "other", "status"].tolist() == ["not run: too large"]


@pytest.mark.parametrize("function", TABLES)
def test_no_encoder_at_all_is_an_error(function, tiny):
    with pytest.raises(BiasflowError):
        function(tiny.head(0), PRINTED)
    assert len(function(tiny.head(0), PRINTED, not_run={"tiny": "too small"}))


def test_measures_that_were_not_run_give_the_reason():
    part = scores(encoder=ROBERTA, parts=["before", "finetuning"])
    reasons = {"compression": "no probe", "after": "no heads", "ceat": "no corpus"}
    third = internal.table3(part, PRINTED, measures_not_run=reasons)
    assert set(third.loc[third["measure"] == "Compression", "status"]) == {"not run: no probe"}
    assert set(third.loc[third["measure"] != "Compression", "status"]) == {"run"}
    assert set(internal.table4(part, PRINTED, measures_not_run=reasons)["status"]) == {"not run: no heads"}
    assert set(internal.table5(part, PRINTED)["status"]) == {"not run: not asked for"}
    (missing,) = set(internal.table1(part, PRINTED, measures_not_run=reasons)["measures_not_run"])
    assert missing == "compression: no probe; ceat: no corpus; after: no heads"


def test_rows_stand_in_the_order_of_the_paper(roberta):
    table = internal.table3(concatenate([roberta, scores()]), PRINTED)
    assert table["encoder"].unique().tolist() == [ROBERTA, "tiny"]
    first = table.head(5)
    assert first["strategy"].tolist() == [*STRATEGIES, "scrubbing"] and set(first["measure"]) == {"Compression"}
    assert first["setting"].tolist()[-2:] == ["scrubbed", "raw"]
    printed = table.loc[(table["encoder"] == ROBERTA) & table["mean_published"].notna(), "measure"].unique().tolist()
    paper = PRINTED[PRINTED["table"] == "3"].drop_duplicates(["metric", "variant"])
    assert len(printed) == len(paper) == 11 and printed[:4] == ["Compression", "Accuracy", "TPR gap (P)", "TPR gap (S)"]


def test_a_control_away_from_chance_is_marked():
    keys = {"metric": "control_compression", "variant": "bits-best", "strategy": "none"}
    table = internal.table1(with_value(scores(encoder=ROBERTA, seeds=SIX), 0.94, **keys), PRINTED)
    marks = table.set_index("model")["control_at_chance"]
    assert not marks["none"] and marks["oversampling"]


def test_table_1_has_a_row_per_model_and_test_input():
    runs = scores(encoder=ROBERTA, seeds=SIX)
    table = internal.table1(runs, PRINTED).set_index(["model", "setting"])
    raw = [(model, "raw") for model in ("none", "oversampling", "subsampling")]
    baselines = [(model, setting) for model in ("random", "pretrained") for setting in ("raw", "scrubbed")]
    assert table.index.tolist() == [*baselines, *raw, ("scrubbing", "scrubbed"), ("scrubbing", "raw")]
    none, over, random = (table.loc[(model, "raw")] for model in ("none", "oversampling", "random"))
    assert none["compression"] == pytest.approx(3.255) and none["compression_bits"] == pytest.approx(2.255)
    assert none["compression_published"] == 4.12 and none["control_compression"] == 1 and none["control_at_chance"]
    assert over["compression_difference"] == pytest.approx(5.255 - 8.52) and over["compression_stars"] == "both"
    assert random["compression"] == pytest.approx(20.255) and random["compression_published"] == 5.61
    assert over["ceat"] == pytest.approx(0.125) and over["ceat_published"] == 0.29 and over["ceat_stars"] == "ours"
    assert over["ceat_significant"] == over["ceat_seeds"] == 6
    assert table.loc[("subsampling", "raw"), "ceat_significant"] == 0 and set(table["ceat_test"]) == {"C6"}
    assert none["compression_stars"] == none["before_tpr_gap_p_stars"] == ""


def test_table_1_shows_the_measures_of_tables_3_and_4(roberta):
    overview = internal.table1(roberta, PRINTED).set_index(["model", "setting"])
    for stage, table in (("before", internal.table3(roberta, PRINTED)), ("after", internal.table4(roberta, PRINTED))):
        for name, measure in (("tpr_gap_p", "TPR gap (P)"), ("sufficiency_gap_s", "Sufficiency gap (S)")):
            row = row_of(table, measure, "scrubbing", encoder=ROBERTA)
            cell = overview.loc[("scrubbing", "scrubbed")]
            for suffix, key in (("", "mean"), ("_sd", "sd"), ("_published", "mean_published")):
                assert cell[f"{stage}_{name}{suffix}"] == row[key]
    # Not the misprint of the paper's table 1.
    assert overview.loc[("scrubbing", "scrubbed"), "after_sufficiency_gap_s_published"] == 5.239


def test_table_1_has_ceat_of_another_test_where_c6_was_not_run():
    table = internal.table1(scores(encoder=ROBERTA, tests=["planted"]), PRINTED)
    assert set(table["ceat_test"]) == {"planted"} and table["ceat"].notna().any()
    assert "ceat_published" not in table or table["ceat_published"].isna().all()


@pytest.mark.parametrize("function", TABLES)
def test_every_table_can_be_written(function, tiny, tmp_path):
    table = function(with_diverged(tiny, "none", 0), PRINTED, not_run={ROBERTA: "no weights"})
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    tables.write_table(table, *paths, caption=internal.CAPTIONS[function.__name__])
    assert len(pd.read_csv(paths[0])) == len(table)
    numbers = [name for name in table if name in ("mean", "p", "compression", "after_tpr_gap_p")]
    assert all(pd.api.types.is_float_dtype(table[name]) for name in numbers)


def test_captions():
    assert set(internal.CAPTIONS) == {*[f"table{i}" for i in (1, 2, 3, 4, 5, 6, 9, 10)], "correlations", "data"}


def top_words(rows):
    columns = ["seed", "iteration", "gender", "rank", "word"]
    return pd.DataFrame(rows, columns=columns).assign(weight=1.0, accuracy=0.7, majority_share=0.5)


def test_words_by_seeds_and_ranks_beside_the_printed_ones():
    ours = top_words(
        [
            (0, 1, "F", 1, "husband"),
            (0, 1, "F", 2, "women"),
            (1, 1, "F", 1, "women"),
            (1, 1, "F", 2, "dance"),
            (0, 1, "M", 1, "chief"),
            (1, 1, "M", 1, "chief"),
            (0, 2, "F", 1, "nurse"),
            (1, 2, "F", 1, "yoga"),
        ]
    )
    text = WORDS.astype(str)  # as a reader of text gives it
    frame = internal.words_table(ours, WORDS, "9", profession="all")
    pd.testing.assert_frame_equal(internal.words_table(ours, text, "9", profession="all"), frame)
    table = frame.set_index(["iteration", "gender"])
    assert table.index.tolist() == [("all", "F"), ("all", "M"), ("1", "F"), ("1", "M"), ("2", "F")]
    assert table.loc[("1", "F"), "words"] == "women (2), husband (1), dance (1)"
    assert table.loc[("1", "M"), "words"] == "chief (2)"
    every = table.loc[("all", "F")]
    assert every["printed_words"] == 20 and every["printed_found"] == 3 and every["seeds"] == 2
    assert every["printed"].startswith("husband, women") and table.loc[("1", "F"), "printed_found"] == 2
    assert table.loc[("2", "F"), "accuracy"] == 0.7 and np.isnan(every["accuracy"])


def test_words_of_another_profession_are_not_compared_with_the_printed_ones():
    ours = top_words([(0, 1, "F", 1, "women"), (0, 1, "M", 1, "chief")])
    table = internal.words_table(ours, WORDS, "10", profession="surgeon")
    assert (table["profession"] == "surgeon").all() and (table["printed"] == "").all()
    assert table["printed_words"].isna().all() and table["printed_found"].isna().all()
    assert internal.words_table(ours, WORDS, "10", profession="nurse")["printed_words"].gt(0).all()


def test_words_need_rows():
    one = top_words([(0, 1, "F", 1, "nurse")])
    for ours, table, named in ((one[:0], "9", "table 9"), (one, "11", "11"), (one.drop(columns="rank"), "9", "rank")):
        with pytest.raises(BiasflowError, match=named):
            internal.words_table(ours, WORDS, table, profession="all")


def professions():
    rows = [
        ("rapper", 10, 90, 0.1, np.nan, True, ""),
        ("nurse", 90, 10, 0.9, 0.88, True, ""),
        ("dj", 1, 3, 0.25, np.nan, False, "1 woman in the training split"),
    ]
    columns = ["profession", "women", "men", "share_of_women", "labour_share", "kept", "reason"]
    return pd.DataFrame(rows, columns=columns)


def test_data_table_lists_what_is_used_what_is_dropped_and_what_is_unmapped():
    table = internal.data_table(professions()).set_index("profession")
    assert table.index.tolist() == ["nurse", "rapper", "dj"] and table["used"].tolist() == ["yes", "yes", "no"]
    assert table["biographies"].tolist() == [100, 100, 4] and table.loc["nurse", "note"] == ""
    assert "labour" in table.loc["rapper", "note"] and table.loc["dj", "note"] == "1 woman in the training split"


def test_data_table_without_a_single_reason():
    kept = professions().head(2).assign(reason=np.nan, labour_share=0.5)
    assert internal.data_table(kept)["note"].tolist() == ["", ""]


def test_data_table_refuses_what_it_cannot_explain():
    with pytest.raises(BiasflowError, match="dj"):
        internal.data_table(professions().assign(reason=""))
    with pytest.raises(BiasflowError, match="nurse"):
        internal.data_table(pd.concat([professions(), professions().iloc[[1]]]))
    with pytest.raises(BiasflowError, match="labour_share"):
        internal.data_table(professions().drop(columns="labour_share"))
