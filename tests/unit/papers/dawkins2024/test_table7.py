"""Table 7 and what is best in it: settings inside the encoder and in NLI."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.dawkins2024.rows import DURING, HEADS, MEASURES, key_of
from biasflow.papers.dawkins2024.table7 import nli_by_setting, table7
from biasflow.papers.dawkins2024.tables import best_of_levels, table5
from biasflow.papers.dawkins2024.targets import TABLES
from tests.unit.papers.dawkins2024.made_up import (
    AUTHORS,
    BERT,
    NO_HEAD,
    NOTHING,
    PRINTED,
    inside_scores,
    nli_scores,
    of_levels,
    published,
    run_of,
    together,
)

TABLE5 = published("table5")
AFTER, RETRAINED = HEADS.values()


@pytest.fixture(scope="module")
def two_by_two():
    return inside_scores(encoders=("tiny", "small"), sets=("planted", AUTHORS))


@pytest.fixture(scope="module")
def two_seeds():
    return together(nli_scores(), nli_scores(seed="1", shift=0.02, snli=-0.01))


def printed_as_ours(nli=True):
    """The printed table 7 as if it were our own scores."""
    frame = inside_scores(encoders=("bert",))
    setting = frame["setting"].where(frame["method"] != "none", "base").str.partition(" ")
    keys = pd.MultiIndex.from_arrays([setting[0], setting[2]])
    for measure in MEASURES:
        own = (frame[["metric", "part", "variant"]] == key_of(measure)).all(axis=1)
        frame.loc[own, "value"] = PRINTED.set_index(["level", "settings"])[measure].reindex(keys[own]).to_numpy()
    return table7(run_of(together(frame, nli_scores(encoder="bert")) if nli else frame))


def test_there_are_76_rows_per_encoder_and_stimuli_in_printed_order(two_by_two):
    table = table7(run_of(two_by_two, about={"tiny": BERT}))
    assert len(table) == 4 * 76
    for _, block in table.groupby(["encoder", "stimuli"]):
        pd.testing.assert_frame_equal(
            block[["level", "settings"]].reset_index(drop=True), PRINTED[["level", "settings"]]
        )
    assert set(table["status"]) == {"run"}
    assert "stereotype_score" in table and "stereotype_score_published" not in table


def test_printed_numbers_stand_beside_the_papers_encoder_stimuli_and_task(two_by_two):
    scores = together(two_by_two, nli_scores(), nli_scores(encoder="small"))
    table = table7(run_of(scores, about={"tiny": BERT, "small": {"id": "someone/bert-base-uncased-small"}}))
    shown = {column: table[table[f"{column}_published"].notna()] for column in ("strength", "fairness")}
    for column, rows in shown.items():
        assert set(rows["encoder"]) == {"tiny"}
        assert (rows[column] - rows[f"{column}_published"]).tolist() == rows[f"{column}_difference"].tolist()
        assert table[f"{column}_difference"].count() == len(rows)
    assert shown["strength"]["strength_published"].tolist() == PRINTED["strength"].tolist()
    assert set(shown["strength"]["stimuli"]) == {AUTHORS} and set(shown["fairness"]["stimuli"]) == {AUTHORS, "planted"}
    best = table5(run_of(scores, about={"tiny": BERT}))
    assert best["strength_settings_published"].count() == 6 and best["fairness_settings_published"].count() == 12
    mine = nli_scores().assign(task="mine")
    other = table7(run_of(together(two_by_two, mine), about={"tiny": BERT}, task="mine"))
    assert other["fairness_published"].isna().all() and other["strength_published"].notna().any()


@pytest.mark.parametrize(
    ("about", "named"),
    [
        ({"tiny": BERT}, ["layer-12", "layer-11", "layer-11+attention"]),
        ({"tiny": {"layers": "4"}}, ["layer-4", "layer-3", "layer-3+attention"]),
        ({"tiny": {"parent": "large", "layers": "24"}}, ["layer-24", "layer-23", "layer-23+attention"]),
        ({}, ["last-layer", "layer-before", "layer-before+attention"]),
    ],
)
def test_levels_are_named_by_the_encoders_own_layers(about, named):
    run = run_of(together(inside_scores(), nli_scores()), about=about)
    names = ["base", "sentence-debias", "sent", *named]
    for name in ("table5", "table7", "nli_intervals"):
        assert TABLES[name](run)["level"].unique().tolist() == names
    assert TABLES["table6"](run)["level"].tolist() == [*names[2:], "all"]
    found = TABLES["correlations"](run)
    assert set(named) <= set(found.loc[found["encoder"] == "tiny", "level"])
    assert "layer-12" in set(found.loc[found["encoder"] == "printed", "level"])


def test_values_are_those_of_the_grid_at_the_share_of_the_paper(two_by_two):
    table = table7(run_of(two_by_two)).set_index(["encoder", "stimuli", "level", "settings"])
    own = two_by_two.query("encoder == 'tiny' and dataset == 'planted' and metric == 'distance' and part == 'top=10%'")
    values = own.set_index("setting")["value"]
    assert table.loc[("tiny", "planted", "layer-12", "0,1,1"), "distance"] == values["layer-12 0,1,1"]
    assert table.loc[("tiny", "planted", "sentence-debias", ""), "distance"] == values["sentence-debias"]
    assert table.loc[("tiny", "planted", "base", ""), "distance"] == values["-"]


def test_other_methods_encoders_and_models_are_left_out(two_by_two):
    other = two_by_two[two_by_two["method"] == "none"].assign(value=0.123)
    frames = [other.assign(method="densray"), other.assign(encoder="large"), other.assign(strategy="random", seed="0")]
    densray = nli_scores(shift=0.5).query("method == 'none'").assign(method="densray")
    asked = ["tiny", "small"]
    run = run_of(together(two_by_two, *frames, densray), encoders=asked)
    pd.testing.assert_frame_equal(table7(run), table7(run_of(two_by_two, encoders=asked)))


def test_an_encoder_that_was_not_run_says_so(two_by_two):
    table = table7(run_of(two_by_two, not_run=NO_HEAD, about={"roberta": BERT}))
    rows = table[table["encoder"] == "roberta"]
    assert len(rows) == 76 and rows["strength"].isna().all() and rows["strength_published"].notna().all()
    assert rows["status"].str.contains("no NSP head").all()
    best = best_of_levels(table, TABLE5)
    assert best[best["encoder"] == "roberta"]["strength"].isna().all()


def test_the_untouched_model_alone_is_not_a_run_of_the_grid(two_by_two):
    alone = inside_scores(encoders=("roberta",)).query("method == 'none'")
    table = table7(run_of(together(two_by_two, alone), not_run=NO_HEAD)).query("encoder == 'roberta'")
    assert table["strength"].isna().all() and table["status"].str.contains("no NSP head").all()


def test_nli_columns_stand_beside_every_stimuli_set(two_by_two):
    nli = [nli_scores(seed=seed, shift=shift) for seed, shift in (("5", 0.0), ("6", 0.01), ("7", 0.02))]
    too_small = {("small", "nli_fairness"): "too small"}
    table = table7(run_of(together(two_by_two, *nli), not_run=too_small, about={"tiny": BERT}))
    tiny, small = table[table["encoder"] == "tiny"], table[table["encoder"] == "small"]
    assert set(tiny["nli_seeds"]) == {3}
    assert len(tiny) == 2 * 76 and set(tiny["stimuli"]) == {"planted", AUTHORS}
    for _, block in tiny.groupby("stimuli"):
        for column in ("parity", "accuracy", "fairness"):
            assert np.allclose(block[f"{column}_difference"], 0.01, atol=1e-9)
        assert np.allclose(block["snli_accuracy_difference"], 0)
    assert "parity_templates_published" not in table
    assert small["parity"].isna().all() and set(small["viable"]) == {""} and set(small["nli_seeds"]) == {0}
    assert small["strength"].notna().all()
    assert small["nli_status"].str.contains("too small").all() and set(small["status"]) == {"run"}


def test_intrinsic_columns_do_not_depend_on_nli_scores(two_by_two):
    without = table7(run_of(two_by_two))
    with_nli = table7(run_of(together(two_by_two, nli_scores())))
    columns = ["encoder", "stimuli", "level", "settings", "strength", "distance", "stereotype_score", "status"]
    pd.testing.assert_frame_equal(without[columns], with_nli[columns])
    assert set(without["nli_status"]) == {"not run: not asked for"}


def test_without_a_task_there_is_no_downstream_half(two_by_two):
    table = table7(run_of(together(two_by_two, nli_scores()), task=None))
    assert table["fairness"].isna().all() and table["strength"].notna().all()


def test_an_encoder_with_nli_scores_only():
    table = table7(run_of(nli_scores(encoder="roberta"), not_run=NO_HEAD))
    assert len(table) == 76 and set(table["stimuli"]) == {""}
    assert table["strength"].isna().all() and table["fairness"].notna().all()
    assert table["status"].str.contains("no NSP head").all() and set(table["nli_status"]) == {"run"}
    best = best_of_levels(table, TABLE5)
    assert best["strength"].isna().all() and best["fairness"].notna().all()


def test_further_readings_are_further_rows(two_by_two):
    sent = of_levels("sent")
    frames = [
        nli_scores(),
        nli_scores(reading=RETRAINED, settings=of_levels("base", "sent"), shift=0.1),
        nli_scores(reading=DURING, settings=sent, snli=-0.3),
    ]
    run = run_of(together(two_by_two, *frames), settings_in_training=sent)
    tiny = table7(run).query("encoder == 'tiny' and stimuli == 'planted'")
    assert tiny["interventions"].value_counts().to_dict() == {AFTER: 76, RETRAINED: 3, DURING: 2}
    during = tiny[tiny["interventions"] == DURING]
    assert set(during["viable"]) == {"no"} and during[["level", "settings"]].values.tolist() == [
        ["sent", "0"],
        ["sent", "1"],
    ]
    best = table5(run).query("encoder == 'tiny' and stimuli == 'planted' and level == 'sent'")
    best = best.set_index("interventions")
    assert best["note"].to_dict()[DURING] == "no viable model"
    assert best.loc[DURING, "fairness_settings"] == ""
    assert best["strength"].nunique() == 1
    gain = best.loc[RETRAINED, "fairness"] - best.loc[AFTER, "fairness"]
    assert gain == pytest.approx(0.1)


def test_only_encoders_that_were_not_run():
    table = table7(run_of(NOTHING, not_run=NO_HEAD))
    assert len(table) == 76 and table["distance"].isna().all()


def test_a_setting_that_is_missing_or_unknown_is_named(two_by_two):
    with pytest.raises(BiasflowError, match=r"layer-11 \(0,1,0,1,1\)"):
        table7(run_of(two_by_two[two_by_two["setting"] != "layer-11 0,1,0,1,1"]))
    with pytest.raises(BiasflowError, match=r"layer-12 \(2,2,2\)"):
        table7(run_of(together(two_by_two, two_by_two.iloc[:1].assign(method="dawkins2024", setting="layer-12 2,2,2"))))
    with pytest.raises(BiasflowError, match="distance"):
        table7(run_of(two_by_two[two_by_two["metric"] != "distance"]))
    with pytest.raises(BiasflowError, match="strength top=7%"):
        table7(run_of(two_by_two, tops=[0.07, 0.1]))


def test_nli_scores_by_setting_are_means_over_seeds(two_seeds):
    table = nli_by_setting(run_of(two_seeds), PRINTED).merge(PRINTED, on=["level", "settings"], suffixes=("", "_0"))
    assert len(table) == 76 and set(table["nli_seeds"]) == {2}
    assert np.allclose(table["parity"], table["parity_0"] + 0.01)
    assert np.allclose(table["fairness_templates"], table["fairness_0"] + 0.01)
    assert np.allclose(table["snli_accuracy"], table["snli_accuracy_0"] - 0.005)


def viable_by_level(scores, **viability):
    table = nli_by_setting(run_of(scores, viability=viability), PRINTED)
    return table[table["viable"] == "yes"].groupby("level").size().to_dict()


def test_viable_follows_threshold_and_reading(two_seeds):
    absolute = viable_by_level(two_seeds, threshold=0.05, reading="absolute")
    # The printed table shifted as a whole: the counts of the printed table with an absolute threshold.
    assert absolute == {
        "base": 1, "sentence-debias": 1, "sent": 2, "layer-12": 4, "layer-11": 8, "layer-11+attention": 6
    }  # fmt: skip
    relative = viable_by_level(two_seeds, threshold=0.05, reading="relative")
    assert relative["layer-11"] < absolute["layer-11"]
    assert sum(viable_by_level(two_seeds, threshold=1.0, reading="absolute").values()) == 76


def test_a_further_reading_is_judged_against_the_untouched_base():
    some = of_levels("layer-12")
    scores = together(nli_scores(), nli_scores(reading=DURING, snli=-0.2, settings=some))
    table = nli_by_setting(run_of(scores, settings_in_training=some), PRINTED)
    own = table[table["interventions"] == DURING]
    assert len(own) == len(some) and set(own["viable"]) == {"no"}


def test_incomplete_nli_scores_are_named(two_seeds):
    with pytest.raises(BiasflowError, match=r"tiny.*layer-11 \(0,1,0,1,1\)"):
        nli_by_setting(run_of(two_seeds[two_seeds["setting"] != "layer-11 0,1,0,1,1"]), PRINTED)
    with pytest.raises(BiasflowError, match="layer-10"):
        nli_by_setting(run_of(two_seeds.replace({"setting": {"layer-12 0,0,0": "layer-10 0,0,0"}})), PRINTED)
    missing = (two_seeds["metric"] == "accuracy") & (two_seeds["setting"] == "sent 0")
    with pytest.raises(BiasflowError, match=r"sent \(0\).*snli_accuracy"):
        nli_by_setting(run_of(two_seeds[~missing]), PRINTED)


def test_table_5_of_the_printed_table_7():
    """Recomputed from table 7, the printed table 5 is right but for the Strength with attention."""
    table = best_of_levels(printed_as_ours(), TABLE5)
    assert table["level"].tolist() == TABLE5["level"].tolist()
    wrong = table[table["strength_difference"].abs() > 1e-9]
    assert wrong[["level", "strength", "strength_published", "strength_settings"]].values.tolist() == [
        ["layer-11+attention", 0.1934, 0.1938, "0,0,1,1,0"]
    ]
    assert np.allclose(table["distance_difference"], 0)
    assert (table["distance_settings"] == table["distance_settings_published"]).all()


def test_best_fairness_is_among_viable_models():
    """With 5 % of the accuracy (absolute) the printed best model of layer 11 is not viable, in contrast to print."""
    best = best_of_levels(printed_as_ours(), TABLE5).set_index("level")
    right = ["base", "sentence-debias", "sent", "layer-12"]
    assert np.allclose(best.loc[right, ["fairness_difference", "snli_accuracy_difference"]], 0)
    assert best.loc["layer-12", "fairness_settings"] == best.loc["layer-12", "fairness_settings_published"] == "0,0,1"
    assert best.loc["layer-11", ["fairness", "snli_accuracy", "fairness_settings"]].tolist() == [
        0.3205, 0.8618, "1,1,1,0,1"
    ]  # fmt: skip
    everything = printed_as_ours().assign(viable="yes")
    assert best_of_levels(everything, TABLE5).set_index("level").loc["layer-11", "fairness"] == 0.9171
    none = everything.assign(viable=everything["level"].eq("base").map({True: "yes", False: "no"}))
    notes = best_of_levels(none, TABLE5).set_index("level")
    assert (
        notes.loc["layer-11", "note"] and np.isnan(notes.loc["layer-11", "fairness"]) and not notes.loc["base", "note"]
    )


def test_table_5_without_nli_scores_is_empty_there():
    best = best_of_levels(printed_as_ours(nli=False), TABLE5)
    assert best["fairness"].isna().all() and best["fairness_published"].notna().all() and set(best["note"]) == {""}
    assert best["strength"].notna().all() and best["nli_status"].str.startswith("not run").all()


def test_of_equal_settings_the_first_printed_is_the_best():
    rows = printed_as_ours()
    rows["strength"] = 0.2
    best = best_of_levels(rows, TABLE5).set_index("level")["strength_settings"]
    assert best["layer-12"] == "0,0,0" and best["layer-11+attention"] == "0,0,0,0,0"
