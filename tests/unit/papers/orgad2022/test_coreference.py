"""The coreference half of the paper: rows, measures, printed values, and what is said where it was not run."""

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.coreference import METRICS as F1_METRICS
from biasflow.metrics.winobias import KINDS, SIDES, class_rows
from biasflow.papers.orgad2022.halves import COREFERENCE, F1_DIFFERENCE, OCCUPATION
from biasflow.papers.orgad2022.selection import select
from biasflow.papers.orgad2022.targets import FIGURES, TABLES
from biasflow.papers.published import path_of, read_published
from biasflow.registry import METRICS, STRATEGIES
from biasflow.results.scores import NA, concatenate
from biasflow.results.tables import write_table
from tests.unit.papers.orgad2022.made_up import COREFERENCE as ASKED
from tests.unit.papers.orgad2022.made_up import PAIRS, READINGS, RESOLVED, SIX, coreference_scores, scores, without
from tests.unit.papers.orgad2022.made_up import run as run_of

ROBERTA = "roberta-base"
PRINTED = read_published("orgad2022", "values").query("task == 'coreference'").fillna({"stage": "", "variant": ""})
MODEL_TABLES = ["table1b", "table2_coreference", "table7", "table8", "ceat_coreference"]
OTHERS = ["data_coreference", "correlations_coreference"]
UNNAMED = "papers.orgad2022.coreference names no task"


@pytest.fixture(scope="module")
def roberta():
    return coreference_scores(encoder=ROBERTA, seeds=SIX)


def run(frame, **options):
    asked = {"coreference": ASKED["task"], "coreference_strategies": ASKED["strategies"]}
    return run_of(frame, **(asked | options))


def row_of(table, measure, strategy, variant=None, encoder=ROBERTA):
    rows = table[(table["encoder"] == encoder) & (table["measure"] == measure) & (table["strategy"] == strategy)]
    rows = rows.head(1) if variant is None else rows[rows["variant"] == variant]
    assert len(rows) == 1
    return rows.iloc[0]


def first_value(metric, variant=NA, part=NA):
    """What the maker gives this measure of the pairs without debiasing before retraining, first seed."""
    return (PAIRS.index((metric, part, variant)) + 1) / 10


def over_seeds(frame=SIX):
    return np.mean([j / 100 for j in range(len(frame))])


def test_all_of_tables_1b_2_7_and_8_is_printed_and_1b_rounds_7_and_8():
    assert PRINTED["table"].value_counts().to_dict() == {"7": 48, "8": 48, "1": 44, "2": 40}
    text = pd.read_csv(path_of("orgad2022", "values"), dtype=str).query("task == 'coreference'").fillna("")
    keys = ["stage", "model", "metric", "variant"]
    full = text[text["table"].isin(["7", "8"])].set_index(keys)
    others = []
    for row in text[(text["table"] == "1") & (text["stage"] != "")].itertuples():
        printed = full.loc[(row.stage, row.model, row.metric, row.variant)]
        digits = Decimal(1).scaleb(Decimal(row.value).as_tuple().exponent)
        assert printed["star"] == row.star
        if Decimal(printed["value"]).quantize(digits, ROUND_HALF_UP) != Decimal(row.value):
            others.append((row.stage, row.model, row.metric, row.value, printed["value"]))
    assert others == [("before", "none", "sufficiency", "8.69", "8.684")]


def test_printed_models_and_measures_are_known_ones():
    assert set(PRINTED["model"].dropna()) == {"random", "pretrained", "none", "anon", "ca", "anon+ca"}
    assert {"anon", "ca", "anon+ca"} <= set(STRATEGIES)
    printed = set(zip(PRINTED["metric"], PRINTED["variant"], strict=True))
    assert printed - {measure.key for measure in COREFERENCE.printed} == {
        ("compression", "released-mixed-last"),
        ("ceat_effect_size", "concepts-spread"),
    }
    assert {*COREFERENCE.scored_by, *OCCUPATION.scored_by} <= set(METRICS)


def test_the_measures_are_those_that_the_metrics_give():
    rows = pd.concat(class_rows(np.ones((1, 2, 41, 41), dtype=int), reading) for reading in READINGS)
    given = {(row.metric, f"{row.variant} {row.part}".removesuffix(f" {NA}")) for row in rows.itertuples()}
    gaps = [measure for measure in COREFERENCE.bias if measure.metric != F1_DIFFERENCE.metric]
    assert len(gaps) == 26 and {measure.key for measure in gaps} <= given
    undefined = {COREFERENCE.undefined(measure) for measure in gaps if measure.metric != "independence"}
    assert undefined == {key for key in given if key[0] == "undefined_cells"}
    assert {measure.metric for measure in COREFERENCE.performance["coreference"]} == {
        f"{name}_f1" for name in ("conll", *F1_METRICS)
    }
    of_pairs = {measure.variant for measure in COREFERENCE.performance["winobias"]}
    assert of_pairs == {*SIDES, *(f"{side} {kind}" for side in SIDES for kind in KINDS)}


