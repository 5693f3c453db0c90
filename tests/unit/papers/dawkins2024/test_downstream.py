"""NLI: information weighting, intervals over seeds, correlations with bias inside, and what was fine-tuned."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from biasflow.base.errors import BiasflowError
from biasflow.papers.dawkins2024.correlations import correlations, with_printed
from biasflow.papers.dawkins2024.downstream import finetuning, nli_intervals, table6, weighting_pairs
from biasflow.papers.dawkins2024.rows import DURING
from biasflow.papers.dawkins2024.table7 import table7
from biasflow.text.occupation_pairs import OccupationPairs, save_pairs
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

TABLE6, TEXT = published("table6"), published("text")
SOME = of_levels("layer-12")


@pytest.fixture(scope="module")
def two_seeds():
    return together(nli_scores(), nli_scores(seed="1", shift=0.02, snli=-0.01))


@pytest.fixture(scope="module")
def run():
    scores = together(inside_scores(), nli_scores(), nli_scores(reading=DURING, settings=SOME))
    return run_of(scores, not_run=NO_HEAD, settings_in_training=SOME)


@pytest.fixture(scope="module")
def rows(run):
    return table7(run)


def test_table_6_of_the_printed_table_7():
    """Recomputed from table 7, the printed table 6 is right but for the last digits of the row over all pairs."""
    table = table6(run_of(nli_scores(), about={"tiny": BERT}))
    assert table["level"].tolist() == TABLE6["level"].tolist()
    assert table["model_pairs"].tolist() == TABLE6["model_pairs"].tolist()
    differences = table.set_index("level")[["snli_accuracy_np0_difference", "increase_difference"]].abs()
    assert (differences.drop(index="all") < 5.1e-5).all().all()
    assert (differences.loc["all"] > 5e-5).any()
    deviations = table.set_index("level")["increase_sd_difference"].abs()
    assert (deviations[["layer-12", "layer-11", "layer-11+attention"]] < 5e-5).all() and np.isnan(deviations["sent"])


def test_table_6_says_what_was_not_run():
    found = together(inside_scores(encoders=("tiny", "other")), nli_scores())
    about = {"gone": BERT, "other": {"path": "models/bert-base-uncased"}}
    table = table6(run_of(found, not_run={("gone", "nli_fairness"): "no file"}, about=about))
    status = table.drop_duplicates("encoder").set_index("encoder")["status"]
    assert status["tiny"] == "run" and "no file" in status["gone"] and "not asked for" in status["other"]
    empty = table[table["encoder"] != "tiny"]
    assert len(empty) == 10 and empty["increase"].isna().all() and empty["increase_published"].notna().all()
    assert table.loc[table["encoder"] == "tiny", "increase_published"].isna().all()
    nothing = table6(run_of(NOTHING, encoders=["tiny"]))
    assert len(nothing) == 5 and list(nothing) == list(table)


def test_a_reading_with_few_settings_has_few_pairs():
    during = nli_scores(reading=DURING, settings=SOME)
    table = table6(run_of(together(nli_scores(), during), settings_in_training=SOME))
    own = table[table["interventions"] == DURING].set_index("level")
    assert own["model_pairs"].to_dict() == {
        "sent": 0, "layer-12": 4, "layer-11": 0, "layer-11+attention": 0, "all": 4
    }  # fmt: skip
    assert own.loc["all", "increase"] == own.loc["layer-12", "increase"]


@given(st.permutations(range(76)), st.floats(-0.1, 0.1))
def test_pairs_depend_neither_on_order_nor_on_a_common_shift(order, shift):
    snli = PRINTED.set_index(["level", "settings"])["snli_accuracy"]
    pairs, other = weighting_pairs(snli), weighting_pairs(snli.iloc[order] + shift)
    assert len(pairs) == 37
    assert np.allclose(pairs["np1"] - pairs["np0"], (other["np1"] - other["np0"]).reindex(pairs.index))


def test_intervals_over_seeds(two_seeds):
    table = nli_intervals(run_of(together(two_seeds, nli_scores(seed="2", shift=0.01))))
    assert table["settings"].tolist() == PRINTED["settings"].tolist() and set(table["seeds"]) == {3}
    row = table.query("level == 'layer-11' and settings == '0,0,0,0,0'").iloc[0]
    expected = stats.t.interval(0.95, 2, loc=0.5283, scale=0.01 / np.sqrt(3))  # of 0.5183, 0.5383 and 0.5283
    assert (row["parity_low"], row["parity_high"]) == pytest.approx(expected)
    assert row["parity"] == pytest.approx(0.5283)


def test_one_or_two_seeds_have_no_interval_and_seeds_are_judged_one_by_one(two_seeds):
    for few in (nli_scores(), two_seeds):
        table = nli_intervals(run_of(few))
        assert table[["parity_low", "snli_accuracy_high"]].isna().all().all() and table["parity"].notna().all()
    # Seed 1 lost everything but at Base: half of the seeds are viable where seed 0 is.
    broken = nli_scores(seed="1", snli=-0.5)
    base = (broken["method"] == "none") & (broken["metric"] == "accuracy")
    broken.loc[base, "value"] += 0.5
    shares = nli_intervals(run_of(together(nli_scores(), broken))).set_index(["level", "settings"])
    assert shares.loc[("base", ""), "viable_share"] == 1 and shares.loc[("sent", "1"), "viable_share"] == 0.5
    assert shares.loc[("layer-11", "0,0,0,0,0"), "viable_share"] == 0
    assert nli_intervals(run_of(inside_scores())).empty


def test_intervals_need_base_of_each_seed(two_seeds):
    with pytest.raises(BiasflowError, match="seed 1"):
        nli_intervals(run_of(two_seeds[(two_seeds["seed"] == "0") | (two_seeds["method"] != "none")]))


@pytest.fixture(scope="module")
def found(run):
    return correlations(run)


def pick(found, **keys):
    keys = {"level": "all"} | keys
    return found[(found[list(keys)] == pd.Series(keys)).all(axis=1)].squeeze()


def test_correlations_of_the_printed_table_7(found):
    row = pick(found, encoder="printed", models="all", measure="strength", method="spearman")
    # The text of the paper gives 0.040 and 0.73.
    assert (row["estimate"], row["p"], row["n"]) == (
        pytest.approx(-0.0382, abs=1e-4),
        pytest.approx(0.743, abs=1e-3),
        76,
    )
    assert row["estimate_published"] == 0.040 and row["p_published"] == 0.73
    assert row["estimate_difference"] == pytest.approx(row["estimate"] - 0.040)
    assert set(found.loc[found["encoder"] == "printed", "parity"]) == {"majority"}


@pytest.mark.parametrize(
    ("models", "level", "measure", "n", "estimate", "p"),
    [
        ("viable", "all", "strength", 22, -0.754, 5e-5),
        ("viable", "all", "distance", 22, -0.752, 5e-5),
        ("all", "layer-11+attention", "strength", 32, 0.372, 0.036),
        ("viable", "layer-11", "strength", 8, 0.262, 0.53),
        ("viable", "layer-11+attention", "strength", 6, -0.257, 0.62),
    ],
)
def test_what_the_paper_calls_usable_is_correlated_between_levels_not_within_them(
    found, models, level, measure, n, estimate, p
):
    keys = {"models": models, "level": level, "measure": measure, "method": "spearman"}
    row = pick(found, encoder="printed", **keys)
    assert (row["n"], row["estimate"], row["p"]) == (n, pytest.approx(estimate, abs=5e-4), pytest.approx(p, rel=0.1))
    # a level is one cluster, which has no interval over clusters
    assert np.isnan(row["by_level_low"]) == (level != "all")


def test_the_interval_by_level_is_wider_than_one_that_takes_settings_for_independent(found):
    rows = found[(found["level"] == "all") & (found["encoder"] == "printed")]
    assert ((rows["by_level_high"] - rows["by_level_low"]) > (rows["high"] - rows["low"])).mean() > 0.7
    viable = pick(found, encoder="printed", models="viable", measure="strength", method="spearman")
    assert viable["high"] < 0 < viable["by_level_high"]


def test_seeds_are_correlated_one_by_one(two_seeds):
    other = two_seeds["value"].where(two_seeds["seed"] == "0", np.random.default_rng(0).random(len(two_seeds)))
    both = together(inside_scores(), two_seeds.assign(value=other))
    run = run_of(both, viability={"threshold": 1, "reading": "absolute"})
    row = pick(correlations(run), encoder="tiny", models="all", measure="strength",
               method="kendall", parity="majority")  # fmt: skip
    strength = table7(run)["strength"]
    single = []
    for seed in "01":
        one = table7(run_of(both[both["seed"].isin([seed, "-"])], viability=run.options["viability"]))
        single.append(stats.kendalltau(strength, one["fairness"]).statistic)
    assert (row["seeds"], row["seeds_low"], row["seeds_high"]) == (2, min(single), max(single))
    alone = correlations(run_of(together(inside_scores(), nli_scores())))
    assert alone["seeds_low"].isna().all() and set(alone["seeds"]) == {0, 1}


def test_only_the_value_that_the_text_gives_is_published(found):
    sets = together(inside_scores(sets=("planted", AUTHORS)), nli_scores(), inside_scores(encoders=("other",)))
    both = together(sets, nli_scores(encoder="other"))
    own = correlations(run_of(both, about={"tiny": BERT}))
    published = own[own["estimate_published"].notna()]
    assert published[["encoder", "stimuli"]].values.tolist() == [["tiny", AUTHORS], ["printed", ""]]
    printed = found[found["estimate_published"].notna()]
    assert set(printed["method"]) == {"spearman"} and set(printed["models"]) == {"all"}
    assert set(printed["measure"]) == {"strength"} and set(printed["parity"]) == {"majority"}
    assert set(printed["interventions"]) == {"after fine-tuning"} and set(printed["encoder"]) == {"printed"}


def test_a_text_without_the_correlation_is_refused():
    with pytest.raises(BiasflowError, match="spearman-p"):
        correlations(run_of(inside_scores(), printed={"text": TEXT[TEXT["id"] != "spearman-p"]}))


def test_correlations_follow_the_rows(found, rows):
    block = rows[(rows["encoder"] == "tiny") & (rows["interventions"] == "after fine-tuning")]
    own = block[block["level"] == "layer-11"]
    row = pick(
        found,
        encoder="tiny",
        interventions="after fine-tuning",
        models="all",
        level="layer-11",
        measure="distance",
        parity="templates",
        method="kendall",
    )
    expected = stats.kendalltau(own["distance"], own["fairness_templates"])
    assert (row["estimate"], row["p"], row["n"]) == (
        pytest.approx(expected.statistic),
        pytest.approx(expected.pvalue),
        32,
    )
    assert {"all", "layer-12", "layer-11", "layer-11+attention"} == set(found["level"])
    assert {"all", "viable"} == set(found["models"])
    during = found[found["interventions"] == DURING]
    assert set(during["level"]) == {"all", "layer-12"} and during["n"].max() == len(SOME)
    assert "roberta" not in set(found["encoder"])


def test_without_nli_scores_only_the_printed_rows_remain():
    run = run_of(inside_scores())
    assert set(with_printed(run)["encoder"]) == {"printed"}
    assert set(correlations(run)["encoder"]) == {"printed"}


def test_a_correlation_that_cannot_be_computed_says_why():
    same = PRINTED.assign(fairness=0.5)
    found = correlations(run_of(together(inside_scores(), nli_scores(settings=same))))
    tiny = found[found["encoder"] == "tiny"]
    assert tiny["estimate"].isna().all() and (tiny["note"] != "").all()


def test_what_was_fine_tuned_on_what(tmp_path):
    columns = ["part", "source", "pairs", "dropped"]
    sources = [("train", "snli", 100, 3), ("train", "multinli", 50, 0), ("validation", "snli", 10, 1)]
    pd.DataFrame([*sources, ("test", "snli", 20, 0)], columns=columns).to_csv(tmp_path / "sources.csv", index=False)
    save_pairs(OccupationPairs(("cook", "nurse"), (("ate", "pie"),), ("man",), ("woman",), "the"), tmp_path / "pairs")
    facts = {"cut": 12, "epoch": 2, "validation_scores": [0.71, 0.83, 0.82], "validation_score": 0.83}
    (tmp_path / "training.json").write_text(json.dumps(facts))
    models = ("tiny/nli/plain/seed0", "tiny/nli/with-sent-0/seed7")
    files = {
        "training": dict.fromkeys(models, tmp_path / "training.json"),
        "sources": {"nli": tmp_path / "sources.csv"},
        "occupation_pairs": {"nli": tmp_path / "pairs"},
    }
    table = finetuning(run_of(NOTHING, encoders=["tiny"], not_run={("gone", "nli_fairness"): "no file"}, files=files))
    assert table[["encoder", "strategy", "seed"]].values.tolist()[:2] == [
        ["tiny", "plain", "0"],
        ["tiny", "with-sent-0", "7"],
    ]
    first = table.iloc[0]
    assert (first["train_source"], first["train_pairs"], first["dropped"]) == ("snli and multinli", 150, 4)
    assert (first["occupation_pairs"], first["epoch"], first["epochs"]) == (4, 2, 3)
    assert table["status"].tolist() == ["run", "run", "not run: no file"]
    nothing = finetuning(run_of(NOTHING, encoders=["tiny"], task=None))
    assert nothing.empty and list(nothing) == list(table)
