"""Tables 1, 3, 4 and 5: means, changes and tests, printed values, divergence, holes, and what was not run."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.orgad2022.overview import table1
from biasflow.papers.orgad2022.stages import table3, table4, table5
from biasflow.papers.published import read_published
from biasflow.results.scores import NA, concatenate
from biasflow.results.tables import write_table
from tests.unit.papers.orgad2022.made_up import (
    DATA,
    EXTRINSIC,
    MODELS,
    SIX,
    run,
    scores,
    with_diverged,
    with_value,
    without,
)

PRINTED = read_published("orgad2022", "values").query("task == 'occupation'")
ROBERTA = "roberta-base"
TEXTS = ("raw", "scrubbed")
STAGES = {"before": table3, "after": table4, "frozen": table5}
TABLES = [table1, *STAGES.values()]
NOT_LISTED = "not run: it is not in papers.orgad2022.encoders"


@pytest.fixture(scope="module")
def tiny():
    return scores()


@pytest.fixture(scope="module")
def roberta():
    return scores(encoder=ROBERTA)


def row_of(table, measure, strategy, *, variant=None, **keys):
    """The one row with these keys; the text that it was trained on and the first reading unless said otherwise."""
    keys = {"setting": "scrubbed" if strategy == "scrubbing" else "raw", "encoder": "tiny"} | keys
    rows = table[(table["measure"] == measure) & (table["strategy"] == strategy)]
    for key, value in keys.items():
        rows = rows[rows[key] == value]
    rows = rows.head(1) if variant is None else rows[rows["variant"] == variant]
    assert len(rows) == 1
    return rows.iloc[0]


def expected(metric, variant=NA):
    """What the maker gives this measure without debiasing before retraining, first seed."""
    return (EXTRINSIC.index((metric, variant)) + 1) / 10


def of_encoder(table, name="tiny"):
    return table[table["encoder"] == name]


def test_the_published_file():
    mean = PRINTED[PRINTED["intrinsic"].isna()].set_index(["table", "model", "metric", "variant"])["value"]
    assert mean["3", "subsampling", "tpr_gap_pearson", "train"] == 0.319
    assert mean["4", "subsampling", "sufficiency", "absdiff"] == 8.370
    assert mean["1", "oversampling", "compression", "released-mixed-last"] == 8.52
    fits = PRINTED[PRINTED["intrinsic"].notna()]
    fits = fits.set_index(["table", "encoder", "stage", "intrinsic", "metric"])["value"]
    assert fits["6", "deberta-base", "after", "compression", "precision_gap_sum"] == 0.362
    assert fits["2", ROBERTA, "before", "compression", "fpr_gap_sum"] == 0.353
    count = {"1": 44, "2": 36, "3": 44, "4": 44, "5": 40, "6": 36, "sec. 4.2": 4}
    assert PRINTED["table"].value_counts().to_dict() == count
    assert PRINTED["value"].notna().all() and set(PRINTED["star"].dropna()) == {"yes", "no"}


@pytest.mark.parametrize(("stage", "base"), [("before", 0), ("frozen", 2)])
def test_means_sds_and_changes_over_seeds(stage, base, tiny):
    table = STAGES[stage](run(tiny))
    # Seeds add 0, 0.01, 0.02 to every strategy s, which itself adds s.
    for s, strategy in enumerate(MODELS):
        row = row_of(table, "TPR gap (S)", strategy)
        assert row["mean"] == pytest.approx(expected("tpr_gap_sum") + s + 0.01 + base)
        assert row["sd"] == pytest.approx(0.01) and row["n"] == 3
        if strategy != "none":
            assert row["change"] == pytest.approx(s) and row["pairs"] == 3
            assert row["p"] == 0.25 and row["star"] == "no" and row["p_holm"] == 1  # 2 / 2^3
    none = row_of(table, "Accuracy", "none")
    assert np.isnan(none["p"]) and np.isnan(none["change"]) and none["star"] == ""


def test_p_is_exact_and_corrected_within_a_measure():
    table = of_encoder(table3(run(scores(seeds=SIX, parts=["before"]))))
    row = row_of(table, "FPR gap (P)", "oversampling")
    assert row["p"] == 2 / 2**6 and row["star"] == "yes"
    assert table["p"].count() == 4 * len(EXTRINSIC)
    # Oversampling, subsampling, and scrubbing on both texts.
    assert row["p_holm"] == 4 * 2 / 2**6
    both = concatenate([scores(seeds=SIX, parts=["before"]), scores(encoder="zeta", parts=["before"])])
    pd.testing.assert_series_equal(of_encoder(table3(run(both)))["p_holm"], table["p_holm"])


@pytest.mark.parametrize(("count", "p"), [(1, 1.0), (2, 0.5), (4, 0.125)])
def test_few_seeds(count, p):
    row = row_of(table3(run(scores(seeds=SIX[:count], parts=["before"]))), "Accuracy", "subsampling")
    assert row["p"] == p and np.isnan(row["sd"]) == (count == 1)


def test_five_seeds_can_have_a_star_on_one_side_alone():
    table = table5(run(scores(encoder=ROBERTA, seeds=SIX[:5])))
    row = row_of(table, "TPR gap (S)", "subsampling", encoder=ROBERTA)
    assert (row["p"], row["p_one_sided"]) == (2 / 2**5, 1 / 2**5)
    assert (row["star"], row["star_one_sided"], row["star_published"]) == ("no", "yes", "yes")
    assert row["stars_agree"] == "one-sided"
    raw = row_of(table, "TPR gap (S)", "scrubbing", encoder=ROBERTA, setting="raw")
    assert raw["stars_agree"] == "two-sided"  # printed: no star
    assert row_of(table, "TPR gap (S)", "none", encoder=ROBERTA)["stars_agree"] == ""


def test_one_sided_is_in_the_direction_of_the_change():
    frame = scores(seeds=SIX[:5], parts=["before"])
    lower = with_value(frame, -9.0, metric="independence", strategy="oversampling")
    row = row_of(table3(run(lower)), "Independence gap (S)", "oversampling")
    assert row["change"] < 0 and row["p_one_sided"] == row["p"] / 2


def test_scrubbing_has_a_row_for_each_input_the_printed_gaps_beside_raw_and_the_printed_compression_beside_scrubbed(
    roberta,
):
    table = table3(run(roberta))
    raw, scrubbed = (row_of(table, "TPR gap (P)", "scrubbing", encoder=ROBERTA, setting=text) for text in TEXTS)
    assert raw["mean_published"] == 0.704 and np.isnan(scrubbed["mean_published"])
    assert scrubbed["star_published"] == ""
    assert raw["mean"] - scrubbed["mean"] == pytest.approx(0.5)
    assert raw["change"] == pytest.approx(3.5) and scrubbed["change"] == pytest.approx(3)
    raw, scrubbed = (row_of(table, "Compression", "scrubbing", encoder=ROBERTA, setting=text) for text in TEXTS)
    assert scrubbed["mean_published"] == 1.699 and np.isnan(raw["mean_published"])


def test_printed_values_differences_in_printed_sds_and_stars():
    table = table3(run(scores(encoder=ROBERTA, seeds=SIX)))
    row = row_of(table, "TPR gap (P)", "subsampling", encoder=ROBERTA)
    ours = expected("tpr_gap_pearson", "train") + 2 + 0.025
    assert row["mean_difference"] == pytest.approx(ours - 0.319) and row["sd_published"] == 0.114
    assert row["difference_in_printed_sd"] == pytest.approx((ours - 0.319) / 0.114)
    assert row["star"] == row["star_published"] == "yes" and row["stars_agree"] == "both"
    raw = row_of(table, "FPR gap (P)", "scrubbing", encoder=ROBERTA, setting="raw")
    assert raw["stars_agree"] == "neither"
    # An sd that is printed as 0.000 is no unit.
    zero = row_of(table, "Independence gap (S)", "subsampling", encoder=ROBERTA)
    assert zero["sd_published"] == 0 and np.isnan(zero["difference_in_printed_sd"])
    # Other readings stand further down, without printed values.
    variant = row_of(table, "Separation gap (S)", "none", variant="sum", encoder=ROBERTA)
    assert variant["mean"] == pytest.approx(expected("separation", "sum") + 0.025)
    assert np.isnan(variant["mean_published"])


def test_compression_is_a_mean_over_probe_seeds(tiny):
    table = table3(run(tiny))
    # None: 3, 3.1, 3.2 with the first probe seed, 0.01 more with the second.
    row = row_of(table, "Compression", "none", variant="released-mixed-last")
    assert row["mean"] == pytest.approx(3.105) and row["sd"] == pytest.approx(0.1)
    assert row_of(table, "Compression", "none", variant="released-bits-best")["mean"] == pytest.approx(2.105)
    assert not (table5(run(tiny))["measure"] == "Compression").any()


def test_every_reading_of_the_probes_data_has_rows_that_say_how_many_labels_were_coded(roberta):
    table = of_encoder(table3(run(roberta)), ROBERTA)
    rows = {data: row_of(table, "Compression", "none", variant=f"{data}-mixed-last", encoder=ROBERTA) for data in DATA}
    assert [(row["mean"], row["coded"]) for row in rows.values()] == [
        (pytest.approx(3.105), 1000),
        (pytest.approx(2.855), 200),
    ]
    assert rows["released"]["mean_published"] == 4.121 and np.isnan(rows["paper"]["mean_published"])
    assert table.loc[table["measure"] != "Compression", "coded"].isna().all()


def test_table_1_shows_the_probe_data_of_the_printed_values_and_the_others_in_short(roberta):
    row = table1(run(roberta)).set_index(["model", "setting"]).loc[("none", "raw")]
    assert row["probe_data"] == "released" and row["compression"] == pytest.approx(3.105)
    assert row["compression_coded"] == 1000 and row["compression_published"] == 4.12
    assert row["compression_paper"] == pytest.approx(2.855) and row["compression_paper_coded"] == 200
    alone = table1(run(without(roberta, variant=lambda column: column.str.startswith("released-"))))
    row = alone.set_index(["model", "setting"]).loc[("none", "raw")]
    assert (
        row["probe_data"] == "paper" and row["compression"] == pytest.approx(2.855) and row["compression_coded"] == 200
    )
    assert np.isnan(row["compression_difference"]) and "compression_paper" not in alone


def test_undefined_cells_stand_beside_their_measure(tiny):
    table = table3(run(tiny))
    found = table[(table["strategy"] == "none") & (table["encoder"] == "tiny")]
    found = found.groupby("measure")["undefined_cells"].first()
    assert found["TPR gap (P)"] == 0 and found["FPR gap (S)"] == 1 and found["Precision gap (S)"] == 2
    assert found["Separation gap (S)"] == 3 and found["Sufficiency gap (S)"] == 4
    assert np.isnan(found.get("Accuracy", np.nan))


def test_after_retraining_pairs_are_heads_and_a_second_test_is_by_encoder(tiny):
    row = row_of(table4(run(tiny)), "TPR gap (S)", "oversampling")
    # Three encoders with two heads each; the second head adds 0.001.
    values = [expected("tpr_gap_sum") + 2 + j / 100 + k / 1000 for j in range(3) for k in range(2)]
    assert row["mean"] == pytest.approx(np.mean(values)) and row["sd"] == pytest.approx(np.std(values, ddof=1))
    assert (row["n"], row["n_heads"], row["pairs"]) == (3, 6, 6)
    assert row["p"] == 2 / 2**6 and row["p_by_encoder"] == 2 / 2**3
    assert row["star"] == "yes" and row["p_by_encoder_holm"] == 1


def test_more_than_twenty_pairs_are_sampled_alike_every_time():
    made = run(scores(seeds=(0, 5, 11), heads=range(8), parts=["after"]))
    first, second = table4(made), table4(made)
    pd.testing.assert_frame_equal(first, second)
    row = row_of(first, "Accuracy", "scrubbing")
    assert row["pairs"] == 24 and row["p"] == pytest.approx(1 / 10_001) and row["p_by_encoder"] == 0.25


def test_diverged_seeds_are_left_out_in_pairs_and_named(tiny):
    lost = with_value(with_diverged(tiny, "oversampling", 11, 5), 99.0, head="own", strategy="oversampling", seed="5")
    table = table3(run(lost))
    row = row_of(table, "TPR gap (S)", "oversampling")
    assert row["mean"] == pytest.approx(expected("tpr_gap_sum") + 1) and row["n"] == row["pairs"] == 1
    assert row["diverged"] == "seeds 5, 11" and row["p"] == 1
    assert row_of(table, "TPR gap (S)", "subsampling")["pairs"] == 3
    assert row_of(table, "TPR gap (S)", "none")["diverged"] == ""
    assert row_of(table, "Compression", "oversampling")["n"] == 1
    # A diverged seed of none is missing in the pairs of every strategy, not in their means.
    table = table3(run(with_diverged(tiny, "plain", 0)))
    row = row_of(table, "TPR gap (S)", "subsampling")
    assert row["n"] == 3 and row["pairs"] == 2 and row["change"] == pytest.approx(2)
    assert row_of(table, "TPR gap (S)", "none")["diverged"] == "seed 0"
    # The frozen encoder was never fine-tuned.
    frozen = row_of(table5(run(lost)), "Accuracy", "oversampling")
    assert frozen["n"] == 3 and frozen["diverged"] == ""


def test_a_diverged_seed_needs_no_scores_and_a_strategy_may_lose_all(tiny):
    lost = without(with_diverged(tiny, "scrubbing", 0, 5, 11), strategy="scrubbing", seed="5", head="own")
    row = row_of(table3(run(lost)), "Accuracy", "scrubbing")
    assert row["n"] == 0 and np.isnan(row["mean"]) and row["diverged"] == "seeds 0, 5, 11" and np.isnan(row["p"])
    one = of_encoder(table1(run(lost))).set_index(["model", "setting"])
    assert np.isnan(one.loc[("scrubbing", "scrubbed"), "compression"])
    assert one.loc[("scrubbing", "scrubbed"), "diverged"] == "seeds 0, 5, 11"


def test_an_undefined_value_is_left_out_and_the_others_kept(tiny):
    keys = {"metric": "tpr_gap_pearson", "variant": "train", "strategy": "plain", "head": "own", "seed": "0"}
    table = table3(run(with_value(tiny, np.nan, **keys)))
    assert row_of(table, "TPR gap (P)", "none")["n"] == 2
    assert row_of(table, "TPR gap (P)", "subsampling")["pairs"] == 2


@pytest.mark.parametrize(
    ("function", "named", "keys"),
    [
        (table3, "subsampling", {"strategy": "subsampling", "head": "own", "metric": "independence"}),
        (table3, "none", {"strategy": "plain", "head": "own", "variant": "labour", "seed": "5"}),
        (table3, "none", {"strategy": "plain", "head": "own"}),
        (table4, "subsampling", {"strategy": "subsampling", "head": "retrained", "seed": "5", "head_seed": "1"}),
        (table4, "none", {"strategy": "plain", "head": "retrained"}),
        (table5, "none", {"head": "frozen-plain", "split_seed": "11", "metric": "accuracy"}),
        (table3, "subsampling", {"strategy": "subsampling", "metric": "compression", "seed": "5"}),
        (table3, "none", {"strategy": "plain", "seed": "5", "readout_seed": "1", "variant": "paper-bits-best"}),
        (table1, "oversampling", {"strategy": "oversampling", "metric": "ceat_p_two_sided", "seed": "0"}),
        (table1, "none", {"strategy": "plain", "dataset": "C6"}),
        (table1, "random", {"strategy": "random", "dataset": "bios-raw", "variant": "paper-bits-best", "seed": "0"}),
        (table1, "scrubbing", {"strategy": "scrubbing", "dataset": "bios-scrubbed", "head": "own"}),
    ],
)
def test_a_gap_is_an_error_that_names_encoder_and_strategy(function, named, keys, tiny):
    with pytest.raises(BiasflowError, match=rf"encoder tiny, strategy {named}"):
        function(run(without(tiny, **keys)))


def test_two_scores_of_the_same_are_an_error(tiny):
    again = tiny[(tiny["head"] == "own") & (tiny["strategy"] == "scrubbing") & (tiny["metric"] == "accuracy")]
    twice = concatenate([tiny, again.assign(split_seed="99")])
    with pytest.raises(BiasflowError, match=r"encoder tiny, strategy scrubbing.*more than one accuracy"):
        table3(run(twice))


def test_a_strategy_may_not_have_been_run_at_all(tiny):
    table = of_encoder(table4(run(without(tiny, strategy="subsampling"))))
    assert table["strategy"].unique().tolist() == ["none", "oversampling", "scrubbing"]


def test_optional_readings_may_be_left_out_by_a_run(tiny):
    table = table3(run(without(tiny, variant="labour")))
    assert "labour" not in set(table["variant"]) and "test" in set(table["variant"])


@pytest.mark.parametrize("function", TABLES)
def test_an_encoder_that_was_not_run_says_so_beside_the_published_values(function, tiny):
    table = function(run(tiny, not_run={ROBERTA: "no weights", "other": "too large"}))
    assert table["encoder"].unique().tolist() == ["tiny", ROBERTA, "other"]
    own = of_encoder(table, ROBERTA)
    assert set(own["status"]) == {"not run: no weights"} and len(own) > 5
    assert own.filter(regex="_published$").select_dtypes("number").notna().any(axis=None)
    ours = own.select_dtypes("number")
    assert ours[[name for name in ours if not name.endswith("_published")]].isna().all(axis=None)
    assert of_encoder(table, "other")["status"].tolist() == ["not run: too large"]


@pytest.mark.parametrize("function", TABLES)
def test_the_papers_encoder_stands_in_every_table(function, tiny):
    assert set(of_encoder(function(run(tiny)), ROBERTA)["status"]) == {NOT_LISTED}
    alone = function(run(tiny.head(0), not_run={"tiny": "too small"}))
    assert alone["encoder"].unique().tolist() == ["tiny", ROBERTA]
    assert of_encoder(alone)["status"].tolist() == ["not run: too small"]


def test_measures_that_were_not_run_give_the_reason():
    lacks = {("bios/plain/seed0", "compression"): "no probe", ("bios/plain/seed0", "ceat"): "no corpus"}
    lacks |= {("bios/plain/seed0", "fairness"): "no heads"}
    part = run(scores(encoder=ROBERTA, parts=["before", "training"]), lacks=lacks)
    third = table3(part)
    assert set(third.loc[third["measure"] == "Compression", "status"]) == {"not run: no probe"}
    assert set(third.loc[third["measure"] != "Compression", "status"]) == {"run"}
    assert set(table4(part)["status"]) == {"not run: no heads"}
    assert set(table5(part)["status"]) == {"not run: not asked for"}
    (missing,) = set(table1(part)["measures_not_run"])
    assert missing == "compression: no probe; ceat: no corpus; after: no heads"


def test_printed_strategies_that_were_not_asked_for_say_so(roberta):
    part = run(without(roberta, strategy="subsampling"), strategies=["plain", "oversampling", "scrubbing"])
    own = table4(part)
    assert set(own.loc[own["strategy"] == "subsampling", "status"]) == {"not run: not asked for"}
    assert set(own.loc[own["strategy"] == "oversampling", "status"]) == {"run"}


def test_rows_stand_in_the_order_of_the_paper(roberta):
    table = table3(run(concatenate([scores(), roberta])))
    assert table["encoder"].unique().tolist() == [ROBERTA, "tiny"]
    first = table.head(5)
    assert first["strategy"].tolist() == [*MODELS, "scrubbing"] and set(first["measure"]) == {"Compression"}
    assert first["setting"].tolist()[-2:] == ["raw", "scrubbed"]
    printed = table.loc[(table["encoder"] == ROBERTA) & table["mean_published"].notna(), "measure"].unique().tolist()
    paper = PRINTED[PRINTED["table"] == "3"].drop_duplicates(["metric", "variant"])
    assert len(printed) == len(paper) == 11 and printed[:4] == ["Compression", "Accuracy", "TPR gap (P)", "TPR gap (S)"]


def test_a_control_away_from_chance_is_marked():
    keys = {"metric": "control_compression", "variant": "released-bits-best", "strategy": "plain"}
    table = table1(run(with_value(scores(encoder=ROBERTA, seeds=SIX), 0.94, **keys)))
    marks = table.set_index("model")["control_at_chance"]
    assert not marks["none"] and marks["oversampling"]


def test_table_1_has_a_row_per_model_and_test_input():
    table = table1(run(scores(encoder=ROBERTA, seeds=SIX))).set_index(["model", "setting"])
    raw = [(model, "raw") for model in ("none", "oversampling", "subsampling")]
    baselines = [(model, setting) for model in ("random", "pretrained") for setting in ("raw", "scrubbed")]
    assert table.index.tolist() == [*baselines, *raw, ("scrubbing", "raw"), ("scrubbing", "scrubbed")]
    none, over, random = (table.loc[(model, "raw")] for model in ("none", "oversampling", "random"))
    assert none["compression"] == pytest.approx(3.255) and none["compression_bits"] == pytest.approx(2.255)
    assert none["compression_published"] == 4.12 and none["control_compression"] == 1 and none["control_at_chance"]
    assert over["compression_difference"] == pytest.approx(5.255 - 8.52) and over["compression_stars"] == "both"
    assert over["compression_difference_in_printed_sd"] == pytest.approx((5.255 - 8.52) / 2.354)
    assert random["compression"] == pytest.approx(20.255) and random["compression_published"] == 5.61
    assert over["ceat"] == pytest.approx(0.125) and over["ceat_published"] == 0.29 and over["ceat_stars"] == "ours"
    assert over["ceat_significant"] == over["ceat_seeds"] == 6
    assert table.loc[("subsampling", "raw"), "ceat_significant"] == 0 and set(table["ceat_test"]) == {"C6"}
    assert none["compression_stars"] == none["before_tpr_gap_p_stars"] == ""
    assert over["truncated"] == 1 and np.isnan(random["truncated"])
    # Effects of the pretrained encoder have no seed that those of fine-tuned ones could be paired with.
    assert table.loc[("pretrained", "raw"), "ceat_stars"] == "published"


def test_table_1_shows_the_measures_of_tables_3_and_4(roberta):
    made = run(roberta)
    overview = table1(made).set_index(["model", "setting"])
    for stage, table in (("before", table3(made)), ("after", table4(made))):
        for name, measure in (("tpr_gap_p", "TPR gap (P)"), ("sufficiency_gap_s", "Sufficiency gap (S)")):
            row = row_of(table, measure, "scrubbing", encoder=ROBERTA, setting="raw")
            cell = overview.loc[("scrubbing", "raw")]
            for suffix, key in (("", "mean"), ("_sd", "sd"), ("_published", "mean_published")):
                assert cell[f"{stage}_{name}{suffix}"] == row[key]
    # Not the misprint of the paper's table 1.
    assert overview.loc[("scrubbing", "raw"), "after_sufficiency_gap_s_published"] == 5.239


def test_table_1_has_ceat_of_another_test_where_c6_was_not_run():
    table = table1(run(scores(encoder=ROBERTA, tests=["planted"])))
    assert set(table["ceat_test"]) == {"planted"} and table["ceat"].notna().any()
    assert table["ceat_published"].isna().all()


@pytest.mark.parametrize("function", TABLES)
def test_every_table_can_be_written(function, tiny, tmp_path):
    table = function(run(with_diverged(tiny, "plain", 0), not_run={ROBERTA: "no weights"}))
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    write_table(table, *paths, caption="")
    assert len(pd.read_csv(paths[0])) == len(table)
    numbers = [name for name in table if name in ("mean", "p", "compression", "after_tpr_gap_p")]
    assert all(pd.api.types.is_float_dtype(table[name]) for name in numbers)
