"""The calibration on an encoder of the user: the plan of its encoders, and the judgement of known measures."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from scipy.stats import false_discovery_control

from biasflow.papers.frames import Run
from biasflow.plan.configuration import resolve
from biasflow.results.scores import KEYS, tidy
from biasflow.studies.calibrated.plan import calibrated_encoders
from biasflow.studies.calibrated.targets import agreement_of, calibration, judged, planted
from biasflow.studies.judge import DOES_NOT, SEES, TOO_FEW
from tests.unit.plan.configs import SCHEMA, changed, jobs_of, setup_of

OPTIONS = {
    "encoder": "mine",
    "doses": [-1.0, 0.0, 0.5, 1.0],
    "seeds": [0, 1, 2],
    "metrics": ["occtmp", "weat", "crows_pairs", "winogender"],
    "limit": 100,
}
SHARES = {"nurse": 0.9, "yoga_teacher": 0.8, "surgeon": 0.2, "pastor": 0.1}
OTHERS = {"baker": 0.3, "clerk": 0.7, "florist": 0.9, "plumber": 0.05, "registered nurse": 0.95}
ENCODERS = {"mine": (np.nan, 9), **calibrated_encoders(OPTIONS)}


def odds_of(dose, names):
    """An encoder whose log-odds follow the shares of what it was trained on alone."""
    shares = {name.replace("_", " "): share for name, share in SHARES.items()}
    return {name: (dose if name in shares else 1) * logit({**shares, **OTHERS}[name]) for name in names}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder, rows, files = tmp_path_factory.mktemp("calibrated"), [], {"units": {}, "masked_words": {}, "resamples": {}}
    rng = np.random.default_rng(0)
    for encoder, (dose, seed) in ENCODERS.items():
        level = 0 if np.isnan(dose) else dose
        values = {
            ("occtmp_diff", "professions-limit100", "-", "-"): 1.0,
            ("weat_effect_size", "C6", "-", "target"): rng.normal(),
            ("weat_effect_size", "C7", "-", "target"): 3 * level + seed / 100,
            ("crows_pairs_score", "crows-pairs-gender-limit100", "all", "exact"): 0.5 + 0.1 * level + seed / 1000,
            ("winogender_r", "winogender-limit100", "occupation", "bls"): level / 2 + rng.normal(0, 0.01),
        }
        drawn = [
            dict.fromkeys(KEYS, "-")
            | {"metric": metric, "part": part, "variant": variant, "dataset": dataset, "method": "none"}
            | {"encoder": encoder, "items": "other" * (metric == "occtmp_diff") * (level > 0), "resampled": item}
            for (metric, dataset, part, variant), value in values.items()
            for item in [value + np.linspace(-0.02, 0.02, 41) * level]
        ]
        path = files["resamples"][f"{encoder}/calibrated"] = folder / f"{encoder}.parquet"
        pd.DataFrame(drawn).assign(value=1.0).to_parquet(path)
        for (metric, dataset, part, variant), value in values.items():
            row = {"encoder": encoder, "method": "none", "metric": metric, "part": part, "variant": variant}
            rows.append(row | {"dataset": dataset, "value": value})
        items = [
            {"method": "none", "setting": "-", "item": name, "gender": gender, "log_p": -5 + sign * odds / 2}
            for name, odds in odds_of(level, [*(n.replace("_", " ") for n in SHARES), *OTHERS]).items()
            for gender, sign in (("feminine", 1), ("masculine", -1))
        ]
        sentences = [
            {"method": "none", "setting": "-", "item": name, "occupation": name, "refers_to": part, "gender": gender}
            | {"bls": share, "bergsma": share, "log_p": -5 + sign * odds_of(level, [name])[name]}
            for name, share in {"nurse": 0.9, "surgeon": 0.2, "pastor": 0.1, "yoga teacher": 0.8, **OTHERS}.items()
            for part, (gender, sign) in product(("occupation", "participant"), (("female", 1), ("male", -1)))
        ]
        for name, table in (("professions", items), ("winogender", sentences)):
            path = folder / f"{encoder}-{name}.parquet"
            pd.DataFrame(table).to_parquet(path)
            files["masked_words"][f"{encoder}/{name}-limit100"] = path
        if encoder != "mine":
            path = files["units"][encoder] = folder / f"{encoder}.csv"
            units = pd.DataFrame(SHARES.items(), columns=["occupation", "share_of_women"])
            units = units.assign(stereotype=["F", "F", "M", "M"], gender=["F", "M", "M", "M"], times=[3, 1, 2, 0])
            units = units.assign(preference_before=[1, 2, 3, 4], preference_after=[dose + seed, dose, dose, 0.5])
            units.to_csv(path, index=False)
    return Run(tidy(pd.DataFrame(rows)), pd.DataFrame(), pd.DataFrame(), files=files, options=OPTIONS)


@pytest.fixture(scope="module")
def table(run):
    return calibration(run).set_index(["measure", "occupations"])


def test_a_measure_that_follows_the_dose_is_seen_with_its_slope(table):
    row = table.loc["CrowS-Pairs", "all"]
    assert row["slope"] == pytest.approx(0.1) and row["slope_low"] == pytest.approx(0.1 - 0.019)  # of the items
    assert (row["verdict"], row["smallest_dose"]) == (SEES, 0.5) and row["before"] == pytest.approx(0.509)
    assert row["spearman"] == 1 and row["q"] < 0.01
    assert row["mean_dose_1"] == pytest.approx(0.601) and row["seeds"] == 3


def test_noise_and_a_constant_are_not_seen(table):
    noise, constant = table.loc["WEAT (C6)", "all"], table.loc["OCCTMP", "all"]
    assert noise["verdict"] == DOES_NOT and np.isnan(noise["smallest_dose"])
    assert noise["slope_low"] < 0 < noise["slope_high"]
    assert constant["verdict"] == DOES_NOT and constant["slope"] == pytest.approx(0, abs=1e-12)
    assert table.loc["WEAT (C7)", "all"]["verdict"] == SEES


def test_controls_show_what_the_encoder_learnt_of_the_texts_themselves(table):
    texts = table.loc["typical gender in the texts"]
    assert list(table.index[:2]) == [("typical gender in the texts", part) for part in ("held out", "seen")]
    assert texts.loc["seen", ["slope", "before", "verdict"]].tolist() == [pytest.approx(1), 2.25, SEES]
    assert texts.loc["seen", "mean_dose_0"] == pytest.approx(1 / 4)
    assert texts.loc["held out", ["slope", "before", "verdict"]].tolist() == [0, 4, DOES_NOT]
    alone = table[table["group"] != "control"].dropna(subset="p")
    assert alone["q"].tolist() == pytest.approx(false_discovery_control(alone["p"]).tolist())
    assert table.loc["log-odds mean", "all"]["slope"] == pytest.approx(logit([0.9, 0.8, 0.2, 0.1]).sum() / 9)


def made_up(measures, seeds, doses=(-1, -0.5, 0, 0.5, 1)):
    """measures: name -> value of a dose and a seed."""
    rows = [
        (name, "inside", 1, "all", dose, seed, float(value(dose, seed)), np.nan)
        for (name, value), seed, dose in product(measures.items(), range(seeds), doses)
    ]
    return pd.DataFrame(rows, columns=["measure", "group", "sign", "occupations", "bias", "seed", "value", "error"])


@pytest.mark.parametrize(("undefined", "slope"), [(range(15), np.nan), (range(0, 15, 5), 1), ([0], np.nan)])
def test_a_measure_that_is_not_defined_somewhere_is_judged_by_the_seeds_and_doses_that_have_it(undefined, slope):
    """All values, one dose, or one seed of a dose (then two seeds are left, of which nothing is said)."""
    values = made_up({"m": lambda dose, seed: dose}, 3)
    values["value"] = values["value"].mask(values.index.isin(list(undefined)))
    row = judged(values).iloc[0]
    assert row["slope_low"] == pytest.approx(slope, nan_ok=True)
    assert row["verdict"] == (SEES if slope == 1 else TOO_FEW)
    assert row["smallest_dose"] == pytest.approx(0.5 if slope == 1 else np.nan, nan_ok=True)


def test_the_interval_of_a_slope_holds_the_error_of_the_items_that_all_encoders_share():
    """The slope is 1, that of resample k is 1 + k / 100, whatever the seed; levels of items are no part of it."""
    noise = np.random.default_rng(0).normal(0, 0.02, 3)
    values = made_up({"m": lambda dose, seed: (1 + noise[seed]) * dose}, 3)
    over_seeds = judged(values).iloc[0]
    shifts, levels = np.linspace(-0.2, 0.2, 41), np.random.default_rng(1).normal(0, 9, 41)
    drawn = [value + levels + shifts * dose for value, dose in zip(values["value"], values["bias"], strict=True)]
    found = judged(values.assign(resampled=drawn)).iloc[0]
    of_items = 0.19  # 2.5 and 97.5 % of the shifts
    for end in ("slope_low", "slope_high"):
        expected = np.hypot(over_seeds[end] - over_seeds["slope"], of_items)
        assert abs(found[end] - found["slope"]) == pytest.approx(expected)
    partly = judged(values.assign(resampled=[*drawn[:-1], np.nan])).iloc[0]
    assert partly["slope_low"] == over_seeds["slope_low"]  # without those of one encoder nothing is known


def test_measures_that_move_together_within_seeds_agree_whatever_the_seeds_do():
    noise = np.random.default_rng(0).normal(size=(6, 3)).tolist()
    measures = {
        "up": lambda dose, seed: dose + 9 * seed,
        "also up": lambda dose, seed: dose**3 - 9 * seed,
        "down": lambda dose, seed: 1 - dose,
        "even": lambda dose, seed: dose**2 + noise[seed][0],
        "constant": lambda dose, seed: 1,
    }
    pairs = agreement_of(made_up(measures, 6)).set_index(["measure_a", "measure_b"])
    assert pairs.loc[("up", "also up"), ["spearman", "low", "q"]].tolist() == pytest.approx([1, 1, 0])
    assert pairs.loc[("up", "down"), ["spearman", "high", "q"]].tolist() == pytest.approx([-1, -1, 0])
    assert pairs.loc[("up", "even"), "spearman"] == pytest.approx(0) and "constant" not in pairs.index.get_level_values(
        1
    )
    few = agreement_of(made_up(measures, 5))
    assert few["spearman"].notna().all() and few[["low", "high", "p", "q"]].isna().all(axis=None)


@pytest.mark.parametrize("placebo", [{}, {"placebo": True}])
def test_a_placebo_is_planted_in_every_encoder_and_says_nothing_of_measures_on_the_page(placebo):
    config = resolve(changed(("papers.calibrated", {"encoder": "real"} | placebo)), SCHEMA)
    jobs = jobs_of(setup_of(config))
    trained = [jobs.of("continue_encoder", [name]) for name in calibrated_encoders(config["papers"]["calibrated"])]
    assert [job.params["encoder"].get("placebo", False) for job in trained] == [bool(placebo)] * 30
    page = jobs.of("matrix")
    assert bool(page.params["calibrated"]) == bool(page.inputs["calibration"]) == (not placebo)


def test_a_calibration_without_measures_of_single_occupations_has_the_others(run):
    files = {role: paths for role, paths in run.files.items() if role != "masked_words"}
    found = calibration(replace(run, files=files)).set_index(["measure", "occupations"])
    assert found.loc[("CrowS-Pairs", "all"), "verdict"] == SEES
    assert not found.index.get_level_values("measure").str.startswith("log-odds").any()


def test_the_table_of_what_was_planted_counts_units_and_examples(run, tmp_path):
    table = planted(run).set_index("occupation")
    assert table[["units", "held_out", "examples"]].loc["nurse"].tolist() == [1, 0, 3]
    assert table[["units", "held_out", "examples"]].loc["pastor"].tolist() == [0, 1, 0]
    assert table["stereotype"].to_dict() == {"nurse": "F", "pastor": "M", "surgeon": "M", "yoga_teacher": "F"}
    assert table["stereotypical_dose_1"].to_dict() == {"nurse": 1, "pastor": pytest.approx(np.nan, nan_ok=True)} | {
        "surgeon": 1,
        "yoga_teacher": 0,
    }
    units = pd.read_csv(next(iter(run.files["units"].values()))).assign(stereotype=["M", "F", "F", "M"])
    units.to_csv(tmp_path / "other.csv", index=False)
    files = run.files["units"] | {list(run.files["units"])[-1]: tmp_path / "other.csv"}
    assert planted(replace(run, files=run.files | {"units": files}))["stereotype"].tolist() == ["F/M", "M", "F/M", "F"]


def test_scores_of_all_items_that_another_block_asks_for_are_not_mixed_with_those_of_a_sample(run):
    rows = run.scores[run.scores["dataset"] == "crows-pairs-gender-limit100"]
    whole = rows.assign(dataset="crows-pairs-gender", value=99.0)
    other = rows.assign(dataset="C6-limit100", metric="ceat_effect_size")  # the name of a test that WEAT has, too
    both = replace(run, scores=pd.concat([run.scores, whole, other]))
    assert calibration(both).equals(calibration(run))


def test_measures_are_judged_alike_where_none_that_is_asked_for_has_occupations(run, table):
    alone = calibration(replace(run, files=run.files | {"masked_words": {}})).set_index(["measure", "occupations"])
    assert alone.loc[("WEAT (C7)", "all"), "slope"] == table.loc[("WEAT (C7)", "all"), "slope"]


def test_a_measure_that_two_tests_have_stands_for_each_by_itself(run):
    """Grep-BiasIR and GenderBias-QA have a retrieval gap each; their mean is neither."""
    tests = (("grep-biasir", "title", 1), ("genderbias-qa", "-", -1))
    rows = [
        {"encoder": encoder, "method": "none", "metric": "retrieval_gap", "part": "relevant", "variant": variant}
        | {"dataset": dataset, "value": sign * np.nan_to_num(dose)}
        for encoder, (dose, _) in ENCODERS.items()
        for dataset, variant, sign in tests
    ]
    options = OPTIONS | {"metrics": ["retrieval", "retrieval_questions"]}
    files = {"units": run.files["units"]}
    table = calibration(replace(run, scores=tidy(pd.DataFrame(rows)), options=options, files=files))
    slopes = table.set_index("measure")["slope"]
    assert [slopes[f"retrieval gap ({dataset})"] for dataset, *_ in tests] == pytest.approx([1, -1])
