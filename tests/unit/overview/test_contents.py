"""Maps and the page's contents from a small matrix."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.about import Copy, PermutationTest
from biasflow.overview.bias import BiasRow, judging_rows
from biasflow.overview.contents import contents
from biasflow.overview.helps import Change, method_rows
from biasflow.overview.judgements import DIFFERS, NO_CLAIM, NOT_VIABLE, SAME, UNCLEAR, UNMEASURED, VIABLE
from biasflow.overview.maps import UNTOUCHED, headers, maps
from biasflow.overview.measured import counted, with_test
from biasflow.overview.overview import _TEMPLATES
from biasflow.results.comparison import with_items
from biasflow.results.differences import between_encoders
from biasflow.results.evidence import COULD_NOT_TELL, IN_ALL, IN_SOME, NOT_TRIED, Evidence
from biasflow.results.matrix import ROW, matrix
from biasflow.results.scores import concatenate, tidy
from biasflow.results.statistics import t_interval
from biasflow.studies.calibrated.values import TEXTS
from biasflow.studies.judge import DOES_NOT, SEES
from tests.unit.overview import made_up


@pytest.fixture(scope="module")
def found():
    return list(maps(made_up.run()[0]))


@pytest.fixture(scope="module")
def whole():
    return contents(*made_up.run())


def test_a_map_for_every_task_and_head(found):
    assert [each.title for each in found] == [
        "bert, as pre-trained",
        "bert, fine-tuned on bios",
        "bert, fine-tuned on bios, retrained heads",
    ]
    assert [each.is_own for each in found] == [True, True, False]


def left_of(model_map):
    """What is left of each measure, by name and header."""
    return model_map.cells.set_index(["name", "header"])["left"].unstack()


def test_what_is_left_and_viable(found):
    left = left_of(found[0])
    assert left.loc[UNTOUCHED, "Strength"] == 1 and left.loc["alpha", "Strength"] == 0.25
    assert left.loc["beta", "Strength"] == 1.5
    # alpha doubles the perplexity; zeta's is 4 % higher
    assert found[0].rows["quality"].to_dict() == {
        UNTOUCHED: VIABLE,
        "zeta": VIABLE,
        "alpha": NOT_VIABLE,
        "beta": VIABLE,
        "gamma": VIABLE,
    }


def test_a_method_of_one_seed_is_judged_by_the_untouched_model_of_that_seed():
    """Seed 1 is better than seed 0 at everything: alpha, measured with it alone, changes nothing."""
    scored = made_up.fine_tuned().query("head == 'own' and method == 'none' and strategy == 'plain'")
    scored = pd.concat([scored, scored[scored["seed"] == "1"].assign(method="alpha")])
    scored.loc[scored["seed"] == "0", "value"] -= 0.3
    (only,) = maps(matrix(scored, made_up.plan(scored)))
    assert (left_of(only).loc["alpha"] == 1).all()
    scored.loc[scored["method"] == "alpha", "value"] -= 0.1
    (only,) = maps(matrix(scored, made_up.plan(scored)))
    assert only.rows.loc["alpha", "quality"] == UNCLEAR  # one seed has no interval
    (row,) = method_rows(only, ["TPR gap (P)"], [], [only])
    assert row.lost[0] > 0  # a lower accuracy than on the same seed, though above the mean over seeds


def test_what_was_measured_on_seeds_of_its_own_is_compared_with_nothing():
    scored = made_up.fine_tuned().query("head == 'own' and strategy == 'plain'")
    scored = scored[(scored["method"] == "none") != (scored["seed"] == "2")]  # alpha on seed 2 alone
    (only,) = maps(matrix(scored, made_up.plan(scored)))
    assert left_of(only).loc["alpha"].isna().all() and only.rows.loc["alpha", "quality"] == UNMEASURED
    (row,) = method_rows(only, ["TPR gap (P)"], [], [only])
    assert np.isnan([row.left[0], row.lost[0]]).all()


@pytest.mark.parametrize(("of_draws", "helps"), [(1.20, True), (0.99, False)])
def test_a_method_helps_if_it_is_nearer_than_untouched_and_than_the_draws_of_its_control(of_draws, helps):
    """LEACE on splade-tiny: GEST is nearer on the other side; OCCTMP, of a head that expects no pronoun, is farther,
    but not judged."""
    of_gest = {"metric": "gest_stereotype_rate", "part": "all", "variant": "base10"}
    rows = [
        {"method": method, **keys, "value": value, "low": low, "high": high, "n": 300}
        for method, keys, value, low, high in (
            ("none", {"metric": "occtmp_diff"}, 1.17, 1.07, 1.29),
            ("leace", {"metric": "occtmp_diff"}, 1.77, 1.69, 1.85),
            ("leace", {"metric": "occtmp_diff_distance_change"}, 0.6, 0.5, 0.7),
            ("none", {"metric": "occtmp_p_sum"}, 0.008, np.nan, np.nan),
            ("none", of_gest, 1.21, 1.16, 1.26),
            ("leace", of_gest, 0.95, 0.90, 0.99),
            ("leace", {**of_gest, "metric": "gest_stereotype_rate_distance_change"}, -0.16, -0.21, -0.11),
            *(
                ("leace-random-matched", {**of, "setting": f"draw{seed}"}, at + seed / 1000, 0.95, 1.25)
                for of, at in ((of_gest, of_draws), ({"metric": "occtmp_diff"}, 1.17))
                for seed in range(9)
            ),
        )
    ]
    table = pd.DataFrame(rows).fillna({"part": "-", "variant": "-", "setting": "-"})
    scored = tidy(table, encoder="bert", dataset="data")
    run = made_up.run_of(scored)
    found = contents(*run)
    (only,) = found.models
    leace, control = only.methods
    assert leace.control == "leace-random-matched" and control.control_of == "leace" and not control.is_method
    assert [row.name for row in only.effective] == [leace.name] * helps == only.lowering
    assert [(one.name, one.before, one.after, one.beats, one.draws) for one in leace.helped] == [
        ("GEST rate", 1.21, 0.95, 9, 9)
    ] * helps
    assert all(one.p <= 0.05 and not one.still for one in leace.helped)
    assert [one[:3] for one in leace.past] == [("GEST rate", 1.21, 0.95)] and not leace.farther
    assert [one[:3] for one in leace.off] == [("OCCTMP", 1.17, 1.77)] and only.doubts["OCCTMP"] == "not judged"
    assert [row.name for row in only.judging] == ["GEST rate"]  # OCCTMP judges nothing
    assert (leace.against.beats, leace.against.draws) == ((9, 9) if helps else (0, 9))
    cells = run[0].merge(found.verdicts, on=ROW).set_index(["measure", "method"])  # as matrix.csv has them
    assert cells.loc["gest_stereotype_rate", "verdict"].to_dict() == {
        "none": "bias shown",
        "leace": "helps" if helps else "nearer",
        "leace-random-matched": "not compared",
    }
    of_leace = cells.loc["gest_stereotype_rate", "leace"]
    assert (of_leace["left"], of_leace["worst_score"]) == (pytest.approx(0.05 / 0.21), "GEST rate")
    assert (of_leace["past_neutral"], of_leace["quality"]) == ("yes", "cost not measured")


def family(encoders, **values):
    """A model of a run of encoders that differ in their seed, a little in all scores."""
    scored = concatenate(made_up.scores(encoder=f"e{number}", **values) for number in range(encoders))
    number = scored["encoder"].str[1:].astype(int)
    scored["value"] *= 1 + number / 100 * ((scored["method"] != "none") & (scored["metric"] != "perplexity"))
    return contents(*made_up.run_of(scored), dict.fromkeys(scored["encoder"], "e0")).models[0]


def test_what_a_method_leaves_and_takes_is_a_share_with_its_interval(whole):
    """Strength 2.0 [1.8, 2.2] alone judges: Distance makes no claim. Under zeta it is 1.0 [0.8, 1.2]."""
    rows = {row.name: row for row in whole.models[0].methods}
    half = np.hypot(0.2, 0.2) / 2
    assert rows["zeta"].left == pytest.approx((0.5, 0.5 - half, 0.5 + half))
    assert rows["alpha"].cost == "perplexity" and rows["alpha"].lost[0] == 1
    assert whole.models[0].methods[0].name == "alpha"
    assert not whole.models[0].effective  # none has a control


def test_three_encoders_that_differ_in_their_seed_give_an_interval_over_them_and_over_items():
    few, several = family(2), family(4)
    assert (few.encoders, several.encoders) == (2, 4)
    of_one, of_all = (next(row.left for row in model.methods if row.name == "zeta") for model in (few, several))
    shares = 0.5 * (1 + np.arange(4) / 100)
    both = with_items(shares.mean(), t_interval(shares), of_one[1:])
    assert of_all == pytest.approx((shares.mean(), *both), abs=0.01)
    assert of_all[1] < t_interval(shares)[0] - 0.1


def test_settings_of_a_grid_that_lack_a_measure_do_not_take_it_from_the_methods():
    """WEAT, which only the methods have, judges them, too: LEACE leaves half of it, and nothing of Strength."""
    rows = [
        {"method": method, "setting": setting, "metric": metric, "part": part, "variant": variant}
        | {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 40}
        for method, setting, weat, strength in (
            ("none", "-", 1.0, 1.0),
            ("leace", "-", 0.5, 0.0),
            *(("grid", f"g{number}", None, 0.2) for number in range(20)),
        )
        for metric, part, variant, value in (
            ("weat_effect_size", "-", "target", weat),
            ("strength", "top=10%", "-", strength),
        )
        if value is not None
    ]
    scored = tidy(pd.DataFrame(rows), encoder="bert", dataset="data")
    (model,) = contents(*made_up.run_of(scored)).models
    left = {row.name: row.left for row in model.methods}
    assert {row.name for row in model.methods if row.is_method} == {"leace"}  # a single setting is no method
    assert {row.name for row in model.judging} == {"WEAT", "Strength"}
    assert left["leace"][0] == 0.25 and np.isnan(left["grid g0"][0])


def test_no_less_than_nothing_of_a_bias_is_left():
    scored = made_up.scores(none=(0.3, 10.0), zeta=(0.01, 10.0))
    (model,) = contents(*made_up.run_of(scored)).models
    low = next(row.left[1] for row in model.methods if row.name == "zeta")
    assert low == 0  # 0.01 / 0.3, and resamples reach below it


def test_measures_that_followed_a_planted_bias_judge_methods_alone_if_there_are_any():
    *run, _, _ = made_up.with_less_evidence()
    by_kind = {kind: contents(*run, kinds={"bert": kind}).models[0] for kind in ("head", None)}
    judging = {kind: [row.name for row in model.judging] for kind, model in by_kind.items()}
    assert judging == {"head": ["GEST rate"], None: ["GEST rate", "Winogender r"]}
    biases = by_kind["head"].biases
    assert [row.known.evidence for row in biases] == [IN_ALL, COULD_NOT_TELL]
    assert min(biases[0].published) > 1.2 and len(biases[0].published) == 9 and not biases[1].published


def test_a_map_without_a_control_says_so_and_one_with_says_how_little_it_changes(whole):
    assert whole.sections[0].controls == ([], ["alpha", "beta", "gamma", "zeta"], {}, {})
    moved = [
        {"method": method, "metric": "vector_change", "value": value}
        for method, value in (("none", 0.0), ("zeta", 0.31), ("zeta-random0", 0.004))
    ]
    scored = made_up.scores(**{"zeta-random0": (1.9, 10.0)})
    scored = concatenate([scored, tidy(pd.DataFrame(moved), encoder="bert", dataset="text")])
    found = contents(*made_up.run_of(scored)).sections[0].controls
    assert found == (["zeta-random0"], ["alpha", "beta", "gamma"], {"zeta": 0.31}, {"zeta-random0": 0.004})


def nli(fairness, parity, accuracy, label, method="none"):
    rows = {"nli_fairness": fairness, "nli_parity": parity, "nli_accuracy": accuracy, "largest_label_share": label}
    return [
        {"method": method, "metric": metric, "value": value, "low": value, "high": value, "n": 900}
        | {"variant": "majority" if metric in ("nli_fairness", "nli_parity") else "-"}
        for metric, value in rows.items()
    ]


def test_a_model_that_always_says_the_same_claims_no_bias():
    """NLI Fairness of 0.001 with parity 1.000: all pairs are entailments."""
    rows = nli(0.001, 1.0, 0.001, 0.999) + nli(0.6, 0.8, 0.75, 0.75, method="zeta")
    scored = tidy(
        pd.DataFrame(rows), encoder="bert", task="nli", strategy="plain", seed="0", head="own", dataset="pairs"
    )
    found = contents(*made_up.run_of(scored))
    (one,) = found.encoders["bert"]
    assert (one.verdict, one.caution) == ("cannot be judged", "one label has 95 % or more of the predictions")
    assert one.cell.beside.startswith("parity 1.000, called neutral 0.001")
    assert not any(row.judged for row in found.models[0].biases)
    ((_, (_, zeta)),) = next(iter(found.sections[0].rows.values()))
    assert zeta.says == "not compared"  # no nearer than a model of which nothing is known


def test_readings_of_a_test_that_disagree_are_named():
    rows = [
        {"metric": "crows_pairs_score", "part": "all", "variant": variant, "value": value, "n": 262}
        | {"low": value - 0.05, "high": value + 0.05}
        for variant, value in {"exact": 0.57, "released": 0.57, "aul": 0.49, "aula": 0.51}.items()
    ]
    scored = tidy(pd.DataFrame(rows), encoder="bert", dataset="data", method="none")
    found = contents(*made_up.run_of(scored))
    assert found.encoders["bert"][0].contrary == ("aul", "aula")


def test_of_encoders_that_differ_in_their_seed_the_first_is_shown_and_all_are_compared():
    names = ["a", "b", "c"]
    scored = concatenate(made_up.scores(encoder=name) for name in names)
    planned = pd.concat([made_up.plan(scored[scored["encoder"] == name]) for name in names])
    run = matrix(scored, planned), planned, scored
    found, every = contents(*run, {"unmeasured": "unmeasured", "a": "unmeasured", "b": "unmeasured"}), contents(*run)
    assert list(found.encoders) == ["a", "c"] and list(found.other_seeds) == ["b"]
    assert {each.encoder for each in found.sections} == {each.encoder for each in found.shares} == {"a", "c"}
    assert list(every.encoders) == names and not every.other_seeds
    pd.testing.assert_frame_equal(found.pairs, every.pairs)


def test_items_that_were_left_out_are_counted_by_test_with_the_models_and_reasons():
    keys = ["encoder", "method", "variant", "dataset", "part", "value", "n"]
    crows, gest = ("crows_pairs", "crows-pairs-all"), ("gest", "gest")
    rows = [(name, method, *crows, "long", 1.0, 1508) for name in ("a", "b") for method in ("none", "hard")]
    rows += [("a", "none", *gest, why, number, 3565) for why, number in (("long", 2.0), ("empty", 1.0))]
    left_out = tidy(pd.DataFrame(rows, columns=keys), metric="left_out")
    scored = concatenate([*(made_up.scores(encoder=name) for name in ("a", "b")), left_out])
    plan = made_up.plan(scored[scored["metric"] != "left_out"])
    found = contents(matrix(scored, plan), plan, scored)
    assert found.limits == [
        "CrowS-Pairs (crows-pairs-all): 1 of 1,508 items left out (long), on a, b.",
        "GEST (gest): 3 of 3,565 items left out (empty (1); long (2)), on a.",
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"n": 1400, "items": 1400}, "1,400 items"),
        ({"n": 3, "unit": "seeds", "items_least": 296, "items": 336}, "3 seeds, 296 to 336 items each"),
        ({"n": 3, "unit": "seeds", "items_least": 336, "items": 336}, "3 seeds, 336 items each"),
        ({"n": 3, "unit": "seeds"}, "3 seeds"),
        ({"measure": "weat_effect_size", "n": 16, "items": 16}, "16 target words"),
        ({}, ""),
    ],
)
def test_a_score_says_what_it_counts(row, said):
    about = pd.DataFrame([{"measure": "strength", "n": pd.NA, "unit": "items", "items": pd.NA} | row])
    assert counted(next(about.itertuples())) == said


@pytest.mark.parametrize(
    ("datasets", "names"),
    [
        (["sent-weat6", "sent-weat6b-mean"], ["SEAT: careers and family (names)", "SEAT: careers and family (terms)"]),
        (["sent-weat6", "sent-weat6-mean"], ["SEAT (sent-weat6)", "SEAT (sent-weat6-mean)"]),  # two of the same words
        (["mine", "mine-limit9"], ["SEAT (mine)", "SEAT (mine), sampled"]),
        (["mine-limit9"], ["SEAT, sampled"]),
    ],
)
def test_a_measure_is_named_with_what_its_test_compares(datasets, names):
    cells = pd.DataFrame({"label": "SEAT", "measure": "seat_effect_size", "dataset": datasets})
    assert headers(cells) == names


def test_a_limited_run_says_so_first_and_in_every_limited_column():
    scored = made_up.scores()
    limited = scored.assign(dataset=scored["dataset"] + "-limit500")
    plan = made_up.plan(limited)
    found = contents(matrix(limited, plan), plan, limited)
    assert found.sampled == 1 and found.limits[0].startswith("These datasets are samples")
    rows = [row for section in found.sections for rows in section.rows.values() for row in rows]
    shown = [measure.header for measure, _ in rows]
    assert shown and all(header.endswith(", sampled") for header in shown)
    whole = made_up.run_of(scored)
    assert contents(*whole).limits == []
    of_holes = made_up.plan(limited).assign(status="not run", reason="it has no head")
    unmeasured = pd.concat([whole[1], of_holes])
    assert contents(matrix(scored, unmeasured), unmeasured, scored).limits == []
    said = ["bios: 26 of 28 professions dropped (fewer than 30 of a gender): dj (1 women, 9 men), and 25 more"]
    assert contents(*whole, dropped=said).limits == said and not contents(*whole).sampled


@pytest.mark.parametrize(
    ("value", "p", "said"),  # corrected p of an effect above 0, and of one below
    [
        (0.9, (0.079, 0.01), SAME),
        (0.9, (0.04, 1), DIFFERS),
        (0.9, (np.nan, np.nan), DIFFERS),
        (-0.9, (0.01, 0.079), SAME),
        (-0.9, (1, 0.04), DIFFERS),
    ],
)
def test_an_effect_size_needs_its_permutation_test_to_differ(whole, value, p, said):
    measured = next(one for one in whole.encoders["bert"] if one.verdict == DIFFERS)
    found = with_test(measured, value, PermutationTest("p", *p))
    assert (found.test, found.verdict) == ("p", said)
    assert with_test(measured, value, None) == measured


def test_a_run_says_of_its_measures_whether_they_were_calibrated_on_this_kind_of_encoder():
    run = made_up.run_of(made_up.scores())

    def known(kinds, **calibrations):
        model = contents(*run, kinds=kinds, calibrations=calibrations).models[0]
        return [row.known.evidence for row in model.biases], model.learnt

    assert known({"bert": ""}) == known({}) == ([NOT_TRIED, NOT_TRIED], True)
    assert known({"bert": "embedded"}) == ([IN_ALL, IN_ALL], True)
    calibration = pd.DataFrame({"measure": [TEXTS, "Strength"], "occupations": ["seen", "all"], "q": 0.01, "seeds": 6})
    calibration = calibration.assign(slope=1.0, slope_low=0.9, slope_high=1.1, mean_dose_0=1.0, share_dose=0.9)
    calibration = calibration.assign(group=["control", "inside"])
    assert known({"bert": ""}, bert=calibration.assign(verdict=SEES)) == ([IN_SOME, NOT_TRIED], True)
    assert known({"bert": ""}, bert=calibration.assign(verdict=[DOES_NOT, SEES])) == ([NOT_TRIED, NOT_TRIED], False)


@pytest.mark.parametrize(("of_untrained", "verdict"), [(0.66, NO_CLAIM), (0.03, DIFFERS)])
def test_no_bias_is_claimed_that_an_untrained_encoder_shows_beside_any_model(of_untrained, verdict):
    about = {"metric": "ceat_effect_size", "part": "-", "variant": "concepts-spread", "dataset": "ceat", "n": 100}
    models = [("-", "-", "-", 0.65), ("-", "random", "0", of_untrained), ("bios", "plain", "0", 0.64)]
    rows = pd.DataFrame(models, columns=["task", "strategy", "seed", "value"])
    rows = rows.assign(**about, method="none", encoder="bert", low=rows["value"] - 0.05, high=rows["value"] + 0.05)
    found = contents(*made_up.run_of(tidy(rows)))
    assert [row.score.verdict for model in found.models for row in model.biases] == [verdict, verdict]


def test_encoders_of_a_run_are_compared_two_by_two_and_what_helps_on_which_is_said():
    scored = concatenate([made_up.scores(encoder="far"), made_up.scores(encoder="near", none=(0.05, 10))])
    matrix, plan, scores = made_up.run_of(scored)
    apart = between_encoders(scored, [], {})
    found = contents(matrix, plan, scores, apart=apart)
    assert [row.name for row in found.beside] == ["Strength", "Distance"]  # as in the registry
    (pair,) = found.beside[0].pairs
    values = scored[(scored["metric"] == "strength") & (scored["method"] == "none")].set_index("encoder")["value"]
    assert pair.apart[0] == pytest.approx(abs(values["far"]) - abs(values["near"]))
    for on in found.helped_on.values():
        assert len(on) == 2  # encoders
    assert contents(*made_up.run()).beside == []


def test_methods_are_set_beside_each_other_on_encoders_and_on_classifiers_that_are_given():
    scored = concatenate([made_up.scores(encoder=name) for name in ("one", "two")])
    found = contents(*made_up.run_of(scored.assign(task="mine", strategy="given")))
    assert found.tested == []
    assert [model.encoder for model in replace(found, decisions=(object(),)).tested] == ["one", "two"]


def test_a_score_that_leaves_neutral_under_a_method_has_no_share_left_and_ends_no_job():
    about = {"metric": "crows_pairs_score", "part": "all", "variant": "exact", "n": 200}
    ends = (("none", 0.5, 0.45, 0.55), ("hard", 0.8, 0.7, 0.9), ("leace", 0.4, 0.35, 0.45))
    rows = [about | {"method": name, "value": value, "low": low, "high": high} for name, value, low, high in ends]
    changed = {"metric": "crows_pairs_score_distance_change", "value": 0.3, "low": 0.2, "high": 0.4}
    rows.append(about | {"method": "hard"} | changed)
    (model,) = contents(*made_up.run_of(tidy(pd.DataFrame(rows), encoder="bert", dataset="data"))).models
    (hard,) = (row for row in model.methods if row.name == "hard")
    assert hard.farther[0][:3] == ("CrowS-Pairs", 0.5, 0.8) and np.isinf(hard.farther[0].left[0])


@pytest.mark.parametrize(
    ("before", "value", "of_draws", "off"),
    [
        (0.51, 0.8, 0.52, True),
        (0.51, 0.55, 0.52, False),
        (0.51, 0.8, 0.9, False),  # as far under a random edit
        (0.56, 0.43, 0.56, True),  # to the other side, and farther
        (0.56, 0.45, 0.51, False),  # nearer
        (0.51, 0.48, 0.51, False),  # to the other side, but hardly moved
    ],
)
def test_a_score_that_a_method_moves_far_off_neutral_and_no_random_edit_does_is_named(before, value, of_draws, off):
    about = {"metric": "crows_pairs_score", "part": "all", "variant": "exact", "n": 200}
    ends = [("none", "-", before, 0.45, 0.57), ("leace", "-", value, 0.4, 0.9)]
    ends += [("leace-random-matched", f"draw{n}", of_draws + n / 1000, 0.45, 0.95) for n in range(9)]
    rows = [
        about | {"method": name, "setting": draw, "value": score, "low": low, "high": high}
        for name, draw, score, low, high in ends
    ]
    (model,) = contents(*made_up.run_of(tidy(pd.DataFrame(rows), encoder="bert", dataset="data"))).models
    leace = next(row for row in model.methods if row.name == "leace")
    assert [one[:3] for one in leace.off] == [("CrowS-Pairs", before, value)] * off


def test_methods_are_judged_by_the_scores_that_most_speaks_for():
    def row(shown=True, less_evidence=True, partial=False):
        return SimpleNamespace(shown=shown, less_evidence=less_evidence, partial=partial)

    good, clean, doubtful, none = row(less_evidence=False), row(partial=True), row(), row(shown=False)
    assert judging_rows([none, doubtful, clean, good]) == [good]
    assert judging_rows([none, doubtful, clean]) == [clean]
    assert judging_rows([none, doubtful]) == [doubtful] and judging_rows([none]) == []


@pytest.mark.parametrize(
    ("low", "p", "is_borderline"), [(0.1, 0.079, True), (0.1, 0.04, False), (-0.1, 0.04, True), (-0.1, 0.079, False)]
)
def test_a_score_that_its_interval_or_its_permutation_test_alone_shows_is_borderline(whole, low, p, is_borderline):
    measured = next(one for one in whole.encoders["bert"] if one.verdict == DIFFERS)
    found = with_test(measured, 0.9, PermutationTest("p", p, 1))
    cell = found.cell._replace(neutral=0.0, better="neutral", low=low, high=1.5)
    found = replace(found, cell=cell, verdict=found.verdict if low > 0 else SAME)
    assert BiasRow(found, 0.4, 0.1, 0.7, Evidence()).borderline == is_borderline


def test_a_sentence_encoder_that_pools_by_the_mean_has_the_evidence_of_the_same_test():
    about = {"metric": "seat_effect_size", "variant": "mean", "method": "none", "n": 128}
    rows = [
        about | {"dataset": name, "value": 1.4, "low": 0.8, "high": 1.6} for name in ("sent-weat6", "sent-weat6-mean")
    ]
    scored = tidy(pd.DataFrame(rows), encoder="bert")
    (model,) = contents(*made_up.run_of(scored), kinds={"bert": ""}).models
    first, other = (row.known for row in model.biases)
    assert first == other and first.tried


@pytest.mark.parametrize(
    ("measures", "methods", "part", "says"),
    [
        (
            [made_up.STRENGTH],
            {"leace"},
            "heads",
            "Only its heads change; other vectors stay as they are. Shown to be helped: Strength:",
        ),
        (
            [made_up.STRENGTH, made_up.WEAT],
            {"leace"},
            "heads",
            "as they are, and so does WEAT: careers and family (names). Shown to be helped: Strength:",
        ),
        (
            [made_up.WEAT],
            {"leace"},
            "heads",
            "would not lower WEAT: careers and family (names), because only its heads change",
        ),
        (
            [made_up.WEAT],
            {"leace"},
            "sentence vectors",
            "would not lower WEAT: careers and family (names), because only its sentence vectors change",
        ),
        (
            [made_up.SEAT],
            {"leace"},
            "sentence vectors",
            "All its sentence vectors change, so any score that is read from them may move. Shown to be helped: SEAT",
        ),
        (
            [made_up.STRENGTH],
            {"leace"},
            "",
            "No debiased copy is offered: only heads and the vectors of a sentence encoder",
        ),
        ([made_up.STRENGTH], set(), "heads", "No debiased copy is offered: leace acts in inner layers"),
    ],
)
def test_a_copy_is_offered_of_a_method_that_helps_what_the_copy_changes(measures, methods, part, says):
    (model,) = contents(*made_up.run_of(made_up.helped(*measures)), copies={"bert": Copy(methods, part)}).models
    assert [row.name for row in model.effective] == ["leace"]
    text = str(_TEMPLATES.get_template("verdicts.txt").module.copy(model))
    assert says in " ".join(text.split())
    assert (model.offered is None) != text.startswith("To try leace")


def test_methods_that_help_stand_beside_the_untouched_model_with_what_they_do_to_each_score():
    (model,) = contents(*made_up.run_of(made_up.helped(made_up.STRENGTH))).models
    (leace,) = model.effective
    (helped,) = leace.changes
    off = Change("GEST rate", 1.0, 1.5, off=True)
    strength = model.biases[0].score
    gest = replace(
        model.biases[0], score=replace(strength, cell=strength.cell._replace(header="GEST rate"), verdict=SAME)
    )
    methods = [
        replace(leace, changes=[helped, off]),
        replace(leace, name="hard"),
        replace(leace, name="costly", quality=NOT_VIABLE),
    ]
    model = replace(model, biases=[gest, *model.biases], methods=methods)
    assert [row.name for row in model.beside] == ["leace", "hard", "costly"]
    assert model.helping == {(1, 1): ["leace", "hard", "costly"]}
    (first, of_first), (second, of_second) = model.outcomes  # what shows bias comes first
    assert first.name == "Strength" and of_first == [helped] * 3
    assert second.name == "GEST rate" and of_second == [off, None, None]
    said = " ".join(str(_TEMPLATES.get_template("verdicts.txt").module.methods(model)).split())
    assert said.startswith("leace, hard and costly help the only biased score.") and "is not tested" in said


def test_copies_are_made_of_what_was_not_trained_here():
    trained = made_up.fine_tuned()
    trained = trained[trained["strategy"] == "plain"]
    kept = {
        strategy: contents(
            *made_up.run_of(trained.assign(strategy=strategy)), copies={"bert": Copy({"alpha"}, "heads")}
        )
        .models[0]
        .copy
        for strategy in ("plain", "given")
    }
    assert kept == {"plain": None, "given": Copy({"alpha"}, "decisions")}
    assert kept["given"].changes("flips") and not kept["given"].changes("weat_effect_size")