def test_means_changes_and_printed_values_before_retraining(roberta):
    table = TABLES["table7"](run(roberta))
    for s, strategy in enumerate(RESOLVED):
        row = row_of(table, "F1 diff (pro - anti)", strategy, "all")
        assert row["mean"] == pytest.approx(first_value("f1_difference", part="all") + s + over_seeds())
        if s:
            assert row["change"] == pytest.approx(s) and (row["pairs"], row["p"]) == (6, 2 / 2**6)
    anonymised = row_of(table, "F1 diff (pro - anti)", "anonymisation", "all")
    assert (anonymised["mean_published"], anonymised["sd_published"]) == (7.256, 0.846)
    assert anonymised["difference_in_printed_sd"] == pytest.approx((anonymised["mean"] - 7.256) / 0.846)
    assert (anonymised["star"], anonymised["star_published"], anonymised["stars_agree"]) == ("yes", "no", "neither")
    f1 = row_of(table, "F1", "none")
    assert f1["mean"] == pytest.approx(over_seeds()) and (f1["mean_published"], f1["sd_published"]) == (
        0.76406,
        0.00165,
    )
    assert table["mean_published"].notna().sum() == 48 and "setting" not in table


def test_published_values_stand_beside_the_released_reading_of_the_predictions(roberta):
    table = TABLES["table7"](run(roberta))
    released, tokens = (
        row_of(table, "Separation gap (S)", "none", f"{name}-absdiff") for name in ("released", "tokens")
    )
    assert released["mean_published"] == 1.247 and np.isnan(tokens["mean_published"])
    assert released["undefined_cells"] == 3 and tokens["undefined_cells"] == 13
    assert tokens["mean"] == pytest.approx(first_value("separation", "tokens-absdiff") + over_seeds())
    assert row_of(table, "F1 of one side", "none", "anti")["mean"] == pytest.approx(
        first_value("conll_f1", part="anti") + over_seeds()
    )


def test_compression_is_a_mean_over_orders_of_the_professions(roberta):
    table = TABLES["table7"](run(roberta))
    released, paper = (row_of(table, "Compression", "none", f"{data}-mixed-last") for data in COREFERENCE.probe_data)
    # One order, that of the seed: 3, 3.1 ...; or two for every model: 0.25 lower, 0.005 more on average.
    assert released["mean"] == pytest.approx(3.25) and paper["mean"] == pytest.approx(3.25 - 0.25 + 0.005)
    assert released["mean_published"] == 1.984 and np.isnan(paper["mean_published"])
    assert (released["coded"], paper["coded"]) == (1000, 200)


def test_after_retraining_pairs_are_scorers_and_a_second_test_is_by_encoder(roberta):
    row = row_of(TABLES["table8"](run(roberta)), "TPR gap (S)", "counterfactual augmentation", "released")
    assert (row["n"], row["n_heads"], row["pairs"]) == (6, 12, 12)
    assert row["mean"] == pytest.approx(first_value("tpr_gap_sum", "released") + 3 + over_seeds() + 0.0005)
    assert row["p"] == 2 / 2**12 and row["p_by_encoder"] == 2 / 2**6 and row["mean_published"] == 2.590


def test_table_1b_shows_the_measures_of_tables_7_and_8(roberta):
    frame = concatenate([roberta, scores(encoder=ROBERTA, seeds=SIX, tests=["C6"], parts=["ceat"])])
    overview = TABLES["table1b"](run(frame)).set_index("model")
    assert overview.index.tolist() == ["random", "pretrained", *RESOLVED] and "setting" not in overview
    for stage, number in (("before", "table7"), ("after", "table8")):
        row = row_of(TABLES[number](run(frame)), "Sufficiency gap (S)", "anonymisation", "released-absdiff")
        for suffix, key in (("", "mean"), ("_sd", "sd"), ("_published", "mean_published")):
            assert overview.loc["anonymisation", f"{stage}_sufficiency_gap_s{suffix}"] == row[key]
    assert overview.loc["none", "before_f1_diff_pro_anti_published"] == 6.631
    assert overview.loc["random", ["compression", "compression_published"]].tolist() == [pytest.approx(20.25), 0.83]
    assert overview.loc["pretrained", "compression"] == pytest.approx(30 + np.mean([k / 100 for k in range(6)]))
    assert overview.loc["anonymisation", "compression_difference_in_printed_sd"] == pytest.approx((5.25 - 2.07) / 0.102)
    assert overview.loc["anonymisation", ["ceat", "ceat_published"]].tolist() == [pytest.approx(0.125), 0.31]
    assert overview.loc["pretrained", ["ceat", "ceat_published"]].tolist() == [pytest.approx(0.3), 0.49]
    assert overview.loc["anonymisation", "truncated"] == 1


