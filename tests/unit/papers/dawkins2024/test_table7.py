"""Table 7 and what is best in it: settings inside the encoder and in NLI."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.dawkins2024.grid import MEASURES, key_of, printed_table
from biasflow.papers.dawkins2024.table7 import nli_by_setting, table7
from biasflow.papers.dawkins2024.tables import best_of_levels, table5
from tests.unit.papers.dawkins2024.made_up import (
    AUTHORS,
    BERT,
    NUMBERS,
    PRINTED,
    inside_scores,
    nli_scores,
    run_of,
    together,
)

TABLE5 = printed_table(NUMBERS, 5)


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


def test_a_setting_that_is_missing_or_unknown_is_named(two_by_two):
    with pytest.raises(BiasflowError, match=r"layer-11 \(0,1,0,1,1\)"):
        table7(run_of(two_by_two[two_by_two["setting"] != "layer-11 0,1,0,1,1"]))
    with pytest.raises(BiasflowError, match=r"layer-12 \(2,2,2\)"):
        table7(run_of(together(two_by_two, two_by_two.iloc[:1].assign(method="dawkins2024", setting="layer-12 2,2,2"))))
    with pytest.raises(BiasflowError, match="distance"):
        table7(run_of(two_by_two[two_by_two["metric"] != "distance"]))
    with pytest.raises(BiasflowError, match="strength top=7%"):
        table7(run_of(two_by_two, tops=[0.07, 0.1]))


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


def test_of_equal_settings_the_first_printed_is_the_best():
    rows = printed_as_ours()
    rows["strength"] = 0.2
    best = best_of_levels(rows, TABLE5).set_index("level")["strength_settings"]
    assert best["layer-12"] == "0,0,0" and best["layer-11+attention"] == "0,0,0,0,0"