def test_r_squared_is_over_seeds_before_and_heads_after(roberta):
    table = TABLES["table2_coreference"](run(roberta))
    rows = table[(table["variant"] == "all") & (table["intrinsic_variant"] == "released-mixed-last")]
    assert rows["before_published"].tolist() == [0.821] and rows["after_published"].tolist() == [0.709]
    assert rows["n_before"].tolist() == [4 * 6] and rows["n_after"].tolist() == [4 * 6 * 2]
    assert table["before_published"].notna().sum() == table["after_published"].notna().sum() == 20


def test_each_half_has_its_own_rows_only():
    """Also of encoders before fine-tuning, which are probed with the data of both tasks."""
    bios, coref = scores(encoder=ROBERTA, tests=["C6"]), coreference_scores(encoder=ROBERTA)
    both = run(concatenate([bios, coref]))
    shared = scores(encoder=ROBERTA, tests=["C6"], parts=["ceat"])
    shared = shared[shared["task"] == NA]
    for name, function in TABLES.items():
        if name in MODEL_TABLES:
            pd.testing.assert_frame_equal(function(both), function(run(concatenate([coref, shared]))))
        elif name in ("table1", "table3", "table5"):
            pd.testing.assert_frame_equal(function(both), function(run(bios)))


def test_strategies_stand_in_the_order_of_the_registry_and_the_control_is_in_no_print():
    asked = ["anon+ca", "ca", "doubled", "anon", "plain"]
    frame = coreference_scores(encoder=ROBERTA, strategies=["plain", "doubled", "anon", "ca", "anon+ca"])
    made = run(frame, coreference_strategies=asked)
    doubled = STRATEGIES["doubled"].label
    assert [*select(made, COREFERENCE).models] == [RESOLVED[0], doubled, *RESOLVED[1:]]
    row = row_of(TABLES["table7"](made), "F1 diff (pro - anti)", doubled, "all")
    assert np.isnan(row["mean_published"]) and row["change"] == pytest.approx(1) and row["status"] == "run"


@pytest.mark.parametrize("name", [*MODEL_TABLES, *OTHERS])
def test_without_a_task_every_table_says_so_beside_the_published_values(name, tmp_path):
    table = TABLES[name](run(scores(encoder=ROBERTA, tests=["C6"]), coreference=None))
    said = table["note" if name.startswith("correlations") else "status"]
    assert len(table) and all(UNNAMED in text for text in said)
    published = [column for column in table if column.endswith("_published")]
    assert not published or table[published].notna().any(axis=None)
    paths = [tmp_path / f"table.{kind}" for kind in ("csv", "tex", "html")]
    write_table(table, *paths, caption="")
    assert len(pd.read_csv(paths[0])) == len(table)


def test_all_encoders_of_the_task_are_shown_and_no_others():
    frame = concatenate([coreference_scores(), coreference_scores(encoder="b"), coreference_scores(encoder="c")])
    made = run(frame, encoders=["tiny", "b", "c"], coreference_encoders=["tiny", "b"])
    for name in (*MODEL_TABLES, "correlations_coreference"):
        table = TABLES[name](made)
        others = {ROBERTA} if name != "correlations_coreference" else set()
        assert set(table["encoder"]) == {"tiny", "b"} | others
        if others:
            said = set(table.loc[table["encoder"] == ROBERTA, "status"])
            assert said == {"not run: it is not in papers.orgad2022.coreference_encoders"}


@pytest.mark.parametrize("name", ["figure4", "figure6"])
def test_without_a_task_figures_say_so(name):
    figure = FIGURES[name](run(scores(encoder=ROBERTA, tests=["C6"]), coreference=None))
    assert not figure.axes and UNNAMED in " ".join(figure.texts[0].get_text().split())


@pytest.mark.parametrize("name", [*MODEL_TABLES, "data_coreference"])
def test_documents_that_are_not_at_hand_are_the_reason(name):
    """Where occupation prediction was run with the same encoder."""
    reason = "tasks.coref.data.folder: the documents are in a folder that is not named"
    lacks = {("coref/plain/seed0", metric): reason for metric in ("winobias", "coreference", "compression", "ceat")}
    bios = scores(encoder=ROBERTA, tests=["C6"])
    for frame in (bios, bios[bios["task"] != NA]):
        table = TABLES[name](run(frame, lacks=lacks))
        own = table[table["model"].isin(RESOLVED)] if "model" in table else table
        assert len(own) and all(reason in text for text in own["status"])


def test_pairs_that_were_not_run_leave_the_documents(roberta):
    alone = without(roberta, dataset="coref-winobias")
    table = TABLES["table7"](run(alone, lacks={("coref/plain/seed0", "winobias"): "no pairs"}))
    assert row_of(table, "F1", "anonymisation")["status"] == "run"
    row = row_of(table, "F1 diff (pro - anti)", "anonymisation")
    assert row["status"] == "not run: no pairs" and row["mean_published"] == 7.256


def test_what_needs_no_training_stands_below_the_models(roberta, tmp_path):
    test = pd.DataFrame(
        [("test", "rules", "conll_f1", 0.48, 9), ("validation", "rules", "conll_f1", 0.4, 9)],
        columns=["part", "predictor", "metric", "value", "n"],
    )
    pairs = test.assign(part=["pro", "anti"], value=[0.35, 0.31])
    best = pd.DataFrame([("-", "best possible", "f1_difference", 12.0, 9)], columns=test.columns)
    files = {}
    for role, frame in (("baseline", test), ("pairs_baseline", pd.concat([pairs, best]))):
        files[role] = {"coref": tmp_path / f"{role}.csv"}
        frame.to_csv(files[role]["coref"], index=False)
    table = TABLES["table7"](run(roberta, files=files))
    below = table[table["encoder"] == "no encoder"]
    assert set(zip(below["measure"], below["strategy"], below["mean"].round(6), strict=True)) == {
        ("F1", "rules", 0.48),
        ("F1 diff (pro - anti)", "rules", 4.0),
        ("F1 diff (pro - anti)", "best possible", 12.0),
    }
    assert table.tail(3)["encoder"].eq("no encoder").all() and table["n"].dtype == "Int64"


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("table7", {"head": "own", "metric": "f1_difference", "part": "all", "seed": "5"}),
        ("table7", {"head": "own", "metric": "conll_f1", "dataset": "coref-test", "seed": "0"}),
        ("table7", {"metric": "compression", "readout_seed": "1", "variant": "paper-bits-best", "seed": "0"}),
        ("table8", {"head": "retrained", "head_seed": "1", "seed": "5"}),
    ],
)
def test_a_hole_names_encoder_and_strategy(name, keys, roberta):
    with pytest.raises(BiasflowError, match=f"encoder {ROBERTA}, strategy counterfactual augmentation"):
        TABLES[name](run(without(roberta, strategy="ca", **keys)))


def test_correlations_are_over_the_measures_of_the_pairs():
    table = TABLES["correlations_coreference"](run(coreference_scores(encoder=ROBERTA)))
    assert "tested" not in table and set(table["measure"]) == {measure.label for measure in COREFERENCE.bias}
    assert set(table["strategies"]) == {"all", "within strategies", *RESOLVED}
    assert set(table["stage"]) == {"before", "after"}


def points_of(axes):
    found = [np.ma.getdata(collection.get_offsets()) for collection in axes.collections]
    return np.concatenate([offsets for offsets in found if len(offsets)])


def test_figure_4_has_a_point_per_model_and_a_box_per_encoder(roberta):
    figure = FIGURES["figure4"](run(roberta))
    before, after = figure.axes
    found = points_of(before)
    assert found.shape == (24, 2) and found[0].tolist() == pytest.approx([3, first_value("f1_difference", part="all")])
    assert len(after.patches) == 24 and before.get_ylabel() == "F1 diff (pro - anti), points"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == RESOLVED
    assert [axes.get_title(loc="left").split("\n")[1] for axes in figure.axes] == [
        "(printed: R\u00b2 = 0.821)",
        "(printed: R\u00b2 = 0.709)",
    ]
    assert "printed" not in FIGURES["figure4"](run(coreference_scores(encoder="b"))).axes[0].get_title(loc="left")


def test_figure_6_has_every_printed_measure_before_and_after(roberta):
    axes = FIGURES["figure6"](run(roberta)).axes
    assert [panel.get_ylabel() for panel in axes[::2]] == [m.label for row in COREFERENCE.panels for m in row]
    assert {m for row in COREFERENCE.panels for m in row} == {*COREFERENCE.extrinsic}
    assert len(points_of(axes[0])) == 24 and len(points_of(axes[1])) == 48
